"""Any string is a question: none makes a search fail, in any mode. 10,000 here, 100,000 in the soak."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from pincite.build.chunk import chunk
from pincite.errors import EmptyQuestion
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import search
from pincite.measure.cases import Row
from pincite.measure.corpus import document_of
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import Store
from pincite.store.sqlite.store import open_store
from pincite.types import searched_text
from tests.fakes import HashEncoder

MODES = ("keyword", "vector", "hybrid")
TEXTS = (
    "The harbour master keeps a log of every ship. It is open to all.",
    "Der Hafenmeister führt ein Buch über jedes Schiff, das einläuft. Es ist offen.",
    "港湾長はすべての船の記録を保管しています。",
    "港务长保存每艘船的日志。",
    "นายท่าเก็บบันทึกของเรือทุกลำ",
    "يحتفظ مدير الميناء بسجل لكل سفينة.",
    "항만장은 모든 배의 기록을 보관한다.",
    "C++ and C# and .NET run on a:b, 1,000 x 3.5 km \U0001f6a2 \0 \ud800",
)
BLOCKS = (
    (0x00, 0x7F), (0x80, 0x24F), (0x300, 0x36F), (0x370, 0x52F), (0x590, 0x6FF), (0x900, 0xDFF), (0xE00, 0xEFF),
    (0x1000, 0x109F), (0x1100, 0x11FF), (0x2000, 0x206F), (0x20A0, 0x2BFF), (0x3040, 0x30FF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3), (0xD800, 0xDFFF), (0xE000, 0xF8FF), (0xFB00, 0xFDFF), (0xFE00, 0xFFFF), (0x10000, 0x1FFFF),
    (0x20000, 0x2FA1F), (0xE0000, 0xE01EF), (0x0, 0x10FFFF),
)  # fmt: skip
WORDS = (
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "ship",
    "Schiff",
    "船",
    "*",
    "?",
    '"',
    "'",
    "(",
    ")",
    "[",
    ":",
    "^",
    "~",
    "\\",
    "--",
    ";",
)
WORDS += (
    "\0",
    "\n",
    "\u2028",
    "\ufeff",
    "\u200d",
    "\u0301" * 40,
    "C++",
    "a:b",
    "1,000",
    ".NET",
    "{",
    "<|im_end|>",
    "%s",
)


def questions(seed: int, count: int) -> Iterator[str]:
    """Strings of one block, of several, of words that mean something to some query language, and of repetition."""
    chance = random.Random(seed)
    for _ in range(count):
        length = int(chance.paretovariate(0.8)) if chance.random() < 0.9 else chance.randrange(400)
        blocks = chance.choices(BLOCKS, k=chance.choice((1, 1, 2, 4)))
        parts = [chr(chance.randint(*chance.choice(blocks))) for _ in range(min(length, 1_000))]
        if chance.random() < 0.4:
            for _ in range(chance.randrange(1, 5)):
                parts.insert(chance.randrange(len(parts) + 1), chance.choice(("", " ")) + chance.choice(WORDS))
        yield "".join(parts) * (chance.choice((2, 50)) if chance.random() < 0.02 else 1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(tmp_path_factory.mktemp("any") / "library", analyze=analyze, analyzer=ANALYZER)
    encoder = HashEncoder()
    for number, text in enumerate(TEXTS):
        document = document_of("any", Row(str(number), text))
        spans = chunk(document, encoder.pieces, limit=32)
        texts = [searched_text(span.context, text[span.start : span.end]) for span in spans]
        vectors = dict(zip(map(embedding_hash, texts), encoder.encode(texts), strict=True))
        store.put_document(document, spans, vectors, encoder.fingerprint)
    yield store
    store.close()


def ask(store: Store, seed: int, count: int) -> int:
    """Ask, each question in the next mode; count those that found something."""
    found = 0
    encoder = HashEncoder()
    for number, question in enumerate(questions(seed, count)):
        mode = MODES[number % len(MODES)]
        try:
            hits, _ = search(question, store=store, encoder=encoder, mode=mode, limit=3)
        except EmptyQuestion:
            assert not question.strip()
            continue
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert len(hits) == 3 or mode == "keyword"
        found += bool(hits)
    return found


def test_any_string_is_a_question(store: Store) -> None:
    assert ask(store, seed=1, count=10_000) > 6_600


@pytest.mark.soak
def test_a_hundred_thousand_strings_are_questions(store: Store) -> None:
    assert ask(store, seed=2, count=100_000) > 66_000
