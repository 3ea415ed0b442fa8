"""Scores of one step that an alarm may sum, beside its confidence: distances of features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Floats

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


def centers_of(features: npt.NDArray[Any], predictions: npt.NDArray[Any], classes: int) -> Centers:
    """Return the means of predicted classes and their common covariance; no label is read."""
    given = np.asarray(features, dtype=np.float64)
    counts = np.bincount(predictions, minlength=classes)
    sums = np.stack([np.bincount(predictions, column, classes) for column in given.T], axis=1)
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], given.mean(axis=0))
    apart = given - means[predictions]
    covariance = apart.T @ apart / len(apart)
    level = float(np.trace(covariance)) / len(covariance) or 1.0
    values, axes = np.linalg.eigh(covariance + RIDGE * level * np.eye(len(covariance)))
    return Centers(means, axes / np.sqrt(values))


def hotelling(vectors: npt.NDArray[Any], clean: Centers, window: int) -> Floats:
    """Return Hotelling's T2 of the mean of the last vectors, (K, T); the clean mean stands in before a run."""
    runs, steps, width = vectors.shape
    total = np.zeros((runs, steps + 1, width))
    np.cumsum((vectors - clean.means[0]) @ clean.whitens, axis=1, out=total[:, 1:])
    ends = np.arange(1, steps + 1)
    apart = total[:, ends] - total[:, np.maximum(ends - window, 0)]
    return np.asarray(np.square(apart).sum(axis=2) / window)


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
