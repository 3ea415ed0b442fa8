"""Figures that know what they are when stretches are taken several times or not at all; see `intervals`."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats, Ints


class Figure(Protocol):
    """A figure of some stretches."""

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """Return the figure for each row of (n, K): how often each of the K stretches is taken."""


def _stretches(segments: npt.ArrayLike) -> tuple[Ints, int]:
    """Return the number of the stretch of each step, 0 to K - 1, and K."""
    names, number = np.unique(np.asarray(segments), return_inverse=True)
    return np.asarray(number, dtype=np.int64).ravel(), len(names)


class Mean:
    """The mean of a value of each step, over the steps that count."""

    def __init__(self, values: npt.ArrayLike, segments: npt.ArrayLike, of: Bools | None = None) -> None:
        number, count = _stretches(segments)
        kept = np.ones(len(number), dtype=bool) if of is None else of
        given = np.where(kept, np.asarray(values, dtype=np.float64), 0.0)
        self._sums = np.bincount(number, given, count)
        self._counts = np.bincount(number, kept, count)

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        total, count = taken @ self._sums, taken @ self._counts
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1e-300), np.nan))


class Rate(Mean):
    """How often something happens in 10,000 of the steps that count."""

    def __init__(self, happened: Bools, segments: npt.ArrayLike, of: Bools) -> None:
        super().__init__(10_000.0 * happened, segments, of)
        self.exposure = float(of.sum()) / 10_000


class Auroc:
    """The AUROC of a score for a truth, ties counting half."""

    def __init__(
        self,
        score: npt.ArrayLike,
        positive: npt.ArrayLike,
        segments: npt.ArrayLike,
        judged: Bools | None = None,
    ) -> None:
        number, truth, ends, count = _by_score(score, positive, segments, judged)
        self._hits = np.bincount(number[truth], minlength=count).astype(np.float64)
        self._rest = np.bincount(number[~truth], minlength=count).astype(np.float64)
        # Negatives of each stretch below, and as far as, each score: a tie counts half.
        reached = _reached(number, ~truth, ends, count)
        below = (reached[1:] + reached[:-1]) / 2
        place = np.searchsorted(ends, np.flatnonzero(truth))
        self._won = np.stack([below[place[number[truth] == each]].sum(axis=0) for each in range(count)])

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        won = np.einsum("ni,ij,nj->n", taken, self._won, taken, optimize=True)
        pairs = (taken @ self._hits) * (taken @ self._rest)
        return np.asarray(np.where(pairs > 0, won / np.maximum(pairs, 1e-300), np.nan))


class LeftAt:
    """The error rate among the steps of lowest risk; steps of one risk share their errors evenly."""

    def __init__(
        self,
        score: npt.ArrayLike,
        wrong: npt.ArrayLike,
        segments: npt.ArrayLike,
        coverage: float = 0.9,
        judged: Bools | None = None,
    ) -> None:
        number, mistaken, ends, count = _by_score(score, wrong, segments, judged)
        self._steps = _reached(number, np.ones(len(number), dtype=bool), ends, count)
        self._errors = _reached(number, mistaken, ends, count)
        self._coverage = coverage

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        kept = self._coverage * (taken @ self._steps[-1])
        # The score within which coverage is reached, halving the range: sums rise with the score.
        low, high = np.zeros(len(taken), np.int64), np.full(len(taken), len(self._steps) - 1)
        while (high - low > 1).any():
            middle = (low + high) // 2
            short = _weighed(taken, self._steps[middle]) < kept
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        before, after = _weighed(taken, self._steps[low]), _weighed(taken, self._steps[high])
        share = (kept - before) / np.maximum(after - before, 1e-300)
        least, most = _weighed(taken, self._errors[low]), _weighed(taken, self._errors[high])
        left = least + share * (most - least)
        return np.asarray(np.where(kept > 0, left / np.maximum(kept, 1e-300), np.nan))


def _by_score(
    score: npt.ArrayLike, marked: npt.ArrayLike, segments: npt.ArrayLike, judged: Bools | None
) -> tuple[Ints, Bools, Ints, int]:
    """Return stretches and marks of the judged steps by rising score, the last of each score, and K."""
    number, count = _stretches(segments)
    kept = np.ones(len(number), dtype=bool) if judged is None else judged
    values = np.asarray(score)[kept]
    order = np.argsort(values, kind="stable")
    rising = values[order]
    ends = np.flatnonzero(np.append(rising[1:] != rising[:-1], True)[: len(rising)])
    return number[kept][order], np.asarray(marked, dtype=bool)[kept][order], ends, count


def _reached(number: Ints, counted: Bools, ends: Ints, count: int) -> Floats:
    """Return the counted steps of each stretch up to each distinct score: a row of 0, then one for each."""
    table = np.zeros((len(number) + 1, count))
    table[np.arange(1, len(number) + 1), number] = counted
    return np.asarray(np.cumsum(table, axis=0)[np.append(0, ends + 1)])


def _weighed(taken: npt.NDArray[np.float64], counts: Floats) -> Floats:
    return np.asarray(np.einsum("nk,nk->n", taken, counts))


class Median:
    """The median of values that belong to stretches, such as delays; infinite ones are allowed."""

    def __init__(self, values: npt.ArrayLike, stretches: npt.ArrayLike, count: int) -> None:
        given = np.asarray(values, dtype=np.float64)
        order = np.argsort(given, kind="stable")
        self.values = given[order]
        self.stretches = np.asarray(stretches, dtype=np.int64)[order]
        if len(self.stretches) and not 0 <= self.stretches.min() <= self.stretches.max() < count:
            raise ValueError(f"stretches reach {int(self.stretches.max())}, expected below {count}")

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        if not len(self.values):
            return np.full(len(taken), math.nan)
        total = np.cumsum(taken[:, self.stretches], axis=1)
        whole = total[:, -1]
        # The mean of the two middle values, which are one where their number is odd.
        low = self.values[np.minimum((total < ((whole + 1) // 2)[:, None]).sum(axis=1), len(self.values) - 1)]
        high = self.values[np.minimum((total < (whole // 2 + 1)[:, None]).sum(axis=1), len(self.values) - 1)]
        with np.errstate(invalid="ignore"):
            middle = np.where(low == high, low, (low + high) / 2)
        return np.asarray(np.where(whole > 0, middle, math.nan))


class EventShare:
    """The share of events that happened, such as shifts that were found."""

    def __init__(self, happened: npt.ArrayLike, stretches: npt.ArrayLike, count: int) -> None:
        number = np.asarray(stretches, dtype=np.int64)
        self.events = float(len(number))
        self._sums = np.bincount(number, np.asarray(happened, dtype=np.float64), count)
        self._counts = np.bincount(number, minlength=count)

    def of(self, taken: npt.NDArray[np.float64]) -> Floats:
        """See `Figure`."""
        total, count = taken @ self._sums, taken @ self._counts
        return np.asarray(np.where(count > 0, total / np.maximum(count, 1e-300), np.nan))
