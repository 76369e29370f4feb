"""Each fault that is planted is named; the stages add up; the report is safe and whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import pincite
from pincite.errors import UsageError
from pincite.measure.cases import Case, Gold
from pincite.measure.ceiling import ceiling, says, why
from pincite.measure.report import report_html
from pincite.reports import LOSSES, RIGHT, STAGES, Ceiling
from pincite.serve.cli.main import main
from pincite.types import Answer, Claim
from tests.fakes import HashEncoder
from tests.ground.fakes import HOSTILE as HOSTILE_TEXTS
from tests.planted import FAULTS, Known, World

NOTES = {
    "lighthouse.md": (
        "The lighthouse of Harrow Point stands on a reef two miles from the shore. It was built of granite in 1857"
        " after three ships were lost in one winter. Its lamp burned whale oil until the keepers installed gas."
    ),
    "bees.md": (
        "A colony of honey bees keeps its brood nest at thirty-five degrees. Workers shiver their flight muscles "
        "to make heat without moving their wings. In summer they spread drops of water and fan them dry to cool "
        "the comb."
    ),
    "bread.md": (
        "Sourdough rises because wild yeast and lactic bacteria live together in the starter. The bacteria make "
        "the dough sour, which keeps moulds away for days. Bakers feed a starter with flour and water every twelve"
        " hours."
    ),
    "glacier.md": (
        "The Orlen glacier loses about nine metres of length each year. Meltwater collects in a lake behind its "
        "old moraine, which engineers drain through a tunnel. Hikers may cross the ice only with a licensed guide."
    ),
    "violin.md": (
        "A violin's sound post is a small stick of spruce that stands between the top and the back plate. Moving "
        "it by half a millimetre changes the tone of the instrument. Makers in Cremona varnished with linseed oil."
    ),
    "ferry.md": (
        "The ferry to Skarn island leaves at six in the morning and at noon. Cars must be booked one day ahead, "
        "while bicycles travel free of charge. In storms the crossing is replaced by a bus over the northern "
        "bridge."
    ),
    "contract.md": (
        "The lease may be ended with three months of notice to the end of a quarter. The deposit amounts to two "
        "monthly rents and is paid back within six weeks. Pets other than fish need the landlord's consent."
    ),
    "telescope.md": (
        "The new telescope has a primary mirror of eight segments coated with silver. Silver reflects more "
        "infrared light than aluminium does, though it tarnishes faster. Observers apply for nights twice a year."
    ),
    "cheese.md": (
        "The wheels of Valdor cheese ripen in sandstone caves for fourteen months. Each week they are washed with "
        "brine and turned by hand. A wheel weighs thirty-two kilograms when it leaves the cave."
    ),
    "railway.md": (
        "The mountain railway climbs with a toothed rail on slopes of up to forty-eight percent. Its first engines"
        " were driven by steam and had tilted boilers. Today electricity flows back into the net on the way down."
    ),
    "library.md": (
        "The town library lends tools as well as books, among them drills and a cider press. A reader's card costs"
        " twelve euros a year and is free for children. Returned books spend a night in the freezer against "
        "beetles."
    ),
    "salmon.md": (
        "Young salmon live in the river for two years before they swim to the sea. They find their way back by the"
        " smell of the water in which they hatched. A ladder of thirty pools leads them past the dam at Lunde."
    ),
    "clock.md": (
        "The tower clock is wound by hand on Mondays and Thursdays. Its pendulum is made of invar, an alloy that "
        "hardly grows with heat. A minute hand weighs as much as a grown man."
    ),
    "vaccine.md": (
        "The vaccine must be kept between two and eight degrees. Once a vial is opened it is used within six hours"
        " or thrown away. Nurses note the batch number in the patient's booklet."
    ),
    "orchard.md": (
        "The orchard grows forty kinds of pear, most of them grafted on quince roots. Quince keeps the trees "
        "small, so that pickers need no ladders. Wasps are lured away with jars of beer and syrup."
    ),
    "printer.md": (
        "The workshop's printer melts a thread of plastic and lays it down in layers. Parts that hang over need "
        "supports, which are broken off afterwards. The plate is heated to sixty degrees to make the first layer "
        "stick."
    ),
}
ASKED = {
    "orchard.md": ("How many kinds of pear does the orchard grow?", 0),
    "bees.md": ("At what temperature does a colony of bees keep its brood nest?", 0),
    "bread.md": ("How often do bakers feed a sourdough starter?", 2),
    "contract.md": ("How much is the deposit of the lease?", 1),
    "cheese.md": ("How much does a wheel of Valdor cheese weigh?", 2),
    "salmon.md": ("How do salmon find their way back to the river?", 1),
    "clock.md": ("What is the pendulum of the tower clock made of?", 1),
    "ferry.md": ("Do bicycles cost anything on the ferry to Skarn island?", 1),
}


class Remembering:
    """The real encoder, each text once."""

    def __init__(self, encoder) -> None:
        self.encoder, self.known = encoder, {}

    def __getattr__(self, name: str):
        return getattr(self.encoder, name)

    def encode(self, texts):
        new = sorted(set(texts) - set(self.known))
        if new:
            self.known.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack([self.known[text] for text in texts])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, encoder) -> World:
    place = tmp_path_factory.mktemp("planted")
    made = World(place / "notes", place / "t.pincite", Remembering(encoder), NOTES, limit=3)
    made.make()
    return made


def cases() -> list[Known]:
    return [
        Known(note, question, re.split(r"(?<=\.) ", NOTES[note])[sentence])
        for note, (question, sentence) in ASKED.items()
    ]


def test_without_a_fault_everything_is_answered(world: World) -> None:
    with world.open() as library:
        for case in cases():
            found = library.why(case.question, world.path(case), quote=case.quote)
            assert (found.stage, found.found) == ("answered", True), case
            [(start, end)] = found.spans
            assert library.document(world.path(case)).text[start:end] == case.quote
            assert found.places[0].rank


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_planted_fault_is_named(world: World, number: int) -> None:
    name, stage, fault = FAULTS[number]
    case = cases()[number % len(ASKED)]
    with fault(world, case) as (asked, target, library):
        found = why(target, asked, library.store)
    assert found.stage == stage, (name, found.reason)
    assert found.reason.endswith((".", "!", "?"))
    assert not found.found


def asked_of(world: World, rows: list[Case], **options) -> Ceiling:
    with world.open() as library:
        return ceiling(
            "notes",
            rows,
            ask=lambda question: library.asked(question, refresh=False, **options),
            store=library.store,
            uri_of=library.uri,
        )


def test_every_case_goes_to_exactly_one_stage(world: World) -> None:
    rows = [Case(c.note, c.question, (), (Gold(str(world.path(c)), quote=c.quote),)) for c in cases()]
    rows += [
        Case("gone", "Who owns the mill?", (), (Gold(str(world.folder / "mill.md")),)),
        Case("misquoted", "When does the ferry leave?", (), (Gold(str(world.folder / "ferry.md"), quote="at five"),)),
        Case("off", "Which treaty ended the war of the roses in Portugal?", answerable=False),
        Case("on", "How many wheels of cheese does a cave hold?", answerable=False),
        Case("draft", "What is that?", (), (Gold("x"),), status="draft"),
        Case("blank", "  ", (), (Gold("x"),)),
        Case("nothing to look for", "What is that?"),
    ]
    found = asked_of(world, rows)
    assert found.left_out == 3
    assert [case.id for case in found.cases] == [row.id for row in rows[:-3]]
    counts = found.counts
    assert sum(counts.values()) == len(found.cases) == len(rows) - 3
    assert list(counts) == list(STAGES)
    stages = {case.id: case.why.stage for case in found.cases}
    assert [stages[case.note] for case in cases()] == ["answered"] * len(cases())
    assert stages["gone"] == "document_missing"
    assert stages["misquoted"] == "text_not_extracted"
    assert stages["off"] == "refused_rightly"
    assert stages["on"] == "not_refused"
    assert found.answerable == len(cases()) + 2
    misquoted = found.cases[len(cases()) + 1].why
    assert misquoted.nearest == "The ferry to Skarn island leaves at six in the morning and at noon."


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_any_text_may_be_question_quote_or_name(world: World, text: str) -> None:
    with world.open() as library:
        if re.search("[\ud800-\udfff]", text):
            with pytest.raises(UsageError):
                library.why(text, text)
        elif text.strip():
            assert library.why(text, text, quote=text, refresh=False).stage == "document_missing"
        found = library.why("When?", world.path(cases()[0]), quote=text, refresh=False)
    assert (found.stage == "text_not_extracted") == bool(text.strip())


@pytest.mark.parametrize("quote", ["A wheel weighs thirty-two kilograms", ""])
def test_what_a_near_duplicate_stands_for_was_found(world: World, quote: str) -> None:
    case = next(case for case in cases() if case.note == "cheese.md")
    copy = world.write("cheese again.md", NOTES[case.note] + "\n")
    try:
        with world.open() as library:
            both = [library.why(case.question, path, quote=quote) for path in (world.path(case), copy)]
            assert [len(hit.also) for hit in library.search(case.question, limit=1)] == [1]
    finally:
        copy.unlink()
        with world.open() as library:
            library.refresh()
    assert [found.stage for found in both] == ["answered", "answered"]


def test_drafts_are_asked_when_they_are_wanted(world: World) -> None:
    case = cases()[0]
    draft = Case("d", case.question, (), (Gold(str(world.path(case)), quote=case.quote),), status="draft")
    with world.open() as library:
        given = {"ask": library.asked, "store": library.store, "uri_of": library.uri}
        with pytest.raises(UsageError, match="No case of n"):
            ceiling("n", [draft], **given)
        assert ceiling("n", [draft], drafts=True, **given).counts["answered"] == 1


def test_the_gold_that_came_furthest_counts(world: World) -> None:
    case = cases()[0]
    places = (
        Gold("nowhere.md"),
        Gold(str(world.path(case)), quote=case.quote),
        Gold(str(world.path(case)), quote="no"),
    )
    [found] = asked_of(world, [Case("one", case.question, (), places)]).cases
    assert found.why.stage == "answered"
    assert found.why.quote == case.quote


def test_without_a_place_the_expected_answer_is_looked_for_in_the_source(world: World) -> None:
    bread, clock = (Gold(str(world.folder / name)) for name in ("bread.md", "clock.md"))
    question = "How often do bakers feed a sourdough starter?"
    rows = {
        "said": Case("said", question, ("every twelve hours",), (clock, bread)),
        "nowhere": Case("nowhere", question, ("twice",), (clock, bread)),
        "long": Case("long", question, ("They feed it with flour and water two times each day.",), (bread,)),
        "yes": Case("yes", "Does a sourdough starter hold wild yeast?", ("yes",), (bread,)),
    }
    stages = {case.id: case.why.stage for case in asked_of(world, list(rows.values())).cases}
    assert stages == {"said": "answered", "nowhere": "text_not_extracted", "long": "answered", "yes": "answered"}


def test_an_answer_that_says_what_was_expected_is_right_wherever_it_comes_from(world: World) -> None:
    question, elsewhere = "How many kinds of pear does the orchard grow?", (Gold("nowhere.md"),)
    right, wrong = asked_of(
        world, [Case("a", question, ("Forty", "40"), elsewhere), Case("b", question, ("four",), elsewhere)]
    ).cases
    assert (right.why.stage, wrong.why.stage) == ("answered", "document_missing")


@pytest.mark.parametrize(
    ("text", "expected", "right"),
    [
        ("It was built in the 10th century.", "10th Century", True),
        ("It was built in the 10th century.", "0th century", False),
        ("Paid by A. Smith & Sons", "smith sons", True),
        ("在北京。", "北京", True),
        ("anything", "the", False),
        ("anything", "", False),
        ("one two three four five six seven eight", "one two three four five six seven eight", True),
        ("one two three four five six seven eight nine", "one two three four five six seven eight nine", False),
        ("Yes, it is.", "yes", False),
    ],
)
def test_what_counts_as_saying_an_answer(text: str, expected: str, right: bool) -> None:
    claims = (Claim(0, len(text), text, "supported"), Claim(0, 1, "unheard 77", "unsupported"))
    answer = Answer("q", text, "answered", claims)
    assert says(answer, ["", expected]) == right
    assert not says(answer, ["77"])


def test_a_report_of_a_real_run_has_a_section_for_each_stage_with_cases(world: World) -> None:
    rows = [Case(c.note, c.question, (), (Gold(str(world.path(c)), quote=c.quote),)) for c in cases()[:2]]
    rows += [Case("gone", "Who owns the mill?", (), (Gold(str(world.folder / "mill.md")),))]
    found = asked_of(world, rows)
    page = report_html(found)
    assert set(re.findall(r'<section id="(\w+)"', page)) == {stage for stage, count in found.counts.items() if count}
    assert "<b>2 of 3</b>" in page
    assert f"<mark class=gold>{cases()[0].quote}</mark>" in page


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Two notes in a library of the command line, with a quick encoder."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "cheese.md").write_text(NOTES["cheese.md"])
    (folder / "clock.md").write_text(NOTES["clock.md"])
    monkeypatch.setenv("PINCITE_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "t.pincite"))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: HashEncoder())
    assert main(["add", str(folder)]) == 0
    capsys.readouterr()
    return folder


def test_why_on_the_command_line(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["why", "What is the pendulum of the tower clock made of?", "--document", str(notes / "clock.md")]
    assert main([*ask, "--quote", "made of invar", "--json"]) == 0
    shaped = json.loads(capsys.readouterr().out)
    assert (shaped["stage"], shaped["found"]) == ("answered", True)
    [span] = shaped["spans"]
    assert NOTES["clock.md"][span["start"] : span["end"]] == "made of invar"
    assert {place["stage"] for place in shaped["places"]} == {"vector", "keyword", "fused"}
    assert "pendulum" in shaped["matched"]
    assert main([*ask, "--quote", "made of brass"]) == 1
    shown = capsys.readouterr().out
    assert "TEXT NOT EXTRACTED" in shown
    assert "Its pendulum is made of invar" in shown
    assert main([*ask, "--where", "path~*cheese*"]) == 1
    assert "FILTERED OUT" in capsys.readouterr().out
    assert main([*ask[:3], str(notes / "gone.md"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["stage"] == "document_missing"


def test_search_explains_each_hit(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ["search", "pendulum of brass", "--explain"]
    assert main([*ask, "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["hits"][0]
    assert best["ranks"] == {"vector": 1, "keyword": 1, "fused": 1}
    assert best["scores"].keys() == best["ranks"].keys()
    assert (best["matched"], best["lacking"]) == (["pendulum"], ["brass"])
    assert main(ask) == 0
    shown = capsys.readouterr().out
    assert "vector #1 (" in shown
    assert "Has: pendulum · lacks: brass" in shown


def test_the_ceiling_on_the_command_line(notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"question": "What is the pendulum made of?", "source": str(notes / "clock.md"), "quote": "made of invar"},
        {"question": "How are the wheels turned?", "source": str(notes / "none.md")},
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["ceiling", str(tmp_path / "cases.jsonl"), "--html", str(tmp_path / "report.html")]
    assert main([*command, "--json"]) == 0
    shaped = json.loads(capsys.readouterr().out)
    assert shaped["questions"] == 2
    assert sum(row["share"] for row in shaped["stages"]) == pytest.approx(1)
    assert [case["stage"] for case in shaped["cases"]] == ["answered", "document_missing"]
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert re.search(r"document missing +1 +50.0 %", shown)
    assert re.search(r"together +2 +100.0 %", shown)
    assert main([*command[:2], "--html", str(tmp_path / "no" / "report.html")]) == 2


def test_the_ceiling_of_a_folder_with_its_own_corpus(notes: Path, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    rows = {
        "corpus": [{"_id": "d/1", "title": "Clock", "text": NOTES["clock.md"]}],
        "queries": [{"_id": "q", "text": "pendulum made of"}],
    }
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td/1\t1\n")
    assert main(["ceiling", str(folder), "--json"]) == 0
    [case] = json.loads(capsys.readouterr().out)["cases"]
    assert case["stage"] == "answered"
    with pincite.open(generator="none") as library:
        assert library.stats().documents == 2  # the person's own library was left alone


def test_every_stage_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "commands.md").read_text()
    assert not [stage for stage in (*LOSSES, *RIGHT) if f"`{stage}`" not in page]
