"""Thirty faults of twelve kinds, planted one at a time into a library that answers; each belongs to one stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import pincite
from pincite.acquire.read import READERS
from pincite.acquire.readers import markdown
from pincite.acquire.uri import uri_of
from pincite.find.held import Target
from pincite.generate.evidence import Sentence
from pincite.ground import answer as answering
from pincite.ground import telling
from pincite.ground.extract import best_quotes
from pincite.measure.ceiling import Asked
from pincite.models.protocols import Finish, Piece
from pincite.reports import Why
from pincite.store.filters import Is, Not
from pincite.text import sentences


@dataclass(frozen=True)
class Known:
    """A question, the note that answers it, and the sentence there that does."""

    note: str  # file name
    question: str
    quote: str


@dataclass
class World:
    """A folder of notes in a library."""

    folder: Path
    library: Path
    encoder: Any
    notes: dict[str, str]
    limit: int

    @contextmanager
    def open(self, **options: Any) -> Iterator[pincite.Library]:
        settings = {"generator": "none", "limit": self.limit, "offline": True} | options
        with pincite.open(self.library, encoder=self.encoder, **settings) as library:
            yield library

    def path(self, case: Known) -> Path:
        return self.folder / case.note

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def fillers(self, case: Known, count: int) -> list[str]:
        """Texts of other notes, one for each of ``count``, again and again if need be."""
        others = [" ".join(text.split()) for name, text in self.notes.items() if name != case.note]
        return [others[7 * i % len(others)] for i in range(count)]

    def make(self) -> None:
        self.folder.mkdir()
        for name, text in self.notes.items():
            self.write(name, text)
        with self.open() as library:
            library.add(self.folder)


class Elsewhere:
    """Copies a sentence of the evidence that is not the right one, and adds to it. By its name it counts as large."""

    name, context_tokens = "elsewhere", 4096

    def __init__(self, sentences: Sequence[str], addition: str) -> None:
        self.sentences, self.addition = sentences, addition

    def count(self, text: str) -> int:
        return len(text) // 4 + 1

    def stream(self, messages, options):
        given = "\n".join(message.content for message in messages)
        yield Piece(next((sentence for sentence in self.sentences if sentence in given), "") + self.addition)
        yield Finish("stop", 100, 10, 0)


class Contrary:
    """A reranker that likes best what has the fewest words of the question."""

    name = "contrary"

    def score(self, question: str, texts: Sequence[str]) -> np.ndarray:
        asked = {word.strip("?").casefold() for word in question.split() if len(word) > 4}
        return np.array([not asked & set(text.casefold().replace(".", "").split()) for text in texts], np.float32)


Seen = tuple[Asked, Target, pincite.Library]
Fault = Callable[[World, Known], AbstractContextManager[Seen]]


def seen(library: pincite.Library, world: World, case: Known, **options: Any) -> Seen:
    """Ask in the planted library."""
    path, quote = options.pop("path", world.path(case)), options.pop("quote", case.quote)
    return library.asked(case.question, **options), Target(uri_of(path), quote), library


@contextmanager
def restored(world: World, case: Known) -> Iterator[None]:
    """Put everything back as it was."""
    try:
        yield
    finally:
        for path in world.folder.iterdir():
            if path.name not in world.notes:
                path.unlink()
        world.write(case.note, world.notes[case.note])
        with world.open() as library:
            library.add([world.folder, world.path(case)])


@contextmanager
def removed(world: World, case: Known) -> Iterator[Seen]:
    with restored(world, case), world.open() as library:
        library.remove(world.path(case))
        yield seen(library, world, case)


@contextmanager
def damaged_or_hidden(name: str, world: World, case: Known) -> Iterator[Seen]:
    """The note is there under another name: as a damaged office document, or as a hidden file."""
    with restored(world, case), world.open() as library:
        data = world.path(case).read_bytes()
        world.path(case).unlink()
        path = world.folder / name
        path.write_bytes(b"PK\x03\x04 not a document" if name.endswith(".docx") else data)
        yield seen(library, world, case, path=path)


@contextmanager
def unreadable_now(world: World, case: Known) -> Iterator[Seen]:
    """An older version without the sentence was read; the file that has it cannot be read."""
    with restored(world, case), world.open() as library:
        world.write(case.note, world.notes[case.note].replace(case.quote, "To be written."))
        library.refresh()
        world.path(case).write_bytes(b"GIF89a" + bytes(60))
        yield seen(library, world, case)


@contextmanager
def not_refreshed(world: World, case: Known) -> Iterator[Seen]:
    with restored(world, case), world.open() as library:
        world.write(case.note, world.notes[case.note].replace(case.quote, "To be written."))
        library.refresh()
        world.write(case.note, world.notes[case.note])
        yield seen(library, world, case, refresh=False)


@contextmanager
def broken_reader(world: World, case: Known) -> Iterator[Seen]:
    """The reader leaves the sentence out and says nothing."""

    def read(data: bytes, name: str, media_type: str):
        return markdown.read(data.replace(case.quote.encode(), b""), name, media_type)

    with restored(world, case), patch.dict(READERS, {"text/markdown": read}), world.open() as library:
        world.write(case.note, world.notes[case.note] + "\n")
        yield seen(library, world, case)


@contextmanager
def commented_out(world: World, case: Known) -> Iterator[Seen]:
    with restored(world, case), world.open() as library:
        world.path(case).unlink()
        text = world.notes[case.note].replace(case.quote, f"<!-- {case.quote} -->")
        path = world.write("shown.html", f"<!doctype html><html><body><p>{text}</p></body></html>")
        yield seen(library, world, case, path=path)


@contextmanager
def filtered(world: World, case: Known) -> Iterator[Seen]:
    with world.open() as library:
        yield seen(library, world, case, where=Not(Is("path", str(world.path(case)))))


@contextmanager
def split(world: World, case: Known) -> Iterator[Seen]:
    """Other subjects stand in the middle of the sentence, so that its end is in a passage of its own."""
    words = case.quote.split()
    middle = " ".join(world.fillers(case, 3))
    quote = " ".join((*words[:-2], middle, *words[-2:]))
    with restored(world, case), world.open() as library:
        world.write(case.note, world.notes[case.note].replace(case.quote, quote))
        yield seen(library, world, case, quote=quote, limit=1)


@contextmanager
def outranked(candidates: int, world: World, case: Known) -> Iterator[Seen]:
    """Notes that repeat the question, and say nothing to it, come first."""
    with restored(world, case), world.open(candidates=candidates or 100) as library:
        for number, decoy in enumerate(DECOYS[: world.limit + 4]):
            world.write(f"decoy{number}.md", decoy.format(case.question) + "\n")
        yield seen(library, world, case)


@contextmanager
def reranked(world: World, case: Known) -> Iterator[Seen]:
    with world.open(reranker=Contrary()) as library:
        yield seen(library, world, case)


@contextmanager
def strict_gate(world: World, case: Known) -> Iterator[Seen]:
    judge = answering.judge

    def refuse(*given: Any, **how: Any):
        return judge(*given, **{**how, "strictness": 1.0})

    with world.open() as library, patch.object(answering, "judge", refuse):
        yield seen(library, world, case)


@contextmanager
def tight_budget(world: World, case: Known) -> Iterator[Seen]:
    """A sentence that is nearer to the question takes all the room there is."""
    nearer = f"Many people have asked {case.question[0].lower()}{case.question[1:].rstrip('?')} in this place."
    budget = max(32, len(nearer) // 4 + 12)
    generator = Elsewhere([nearer], "")
    with restored(world, case), world.open(generator=generator, evidence_tokens=budget) as library:
        world.write(case.note, f"{nearer}\n\n{world.notes[case.note]}")
        yield seen(library, world, case, extract=False)


@contextmanager
def generator_adds(addition: str, world: World, case: Known) -> Iterator[Seen]:
    """The generator copies a sentence that does not answer, and perhaps invents one; no quote makes up for it."""
    others = [s for text in world.notes.values() for s in sentences_of(text) if case.quote not in s]

    def elsewhere(*given: Any, **options: Any) -> list[Sentence]:
        return [quote for quote in best_quotes(*given, **options) if case.quote not in quote.text]

    with world.open(generator=Elsewhere(others, addition)) as library, patch.object(telling, "best_quotes", elsewhere):
        yield seen(library, world, case, extract=False)


def sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


# What people wrote who had the same question.
DECOYS = (
    "{} A child put this to her teacher on Tuesday.", "Dear editor: {} Yours, a subscriber.",
    "{} Nobody at our table could say.", "Quiz, round four. {} Pens down after one minute.",
    "{} I have looked everywhere and given up.", "Letters column, spring issue: {}",
    "My grandmother used to wonder: {}", "{} Ask the staff at the counter.", "Unsolved riddles of the village: {}",
    "{} The search engine only shows advertisements.", "For homework: {} Write half a page.",
    "{} A prize awaits whoever finds out first.", "Overheard on the bus: {}", "{} This entry is a stub.",
)  # fmt: skip
INVENTED = " It was decided by Queen Zorblatt of Ankh-Morpork in 1742."
FAULTS: list[tuple[str, str, Fault]] = [
    ("document removed", "document_missing", removed),
    ("document damaged", "document_missing", partial(damaged_or_hidden, "note.docx")),
    ("document hidden", "document_missing", partial(damaged_or_hidden, ".note.md")),
    ("unreadable after a change", "document_stale", unreadable_now),
    ("unreadable after a change", "document_stale", unreadable_now),
    ("changed and not refreshed", "document_stale", not_refreshed),
    ("broken reader", "text_not_extracted", broken_reader),
    ("broken reader", "text_not_extracted", broken_reader),
    ("text in a comment", "text_not_extracted", commented_out),
    ("filter", "filtered_out", filtered),
    ("filter", "filtered_out", filtered),
    *(("sentence stretched over passages", "split_across_passages", split) for _ in range(2)),
    *(("too few candidates", "not_a_candidate", partial(outranked, 1)) for _ in range(3)),
    *(("decoys", "lost_in_fusion", partial(outranked, 0)) for _ in range(3)),
    *(("contrary reranker", "lost_in_reranking", reranked) for _ in range(2)),
    *(("gate too strict", "refused", strict_gate) for _ in range(2)),
    *(("budget of one sentence", "cut_from_prompt", tight_budget) for _ in range(3)),
    *(("generator ignores the evidence", "not_used", partial(generator_adds, "")) for _ in range(2)),
    *(("generator invents", "unsupported", partial(generator_adds, INVENTED)) for _ in range(2)),
]


def diagnosed(fault: Fault, world: World, case: Known, why: Callable[[Target, Asked, Any], Why]) -> tuple[Why, Asked]:
    """Plant a fault, ask, and give the diagnosis."""
    with fault(world, case) as (asked, target, library):
        return why(target, asked, library.store), asked
