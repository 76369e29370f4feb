"""docs/security.md has a line for each of the 38 rows, and names only tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = {int(row[1]): row[0] for row in re.finditer(r"^\| (\d+) \|.*$", PAGE, re.MULTILINE)}
DEFINED = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)


def defined(path: Path) -> set[str]:
    return set(DEFINED.findall(path.read_text(encoding="utf-8")))


def test_there_are_38_rows_each_with_tests():
    assert sorted(ROWS) == list(range(1, 39))
    for number, line in ROWS.items():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        assert len(cells) == 5, number
        assert all(cells[:3]) and "`" in cells[3], number


def test_every_test_that_is_named_exists():
    here = set().union(*(defined(path) for path in Path(__file__).parent.glob("test_*.py")))
    for name in re.findall(r"`((?:tests/[\w/]+\.py::)?test_\w+)`", PAGE):
        path, _, test = name.rpartition("::")
        assert test in (defined(ROOT / path) if path else here), name


def test_every_row_has_a_test_with_its_number():
    named = {int(number) for number in re.findall(r"test_row_(\d\d)_", PAGE)}
    assert named == set(range(1, 39))
