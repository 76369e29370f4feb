"""There is no cache of answers to poison: the same question is answered anew from what is there and may be seen now."""

from __future__ import annotations

import ast
from pathlib import Path

import pincite
from pincite.types import Turn
from tests.fakes import HashEncoder

QUESTION = "When was the Alder weir built?"
# What keeps results by their arguments: of the text itself, of a table, or of what is installed; never of a question's
# answer, and never by likeness.
CACHES = {
    "acquire/readers/code_definitions.py": {"_parser"},
    "acquire/readers/docling.py": {"_converter"},
    "acquire/readers/html_hidden.py": {"_called", "_declared", "_number"},  # of a style's own words, in the child
    "acquire/recognise.py": {"program", "_languages"},
    "acquire/uploads.py": {"_prefix"},  # of the folder that a library was opened with
    "find/analyze.py": {"_kept"},
    "find/stems.py": {"stem", "_stemmer"},
    "ground/verify.py": {"calibration"},
    "place.py": {"_code"},
    "settings.py": {"_types"},
    "store/sqlite/where.py": {"_pattern"},
}


def cached(path: Path) -> set[str]:
    """Name the functions of a file that keep their results."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            names = {ast.unparse(decorator).split("(")[0].rpartition(".")[2] for decorator in node.decorator_list}
            if names & {"cache", "lru_cache", "cached_property"}:
                found.add(node.name)
    return found


def test_row_33_every_cache_is_known_and_keyed_by_its_whole_argument():
    package = Path(pincite.__file__).parent
    found = {path.relative_to(package).as_posix(): cached(path) for path in package.rglob("*.py")}
    found = {name: names for name, names in found.items() if names}
    assert found == CACHES


def test_row_33_the_same_question_sees_the_newest_state(library, docs):
    path = docs / "a.md"
    for year in ("1911", "1875", "1642"):
        path.write_text(f"The Alder weir was built in {year} by the engineer Ines Holm.")
        library.add(docs)
        assert year in library.ask(QUESTION, extract=True).text
    library.remove(path)
    assert not library.ask(QUESTION, extract=True).citations


def test_row_33_nobody_gets_what_a_likely_question_of_another_got(tmp_path):
    """One asks with a poisoned conversation, another asks nearly the same: nothing passes between them."""
    for name, year in (("a", "1911"), ("b", "1875")):
        with pincite.open(tmp_path / f"{name}.pincite", encoder=HashEncoder(), generator="none") as library:
            library.add_text("note:1", f"The Alder weir was built in {year} by the engineer Ines Holm.")
    with (
        pincite.open(tmp_path / "a.pincite", encoder=HashEncoder(), generator="none") as one,
        pincite.open(tmp_path / "b.pincite", encoder=HashEncoder(), generator="none") as other,
    ):
        poison = Turn(QUESTION, "It was built in 1642 by Mallory.", ())
        assert "1911" in one.ask(QUESTION + " ", extract=True, history=[poison]).text
        answer = other.ask(QUESTION, extract=True)
        assert "1875" in answer.text and "1911" not in answer.text and "Mallory" not in answer.text
        assert str(one.ask(QUESTION, extract=True).claims) == str(one.ask(QUESTION, extract=True).claims)
