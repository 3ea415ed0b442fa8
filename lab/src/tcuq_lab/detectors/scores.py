"""Risks of single steps, higher means riskier: from posteriors, logits, a belief, distances of features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats

Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.floating[Any]]


def softmax(logits: Rows, temperature: float = 1.0) -> Doubles:
    """Return posteriors of logits over a temperature, along the last axis."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    grown: Doubles = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


SMALLEST = 1e-30
"""Of a posterior whose logarithm is taken."""


def logs_of(probs: Rows) -> Rows:
    """Return logits up to a constant a row, which neither a softmax nor a likelihood sees."""
    return np.asarray(np.log(np.maximum(probs, SMALLEST)))


def unsure(probs: Rows, answer: npt.NDArray[np.int64] | None = None) -> Doubles:
    """Return 1 minus the posterior of the answer, the largest one by default.

    It is the sum of the others: the difference from 1 would be rounded to equal values where a network is
    very sure.

    Examples
    --------
    >>> unsure(np.array([[1e-30, 1.0], [0.5, 0.5]])).tolist()
    [1e-30, 0.5]
    """
    others = np.array(probs, dtype=np.float64)
    chosen = others.argmax(axis=1) if answer is None else answer
    others[np.arange(len(others)), chosen] = 0.0
    return np.asarray(others.sum(axis=1))


def entropy(probs: Rows) -> Doubles:
    """Return the entropy along the last axis as a share of the largest possible."""
    values = np.asarray(probs, dtype=np.float64)
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(np.abs((values * logs).sum(axis=-1)) / np.log(values.shape[-1]))


def energy(logits: Rows, temperature: float = 1.0) -> Doubles:
    """Return the free energy, -T log sum exp(logits / T)."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    top = scaled.max(axis=1)
    return np.asarray(-temperature * (top + np.log(np.exp(scaled - top[:, None]).sum(axis=1))))


def margin(logits: Rows) -> Doubles:
    """Return the second largest value less the largest."""
    top = np.partition(np.asarray(logits, dtype=np.float64), -2, axis=1)[:, -2:]
    return np.asarray(top[:, 0] - top[:, 1])


RIDGE = 1e-3
"""Share of the mean variance that is added to each feature's own, so that a covariance has an inverse."""
NEIGHBORS = 2000
"""Clean vectors, at most, in which neighbors are looked for."""
SAME = 1e-5
"""Squared distance below which a clean vector is the step itself, shown again."""
BLOCK = 4096
"""Steps whose distances are in memory at a time."""


class Centers(NamedTuple):
    """Clean features by predicted class."""

    means: Floats
    whitens: Floats

    def distances(self, features: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> Floats:
        """Return the Mahalanobis distance of each step from the mean of its predicted class."""
        apart = np.asarray(features, dtype=np.float64) - self.means[predictions]
        return np.asarray(np.sqrt(np.square(apart @ self.whitens).sum(axis=-1)))


def centers_of(
    features: npt.NDArray[Any], predictions: npt.NDArray[Any] | None = None, classes: int = 1
) -> Centers:
    """Return the means of predicted classes (of all by default) and their covariance; no label is read."""
    given = np.asarray(features, dtype=np.float64)
    predictions = np.zeros(len(given), dtype=np.int64) if predictions is None else predictions
    counts = np.bincount(predictions, minlength=classes)
    sums = np.stack([np.bincount(predictions, column, classes) for column in given.T], axis=1)
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], given.mean(axis=0))
    apart = given - means[predictions]
    covariance = apart.T @ apart / len(apart)
    level = float(np.trace(covariance)) / len(covariance) or 1.0
    values, axes = np.linalg.eigh(covariance + RIDGE * level * np.eye(len(covariance)))
    return Centers(means, axes / np.sqrt(values))


class Neighbors:
    """Clean vectors of length 1, and how far others are from them.

    Examples
    --------
    >>> near = Neighbors(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> near.distances(np.array([[2.0, 0.0]]), (1, 2)).round(3).tolist()
    [[0.765], [1.414]]
    """

    def __init__(self, clean: npt.NDArray[Any]) -> None:
        kept = np.unique(_directions(clean), axis=0)
        self._kept = kept[np.sort(np.random.default_rng(4).permutation(len(kept))[:NEIGHBORS])]

    def distances(self, vectors: npt.NDArray[Any], ranks: tuple[int, ...]) -> Floats:
        """Return the distance from the k-th nearest for each k; a vector is no neighbor of itself."""
        given, found = _directions(vectors), np.empty((len(ranks), len(vectors)))
        places = np.minimum(np.array(ranks), len(self._kept)) - 1
        for start in range(0, len(given), BLOCK):
            square = 2 - 2 * (given[start : start + BLOCK] @ self._kept.T)
            square[square < SAME] = 4  # the farthest that there is
            square.partition(places, axis=1)
            found[:, start : start + BLOCK] = np.sqrt(square[:, places]).T
        return found


def _directions(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    given = np.asarray(vectors, dtype=np.float32)
    length = np.sqrt(np.square(given).sum(axis=1, keepdims=True))
    return np.asarray(given / np.maximum(length, np.float32(1e-12)))


FLOOR = 0.01
"""Shared evenly among the classes and added to a posterior, so that one sure mistake rules nothing out."""


def filtered(heard: npt.NDArray[Any], redraw: float) -> npt.NDArray[np.float64]:
    """Return the beliefs of K streams of as many steps, (K, T, classes)."""
    classes = heard.shape[2]
    given = np.ascontiguousarray(heard.transpose(1, 0, 2), dtype=np.float64) + FLOOR / classes
    found, even = np.empty(given.shape), redraw / classes
    now = np.full(given.shape[1:], 1 / classes)
    for step, each in enumerate(given):
        now = (now * (1 - redraw) + even) * each
        now /= now.sum(axis=1, keepdims=True)
        found[step] = now
    return found.transpose(1, 0, 2)
