"""Logistic regression small enough to read, with cross-validation; NumPy only."""

from __future__ import annotations

import numpy as np


def fit(x, y, weight=None, penalty=1.0, rounds=50):
    """Fit by Newton's method, L2 penalty on standardised features; the weights are for the raw features, bias last."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    z = np.hstack([(x - mean) / spread, np.ones((len(x), 1))])
    ridge = penalty * np.diag([*np.ones(x.shape[1]), 0.0])
    w = np.zeros(z.shape[1])
    weight = np.ones(len(x)) if weight is None else weight
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(z @ w, -30, 30)))
        gradient = z.T @ (weight * (p - y)) + ridge @ w
        w -= np.linalg.solve(z.T @ (z * (weight * p * (1 - p))[:, None]) + ridge + 1e-9 * np.eye(len(w)), gradient)
    raw = w[:-1] / spread
    return np.append(raw, w[-1] - raw @ mean)


def predict(x, w):
    """Give probabilities."""
    return 1 / (1 + np.exp(-np.clip(x @ w[:-1] + w[-1], -30, 30)))


def balanced(y):
    """Give weights under which both classes count alike."""
    share = y.mean()
    return np.where(y == 1, 0.5 / share, 0.5 / (1 - share))


def folds(groups, count=5):
    """Split by group, in the order of the groups' names: (train, test) index arrays."""
    names = sorted(set(groups))
    of = {name: index % count for index, name in enumerate(names)}
    fold = np.array([of[group] for group in groups])
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(min(count, len(names)))]


def out_of_fold(x, y, groups, count=5):
    """Predict every row by a model that has not seen its group."""
    p = np.zeros(len(y))
    for train, test in folds(groups, count):
        p[test] = predict(x[test], fit(x[train], y[train], balanced(y[train])))
    return p


def balanced_accuracy(y, said):
    """Give the mean of the recalls of both classes."""
    return 0.5 * ((said[y == 1]).mean() + (~said[y == 0]).mean())


def best_threshold(y, p):
    """Give the threshold with the highest balanced accuracy, the lowest such."""
    grid = np.quantile(p, np.linspace(0.02, 0.98, 97))
    return float(max(grid, key=lambda t: (balanced_accuracy(y, p >= t), -t)))


def tuned(y, score, groups, count=5):
    """Say yes where a score reaches a threshold that is chosen on the other folds."""
    said = np.zeros(len(y), dtype=bool)
    for train, test in folds(groups, count):
        said[test] = score[test] >= best_threshold(y[train], score[train])
    return said


def f1(y, said):
    """Give the harmonic mean of precision and recall."""
    return float(2 * (said & (y == 1)).sum() / max(1, said.sum() + y.sum()))
