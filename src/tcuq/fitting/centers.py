"""Clean mean features of each class, and how often each class comes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..monitor.log import Log
from ..monitor.quantize import quantize_features
from .signal_table import chunks

FEWEST = 5
"""Steps of a class below which its center is that of all."""


def find_centers(log: Log, classes: int, scale: float, zero_point: int) -> tuple[tuple[int, ...], ...]:
    """Return the mean int8 features of each class over the clean steps of a log, by the predicted class.

    Steps that the log marks as shifted are left out.

    >>> log = Log([[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 6, features=[[4.0]] * 6 + [[-2.0]] * 6)
    >>> find_centers(log, 2, 1.0, 0)
    ((4,), (-2,))
    """
    assert log.features is not None
    predicted = log.predictions()
    clean = np.ones(len(log), dtype=bool) if log.shifted is None else ~log.shifted
    sums, counts = np.zeros((classes, log.width)), np.zeros(classes)
    for part in chunks(len(log)):
        rows = clean[part]
        held = quantize_features(np.asarray(log.features[part])[rows], scale, zero_point)
        np.add.at(sums, predicted[part][rows], held.astype(np.float64))
        counts += np.bincount(predicted[part][rows], minlength=classes)
    everywhere = sums.sum(0) / max(1.0, counts.sum())
    means = np.where((counts >= FEWEST)[:, None], sums / np.maximum(counts, 1)[:, None], everywhere)
    found = np.clip(np.rint(means), -128, 127).astype(int)
    return tuple(tuple(row) for row in found.tolist())


def class_shares(log: Log) -> list[float]:
    """Return how often each class comes in a log: by its labels, else by its predictions.

    >>> class_shares(Log([[0.9, 0.1]] * 4, labels=[0, 0, 0, 1]))
    [0.75, 0.25]
    """
    seen: npt.NDArray[np.int64] = log.predictions() if log.labels is None else log.labels
    # A label below 0 is none of the classes.
    counts = np.bincount(seen[seen >= 0], minlength=log.classes).astype(float)
    counts = np.maximum(counts, 0.5)  # no class is impossible
    return [float(share) for share in counts / counts.sum()]
