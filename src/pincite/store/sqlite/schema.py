"""The tables of ``catalog.sqlite``, and how Python values lie in them.

Every text that came from outside is a BLOB of UTF-8 in which lone surrogates pass: SQLite's TEXT refuses them, and its
functions stop at NUL. BLOBs compare by byte, which for UTF-8 is by code point, as Python's strings do.

Three keys are packed, so that what belongs together lies together and is found without another index:
``texts.key = version << 24 | segment``, ``embeddings.key = space << 40 | content``.
"""

from __future__ import annotations

import json
from typing import Any

APPLICATION_ID = 0x504E4354  # "PNCT", in the header of the file
SCHEMA_VERSION = 3
PAGE_BYTES = 8192  # five 384-d vectors a page; 4096 holds two and wastes a quarter

SEGMENT = 8000  # code points of text in a row: one page for ASCII, and any passage is cut from one or two rows
SEGMENT_BITS = 24
CONTENT_BITS = 40

# What format 2 added to format 1. The column comes last in both, so that a migrated library is like a new one.
_LABELS = """
-- Who may see a document: those who hold one of its labels; everyone, if it has none.
CREATE TABLE label_sets (key INTEGER PRIMARY KEY, labels BLOB NOT NULL UNIQUE);  -- a JSON list, ascending
INSERT INTO label_sets VALUES (0, x'5b5d');  -- []
-- Labels were given to this URI and all below; of several rules the longest counts. It outlives what it was made for.
CREATE TABLE label_rules (uri BLOB PRIMARY KEY, label_set INTEGER NOT NULL REFERENCES label_sets (key)) WITHOUT ROWID;
CREATE INDEX documents_id ON documents (id);
"""
_LABEL_SET = "label_set INTEGER NOT NULL DEFAULT 0"  # as the rules say; no reference: SQLite cannot add one later

# What format 3 added: lists that are read page by page in any order, and counts that need no look at the documents.
_TALLIED = """
SELECT status, media_type, label_set, version > 0 AS readable, count(*) AS documents FROM documents GROUP BY 1, 2, 3, 4
"""
_COUNT = """
  INSERT INTO tallies VALUES (new.status, new.media_type, new.label_set, new.version > 0, 1)
    ON CONFLICT DO UPDATE SET documents = documents + 1;
"""
_UNCOUNT = """
  UPDATE tallies SET documents = documents - 1 WHERE status = old.status AND media_type = old.media_type
    AND label_set = old.label_set AND readable = (old.version > 0);
"""
_LISTS = f"""
CREATE INDEX documents_by_name ON documents (label_set, name, uri);
CREATE INDEX documents_by_added ON documents (label_set, added_ns, uri);
CREATE INDEX documents_by_modified ON documents (label_set, modified_ns, uri);
CREATE INDEX documents_by_size ON documents (label_set, size, uri);
CREATE TABLE tallies (
  status BLOB NOT NULL, media_type BLOB NOT NULL, label_set INTEGER NOT NULL, readable INTEGER NOT NULL,
  documents INTEGER NOT NULL, PRIMARY KEY (status, media_type, label_set, readable)
) WITHOUT ROWID;
INSERT INTO tallies {_TALLIED};
CREATE TRIGGER documents_came AFTER INSERT ON documents BEGIN {_COUNT} END;
CREATE TRIGGER documents_went AFTER DELETE ON documents BEGIN {_UNCOUNT} END;
CREATE TRIGGER documents_changed AFTER UPDATE OF status, media_type, label_set, version ON documents BEGIN
{_UNCOUNT}{_COUNT} END;
"""
_NAME = "name BLOB NOT NULL DEFAULT x''"  # what people call it, folded, for lists by name

# From the format that is the key to the next.
MIGRATIONS = {
    1: f"ALTER TABLE documents ADD COLUMN {_LABEL_SET}; {_LABELS}",
    2: f"ALTER TABLE documents ADD COLUMN {_NAME}; UPDATE documents SET name = folded_name(uri); {_LISTS}",  # noqa: S608
}
# What lets a library of an older format that can only be read be read like one of the newest.
_SEEN = f"""
CREATE TEMP VIEW documents AS SELECT *{{}}, folded_name(uri) AS name FROM main.documents;
CREATE TEMP VIEW tallies AS {_TALLIED};
"""  # noqa: S608 - ours
SEEN_AS_NEWEST = {
    1: f"""
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE label_sets AS SELECT 0 AS key, x'5b5d' AS labels;
CREATE TEMP TABLE label_rules (uri, label_set);
{_SEEN.format(", 0 AS label_set")}""",
    2: _SEEN.format(""),
}

SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};

CREATE TABLE state (identity BLOB NOT NULL, sequence INTEGER NOT NULL);  -- one row
CREATE TABLE notes (name BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

-- One row a source, readable or not. Keys are never used twice: indexes know documents by them.
CREATE TABLE documents (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL, uri BLOB NOT NULL UNIQUE, path BLOB NOT NULL, media_type BLOB NOT NULL, content_hash BLOB NOT NULL,
  modified_ns INTEGER NOT NULL, size INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,  -- 0: never readable so far
  body INTEGER NOT NULL DEFAULT 0,     -- versions.key of that version, or 0
  passages INTEGER NOT NULL DEFAULT 0, title BLOB NOT NULL DEFAULT x'', language BLOB NOT NULL DEFAULT x'',
  status BLOB NOT NULL DEFAULT x'', reason BLOB NOT NULL DEFAULT x'', fix BLOB NOT NULL DEFAULT x'',
  warnings BLOB NOT NULL DEFAULT x'',
  added_ns INTEGER NOT NULL, checked_ns INTEGER NOT NULL DEFAULT 0,
  {_LABEL_SET},
  {_NAME}
);
CREATE INDEX documents_path ON documents (path);
CREATE INDEX documents_status ON documents (status);
CREATE INDEX documents_language ON documents (language, version);

-- Every version that was ever committed, until its source is removed.
CREATE TABLE versions (
  key INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES documents (key), version INTEGER NOT NULL,
  media_type BLOB NOT NULL, content_hash BLOB NOT NULL, modified_ns INTEGER NOT NULL, size INTEGER NOT NULL,
  title BLOB NOT NULL DEFAULT x'', language BLOB NOT NULL DEFAULT x'', added_ns INTEGER NOT NULL,
  length INTEGER NOT NULL, text_hash BLOB NOT NULL,  -- of the text: code points, and a checksum
  metadata BLOB NOT NULL DEFAULT x'', pages BLOB NOT NULL DEFAULT x'', blocks BLOB NOT NULL DEFAULT x'',  -- JSON
  UNIQUE (document, version)
);
CREATE TABLE texts (key INTEGER PRIMARY KEY, text BLOB NOT NULL);
-- The last version of removed documents: a passage id never names two texts.
CREATE TABLE retired (id BLOB PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
-- What filters compare; numbers as numbers, NaN as NULL.
CREATE TABLE metadata (
  document INTEGER NOT NULL REFERENCES documents (key), name BLOB NOT NULL, value, PRIMARY KEY (document, name)
) WITHOUT ROWID;
CREATE INDEX metadata_value ON metadata (name, value);

-- Searched texts (context and text), by hash: what is embedded once, however many passages say it.
CREATE TABLE contents (key INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE);
CREATE TABLE orphans (content INTEGER PRIMARY KEY);  -- contents that lost a passage since the last collection
CREATE TABLE spaces (
  key INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL UNIQUE, dimension INTEGER NOT NULL,
  vectors INTEGER NOT NULL,  -- rows in embeddings
  complete INTEGER NOT NULL, -- every passage up to this key has its vector
  sequence INTEGER NOT NULL  -- of the last write
);
CREATE TABLE embeddings (
  key INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, checksum INTEGER NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX embeddings_sequence ON embeddings (sequence);

-- The passages of current versions. Keys are never used twice, and a key's searched text never changes.
CREATE TABLE passages (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  document INTEGER NOT NULL REFERENCES documents (key), content INTEGER NOT NULL REFERENCES contents (key),
  sequence INTEGER NOT NULL, ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  line_from INTEGER NOT NULL, line_to INTEGER NOT NULL, page_from INTEGER, page_to INTEGER, pieces INTEGER NOT NULL,
  context BLOB NOT NULL, heading_path BLOB NOT NULL
);
CREATE INDEX passages_document ON passages (document, ordinal);
CREATE INDEX passages_content ON passages (content);
CREATE INDEX passages_sequence ON passages (sequence);
CREATE TABLE tombstones (key INTEGER PRIMARY KEY, sequence INTEGER NOT NULL);  -- passages that went
CREATE INDEX tombstones_sequence ON tombstones (sequence);
{_LABELS}{_LISTS}"""


def pack(text: str) -> bytes:
    """Turn any string into what is stored."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """Turn what is stored into the string."""
    return data.decode("utf-8", "surrogatepass")


def pack_json(value: Any) -> bytes:
    """Store a structure. Not as ASCII: two escaped lone surrogates in a row would come back as one character."""
    return pack(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def unpack_json(data: bytes) -> Any:
    """Give the structure back."""
    return json.loads(unpack(data))


def text_base(version_key: int) -> int:
    """Give the key of a version's first segment."""
    return version_key << SEGMENT_BITS


def vector_base(space: int) -> int:
    """Give what is added to a content's key to find its vector in a space."""
    return space << CONTENT_BITS


def successor(prefix: bytes) -> bytes:
    """Give the smallest BLOB greater than all that start with the prefix, which is UTF-8 and not empty."""
    return prefix[:-1] + bytes([prefix[-1] + 1])
