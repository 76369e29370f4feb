"""What kind of document is it? The content decides, and where content says only "text", the name does."""

from __future__ import annotations

from pathlib import PurePath

from pincite.acquire.decode import looks_binary

_OFFICE = "application/vnd.openxmlformats-officedocument."
_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"{\\rtf", "application/rtf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\x00asm", "application/wasm"),
)
_ZIP_MEMBERS = (  # a name in the archive's first entries: what kind of archive it is
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "application/vnd.oasis.opendocument.presentation"),
    (b"word/", f"{_OFFICE}wordprocessingml.document"),
    (b"xl/", f"{_OFFICE}spreadsheetml.sheet"),
    (b"ppt/", f"{_OFFICE}presentationml.presentation"),
)
_BINARY_EXTENSIONS = {  # believed only when the content is a container of the right kind
    "docx": f"{_OFFICE}wordprocessingml.document",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "epub": "application/epub+zip",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
}
_CODE = {  # media type: extensions and whole names
    "text/x-python": "py pyi pyw",
    "text/javascript": "js mjs cjs jsx",
    "text/x-typescript": "ts tsx mts cts",
    "text/x-c": "c h",
    "text/x-c++": "cc cpp cxx hh hpp hxx ino",
    "text/x-csharp": "cs",
    "text/x-java": "java",
    "text/x-kotlin": "kt kts",
    "text/x-scala": "scala sc",
    "text/x-go": "go",
    "text/x-rust": "rs",
    "text/x-ruby": "rb rake gemfile rakefile",
    "text/x-php": "php",
    "text/x-perl": "pl pm",
    "text/x-swift": "swift",
    "text/x-objective-c": "m mm",
    "text/x-haskell": "hs lhs",
    "text/x-ocaml": "ml mli",
    "text/x-elixir": "ex exs",
    "text/x-erlang": "erl hrl",
    "text/x-clojure": "clj cljs edn",
    "text/x-lisp": "lisp el scm rkt",
    "text/x-lua": "lua",
    "text/x-r": "r",
    "text/x-julia": "jl",
    "text/x-dart": "dart",
    "text/x-zig": "zig",
    "text/x-nim": "nim",
    "text/x-fortran": "f f90 f95 for",
    "text/x-pascal": "pas",
    "text/x-groovy": "groovy gradle",
    "text/x-sh": "sh bash zsh fish",
    "text/x-powershell": "ps1 psm1",
    "text/x-batch": "bat cmd",
    "text/x-sql": "sql",
    "text/x-makefile": "mk makefile gnumakefile",
    "text/x-cmake": "cmake cmakelists.txt",
    "text/x-dockerfile": "dockerfile containerfile",
    "text/x-terraform": "tf hcl",
    "text/x-nix": "nix",
    "text/x-protobuf": "proto",
    "text/x-graphql": "graphql gql",
    "text/css": "css scss sass less",
    "text/x-vue": "vue svelte",
    "text/x-assembly": "s asm",
    "text/x-diff": "diff patch",
}
_DATA = {
    "application/json": "json geojson webmanifest",
    "application/jsonl": "jsonl ndjson",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv tab",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "application/xml": "xml xsd xsl xslt rss atom plist",
    "text/x-ini": "ini cfg conf properties editorconfig",
    "text/x-log": "log",
}
_PROSE = {
    "text/plain": "txt text asc nfo",
    "text/markdown": "md markdown mdown mkd mdx qmd rmd",
    "text/html": "html htm xhtml",
    "text/x-rst": "rst rest",
    "text/x-asciidoc": "adoc asciidoc",
    "text/x-tex": "tex latex bib",
    "text/x-org": "org",
    "text/x-subtitles": "srt vtt",
}
_LATER = {  # text on the outside, but reading it as text would only find its wrapping
    "application/x-ipynb+json": "ipynb",
    "message/rfc822": "eml",
    "application/mbox": "mbox",
    "image/svg+xml": "svg",
}
CODE_TYPES = tuple(_CODE)
DATA_TYPES = tuple(_DATA)
_BY_EXTENSION = {
    extension: kind
    for table in (_CODE, _DATA, _PROSE, _LATER)
    for kind, extensions in table.items()
    for extension in extensions.split()
}
_PDF_JUNK = 1024  # bytes that may stand before a PDF's signature (ISO 32000-1, annex H.3.4.1)


def media_type(name: str, head: bytes) -> str:
    """Tell a document's media type.

    Args:
        name: the file's name; only its extension (or the whole of names such as ``Makefile``) counts.
        head: its first bytes; 64 KiB are enough for anything.

    Returns:
        A media type; ``text/plain`` for text of an unknown kind, ``application/octet-stream`` for other bytes.
    """
    extension = _extension(name)
    for signature, kind in _MAGIC:
        if head.startswith(signature):
            return _BINARY_EXTENSIONS.get(extension, kind) if kind == "application/x-ole-storage" else kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _archive(extension, head)
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}[head[8:12]]
    if head[4:8] == b"ftyp":
        return "video/mp4"
    binary = looks_binary(head)
    if b"%PDF-" in head[:_PDF_JUNK] and (binary or extension == "pdf"):
        return "application/pdf"
    if binary:
        return "application/octet-stream"
    return _BY_EXTENSION.get(extension) or _sniffed(head)


def _extension(name: str) -> str:
    """Take what decides about a text: the extension in lower case, or the whole name of such as ``Makefile``."""
    whole = name.lower()
    return whole if whole in _BY_EXTENSION else PurePath(whole).suffix.removeprefix(".")


def _archive(extension: str, head: bytes) -> str:
    """Tell what a zip file holds by its first members."""
    for member, kind in _ZIP_MEMBERS:
        if member in head:
            return kind
    return _BINARY_EXTENSIONS.get(extension, "application/zip")


def _sniffed(head: bytes) -> str:
    """Tell a text without a known extension by how it begins."""
    start = head[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if start.startswith(b"<?xml"):
        return "application/xml"
    if start.startswith(b"#!"):
        return "text/x-python" if b"python" in start.partition(b"\n")[0] else "text/x-sh"
    return "text/plain"
