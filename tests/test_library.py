"""The facade, with the real encoder where meaning matters and a small one where only the way of the data does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import pincite
from pincite.errors import (
    EmptyQuestion,
    ModelMissing,
    ModelUnknown,
    NotInLibrary,
    PathMissing,
    SettingError,
    UsageError,
)
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.opening import opened
from pincite.settings import Settings, changed
from pincite.store.filters import Is
from pincite.types import CitationEvent, DoneEvent, VerdictEvent
from tests.fakes import HashEncoder

SENTENCES = {
    "kv.md": "A KV cache stores the keys and values of earlier tokens, so that each new token does not recompute them.",
    "lora.md": "LoRA adds small trainable matrices to frozen weights.",
    "temperature.md": "Temperature scales the logits before sampling.",
}
QUESTION = "What avoids recomputing earlier tokens?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in SENTENCES.items():
        (notes / name).write_text(text + "\n")
    return notes


@pytest.fixture
def library(tmp_path: Path) -> Iterator[pincite.Library]:
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as opened:
        yield opened


def settle(folder: Path) -> None:
    """Wait until the files' times are surely older than the clock's coarsest tick, as they are after a coffee."""
    newest = max(p.stat().st_ctime_ns for p in folder.rglob("*"))
    time.sleep(max(0, (newest + 2_100_000_000 - time.time_ns()) / 1e9))


def test_the_three_sentences(folder: Path, tmp_path: Path, encoder) -> None:
    with pincite.open(tmp_path / "real.pincite", encoder=encoder, generator="none") as library:
        library.add(folder)
        assert library.search(QUESTION).hits[0].passage.uri.endswith("/kv.md")
        answer = library.ask(QUESTION)
    assert answer.outcome == "answered"
    assert answer.citations[0].uri.endswith("/kv.md")
    assert answer.citations[0].quote == SENTENCES["kv.md"]
    assert [claim.verdict for claim in answer.claims] == ["supported"] * len(answer.claims)


def test_one_answer_may_be_drafted_in_its_own_way(folder: Path, library: pincite.Library) -> None:
    class Recording:
        name, context_tokens = "recording-7b", 4096

        def count(self, text: str) -> int:
            return len(text.split())

        def stream(self, messages: object, options: GenerationOptions) -> Iterator[Piece | Finish]:
            seen.append(options)
            yield Piece("The KV cache stores keys.")
            yield Finish("stop", 1, 1)

    seen: list[GenerationOptions] = []
    library.models.use(encoder=HashEncoder(), generator=Recording())
    library.add(folder)
    library.ask(QUESTION, answer_tokens=7, temperature=0.5, seed=3)
    library.ask(QUESTION)
    assert [(o.max_tokens, o.temperature, o.seed) for o in seen] == [(7, 0.5, 3), (120, 0.0, 0)]
    with pytest.raises(SettingError):
        library.ask(QUESTION, temperature=9.0)


def test_stream_ends_with_the_answer_that_ask_gives(folder: Path, library: pincite.Library) -> None:
    library.add(folder)
    events = list(library.stream(QUESTION))
    assert isinstance(events[-1], DoneEvent)
    answer = events[-1].answer
    assert [e.citation for e in events if isinstance(e, CitationEvent)] == list(answer.citations)
    assert [e.claim for e in events if isinstance(e, VerdictEvent)] == list(answer.claims)
    assert library.ask(QUESTION).text == answer.text


def test_one_changed_paragraph_of_a_long_document_embeds_at_most_three_passages(
    folder: Path, library: pincite.Library
) -> None:
    paragraphs = [f"Paragraph {i}. " + f"word{i} and some more text follow here. " * 12 for i in range(220)]
    (folder / "long.md").write_text("\n\n".join(paragraphs))
    [report] = [r for r in library.add(folder).sources if r.uri.endswith("long.md")]
    assert report.passages >= 200
    for place in (0, 100, 219):
        paragraphs[place] = f"Changed paragraph {place}. " + "Something quite different stands here now. " * 11
        (folder / "long.md").write_text("\n\n".join(paragraphs))
        [report] = [r for r in library.refresh().sources if r.uri.endswith("long.md")]
        assert report.status == "updated"
        assert 1 <= report.embedded <= 3
        assert f"Changed paragraph {place}" in library.search(f"changed paragraph {place}", mode="keyword").hits[0].text


def test_an_unchanged_folder_is_not_read_again(
    folder: Path, library: pincite.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(100):
        (folder / f"more{i}.txt").write_text(f"File number {i}.\n")
    settle(folder)
    library.add(folder)
    before, encoded = library.stats(), library.models.encoder().encoded

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a file was read")

    monkeypatch.setattr("pincite.build.sync.load", never)
    assert {r.status for r in library.add(folder).sources} == {"unchanged"}
    assert library.stats() == before
    assert library.models.encoder().encoded == encoded


def test_add_tries_again_what_failed_and_search_does_not(
    folder: Path, library: pincite.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "old.doc").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))  # not supported: not tried again
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\n")
    settle(folder)
    library.add(folder)
    calls: list[Path] = []
    real = pincite.build.sync.load
    monkeypatch.setattr("pincite.build.sync.load", lambda path, **how: (calls.append(path), real(path, **how))[1])
    library.search("tokens", mode="keyword")
    assert calls == []
    library.add(folder)
    assert [path.name for path in calls] == ["bad.pdf"]


def test_a_renamed_file_keeps_its_vectors(folder: Path, library: pincite.Library) -> None:
    library.add(folder)
    encoded = library.models.encoder().encoded
    (folder / "lora.md").rename(folder / "adapters.txt")
    assert library.refresh().summary["removed"] == 1
    (folder / "deep").mkdir()
    (folder / "kv.md").rename(folder / "deep" / "kv.md")
    library.refresh()
    # the context of a passage names its title, which may come from the file's name: only such passages are new
    assert library.models.encoder().encoded - encoded <= 1
    hits = library.search("trainable matrices", mode="keyword").hits
    assert [Path(h.passage.uri).name for h in hits] == ["adapters.txt"]


def test_same_bytes_at_two_paths_are_two_documents(folder: Path, library: pincite.Library) -> None:
    (folder / "copy.md").write_text(SENTENCES["lora.md"] + "\n")
    library.add(folder)
    hits = library.search("trainable matrices", mode="keyword").hits  # two, as there is room for both
    assert {Path(hit.passage.uri).name for hit in hits} == {"copy.md", "lora.md"}
    [hit] = library.search("trainable matrices", mode="keyword", limit=1).hits
    assert {Path(p.uri).name for p in (hit.passage, *hit.also)} == {"copy.md", "lora.md"}
    assert {"copy.md", "lora.md"} <= {Path(record.source.uri).name for record in library.list()}


def test_an_unreadable_file_keeps_its_last_version_and_is_stale(
    folder: Path, library: pincite.Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(folder)
    (folder / "lora.md").write_text("Something new.\n")
    real = pincite.build.sync.load

    def refusing(path: Path, **how: bool) -> object:
        if str(path).endswith("lora.md"):
            raise pincite.errors.SourceUnreadable("lora.md may not be read.", fix="Change its permissions.")
        return real(path, **how)

    monkeypatch.setattr("pincite.build.sync.load", refusing)
    result = library.search("trainable matrices", mode="keyword")
    assert result.hits[0].text.startswith("LoRA adds")
    assert [(Path(s.uri).name, s.version) for s in result.stale] == [("lora.md", 1)]
    assert library.ask(QUESTION).stale == result.stale
    assert library.why(QUESTION, folder / "lora.md").stale == result.stale
    monkeypatch.undo()
    assert library.search("something new", mode="keyword").hits
    assert library.search("something new", mode="keyword").stale == ()


def test_a_folder_that_is_gone_leaves_no_trace(folder: Path, library: pincite.Library) -> None:
    library.add(folder)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert library.search("tokens matrices logits").hits == ()
    assert library.stats().documents == 0
    assert library.refresh().sources == ()


def test_filters_and_paths_restrict_the_search(folder: Path, library: pincite.Library) -> None:
    (folder / "tagged.md").write_text("---\nyear: 2021\n---\nTokens and matrices and logits.\n")
    library.add(folder)
    found = library.search("tokens", where=Is("year", 2021))
    assert {Path(h.passage.uri).name for h in found} == {"tagged.md"}
    found = library.search("tokens", paths=folder / "kv.md")
    assert {Path(h.passage.uri).name for h in found} == {"kv.md"}


def test_texts_that_are_no_files(library: pincite.Library) -> None:
    assert library.add_text("note:1", "The zebra \ud800 crosses.\x00", title="Animals").status == "indexed"
    assert library.add_text("note:1", "The lion sleeps.").version == 2
    assert library.search("zebra", mode="keyword").hits == ()
    assert library.document("note:1", 1).text == "The zebra \ud800 crosses.\x00"
    with pytest.raises(UsageError):
        library.add_text("/etc/passwd", "x")


def test_removed_documents_stay_away_until_asked_for(folder: Path, library: pincite.Library) -> None:
    library.add(folder)
    library.remove(folder / "kv.md")
    assert not [r for r in library.refresh().sources if r.uri.endswith("kv.md")]
    assert library.add(folder / "kv.md").summary["indexed"] == 1
    with pytest.raises(NotInLibrary):
        library.remove(folder / "never.md")


def test_bad_calls(folder: Path, library: pincite.Library) -> None:
    with pytest.raises(EmptyQuestion):
        library.search(" \n ")
    with pytest.raises(PathMissing):
        library.add(folder / "no such")
    with pytest.raises(NotInLibrary):
        library.document(folder / "no such")
    with pytest.raises(NotInLibrary):
        library.passage("0123456789ab@1:0-5")


def test_a_missing_model_is_named_with_the_way_to_get_it(folder: Path, tmp_path: Path) -> None:
    with pincite.open(tmp_path / "t.pincite", models=str(tmp_path / "none"), offline=True) as library:
        with pytest.raises(ModelMissing) as raised:
            library.add(folder)
        assert "pincite models pull" in raised.value.fix
        assert library.stats().documents == 0


def test_keyword_search_needs_no_model(folder: Path, tmp_path: Path) -> None:
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as library:
        library.add(folder)
    (folder / "new.md").write_text("A new file.\n")
    with pincite.open(tmp_path / "t.pincite", models=str(tmp_path / "none"), offline=True) as library:
        result = library.search("trainable matrices", mode="keyword")
        assert result.hits
        assert "new" not in {Path(h.passage.uri).stem for h in result}
        assert "not taken in" in result.stale[0].reason, "what could not be embedded is said"


def test_vectors_of_two_encoders_are_never_compared(folder: Path, tmp_path: Path) -> None:
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder("one"), generator="none") as library:
        library.add(folder)
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder("two"), generator="none") as library:
        blind = library.search("matrices", mode="vector", refresh=False)
        assert blind.hits == ()
        assert "no vector" in blind.stale[0].reason
        library.add(folder)
        seeing = library.search("matrices", mode="vector")
        assert seeing.hits
        assert seeing.stale == ()
        assert set(library.stats().spaces) == {"one", "two"}


def test_questions_of_any_kind_are_answered_while_documents_change(folder: Path, library: pincite.Library) -> None:
    library.add(folder)
    errors: list[BaseException] = []

    def reader() -> None:
        try:
            for question in ["tokens", "logits", '"', "c++ AND (", "\ud800", "🙂"] * 5:
                for hit in library.search(question):
                    assert (
                        library.document(hit.passage.uri, hit.passage.version).text[hit.passage.start : hit.passage.end]
                        == hit.text
                    )
        except BaseException as error:  # noqa: BLE001 - it is raised again by the test
            errors.append(error)

    threads = [threading.Thread(target=reader) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(20):
        (folder / "kv.md").write_text(f"Tokens, revision {i}.\n")
        library.refresh()
    for thread in threads:
        thread.join()
    assert not errors


class Reversing:
    """Likes what comes late in the alphabet."""

    name = "reversing"

    def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([ord(text[-3]) for text in texts], dtype=np.float32)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_reranker_is_a_name_or_an_object(folder: Path, tmp_path: Path, reranker_folder: Path, by_name: bool) -> None:
    reranker = str(reranker_folder) if by_name else Reversing()
    with pincite.open(
        tmp_path / "r.pincite", encoder=HashEncoder(), generator="none", reranker=reranker, rerank_seconds=600
    ) as library:
        library.add(folder)
        found = library.search(QUESTION)
        stage = next(stage for stage in found.trace.stages if stage.name == "rerank")
        assert stage.detail == {"passages": 3} and all("rerank" in hit.scores for hit in found)
        assert [(-hit.score, hit.passage.key) for hit in found] == sorted((-h.score, h.passage.key) for h in found)


def test_a_reranker_that_cannot_be_had_is_an_error_with_advice(folder: Path, tmp_path: Path) -> None:
    with pincite.open(
        tmp_path / "r.pincite", encoder=HashEncoder(), generator="none", reranker="org/none", offline=True,
        models=str(tmp_path),
    ) as library:  # fmt: skip
        library.add(folder)
        with pytest.raises(ModelMissing) as caught:
            library.search(QUESTION)
        assert caught.value.fix


def test_the_reranker_has_a_deadline(folder: Path, tmp_path: Path) -> None:
    class Slow(Reversing):
        batch = 1

        def score(self, question: str, texts: Sequence[str]) -> NDArray[np.float32]:
            time.sleep(0.1)
            return super().score(question, texts)

    with pincite.open(
        tmp_path / "r.pincite", encoder=HashEncoder(), generator="none", reranker=Slow(), rerank_seconds=0.05
    ) as library:
        library.add(folder)
        found = library.search(QUESTION)
        stage = next(stage for stage in found.trace.stages if stage.name == "rerank")
        assert stage.detail["stopped"] == "1 of 3 passages were scored within 0.05 seconds."
        assert not any("rerank" in hit.scores for hit in found)


def test_the_encoder_of_a_search_loads_while_its_library_is_opened(tmp_path: Path) -> None:
    settings = Settings(library=str(tmp_path / "library"), models=str(tmp_path), encoder="no such model", offline=True)
    with opened(settings, searches=True) as library:
        assert library.models.is_begun("encoder")
        with pytest.raises(ModelUnknown):
            library.search("apples")
    for quiet in (opened(settings), opened(changed(settings, mode="keyword"), searches=True)):
        with quiet as library:
            assert not library.models.is_begun("encoder")
