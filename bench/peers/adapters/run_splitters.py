"""Split texts with LangChain's RecursiveCharacterTextSplitter and with semantic-text-splitter, at a wanted mean size.

Runs in its own environment: ``python run_splitters.py job.json``. The job names ``texts``, the ``tokenizer`` file, the
``targets`` (mean pieces a chunk) and where the ``report`` goes. The limit is searched whose mean comes nearest.
"""

import json
import sys
from pathlib import Path

from langchain_text_splitters import RecursiveCharacterTextSplitter
from semantic_text_splitter import TextSplitter
from tokenizers import Tokenizer

MOST = 254  # pieces that the encoder reads


def langchain(tokenizer, limit):
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=limit,
        chunk_overlap=0,
        add_start_index=True,
        length_function=lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids),
    )

    def spans(text):
        made = splitter.create_documents([text])
        return [(d.metadata["start_index"], d.metadata["start_index"] + len(d.page_content)) for d in made]

    return spans


def semantic(tokenizer, limit):
    splitter = TextSplitter.from_huggingface_tokenizer(tokenizer, limit)
    return lambda text: [(start, start + len(piece)) for start, piece in splitter.chunk_indices(text)]


def nearest(make, tokenizer, texts, target):
    """Search for the limit whose mean is nearest to the target."""
    tried = {}
    low, high = int(target), min(MOST, int(1.6 * target))
    while low <= high:
        limit = (low + high) // 2
        tried[limit] = cut(make(tokenizer, limit), texts)
        mean = mean_pieces(tokenizer, texts, tried[limit])
        if mean < target:
            low = limit + 1
        else:
            high = limit - 1
    return min(tried.items(), key=lambda one: abs(mean_pieces(tokenizer, texts, one[1]) - target))


def cut(spans, texts):
    return {name: spans(text) for name, text in texts.items()}


def mean_pieces(tokenizer, texts, spans):
    chunks = [texts[name][start:end] for name, found in spans.items() for start, end in found]
    return sum(len(e.ids) for e in tokenizer.encode_batch(chunks, add_special_tokens=False)) / len(chunks)


def main():
    job = json.loads(Path(sys.argv[1]).read_text())
    tokenizer = Tokenizer.from_file(job["tokenizer"])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    report = []
    for name, make in (("LangChain recursive", langchain), ("semantic-text-splitter", semantic)):
        for target in job["targets"]:
            limit, spans = nearest(make, tokenizer, job["texts"], target)
            report.append({"splitter": name, "target": target, "limit": limit, "spans": spans})
    Path(job["report"]).write_text(json.dumps(report))


if __name__ == "__main__":
    main()
