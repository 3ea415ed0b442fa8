"""Metrics of resampled steps without sorting them again, for the thousands of replicates of a bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tcuq.metrics.inputs import Ints

from .tasks import Measure, Task

NAN = float("nan")


class Ranked:
    """A task whose scores are ranked once.

    Parameters
    ----------
    task : Task
    """

    def __init__(self, task: Task) -> None:
        distinct, inverse = np.unique(task.score[task.judged], return_inverse=True)
        self._levels = len(distinct)
        # Falling scores, negatives and positives of each apart; steps that are not judged come last.
        self._slot = np.full(len(task.score), 2 * self._levels, dtype=np.int64)
        falling = 2 * (self._levels - 1 - inverse.ravel())
        self._slot[task.judged] = falling + task.positive[task.judged]

    def counts(self, index: Ints) -> tuple[Ints, Ints]:
        """Return negatives and positives at each distinct score, the highest first, among some steps."""
        found = np.bincount(self._slot[index], minlength=2 * self._levels + 1)[:-1].reshape(-1, 2)
        return found[:, 0], found[:, 1]


def _auprc(negative: Ints, positive: Ints) -> float:
    hits, false = np.cumsum(positive), np.cumsum(negative)
    if not len(hits) or not hits[-1]:
        return NAN
    gained = positive > 0
    share = hits[gained] / (hits[gained] + false[gained])
    return float((positive[gained] * share).sum() / hits[-1])


def _lift(negative: Ints, positive: Ints) -> float:
    hits, false = int(positive.sum()), int(negative.sum())
    if not hits or not false:
        return NAN
    base = hits / (hits + false)
    return (_auprc(negative, positive) - base) / (1 - base)


def _auroc(negative: Ints, positive: Ints) -> float:
    hits, false = int(positive.sum()), int(negative.sum())
    if not hits or not false:
        return NAN
    below = false - np.cumsum(negative) + negative / 2
    return float((positive * below).sum() / (hits * false))


def _fpr95(negative: Ints, positive: Ints) -> float:
    hits, false = np.cumsum(positive), np.cumsum(negative)
    if not len(hits) or not hits[-1] or not false[-1]:
        return NAN
    return float(false[int(np.argmax(hits / hits[-1] >= 0.95))] / false[-1])


FAST: Mapping[str, Callable[[Ints, Ints], float]] = MappingProxyType(
    {"auprc": _auprc, "lift": _lift, "auroc": _auroc, "fpr95": _fpr95}
)


def measured(task: Task, metric: str, measure: Measure) -> Callable[[Ints | None], float]:
    """Return a function from an index of steps, None for all, to the metric.

    Parameters
    ----------
    task : Task
    metric : str
        Its last word chooses the fast way; whatever has none is computed by `measure` on the drawn steps.
    measure : callable
        The definition, always used for all steps as they are.
    """
    fast = FAST.get(metric.rpartition("_")[2])
    ranked = Ranked(task) if fast else None

    def value(index: Ints | None) -> float:
        if index is None:
            return task.measure(measure)
        if fast is not None and ranked is not None:
            return fast(*ranked.counts(index))
        return Task(task.score[index], task.positive[index], task.judged[index]).measure(measure)

    return value
