"""A verifier judges beside the rules: it may lift or lower a verdict, but a fault that a rule found stays one."""

import pytest

from pincite.errors import ModelLimit
from pincite.ground.check import check_text
from pincite.ground.verify import Check, judged
from pincite.models.protocols import Judgement
from tests.ground.fakes import Scripted, hits, text_of
from tests.ground.test_answer import GOOD, KV, LORA, ask


class Judge:
    """Says the same of every claim, and remembers what it was asked."""

    name = "judge"

    def __init__(self, support, contradiction=0.0, parts=(), limit=False):
        self.judgement, self.limit, self.asked = Judgement(support, contradiction, parts), limit, []

    def judge(self, pairs):
        if self.limit:
            raise ModelLimit("The claim is too long.", fix="Ask a shorter one.")
        self.asked += pairs
        return [self.judgement for _ in pairs]


SURE = Check("supported", 0.9, ())
THIN = Check("partly", 0.4, ("the cited text does not have 'red'",), ("red",))
WRONG = Check("partly", 0.9, ("the number 6 is not in the cited text",), (), ("the number 6 is not in the cited text",))


@pytest.mark.parametrize(
    ("check", "judgement", "verdict", "parts"),
    [
        (SURE, Judgement(0.9, 0.0), "supported", ()),
        (SURE, Judgement(0.2, 0.1), "partly", ()),
        (SURE, Judgement(0.2, 0.1, ("green",)), "partly", ("green",)),
        (SURE, Judgement(0.1, 0.8), "unsupported", ()),
        (THIN, Judgement(0.9, 0.0), "supported", ()),
        (THIN, Judgement(0.1, 0.0), "partly", ("red",)),
        (WRONG, Judgement(0.9, 0.0), "partly", ()),
    ],
)
def test_a_judgement_stands_for_the_score_and_not_for_the_rules(check, judgement, verdict, parts):
    found = judged(check, judgement)
    assert (found.verdict, found.parts, found.support) == (verdict, parts, judgement.support)
    assert bool(found.problems) == (verdict != "supported")
    assert not check.faults or check.faults[0] in found.problems


def test_an_answer_asks_it_of_each_claim_that_is_no_quote(encoder):
    judge = Judge(0.1, 0.9)
    answer = ask(generator=Scripted(f"{GOOD} {KV}"), encoder=encoder, verifier=judge)
    assert [claim for _, claim in judge.asked] == ["The KV cache keeps the keys and values of earlier tokens."]
    assert judge.asked[0][0] == KV
    assert [claim.verdict for claim in answer.claims] == ["unsupported", "supported"]
    assert "says the opposite" in answer.claims[0].problems[0]


def test_it_is_loaded_only_for_a_draft_and_may_find_a_claim_too_long(encoder):
    loaded = []

    def load():
        loaded.append(1)
        return Judge(0.0, limit=True)

    ask(encoder=encoder, verifier=load)
    assert loaded == []
    answer = ask(generator=Scripted(GOOD), encoder=encoder, verifier=load)
    assert (loaded, answer.claims[0].verdict) == ([1], "supported")


def test_a_checked_text_asks_it_too():
    judge = Judge(0.2, parts=("small",))
    found = check_text(
        "LoRA trains small matrices.", lambda _: hits(LORA), encoder=None, text_of=text_of, verifier=judge
    )
    assert len(judge.asked) == 1
    assert (found.claims[0].verdict, found.claims[0].parts) == ("partly", ("small",))
