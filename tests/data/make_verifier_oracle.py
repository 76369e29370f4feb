"""Make ``verifier_oracle.npz``: small classifiers of pairs and of tokens with random weights, and transformers' logits.

Run from the root of the repository, where torch, transformers and tokenizers are installed:
``python -m tests.data.make_verifier_oracle``. Made with transformers 5.24.0 and torch 2.13.0.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tests.data.make_reranker_oracle import QUESTION, TEXTS, WORDS, tokenizer_json

PAIRS = [(text, QUESTION) for text in TEXTS] + [(TEXTS[0], "the cache keeps zzz")]
KINDS = {
    "pairs": ("bert", "SequenceClassification", {0: "CONTRADICTION", 1: "entailment", 2: "neutral"}),
    "tokens": ("bert", "TokenClassification", {0: "LABEL_0", 1: "LABEL_1"}),
    "roberta-pairs": ("xlm-roberta", "SequenceClassification", {0: "not_entailment", 1: "entailment"}),
    "roberta-tokens": ("xlm-roberta", "TokenClassification", {0: "supported", 1: "hallucinated"}),
}


def save_model(family: str, task: str, labels: dict[int, str], folder: Path, *, seed: int = 0):
    """Write a classifier with random weights to a folder, and give it, as transformers has it."""
    import torch
    import transformers

    prefix = {"bert": "Bert", "xlm-roberta": "XLMRoberta"}[family]
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=6 + len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
        max_position_embeddings=42, pad_token_id=1, bos_token_id=0, eos_token_id=2, initializer_range=0.4,
        type_vocab_size=2 if family == "bert" else 1, id2label=labels, label2id={v: k for k, v in labels.items()},
    )  # fmt: skip
    torch.manual_seed(seed)
    model = getattr(transformers, f"{prefix}For{task}")(config).eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer_json(family), encoding="utf-8")
    return model


def logits_of(model, folder: Path) -> list[np.ndarray]:
    """Compute pairs one by one with transformers."""
    import torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    found = []
    for text, claim in PAIRS:
        row = tokenizer.encode(text, claim)
        kinds = row.type_ids if model.config.type_vocab_size > 1 else [0] * len(row.ids)
        with torch.no_grad():
            out = model(torch.tensor([row.ids]), token_type_ids=torch.tensor([kinds]))
        found.append(out.logits[0].numpy())
    return found


def main() -> None:
    """Make the models, compute, and save everything in one file."""
    saved: dict[str, np.ndarray] = {}
    for kind, given in KINDS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model = save_model(*given, folder)
            for file in ("config.json", "tokenizer.json", "model.safetensors"):
                saved[f"{kind}/{file}"] = np.frombuffer((folder / file).read_bytes(), dtype=np.uint8)
            for index, logits in enumerate(logits_of(model, folder)):
                saved[f"{kind}/logits{index}"] = logits
    target = Path(__file__).with_name("verifier_oracle.npz")
    np.savez_compressed(target, **saved)
    print(sorted(saved), target.stat().st_size)


if __name__ == "__main__":
    main()
