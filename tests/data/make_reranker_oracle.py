"""Make ``reranker_oracle.npz``: small cross-encoders with random weights, and what transformers makes of pairs.

Run from the root of the repository, where torch, transformers and tokenizers are installed:
``python -m tests.data.make_reranker_oracle``. Made with transformers 5.24.0 and torch 2.13.0.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

QUESTION = "what keeps the keys of earlier tokens ?"
TEXTS = [
    "a cache keeps the keys and values of earlier tokens .",
    "lora adds a low rank update to the weights",
    "",
    "zzz unseen [SEP] words",
    "the cache of the keys " * 4,
]
WORDS = sorted({word for text in (QUESTION, *TEXTS) for word in text.split() if word[0].isalpha()} - {"zzz", "unseen"})


def tokenizer_json(family: str) -> str:
    """Build a word-level tokenizer with the special tokens and the pair template of a family."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    first, last, pad, unknown = ("[CLS]", "[SEP]", "[PAD]", "[UNK]") if family == "bert" else (
        "<s>", "</s>", "<pad>", "<unk>"
    )  # fmt: skip
    special = [first, pad, last, unknown]  # the padding is 1, as in RoBERTa
    vocabulary = {word: number for number, word in enumerate([*special, ".", "?", *WORDS])}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token=unknown))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(special)
    pair = f"{first} $A {last} $B:1 {last}:1" if family == "bert" else f"{first} $A {last} {last} $B {last}"
    tokenizer.post_processor = TemplateProcessing(
        single=f"{first} $A {last}", pair=pair, special_tokens=[(first, 0), (last, 2)]
    )
    return tokenizer.to_str()


def save_model(family: str, folder: Path, *, seed: int = 0):
    """Write a cross-encoder with random weights to a folder, and give it, as transformers has it."""
    import torch
    import transformers

    kind = {"bert": "Bert", "xlm-roberta": "XLMRoberta"}[family]
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=6 + len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32,
        max_position_embeddings=42, pad_token_id=1, bos_token_id=0, eos_token_id=2, initializer_range=0.4,
        type_vocab_size=2 if family == "bert" else 1, num_labels=1,
    )  # fmt: skip
    torch.manual_seed(seed)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    for parameter in model.parameters():  # biases and norms are 0 and 1 as they are made, which would hide mistakes
        parameter.data += 0.1 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer_json(family), encoding="utf-8")
    return model


def scores_of(model, folder: Path, question: str, texts: list[str]) -> list[float]:
    """Score pairs one by one with transformers."""
    import torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True
    scores = []
    for text in texts:
        row = tokenizer.encode(question, text)
        with torch.no_grad():
            out = model(torch.tensor([row.ids]), token_type_ids=torch.tensor([row.type_ids]))
        scores.append(float(out.logits[0, 0]))
    return scores


def main() -> None:
    """Make both models, score, and save everything in one file."""
    saved: dict[str, np.ndarray] = {}
    for family in ("bert", "xlm-roberta"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            model = save_model(family, folder)
            for file in ("config.json", "tokenizer.json", "model.safetensors"):
                saved[f"{family}/{file}"] = np.frombuffer((folder / file).read_bytes(), dtype=np.uint8)
            saved[f"{family}/scores"] = np.array(scores_of(model, folder, QUESTION, TEXTS))
    target = Path(__file__).with_name("reranker_oracle.npz")
    np.savez_compressed(target, **saved)
    print(json.dumps({k: v.tolist() for k, v in saved.items() if k.endswith("scores")}), target.stat().st_size)


if __name__ == "__main__":
    main()
