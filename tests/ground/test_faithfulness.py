"""An answer rests on what it cites: without the passage, or with another number in it, it is another answer."""

import os
import subprocess
import sys

import pytest

from tests.ground.fakes import Scripted
from tests.ground.test_answer import KV, LORA, TEMPERATURE, ask

BRIDGE = "The Falcon bridge was opened in May 1987 and is 420 metres long."
FERRY = "The Heron ferry crosses the bay in 25 minutes and carries 60 cars."
TOWER = "The Kestrel tower holds 12 bells, and the largest weighs 900 kg."
QUESTIONS = {
    "How long is the Falcon bridge?": BRIDGE,
    "How many cars does the Heron ferry carry?": FERRY,
    "How many bells does the Kestrel tower hold?": TOWER,
    "What does the KV cache keep?": KV,
}
TEXTS = (BRIDGE, FERRY, TOWER, KV, LORA, TEMPERATURE)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("drafted", [False, True])
def test_without_the_cited_passage_the_answer_is_another_or_refused(question, drafted, encoder):
    cited = QUESTIONS[question]
    generator = Scripted(cited, name="tiny-135m") if drafted else None  # a model that says the same whatever it reads
    before = ask(question, TEXTS, generator=generator, encoder=encoder)
    assert cited in before.text
    after = ask(question, tuple(t for t in TEXTS if t != cited), generator=generator, encoder=encoder)
    assert after.outcome == "not_in_documents" or cited not in after.text


@pytest.mark.parametrize(("old", "new"), [("420", "470"), ("25", "35"), ("60", "80"), ("12", "14")])
@pytest.mark.parametrize("drafted", [False, True])
def test_a_changed_number_changes_the_answer(old, new, drafted, encoder):
    question, cited = next((q, t) for q, t in QUESTIONS.items() if old in t)
    texts = tuple(t.replace(old, new) for t in TEXTS)
    generator = Scripted(cited, name="tiny-135m") if drafted else None
    answer = ask(question, texts, generator=generator, encoder=encoder)
    assert cited.replace(old, new) in answer.text
    assert old not in answer.text


_ASK = """
from tests.ground.fakes import hits, text_of, Scripted
from tests.ground.test_faithfulness import BRIDGE, FERRY, TEXTS, TOWER
from pincite.ground.answer import answer_events
texts = (*TEXTS, BRIDGE.replace("420", "470"), BRIDGE.replace("420", "450"), FERRY.replace("60", "80"))
for generator in (None, Scripted(BRIDGE + " It is red and green. " + TOWER)):
    *_, last = answer_events("How long is the Falcon bridge, and what of the ferry and the tower?", hits(*texts),
        generator=generator, encoder=None, text_of=text_of, languages=("en", "de"), strictness=0.0)
    answer = last.answer
    print(answer.text, answer.claims, answer.citations, answer.findings, [e.text for e in answer.evidence])
"""


def test_answers_do_not_depend_on_the_order_of_hashes():
    told = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run([sys.executable, "-c", _ASK], env=environment, capture_output=True, check=True)
        told.add(done.stdout)
    assert len(told) == 1
    assert b"conflicting" in told.pop()
