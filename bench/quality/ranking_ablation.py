"""What could rank better than the fixed combination: each is tried on BEIR folders, leaving one set out.

    python bench/quality/ranking_ablation.py DATA_FOLDER [--sets ...] [--libraries FOLDER] [--likelihood 20]

Needs SciPy and LightGBM, of which Pincite uses nothing. Libraries as those of retrieval.py. All passages of a set are
scored by exact cosine and by BM25 (k1 1.2, b 0.75, as the library's), the lists are cut at 300, and a document scores
as its best passage; so each variant is computed from the same arrays. A parameter is chosen for each set by the mean of
the others, "as it is" included. A learned scorer is fitted on the other sets (and on those of --also, which are not
reported), and its share of the mixture chosen by them: (1 - share) x the first stage + share x the scorer, both scaled
to 0..1 over the best 150.

The interval is a paired bootstrap of the difference to "as it is" on the mean over the sets (questions drawn within
each set, 2,000 times, seeded). With --likelihood only this is measured, and joins the results: the mean log probability
of a token of the question, given the passage, under the default generator, for the best 20 passages of that many
questions of two sets.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from retrieval import DEPTH, SETS

from pincite.find.analyze import ANALYZER, analyze, analyze_query
from pincite.find.fuse import SIBLINGS, WEIGHT
from pincite.find.search import embed_question
from pincite.generate.relevance import encode_within
from pincite.measure.cases import load_dataset
from pincite.measure.corpus import index_corpus, row_id
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.store.sqlite.store import open_store

KIN = {"squad2-small-en": "xquad/en"}  # of the same source: none is fitted on for the other
TOP, WINDOW, SHARES = 150, 20, (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
DISCOUNT = 1 / np.log2(np.arange(10) + 2)
GRIDS = {  # way -> parameters; the first changes nothing
    "weight of the cosine": (WEIGHT, 0.6, 0.65, 0.7, 0.8, 0.85, 0.9),
    "share of the siblings": (SIBLINGS, 0.0, 0.1, 0.3, 0.5),
    "repeated words count n **": (0.75, 0.0, 0.5, 1.0),
    "BM25 of whole documents": (0.0, 0.3, 0.5, 0.8),
    "vector feedback": ((0.0, 0), (0.1, 3), (0.2, 3), (0.1, 10), (0.2, 10), (0.4, 10)),  # share, passages
    "term feedback": ((0.0, 0, 0), (0.1, 3, 10), (0.1, 5, 10), (0.1, 5, 20), (0.1, 10, 20), (0.2, 10, 20)),
    "drawn to like passages": ((0.0, 0), (0.1, 4), (0.2, 4), (0.1, 10), (0.2, 10)),  # share, power of the cosine
    "without the question mark": (0.0, 0.5, 1.0),  # share of the vector of the question without its last signs
}


@dataclass
class Found:
    """The candidates of a question: rows of passages, what they have, and the numbers of their documents."""

    rows: np.ndarray
    cosine: np.ndarray
    share: np.ndarray
    best: float  # BM25 of the best
    owner: np.ndarray
    group: np.ndarray = field(init=False)
    size: np.ndarray = field(init=False)

    def __post_init__(self):
        _, self.group = np.unique(self.owner, return_inverse=True)
        self.size = np.bincount(self.group)[self.group]

    def mean(self, values):
        return np.bincount(self.group, values)[self.group] / self.size

    def largest(self, values):
        most = np.full(self.group.max() + 1, -np.inf)
        np.maximum.at(most, self.group, values)
        return most[self.group]

    def score(self, weight=WEIGHT, siblings=SIBLINGS):
        fused = weight * self.cosine + (1 - weight) * self.share
        return (1 - siblings) * fused + siblings * self.mean(fused)


class Collection:
    """A set as arrays."""

    def __init__(self, dataset, store, encoder, cache):
        import scipy.sparse as sparse

        self.questions = dataset.questions
        self.vectors = np.stack([embed_question(q.text, encoder, {}) for q in self.questions])
        bare = [q.text.rstrip("?!. ") or q.text for q in self.questions]
        self.bare = np.stack([embed_question(text, encoder, {}) for text in bare])
        everything = store.vector_candidates(self.vectors[0], store.stats().passages, encoder.fingerprint)
        found = store.passages(sorted(candidate.key for candidate in everything))
        passages = [found[key] for key in sorted(found)]
        self.texts = [passage.searched for passage in passages]
        if not cache.exists():
            np.save(cache, encode_within(encoder, self.texts))
        self.passages = np.load(cache)
        numbers = {}
        self.owner = np.array([numbers.setdefault(row_id(p.uri), len(numbers)) for p in passages])
        language = {uri: store.source(uri).language for uri in {p.uri for p in passages}}
        words, places = {}, ([], [], [])
        for row, passage in enumerate(passages):
            for term, count in Counter(analyze(passage.searched, language[passage.uri])).items():
                for place, value in zip(places, (row, words.setdefault(term, len(words)), count), strict=True):
                    place.append(value)
        shape = len(passages), len(words)
        self.counts = sparse.csr_matrix((np.array(places[2], np.float32), places[:2]), shape)
        heads = [
            (row, words[t])
            for row, p in enumerate(passages)
            for t in set(analyze(p.context, language[p.uri]))
            if t in words
        ]
        self.heads = sparse.csr_matrix((np.ones(len(heads)), np.array(heads).reshape(-1, 2).T), shape)
        several = (*store.stats().languages, "")
        asked = [Counter(analyze_query(q.text, several, repeats=True)) for q in self.questions]
        self.asked = [{words[t]: n for t, n in terms.items() if t in words} for terms in asked]
        grades = [
            {numbers[d]: g for d, g in dataset.judgements[q.id].items() if g > 0 and d in numbers}
            for q in self.questions
        ]
        self.grades, self.ideal = (
            grades,
            [
                float(
                    np.sort([g for g in dataset.judgements[q.id].values() if g > 0])[::-1][:10]
                    @ DISCOUNT[: min(10, sum(g > 0 for g in dataset.judgements[q.id].values()))]
                )
                for q in self.questions
            ],
        )
        self.cosines = self.vectors @ self.passages.T

    @cached_property
    def weighed(self):
        """What each term adds to each passage's BM25."""
        return bm25(self.counts)

    @cached_property
    def of_documents(self):
        import scipy.sparse as sparse

        member = sparse.csr_matrix((np.ones(len(self.owner)), (self.owner, np.arange(len(self.owner)))))
        return bm25(member @ self.counts)

    def keyword(self, power=0.75, weighed=None):
        """BM25 of all passages (or documents) for all questions."""
        return np.stack(
            [
                added(self.weighed if weighed is None else weighed, {t: n**power for t, n in a.items()})
                for a in self.asked
            ]
        )

    @cached_property
    def plain(self):
        return self.keyword()

    @cached_property
    def whole(self):
        return self.keyword(weighed=self.of_documents)

    @cached_property
    def found(self):
        return self.lists()

    def lists(self, cosines=None, keyword=None):
        """Cut both lists at DEPTH; a passage that a full list lacks gets what its last has."""
        cosines, keyword = self.cosines if cosines is None else cosines, self.plain if keyword is None else keyword
        return [self._merged(v, k) for v, k in zip(cosines, keyword, strict=True)]

    def _merged(self, cosine, bm):
        near = np.argsort(-cosine, kind="stable")[:DEPTH]
        sharing = np.argsort(-bm, kind="stable")[:DEPTH]
        sharing = sharing[bm[sharing] > 0]
        rows, best = np.union1d(near, sharing), float(bm.max()) or 1.0
        low = [float(x[i].min()) if len(i) >= DEPTH else 0.0 for x, i in ((cosine, near), (bm, sharing))]
        v = np.where(np.isin(rows, near), cosine[rows], low[0])
        k = np.where(np.isin(rows, sharing), bm[rows], low[1]) / best
        return Found(rows, v.astype(float), k.astype(float), best, self.owner[rows])

    @cached_property
    def leaders(self):
        """The best passages by the first stage, one of a document."""
        return [found.rows[first_of_each(found.owner, found.score())[:10]] for found in self.found]

    def ndcg(self, number, owner, scores):
        if not self.ideal[number]:
            return 0.0
        documents = owner[first_of_each(owner, scores)[:10]]
        grades = self.grades[number]
        return sum(grades.get(d, 0) * DISCOUNT[i] for i, d in enumerate(documents.tolist())) / self.ideal[number]

    def measured(self, scores, found=None):
        """nDCG@10 of each question."""
        found = self.found if found is None else found
        return np.array([self.ndcg(i, f.owner, scores(i, f)) for i, f in enumerate(found)])


def bm25(counts):
    weighed = counts.astype(np.float32).tocsr()
    lengths, rows = np.asarray(counts.sum(1)).ravel(), np.repeat(np.arange(counts.shape[0]), np.diff(weighed.indptr))
    having = np.bincount(weighed.indices, minlength=counts.shape[1])
    rarity = np.log(1 + (counts.shape[0] - having + 0.5) / (having + 0.5))
    room = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    weighed.data = weighed.data * 2.2 / (weighed.data + room[rows]) * rarity[weighed.indices]
    result = weighed.tocsc()
    result.rarity = rarity
    return result


def added(weighed, terms):
    total = np.zeros(weighed.shape[0], np.float32)
    for term, weight in terms.items():
        part = slice(weighed.indptr[term], weighed.indptr[term + 1])
        total[weighed.indices[part]] += weight * weighed.data[part]
    return total


def first_of_each(owner, scores):
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(owner[order], return_index=True)
    return order[np.sort(first)]


def scaled(values):
    return (values - values.min()) / (np.ptp(values) + 1e-12)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def grid(one, way, value):
    """nDCG@10 of each question with a parameter of a way."""
    if way == "weight of the cosine":
        return one.measured(lambda i, f: f.score(value))
    if way == "share of the siblings":
        return one.measured(lambda i, f: f.score(siblings=value))
    if way == "repeated words count n **":
        return one.measured(lambda i, f: f.score(), one.lists(keyword=one.keyword(value)))
    if way == "BM25 of whole documents":

        def both(i, f):
            share = (1 - value) * f.share + value * one.whole[i][f.owner] / (one.whole[i].max() or 1)
            return Found(f.rows, f.cosine, share, f.best, f.owner).score()

        return one.measured(both)
    if way == "vector feedback":
        fed = [
            unit((1 - value[0]) * q + value[0] * one.passages[rows[: value[1]]].mean(0)) if value[1] else q
            for q, rows in zip(one.vectors, one.leaders, strict=True)
        ]
        return one.measured(lambda i, f: f.score(), one.lists(cosines=np.stack(fed) @ one.passages.T))
    if way == "term feedback":
        return one.measured(lambda i, f: f.score(), one.lists(keyword=term_feedback(one, *value)))
    if way == "drawn to like passages":
        return one.measured(lambda i, f: drawn(one, f, *value))
    asked = unit((1 - value) * one.vectors + value * one.bare)
    return one.measured(lambda i, f: f.score(), one.lists(cosines=asked @ one.passages.T))


def term_feedback(one, share, passages, most):
    """Ask also for the terms that weigh most in the best passages and are in two of them at least (after RM3)."""
    keyword, rows_of = one.plain.copy(), one.weighed.tocsr()
    for i, rows in enumerate(one.leaders if passages else ()):
        best = rows_of[rows[:passages]]
        weights = np.asarray(best.sum(0)).ravel() * (np.bincount(best.indices, minlength=best.shape[1]) > 1)
        weights[list(one.asked[i])] = 0
        terms = np.argsort(-weights, kind="stable")[:most]
        total = weights[terms].sum() or 1
        mass = share * sum(n**0.75 for n in one.asked[i].values())
        keyword[i] += added(one.weighed, {t: mass * weights[t] / total for t in terms.tolist()})
    return keyword


def drawn(one, found, share, power):
    """Draw the best hundred towards the mean of those that are like them (after Diaz 2005)."""
    scores = found.score()
    best = np.argsort(-scores, kind="stable")[:100]
    like = np.maximum(one.passages[found.rows[best]] @ one.passages[found.rows[best]].T, 0) ** power
    np.fill_diagonal(like, 0)
    moved = scores - 1
    moved[best] = (1 - share) * scores[best] + share * (like @ scores[best]) / (like.sum(1) + 1e-9)
    return moved


def place(values):
    return np.log1p(np.argsort(np.argsort(-values, kind="stable")))


def features(one, i, found):
    """What a scorer may look at, by name: lists, documents, texts and terms, and the shape of the question's lists."""
    v, k, b, n = found.cosine, found.share, found.score(), len(found.rows)
    terms = np.array(list(one.asked[i]), int)
    rare = one.weighed.rarity[terms]
    total, rows = rare.sum() + 1e-9, found.rows
    has = (one.counts[rows][:, terms] > 0) @ rare / total if len(terms) else np.zeros(n)
    head = (one.heads[rows][:, terms] > 0) @ rare / total if len(terms) else np.zeros(n)
    best = one.passages[rows[np.argsort(-b)[:3]]].mean(0)
    fallen, kept = np.sort(v)[::-1], np.sort(k)[::-1]
    agreed = len({*found.owner[np.argsort(-v)[:10]].tolist()} & {*found.owner[np.argsort(-k)[:10]].tolist()}) / 10
    shape = {
        "terms": np.log1p(len(terms)),
        "rarity": rare.mean() if len(terms) else 0.0,
        "cosine": fallen[0],
        "agreement": agreed,
    }
    shape |= {
        "lead of cosine": fallen[0] - fallen[9:20].mean(),
        "lead of BM25": 1 - kept[9:20].mean(),
        "spread": fallen[:100].std(),
        "coverage": has.max(),
    }
    return {
        "cosine": v, "share": k, "fused": b, "cosine to best": v - v.max(), "fused to best": b - b.max(),
        "cosine z": (v - v.mean()) / (v.std() + 1e-9), "share z": (k - k.mean()) / (k.std() + 1e-9),
        "place by cosine": place(v), "place by BM25": place(k), "place": place(b),
        "document's cosine": found.mean(v) - v, "document's share": found.mean(k) - k,
        "document's best cosine": found.largest(v) - v, "document's best share": found.largest(k) - k,
        "document's BM25": one.whole[i][found.owner] / (one.whole[i].max() or 1), "in document": np.log(found.size),
        "BM25 of all terms": k * found.best / (2.2 * total), "coverage": has, "heading": head,
        "feedback": one.passages[rows] @ best, "length": one.lengths[rows],
    }, shape  # fmt: skip


def tables(one):
    """Features of the best TOP of each question, scaled gains, and what is needed to measure."""
    one.lengths, rows = np.log1p(np.asarray(one.counts.sum(1)).ravel()), []
    for i, found in enumerate(one.found):
        of_passage, of_question = features(one, i, found)
        best = np.argsort(-of_passage["fused"], kind="stable")[:TOP]
        x = np.stack([value[best] for value in of_passage.values()], 1)
        q = np.tile(list(of_question.values()), (len(best), 1))
        owner = found.owner[best]
        gains = np.array([one.grades[i].get(d, 0) for d in owner.tolist()])
        rows.append((x.astype(np.float32), q.astype(np.float32), gains, owner, first_of_each(owner, x[:, 2])))
    return rows


COLUMNS = {
    "adaptive weight, linear": lambda x, q: np.concatenate([x[:, :2], x[:, :1] * q, x[:, 1:2] * q], 1),
    "learned scorer, linear": lambda x, q: x,
    "learned scorer, trees": lambda x, q: np.concatenate([x, q], 1),
    "learned scorer, trees, nothing of a passage's text": lambda x, q: np.concatenate([x[:, :14], q], 1),
}


def examples(sets, columns, most=200, top=50):
    """Draw questions with a relevant and another candidate; each document by its best passage; sets weigh the same."""
    random, drawn_rows = np.random.default_rng(0), []
    for rows in sets:
        usable = [
            r
            for r in (rows[i] for i in random.permutation(len(rows)))
            if 0 < (r[2][r[4][:top]] > 0).sum() < len(r[4][:top])
        ][:most]
        drawn_rows += [
            (columns(x, q)[first[:top]], gains[first[:top]], 1 / len(usable)) for x, q, gains, _, first in usable
        ]
    return drawn_rows


def trees(rows):
    import lightgbm

    x, y = np.concatenate([row[0] for row in rows]), np.concatenate([np.minimum(row[1], 4) for row in rows]).astype(int)
    weights = np.concatenate([np.full(len(row[1]), row[2]) for row in rows])
    how = {
        "objective": "lambdarank",
        "lambdarank_truncation_level": 15,
        "learning_rate": 0.05,
        "num_leaves": 8,
        "max_depth": 4,
    }
    how |= {
        "min_data_in_leaf": 150,
        "lambda_l2": 10,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
    }
    how |= {"verbose": -1, "num_threads": 1, "seed": 1, "deterministic": True}
    data = lightgbm.Dataset(x, y, weight=weights / weights.mean(), group=[len(row[1]) for row in rows])
    return lightgbm.train(how, data, num_boost_round=150).predict


def linear(rows, steps=200):
    """Softmax over a question's candidates, Adam, l2 0.003."""
    flat = np.concatenate([row[0] for row in rows])
    middle, spread = flat.mean(0), flat.std(0) + 1e-6
    w, m, s = np.zeros(flat.shape[1]), 0.0, 0.0
    most = max(len(row[1]) for row in rows)
    x, y = np.zeros((len(rows), most, len(w)), np.float32), np.zeros((len(rows), most), np.float32)
    away, share = np.full(y.shape, -1e9, np.float32), np.array([row[2] for row in rows])
    for i, (a, gains, _) in enumerate(rows):
        x[i, : len(a)], y[i, : len(a)], away[i, : len(a)] = (a - middle) / spread, gains / gains.sum(), 0
    for step in range(1, steps + 1):
        z = x @ w.astype(np.float32) + away
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        slope = -np.einsum("i,ij,ijk->k", share / share.sum(), y - p, x, optimize=True) + 0.003 * w
        m, s = 0.9 * m + 0.1 * slope, 0.99 * s + 0.01 * slope**2
        w = w - 0.08 * (m / (1 - 0.9**step)) / (np.sqrt(s / (1 - 0.99**step)) + 1e-8)
    return lambda rows: ((rows - middle) / spread) @ w


def learned(collections, looked, way):
    """Give each set, by a scorer fitted on the others, nDCG@10 of each question for each share of the mixture."""
    columns, fit, result = COLUMNS[way], linear if way.endswith("linear") else trees, {}
    for name, one in collections.items():
        scorer = fit(examples([rows for other, rows in looked.items() if name not in (other, KIN.get(other))], columns))
        cuts = np.cumsum([len(row[0]) for row in looked[name]])[:-1]
        scores = np.split(scorer(np.concatenate([columns(row[0], row[1]) for row in looked[name]])), cuts)
        result[name] = {
            share: np.array([
                one.ndcg(i, row[3], (1 - share) * scaled(row[0][:, 2]) + share * scaled(score))
                for i, (row, score) in enumerate(zip(looked[name], scores, strict=True))
            ])
            for share in SHARES
        }  # fmt: skip
    return result


def interval(differences):
    """Bootstrap the mean over the sets of the mean difference: 95 %."""
    random = np.random.default_rng(7)
    drawn_means = np.mean([d[random.integers(0, len(d), (2000, len(d)))].mean(1) for d in differences], axis=0)
    return [round(float(np.quantile(drawn_means, q)), 4) for q in (0.025, 0.975)]


def left_out(table):
    """Choose for each set by the mean of the others, and report on the set."""
    names, values = list(table), list(next(iter(table.values())))
    means = {name: {v: float(table[name][v].mean()) for v in values} for name in names}
    chosen = {n: max(values, key=lambda v: sum(means[o][v] for o in names if o != n)) for n in names}
    differences = [table[n][chosen[n]] - table[n][values[0]] for n in names]
    return {
        "mean": round(float(np.mean([means[n][chosen[n]] for n in names])), 4),
        "gain": round(float(np.mean([d.mean() for d in differences])), 4),
        "95 %": interval(differences),
        "sets": {n: round(means[n][chosen[n]], 4) for n in names},
        "chosen": {n: str(chosen[n]) for n in names},
        "mean of each": {str(v): round(float(np.mean([means[n][v] for n in names])), 4) for v in values},
    }


def likelihoods(one, count, model):
    """nDCG@10 of each sampled question for each share of the likelihood of the question."""
    from choose_and_quote import chosen_by_question

    result, seconds = {share: [] for share in SHARES}, []
    for i in np.random.default_rng(3).permutation(len(one.found))[:count].tolist():
        found, start = one.found[i], time.perf_counter()
        scores = found.score()
        best = np.argsort(-scores, kind="stable")[:TOP]
        likely = chosen_by_question(model, one.questions[i].text, [one.texts[r] for r in found.rows[best[:WINDOW]]])
        seconds.append(time.perf_counter() - start)
        second = np.zeros(len(best))
        second[:WINDOW] = scaled(np.array(likely))
        for share in SHARES:
            result[share].append(one.ndcg(i, found.owner[best], (1 - share) * scaled(scores[best]) + share * second))
    return {share: np.array(row) for share, row in result.items()}, float(np.median(seconds))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--likelihood", type=int, default=0, help="questions of each of the sets below")
    parser.add_argument("--also", nargs="*", default=[], help="sets that scorers are fitted on as well")
    parser.add_argument("--likelihood-sets", nargs="*", default=["cranfield", "musique-100"])
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "ranking_ablation.json")
    options = parser.parse_args()
    report = json.loads(options.save.read_text()) if options.save.exists() else {}
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=default_models_dir())
    collections, more = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.likelihood_sets if options.likelihood else [*options.sets, *options.also]:
            home, dataset = (
                (options.libraries or Path(folder)) / name.replace("/", "_"),
                load_dataset(options.data / name),
            )
            store = open_store(home, analyze=analyze, analyzer=ANALYZER)
            try:
                index_corpus(dataset, store, encoder)
                kept = more if name in options.also else collections
                kept[name] = Collection(dataset, store, encoder, home.with_name(home.name + ".passages.npy"))
            finally:
                store.close()
    if options.likelihood:
        from choose_and_quote import Model

        model = Model()
        found = {name: likelihoods(one, options.likelihood, model) for name, one in collections.items()}
        row = left_out({name: table for name, (table, _) in found.items()})
        seconds = {name: round(took, 2) for name, (_, took) in found.items()}
        report["likelihood"] = row | {"questions": options.likelihood, "window": WINDOW, "seconds a question": seconds}
        print(report["likelihood"])
    else:
        report |= {"analyzer": ANALYZER, "encoder": encoder.fingerprint, "fitted on as well": list(more)}
        base = {name: round(float(one.measured(lambda i, f: f.score()).mean()), 4) for name, one in collections.items()}
        report["as it is"] = {"mean": round(float(np.mean(list(base.values()))), 4), "sets": base}
        report["ways"] = {}
        for way, values in GRIDS.items():
            report["ways"][way] = left_out(
                {n: {v: grid(one, way, v) for v in values} for n, one in collections.items()}
            )
            print(way, {k: report["ways"][way][k] for k in ("mean", "gain", "95 %", "mean of each")}, flush=True)
        looked = {name: tables(one) for name, one in (collections | more).items()}
        for way in COLUMNS:
            report["ways"][way] = left_out(learned(collections, looked, way))
            print(way, {k: report["ways"][way][k] for k in ("mean", "gain", "95 %", "mean of each")}, flush=True)
    options.save.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
