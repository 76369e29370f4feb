"""Two libraries for each reader: one with documents hidden from him, one in which they never were. He cannot tell."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import pincite
from pincite.access import Principal
from pincite.errors import PinciteError
from pincite.library import Library
from tests.fakes import HashEncoder

LABELS = ("hr", "board", "lab")
WORDS = [
    *("river", "bridge", "gauge", "pump", "valve", "weir", "dam", "flood", "water", "level", "sensor", "repair"),
    *("invoice", "budget", "salary", "contract", "engine", "ferry", "harbour", "lock", "canal", "pressure", "litre"),
    *("metre", "winter", "summer", "inspection", "report", "notice", "crew", "shift"),
]
GERMAN = [
    *("der", "die", "das", "Fluss", "Brücke", "Pegel", "Pumpe", "Ventil", "Wehr", "Damm", "Hochwasser", "Wasser"),
    *("und", "ist", "nicht", "ein", "eine", "Reparatur"),
]
FORGOTTEN = {"seconds", "key", "sequence", "added_ns", "checked_ns", "modified_ns", "modified_at", "path"}


@dataclass(frozen=True)
class Made:
    """A document of a world."""

    uri: str
    text: str
    title: str
    labels: tuple[str, ...]  # of its folder and its own: the nearest counts
    canary: str  # a word that only it has

    def shown(self, grants: frozenset[str]) -> bool:
        return not self.labels or not grants.isdisjoint(self.labels)


def documents(rng: random.Random, count: int) -> list[Made]:
    """Make documents in folders, some labelled, some in German, some near duplicates of the one before."""
    folders = {f"note:f{n}": tuple(sorted(rng.sample(LABELS, rng.choice((0, 0, 1, 1, 2))))) for n in range(4)}
    made: list[Made] = []
    for number in range(count):
        folder = rng.choice(sorted(folders))
        canary = f"Canary{rng.getrandbits(48):012x}"
        words = GERMAN if rng.random() < 0.3 else WORDS
        sentences = [" ".join(rng.choices(words, k=rng.randint(5, 14))).capitalize() for _ in range(rng.randint(1, 5))]
        sentences.append(f"The {canary} holds {rng.randint(2, 99)} litres of water")
        text = ". ".join(sentences) + "."
        if made and rng.random() < 0.2:
            text = made[-1].text.replace(made[-1].canary, canary)
        own = tuple(sorted(rng.sample(LABELS, rng.randint(1, 2)))) if rng.random() < 0.25 else ()
        labels = own or folders[folder]
        made.append(Made(f"{folder}/{canary}{number}.txt", text, f"On {rng.choice(words)} {canary}", labels, canary))
    return made


def library_of(folder: Path, made: Sequence[Made], encoder: HashEncoder) -> Library:
    """Make a library of some documents, with their labels."""
    library = pincite.open(folder, encoder=encoder, generator="none", reranker="none", verifier="none")
    with library.store.together():
        for document in made:
            if document.labels:
                library.store.put_labels(document.uri, document.labels)
            library.add_text(document.uri, document.text, title=document.title, metadata={"words": len(document.text)})
    return library


@dataclass
class World:
    """What one reader sees of it, and what he would see if there were nothing else."""

    made: list[Made]
    principal: Principal
    real: Library  # with hidden documents, through his eyes
    ideal: Library  # without them, through his eyes

    @property
    def hidden(self) -> list[Made]:
        assert self.principal.grants is not None
        return [document for document in self.made if not document.shown(self.principal.grants)]

    @property
    def shown(self) -> list[Made]:
        return [document for document in self.made if document not in self.hidden]


def worlds(folder: Path, seed: int, users: Sequence[Principal], count: int) -> Iterator[World]:
    """Make one world for several readers."""
    rng = random.Random(seed)
    encoder = HashEncoder()
    made = documents(rng, count)
    with ExitStack() as stack:
        whole = stack.enter_context(library_of(folder / f"{seed}", made, encoder))
        for number, user in enumerate(users):
            assert user.grants is not None
            seen = [document for document in made if document.shown(user.grants)]
            alone = stack.enter_context(library_of(folder / f"{seed}-{number}", seen, encoder))
            yield World(made, user, whole.seen_by(user), alone.seen_by(user))


def plain(value: Any) -> Any:
    """Turn a result into plain data without times and keys; numbers are kept to 6 digits."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name not in FORGOTTEN}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items() if key not in FORGOTTEN}
    if isinstance(value, bool | int | str | bytes) or value is None:
        return value
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Sequence | set | frozenset):
        return [plain(part) for part in value]
    return repr(type(value))


def told(call: Callable[[], Any]) -> Any:
    """Give a call's result, or what its error tells."""
    try:
        return plain(call())
    except PinciteError as error:
        return {"error": type(error).__name__, "message": str(error), "fix": error.fix}
