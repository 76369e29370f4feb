"""Varied passages from a seed: lengths, scripts, code, emoji, and what a tokenizer finds hard."""

from __future__ import annotations

import random

WORDS = (
    "the a of cache reads keys and values so that earlier tokens are not computed again contract clause seven shall"
    " survive termination river delta sediment carries nitrogen downstream whenever rainfall exceeds forty"
    " millimetres a day",
    "Die Verträge enthalten Fußnoten über Haftung Gewährleistung und Rücktritt außerhalb der üblichen Geschäftszeiten",
    "Les élèves étudièrent la forêt où naquît l'œuvre déjà citée près du château à côté de l'hôtel",
    "Договор вступает в силу со дня подписания обеими сторонами и действует один год",
    "ο νόμος ορίζει ότι κάθε πολίτης έχει δικαίωμα στην πρόσβαση",
    "這份文件說明如何在本機執行檢索 以及引用來源的位置",
    "この文書は検索拡張生成の仕組みを説明します トークン",
    "인용은 원문의 정확한 위치를 가리켜야 합니다",
    "ธรรมชาติของภาษาไทยไม่มีช่องว่างระหว่างคำ",
    "هذه الوثيقة تشرح كيفية البحث في النصوص المحلية",
    "यह दस्तावेज़ स्थानीय खोज की व्याख्या करता है",
    "def encode(self, texts: list[str]) -> NDArray: return self._model(texts)[0] # x != y && z <= 3.14e-10;",
    "SELECT d.id, COUNT(*) FROM documents AS d WHERE d.path LIKE '%.md' GROUP BY d.id HAVING COUNT(*) > 1;",
    "😀 👩\u200d👩\u200d👧 🇩🇪 ☕\ufe0f é e\u0301 ﬁ ① ½ … – — “quoted” «so» ‹ça› 100% €5 #42 C++ C# .NET a:b foo-bar"
    " snake_case camelCase",
)


def passages(count: int, seed: int = 0, longest: int = 200) -> list[str]:
    """Make passages of 1 to about ``longest`` words, each mostly of one kind; those of one seed are always the same."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        words = chance.choice(WORDS).split()
        length = max(1, int(longest * chance.random() ** 2))
        picked = [
            chance.choice(words if chance.random() < 0.9 else chance.choice(WORDS).split()) for _ in range(length)
        ]
        made.append(chance.choice((" ", " ", " ", "\n", ", ")).join(picked))
    return made


def fitting(pieces, limit: int, count: int, seed: int = 0, longest: int = 200) -> list[str]:
    """Make passages of at most ``limit`` word pieces, cut at a piece where they are longer."""
    made = []
    for text in passages(count, seed, longest):
        starts = pieces.starts(text)
        made.append(text if len(starts) <= limit else text[: int(starts[limit])].rstrip())
    return [text for text in made if pieces.count(text) <= limit]
