"""Whether the library holds what a question should find: the document, its newest text, the words in one passage."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace

from pincite.acquire.crawl import Skipped, crawl
from pincite.acquire.load import changed_ns, load
from pincite.acquire.uri import path_of, shown
from pincite.build.roots import roots
from pincite.build.sync import Selection
from pincite.errors import NotInLibrary, SourceError
from pincite.find.analyze import analyze
from pincite.reports import Why
from pincite.store.protocol import SourceRecord, Store
from pincite.text import quoted_places, sentences
from pincite.types import Passage

_MOST_SPANS = 200  # places of short words such as a year; more would only cost time


@dataclass(frozen=True, slots=True)
class Target:
    """What a question should find. With nothing but a URI, any passage of the document will do."""

    uri: str
    quote: str = ""
    start: int | None = None  # in the canonical text; the quote, if there is one, must stand there
    end: int | None = None
    words: tuple[str, ...] = ()  # answers, one of which is to be found in it, where nothing says the place


@dataclass(frozen=True, slots=True)
class Held:
    """Where the library holds a target."""

    version: int
    spans: tuple[tuple[int, int], ...]  # [start, end) in the canonical text, in order; none: the whole document
    passages: tuple[Passage, ...]  # in order
    whole: bool  # any of the passages will do; False: the words lie across all of them
    stale: tuple[str, str] | None  # reason and fix, when the disk has, or may have, a newer version


def held(target: Target, store: Store, base: Why) -> Held | Why:
    """Say where the library holds a target, or else, as a change of ``base``, why it does not.

    The stage of that is "document_missing", "document_stale" or "text_not_extracted".
    """
    record = store.source(target.uri)
    if record is None:
        return _never_taken_in(base, store)
    if not record.version:
        reason = f"The document was added and could not be read: {record.reason}"
        return replace(base, stage="document_missing", reason=reason, fix=record.fix)
    base = replace(base, version=record.version)
    text = store.document(target.uri).text
    spans, stale = _spans(target, text), _stale(record)
    if not spans and (target.quote or target.start is not None or target.words):
        return _not_in_text(base, target, text, record, stale, store)
    passages = store.passages_of(target.uri)
    whole = [p for p in passages if not spans or any(p.start <= start and end <= p.end for start, end in spans)]
    if whole:
        return Held(record.version, spans, tuple(whole), True, stale)
    for start, end in spans:
        parts = tuple(passage for passage in passages if passage.start < end and start < passage.end)
        if parts:
            return Held(record.version, spans, parts, False, stale)
    reason = "The words are in the document's text, but no passage holds them: they count as page furniture."
    return replace(base, stage="text_not_extracted", reason=reason if spans else "The document holds no text.")


def _spans(target: Target, text: str) -> tuple[tuple[int, int], ...]:
    """Find the words: at their place, else wherever the quote stands, else wherever an answer stands."""
    start, end = target.start, target.end
    if start is not None and end is not None and start < end <= len(text):
        there = text[start:end]
        if not target.quote or quoted_places(there, target.quote):
            return ((start, end),)
    if target.quote:
        return tuple(quoted_places(text, target.quote)[:_MOST_SPANS])
    if start is not None:
        return ()
    places = {place for answer in target.words for place in quoted_places(text, answer) if _is_whole(text, *place)}
    return tuple(sorted(places)[:_MOST_SPANS])


def _is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether a place does not begin or end within a word: "10" is not in 2010. Only for ASCII words."""
    before, after = text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]
    return not any(len(pair) == 2 and pair.isascii() and pair.isalnum() for pair in (before, after))


def _never_taken_in(base: Why, store: Store) -> Why:
    """Say why the catalogue does not have a document."""
    missing = replace(base, stage="document_missing", fix="Add it: pincite add PATH.")
    followed = roots(store)
    # The disk is no answer to who does not see what is followed, and elsewhere to nobody.
    if not base.uri.startswith("file:///") or not followed:
        return replace(missing, reason="The library holds nothing by this name.")
    path = path_of(base.uri)
    above = [root for root in followed if root.path == path or root.path in path.parents]
    if not above:
        reason = "It was never added, or it was removed from the library."
        return replace(missing, reason=reason, fix=f"Add it: pincite add {shown(path)}")
    if not os.path.lexists(path):
        reason = "Neither the disk nor the library has this file."
        return replace(missing, reason=reason, fix="Check the path; `pincite list` shows what the library holds.")
    reason, fix = _passed_over(max(above, key=lambda root: len(root.path.parts)), base.uri)
    return replace(missing, reason=reason, fix=fix or f"Add it by name: pincite add {shown(path)}")


def _passed_over(root: Selection, uri: str) -> tuple[str, str]:
    """Say why a file below a folder that was added is not in the library: (reason, fix)."""
    inner = path_of(uri).relative_to(root.path)
    if any("/" + glob.escape(name.as_posix()) in root.exclude for name in (inner, *inner.parents)):
        return "It was removed from the library, or excluded by its name.", ""
    for item in crawl([root.path], include=root.include, exclude=root.exclude):
        if item.uri == uri:
            if isinstance(item, Skipped):
                return f"It was passed over: {item.reason}", item.fix
            return f"It is new in {shown(root.path)}, and the library has not looked since.", ""
    why = "it is hidden, or an ignore file or a pattern of --include or --exclude leaves it out"
    return f"It was left out of {shown(root.path)}: {why}.", ""


def _stale(record: SourceRecord) -> tuple[str, str] | None:
    """Say, with what to do, why the stored version may not be the newest: it failed, or the disk has other bytes."""
    if record.status in ("failed", "unsupported"):
        return record.reason, record.fix
    if not record.source.uri.startswith("file:///"):
        return None
    try:
        status = path_of(record.source.uri).stat()
    except NotADirectoryError:  # inside an archive or a mail
        return None
    except FileNotFoundError:
        return "The file is not on the disk any more.", "Run pincite add on its folder."
    except OSError as error:
        return f"It cannot be looked at now: {error.strerror}.", "Check the permissions of its folder."
    if (status.st_size, changed_ns(status)) == (record.source.size, record.source.modified_ns):
        return None
    try:
        source, _ = load(record.source.uri)
    except SourceError as error:
        return str(error), error.fix
    if source.content_hash == record.source.content_hash:
        return None
    return f"The file has changed since version {record.version} was read.", "Search without --no-refresh, or add it."


def _not_in_text(
    base: Why, target: Target, text: str, record: SourceRecord, stale: tuple[str, str] | None, store: Store
) -> Why:
    """Say why the words are not in the canonical text: it is old, or reading did not bring them in."""
    nearest = nearest_text(target.quote or " ".join(target.words), text, record.language)
    if stale:
        reason = f"The library holds version {record.version}, which lacks the words. {stale[0]}"
        return replace(base, stage="document_stale", reason=reason, fix=stale[1], nearest=nearest)
    reason = f"The words are not in the text of version {record.version}."
    fix = f"Compare it with the file: pincite show --text {record.document_id}"
    older = _last_version_with(target, record.version, store)
    if older:
        reason += f" Version {older} held them: the document has changed since."
        fix = "Mend the quote, if the change is wanted."
    elif record.status == "partly":
        reason += f" It was read only partly: {record.reason}"
        fix = record.fix or fix
    return replace(base, stage="text_not_extracted", reason=reason, fix=fix, nearest=nearest)


def _last_version_with(target: Target, current: int, store: Store) -> int:
    """Give the newest earlier version that holds the words, 0 if none that is still kept does."""
    for version in range(current - 1, 0, -1):
        try:
            text = store.document(target.uri, version).text
        except NotInLibrary:
            return 0
        if _spans(target, text):
            return version
    return 0


def nearest_text(quote: str, text: str, language: str) -> str:
    """Give the sentence that has the largest share of the quote's terms, the first of equals; "" if none has any."""
    wanted = frozenset(analyze(quote, language))
    best, most = "", 0
    for start, end in sentences(text):
        common = len(wanted.intersection(analyze(text[start:end], language)))
        if common > most:
            best, most = text[start:end], common
    return best
