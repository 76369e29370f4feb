"""What is told of a draft that stands behind quotes."""

import pytest

import pincite
from tests.fakes import HashEncoder
from tests.test_conversation import GOODS, LAW, Recorder


@pytest.mark.parametrize(
    ("draft", "times"),
    [
        ("the seller of goods is liable for  defects for two years after delivery.", 1),
        ("The seller of goods is liable for two years after delivery.", 2),
    ],
)
def test_a_sentence_that_repeats_a_quote_is_not_told_twice(tmp_path, draft, times):
    recorder = Recorder(draft)
    recorder.name = "recorder-135m"
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator=recorder, strictness=0.0) as library:
        library.add_text("note:law", LAW, title="law")
        answer = library.ask(GOODS)
    said = answer.text + " ".join(finding.message for finding in answer.findings if finding.kind == "claim_left_out")
    assert said.lower().count("two years after delivery") == times
