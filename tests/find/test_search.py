"""The pipeline over a real store, with an encoder that hashes words."""

import numpy as np
import pytest

from pincite.acquire.read import document_id
from pincite.build.chunk import chunk
from pincite.build.embed import embed_missing
from pincite.errors import EmptyQuestion, UsageError
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import MOST_PARTS, MOST_TERMS, embed_question, rank, search
from pincite.store.filters import Is
from pincite.store.hashing import embedding_hash
from pincite.store.sqlite.store import open_store
from pincite.types import Document, Source, searched_text
from tests.fakes import HashEncoder

TEXTS = {
    "cache": "A cache keeps what was computed earlier, so that it need not be computed again.",
    "adapter": "A low-rank adapter changes the weights of a model by two small matrices.",
    "temperature": "Temperature flattens the distribution of the next token.",
    "cats": "Cats sleep most of the day.",
    "katzen": "Die Katzen schlafen den größten Teil des Tages, und die Häuser sind still.",
}


def put(store, encoder, name, text, language="en", embed=True):
    source = Source(f"file:///{name}", "text/plain", "0" * 32, 0, len(text))
    document = Document(document_id(source.uri), source, 0, text, name, language=language)
    spans = chunk(document, encoder.pieces, limit=64)
    texts = [searched_text(span.context, text[span.start : span.end]) for span in spans]
    vectors = embed_missing({embedding_hash(t): t for t in texts}, encoder) if embed else {}
    store.put_document(document, spans, vectors, encoder.fingerprint)


@pytest.fixture
def encoder():
    return HashEncoder()


@pytest.fixture
def store(tmp_path, encoder):
    store = open_store(tmp_path / "library", analyze=analyze, analyzer=ANALYZER)
    for name, text in TEXTS.items():
        put(store, encoder, name, text, "de" if name == "katzen" else "en")
    yield store
    store.close()


def names(hits):
    return [hit.passage.title for hit in hits]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_every_mode_finds_and_tells_what_each_stage_gave(store, encoder, mode):
    hits, trace = search("Which adapter changes the weights?", store=store, encoder=encoder, mode=mode, limit=3)
    assert names(hits)[0] == "adapter"
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    stages = {"hybrid": {"vector", "keyword", "fused"}, "vector": {"vector"}, "keyword": {"keyword"}}[mode]
    assert set(hits[0].scores) == stages
    assert hits[0].score == hits[0].scores["fused" if mode == "hybrid" else mode]
    assert {"embed", "vector"} <= {stage.name for stage in trace.stages} or mode == "keyword"
    assert all(stage.seconds >= 0 for stage in trace.stages)
    ranking = rank("Which adapter changes the weights?", store=store, encoder=encoder, mode=mode)
    for stage, scores in ranking.scores.items():
        in_order = sorted(scores, key=lambda key: (-scores[key], key))
        assert ranking.ranks[stage] == {key: rank for rank, key in enumerate(in_order, start=1)}
    for hit in hits:
        assert hit.ranks == {s: own[hit.passage.key] for s, own in ranking.ranks.items() if hit.passage.key in own}


def test_hybrid_score_is_the_formula(store, encoder):
    hits, _ = search("cats sleep", store=store, encoder=encoder, limit=5)
    best = max(hit.scores.get("keyword", 0) for hit in hits)
    for hit in hits:
        expected = 0.75 * hit.scores["vector"] + 0.25 * hit.scores.get("keyword", 0) / best
        assert hit.score == pytest.approx(expected)


@pytest.mark.parametrize("question", ["", "  \n\t", "\u3000"])
def test_a_blank_question_is_refused_with_advice(store, encoder, question):
    with pytest.raises(EmptyQuestion) as caught:
        search(question, store=store, encoder=encoder)
    assert caught.value.fix


def test_a_question_without_terms_gives_vector_results_only(store, encoder):
    hits, _ = search("???", store=store, encoder=encoder)
    assert len(hits) == len(TEXTS)
    assert all("keyword" not in hit.scores for hit in hits)
    assert search("???", store=store, encoder=None, mode="keyword")[0] == ()


def test_wrong_use_is_said(store, encoder):
    with pytest.raises(UsageError, match="mode"):
        search("x", store=store, encoder=encoder, mode="magic")
    with pytest.raises(UsageError, match="encoder"):
        search("x", store=store, encoder=None)


def test_questions_are_analysed_for_the_languages_of_the_documents(store, encoder):
    hits, _ = search("Haus der Katze", store=store, encoder=None, mode="keyword")
    assert names(hits) == ["katzen"]


def test_a_passage_without_a_vector_is_found_by_keyword(store, encoder):
    put(store, encoder, "late", "Walruses swim in the cold sea.", embed=False)
    hits, _ = search("walruses", store=store, encoder=encoder)
    assert "late" in names(hits)
    assert "vector" not in next(hit for hit in hits if hit.passage.title == "late").scores


def test_a_document_whose_language_is_unknown_is_found_by_its_stems(store, encoder):
    put(store, encoder, "unknown", "walruses", language="")
    assert names(search("walrus", store=store, encoder=None, mode="keyword")[0]) == ["unknown"]


def test_a_filter_leaves_the_results_full(store, encoder):
    hits, _ = search("cats sleep", store=store, encoder=encoder, limit=1, candidates=1, where=Is("title", "cache"))
    assert names(hits) == ["cache"]


def test_a_removed_passage_makes_room_for_the_next(store, encoder, monkeypatch):
    everything, _ = search("cats sleep", store=store, encoder=encoder)
    gone = everything[0].passage.key
    passages = store.passages
    monkeypatch.setattr(store, "passages", lambda keys: passages([key for key in keys if key != gone]))
    hits, _ = search("cats sleep", store=store, encoder=encoder, limit=2)
    assert names(hits) == names(everything)[1:3]
    assert [hit.rank for hit in hits] == [1, 2]


class Backwards:
    """Likes short passages."""

    name = "backwards"

    def score(self, question, texts):
        return np.array([-len(text) for text in texts], dtype=np.float32)


def test_a_reranker_is_mixed_in_and_its_deadline_is_kept(store, encoder):
    plain, _ = search("cache keys", store=store, encoder=encoder, limit=2)
    hits, trace = search("cache keys", store=store, encoder=encoder, limit=2, reranker=Backwards())
    assert trace.stages[-1].name == "rerank" and "stopped" not in trace.stages[-1].detail
    assert len(hits) == 2 and all("rerank" in hit.scores for hit in hits)
    late = search("cache keys", store=store, encoder=encoder, limit=2, reranker=Backwards(), rerank_seconds=-1.0)
    assert late[0] == plain and "0 of" in late[1].stages[-1].detail["stopped"]


def test_same_question_same_ranking(store, encoder):
    first, second = (rank("computed tokens of cats", store=store, encoder=encoder) for _ in range(2))
    assert first.order == second.order
    assert first.order == sorted(first.order, key=lambda c: (-c.score, c.key))


def test_a_long_question_becomes_the_mean_of_its_parts_and_what_is_cut_is_told(encoder):
    encoder.max_pieces = 4
    detail = {}
    vector = embed_question("one two three four five six", encoder, detail)
    parts = encoder.encode(["one two three four ", "five six"]).mean(axis=0)
    assert vector == pytest.approx(parts / (parts @ parts) ** 0.5)
    assert detail == {"question_parts": 2}
    text = "word " * 4 * (MOST_PARTS + 1)
    embed_question(text, encoder, detail)
    assert detail == {"question_parts": MOST_PARTS, "question_cut": len("word " * 4)}


def test_a_very_long_question_uses_its_first_terms_and_says_so(store):
    question = " ".join(f"term{i}" for i in range(MOST_TERMS + 5))
    ranking = rank(question, store=store, encoder=None, mode="keyword")
    assert ranking.stages[0].detail["terms_cut"] >= 5


@pytest.mark.parametrize("question", ["\ud800", "\x00 cats", "a:b AND (", '"', "*", "-cats", "C++", "🎉"])
def test_any_string_is_a_question(store, encoder, question):
    hits, _ = search(question, store=store, encoder=encoder)
    assert len(hits) == len(TEXTS)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_the_same_text_at_two_paths_is_one_hit_and_the_top_stays_full(store, encoder, mode):
    for name in ("copy one", "copy two"):
        put(store, encoder, name, TEXTS["adapter"])
    put(store, encoder, "other number", TEXTS["adapter"].replace("two", "2"))
    question = "A low-rank adapter changes the weights of a model by matrices"
    hits, _ = search(question, store=store, encoder=encoder, mode=mode, limit=2)
    found = {names([hit])[0]: sorted(passage.title for passage in hit.also) for hit in hits}
    assert len(found) == 2
    assert found["other number"] == []
    assert sorted(map(len, found.values())) == [0, 2]
