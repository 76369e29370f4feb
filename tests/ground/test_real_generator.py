"""The three example sentences, with the default models in both runtimes."""

import pytest

from pincite.ground.answer import answer_events
from tests.ground.fakes import hits, text_of

KV = "A KV cache avoids recomputing the keys and values of earlier tokens."
LORA = "LoRA trains small low-rank matrices and leaves the model's weights frozen."
TEMPERATURE = "A lower temperature makes sampling more deterministic."


@pytest.fixture(scope="module", params=["openvino", "llama"])
def generator(request, generator_file, models_dir):
    from pincite.models.load import load_generator

    if request.param == "llama":
        pytest.importorskip("xllamacpp")
    return load_generator(f"{request.param}:smollm2-135m-instruct", models_dir=models_dir, threads=1)


def test_the_answer_cites_the_sentence_that_answers(generator, encoder):
    told = list(
        answer_events(
            "What avoids recomputing earlier tokens?",
            hits(KV, LORA, TEMPERATURE),
            generator=generator,
            encoder=encoder,
            text_of=text_of,
            answer_tokens=32,
            answer_seconds=None,
        )
    )
    answer = told[-1].answer
    assert answer.outcome == "answered"
    assert answer.citations[0].quote == KV
    assert all(KV[c.start : c.end] == c.quote for c in answer.citations if c.uri == "file:///doc1.txt")
    assert [claim.verdict for claim in answer.claims] == ["supported"] * len(answer.claims)
    draft = next(stage for stage in answer.trace.stages if stage.name == "draft")
    assert draft.detail["prompt_tokens"] > 50 and draft.detail["generated_tokens"] > 0
