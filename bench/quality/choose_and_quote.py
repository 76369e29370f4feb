"""What may a small model add to quotes? Choice of a sentence, of words in it, and prose, each against no model.

    python bench/quality/choose_and_quote.py DATA_FOLDER [--questions 50] [--work FOLDER] [--out FILE]

xquad/en and the answerable part of squad2-small-en, retrieval included, a seeded sample of each. Decoding is forced by
this script: of OpenVINO's logits, only those of allowed tokens are looked at. Shares have 95 % Wilson intervals.

sentence: rank     the first sentence by the ranking of generate/evidence.py, no model
sentence: id       the sentence whose number the model finds likeliest, of five in its prompt
sentence: question the sentence after which the question is likeliest (mean log probability of a token), of five
sentence: both     the ranking's score + 0.1 x that log probability
words: forced      the likeliest words, forced to stand in the first sentence as they are, after four examples
words: free        the same without the force
prose: plain       one or two sentences from four, as the default prompt asks
prose: per quote   one short sentence from the first sentence alone, before the question in one message; the product
                   keeps passages apart, and prompt_layout.py measures its ways
"sure" counts prose of which a sentence is supported with at least 0.8: what the default shows behind its quotes.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from calibrate_sufficiency import COLLECTIONS, TERMS, indexed, read, the_encoder
from gold import holds, words

from pincite.generate.evidence import distinct, evidence, rank_sentences, relevant
from pincite.generate.form import ABSTAIN
from pincite.generate.prompt import POLICY, build_prompt
from pincite.ground.claims import split_claims
from pincite.ground.compose import assess
from pincite.models.fetch import default_models_dir, ensure
from pincite.models.generators.chat import chat_ids
from pincite.models.generators.saved import saved_form
from pincite.models.generators.vocabulary import Vocabulary
from pincite.models.runtime import import_openvino
from pincite.types import Message

OFFERED, SURE = 5, 0.8
SHOTS = (
    (
        "The bridge was opened to traffic in May 1889 after six years of work.",
        "When was the bridge opened?",
        "May 1889",
    ),
    ("Marie Keller, a chemist from Basel, led the team that found it.", "Who led the team?", "Marie Keller"),
    ("Half of the crop was lost because the river flooded.", "Why was the crop lost?", "the river flooded"),
    ("The library keeps its oldest maps in a cellar.", "Where are the oldest maps kept?", "in a cellar"),
)


class Model:
    """The default generator with its logits; keys and values of the last beginning are kept."""

    context_tokens = 8192
    name = "smollm2-135m-instruct"

    def __init__(self):
        gguf = ensure(self.name, models_dir=default_models_dir(), offline=True)
        self.vocabulary, self.length = Vocabulary(gguf), 0
        self.count, self.encode = self.vocabulary.count, self.vocabulary.encode
        with saved_form(gguf, default_models_dir() / "compiled") as form:
            model = import_openvino().Core().compile_model(form / "openvino_model.xml", "CPU")
        self.request = model.create_infer_request()

    def start(self, ids=()):
        self.request.reset_state()
        self.length = 0
        return self.feed(ids) if ids else None

    def feed(self, ids):
        """Give the log probabilities after each id: (ids, vocabulary)."""
        count = len(ids)
        logits = self.request.infer(
            {
                "input_ids": np.array([ids]),
                "attention_mask": np.ones((1, self.length + count), np.int64),
                "position_ids": np.arange(self.length, self.length + count)[None],
                "beam_idx": np.zeros(1, np.int32),
            }
        )[0][0]
        self.length += count
        top = logits.max(-1, keepdims=True)
        return logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))

    def text(self, ids):
        step = self.vocabulary.decoder()
        return "".join(step(number) for number in ids)

    def free(self, messages, limit, ahead=""):
        """Write greedily."""
        ids = [*chat_ids(messages, self.vocabulary), *self.encode(ahead)]
        found, chances = [], self.start(ids)[-1]
        while len(found) < limit and (best := int(chances.argmax())) != self.vocabulary.end_id:
            found.append(best)
            chances = self.feed([best])[-1]
        return self.text(found).strip(), len(ids)

    def forced(self, messages, source, limit, ahead=""):
        """Write greedily what stands in the source, whole words of it."""
        tokens = self.encode(" " + source)
        shown = [self.text([token]) for token in tokens]
        ends = [i == len(tokens) or not shown[i][:1].isalnum() for i in range(len(tokens) + 1)]
        places = [i for i, text in enumerate(shown) if text.startswith(" ")]
        chances, found = self.start([*chat_ids(messages, self.vocabulary), *self.encode(ahead)])[-1], []
        while len(found) < limit:
            allowed = defaultdict(list)
            for place in places:
                if place < len(tokens):
                    allowed[tokens[place]].append(place + 1)
            best = max(allowed, key=lambda token: chances[token], default=None)
            may_end = bool(found) and any(ends[place] for place in places)
            if best is None or (may_end and chances[self.vocabulary.end_id] > chances[best]):
                break
            found.append(best)
            places, chances = allowed[best], self.feed([best])[-1]
        return self.text(found).strip(" ,.;:")


def chosen_by_id(model, question, texts):
    listed = "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))
    messages = [
        Message("system", "Choose the passage that answers the question. Reply with its number only."),
        Message("user", f"{listed}\n\nQuestion: {question}"),
    ]
    chances = model.start([*chat_ids(messages, model.vocabulary), *model.encode("[")])[-1]
    return [float(chances[model.encode(str(number))[0]]) for number in range(1, len(texts) + 1)]


def chosen_by_question(model, question, texts):
    asked = model.encode(" " + question)
    found = []
    for text in texts:
        first = model.start(model.encode(f"Passage: {text}\nQuestion:"))[-1:]
        chances = np.concatenate([first, model.feed(asked)[:-1]])
        found.append(float(chances[np.arange(len(asked)), asked].mean()))
    return found


def short(text, question):
    turns = [Message("system", "Answer with the few words of the text that answer the question.")]
    for shown, asked, answer in SHOTS:
        turns += [
            Message("user", f"Text: {shown}\nQuestion: {asked}"),
            Message("assistant", f"Answer: {answer}"),
        ]
    return [*turns, Message("user", f"Text: {text}\nQuestion: {question}")]


def sure(draft, question, sentences, ranking):
    """Give the draft's sentences that the default would show."""
    claims = [claim for claim in split_claims(draft) if claim.plain]
    if not claims:
        return ""
    given = ranking.only(lambda sentence: sentence in sentences)
    checked = assess(claims, given, encoder=the_encoder(), terms=TERMS, question=question)
    return " ".join(a.claim.plain for a in checked if a.check.verdict == "supported" and a.check.support >= SURE)


def f1(text, gold):
    mine, theirs = words(text).split(), words(gold).split()
    common = sum(min(mine.count(word), theirs.count(word)) for word in set(mine))
    return 2 * common / (len(mine) + len(theirs)) if common else 0.0


def measure(model, question, golds, ranking, prose_only=False):
    """Give a figure for each way: 0 or 1, F1 and CPU seconds."""
    best = distinct(relevant(ranking))[:OFFERED]
    texts = [sentence.text for sentence in best]
    row: dict[str, float] = {}
    mark = time.process_time()

    def note(name, text, **more):
        nonlocal mark
        row[f"{name}: gold"] = holds(text, golds)
        row.update({f"{name}: {key}": value for key, value in more.items()})
        row[f"{name}: CPU s"] = time.process_time() - mark
        mark = time.process_time()

    pick = lambda scores: texts[int(np.argmax(scores))]  # noqa: E731
    ranked = [sentence.score for sentence in best]
    note("sentence: rank", texts[0])
    if not prose_only:
        note("sentence: id", pick(chosen_by_id(model, question, texts)))
        likely = chosen_by_question(model, question, texts)
        note("sentence: question", pick(likely))
        note("sentence: both", pick(np.array(ranked) + 0.1 * np.array(likely)))
        forced = model.forced(short(texts[0], question), texts[0], 24, "Answer:")
        note("words: forced", forced, F1=max(f1(forced, gold) for gold in golds))
        free, _ = model.free(short(texts[0], question), 24, "Answer:")
        note("words: free", free, F1=max(f1(free, gold) for gold in golds), verbatim=words(free) in words(texts[0]))
    few = best[:4]
    items = tuple(evidence(s.passage, s.start, s.end, s.score, n) for n, s in enumerate(few, 1))
    messages = build_prompt(question, items, generator=model, answer_tokens=60, policy=f"{POLICY} {ABSTAIN}").messages
    draft, tokens = model.free(messages, 60)
    shown = sure(draft, question, few, ranking)
    note("prose: plain", draft, sure=bool(shown), prompt_tokens=tokens, **{"gold in sure": holds(shown, golds)})
    alone = [
        Message("system", "Answer the question in one short sentence. Use only the text."),
        Message("user", f"Text: {texts[0]}\nQuestion: {question}"),
    ]
    draft, tokens = model.free(alone, 30)
    shown = sure(draft, question, best[:1], ranking)
    note("prose: per quote", draft, sure=bool(shown), prompt_tokens=tokens, **{"gold in sure": holds(shown, golds)})
    return row


def interval(values):
    """Give the mean, and Wilson's 95 % interval of a share."""
    n, p, z = len(values), float(np.mean(values)), 1.96
    if not set(values) <= {0, 1}:
        return {"mean": round(p, 3)}
    middle, half = p + z * z / 2 / n, z * np.sqrt(p * (1 - p) / n + z * z / 4 / n / n)
    return {
        "mean": round(p, 3),
        "from": round(max(0.0, middle - half) / (1 + z * z / n), 3),
        "to": round((middle + half) / (1 + z * z / n), 3),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--prose-only", action="store_true", help="leave out the choices of sentences and of words")
    options = parser.parse_args()
    model, rows = Model(), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        work.mkdir(exist_ok=True)
        asked = []
        for name in ("xquad", "squad2"):
            library, _ = indexed(name, options.data / COLLECTIONS[name], work)
            known = [row for row in read(options.data / COLLECTIONS[name] / "queries.jsonl") if row["answerable"]]
            asked += [(name, row, library) for row in random.Random(0).sample(known, options.questions)]
        random.Random(1).shuffle(asked)  # so that what was measured up to any moment is a fair sample
        for number, (name, row, library) in enumerate(asked, 1):
            hits = library.search(row["text"], limit=10, refresh=False).hits
            ranking = rank_sentences(row["text"], hits, encoder=the_encoder(), terms=TERMS)
            golds = [answer["text"] for answer in row["answers"]]
            rows[name].append(measure(model, row["text"], golds, ranking, options.prose_only))
            if options.out and (number % 10 == 0 or number == len(asked)):
                found = {
                    name: {"questions": len(some), **{key: interval([row[key] for row in some]) for key in some[0]}}
                    for name, some in [*rows.items(), ("both", [row for some in rows.values() for row in some])]
                }
                options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(interval([1]), indent=1) if not options.out else options.out.read_text())


if __name__ == "__main__":
    main()
