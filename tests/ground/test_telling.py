"""Claims told while a draft comes are those of the whole draft, however it comes in pieces."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.generate.evidence import pack, rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.claims import split_claims
from pincite.ground.run import AnswerOptions, Run
from pincite.ground.telling import Telling
from pincite.types import VerdictEvent
from tests.ground.fakes import HOSTILE, hits

TEXTS = ("The KV cache keeps keys and values. It was measured in 2019.", "LoRA trains small matrices.")
SENTENCES = [
    "The KV cache keeps keys. [1]",
    "It was measured, e.g. by Dr. Smith, in 2019 [1, 2].",
    "- LoRA trains small matrices\n",
    "Visit Paris for 3.5 million dollars! [3]",
    "Does it? No.",
]


def told(draft, pieces, policy="flag", **options):
    terms = Terms()
    run = Run("What does the cache keep?", hits(*TEXTS), None, terms, how=AnswerOptions(policy=policy))
    ranking = rank_sentences(run.question, run.hits, encoder=None, terms=terms)
    items = pack(ranking, budget_tokens=400, count=len).items
    telling = Telling(run, ranking, items, **options)
    events = list(telling.begin())
    for piece in pieces:
        events += telling.hear(piece)
    events += telling.end(draft)
    shown = [event for event in events if isinstance(event, VerdictEvent)]
    assert "".join(event.gap + event.claim.text for event in shown) == telling.writer.text
    return telling


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(SENTENCES) | st.sampled_from(HOSTILE), max_size=6),
    st.lists(st.integers(0, 400), max_size=30),
    st.sampled_from(["flag", "drop", "strict"]),
)
def test_no_text_is_lost_or_told_twice_however_it_comes(sentences, cuts, policy):
    draft = " ".join(sentences)
    places = sorted({0, len(draft), *(cut for cut in cuts if cut < len(draft))})
    pieces = [draft[a:b] for a, b in itertools.pairwise(places)]
    telling = told(draft, pieces, policy=policy)
    at = 0
    for claim in telling.writer.claims:
        assert telling.writer.text[claim.start : claim.end] == claim.text
        assert claim.start >= at
        at = claim.end
    if policy == "flag":
        wrote = "".join(claim.plain for claim in split_claims(draft)).split()
        shown = "".join(claim.text.rpartition(" [")[0] or claim.text for claim in telling.writer.claims)
        assert all(word in shown for word in wrote if word.isalpha() and len(word) > 6)


def test_a_sentence_waits_for_its_markers():
    telling = told("", ["The KV cache keeps keys and values.", " [1", "] "])
    assert not telling.by_model
    telling = told("", ["The KV cache keeps keys and values.", " [1", "] Then something else is said."])
    assert telling.writer.claims[0].verdict == "supported"
