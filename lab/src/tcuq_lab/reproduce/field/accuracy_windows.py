"""Windows of judged steps, and how far an estimate is from the truth in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats, Ints

from ...methods.estimates import Development, Windows
from ...methods.method import Observed
from .intervals import Drawn, drawn
from .stretch_figures import Auroc, Mean
from .units import Shown

SIZE = 200
"""Steps of a window."""
MOSTLY = 0.9
"""Share of shifted steps from which a window is called shifted, and of clean ones from which it is clean."""
DROP = 0.1
"""How far the accuracy of a window is below its clean mean where an estimate should tell it."""

ERROR, BIAS, RANK = "accuracy error", "accuracy bias", "accuracy rank"
SHIFTED, CLEAN = f"{ERROR}, shifted", f"{ERROR}, clean"


@dataclass(frozen=True, eq=False)
class Cut:
    """Steps of each window, in order; windows do not overlap, and none reaches across stretches.

    Parameters
    ----------
    steps : array (n, size) of integers
        Judged steps only: where a stream has steps without a true class, a window reaches further.
    segments : array of T integers
        Number of the stretch of each step of the stream.
    """

    steps: Ints
    segments: Ints

    @property
    def ends(self) -> Ints:
        """The last step of each window."""
        return np.asarray(self.steps[:, -1])

    @property
    def stretches(self) -> Ints:
        """Stretch of each window."""
        return np.asarray(self.segments[self.ends])


def cut(judged: Bools, segments: Ints, size: int = SIZE) -> Cut:
    """Cut a stream into windows; steps at the end of a stretch that fill none are left out.

    Parameters
    ----------
    judged : array of T booleans
    segments : array of T integers
    size : int

    Examples
    --------
    >>> found = cut(np.array([1, 0, 1, 1, 1, 1], bool), np.array([0, 0, 0, 1, 1, 1]), 2)
    >>> found.steps.tolist(), found.stretches.tolist()
    ([[0, 2], [3, 4]], [0, 1])
    """
    windows = [np.empty((0, size), dtype=np.int64)]
    for stretch in np.unique(segments):
        steps = np.flatnonzero(judged & (segments == stretch))
        windows.append(steps[: len(steps) // size * size].reshape(-1, size))
    return Cut(np.concatenate(windows), segments)


def windows_of(seen: Observed, steps: Ints, other: npt.NDArray[Any] | None = None) -> Windows:
    """Return what a network said in each window, and a second predictor."""
    logits = seen.extra.get("logits")
    return Windows(
        seen.probs[steps],
        None if logits is None else logits[steps],
        None if other is None else other[steps],
    )


def development(
    shown: Shown, seen: Observed, only: Bools | None = None, other: npt.NDArray[Any] | None = None
) -> Development:
    """Return the labeled windows of a development stream.

    Parameters
    ----------
    shown : Shown
    seen : Observed
    only : array of T booleans, optional
        Steps that are used, such as clean ones; a window then holds that many of these.
    other : array (T, classes), optional
        Posteriors of a second predictor.
    """
    found = cut(shown.judged if only is None else shown.judged & only, shown.segments)
    return Development(windows_of(seen, found.steps, other), shown.labels[found.steps], found.stretches)


@dataclass(frozen=True, eq=False)
class Judged:
    """An estimate beside the truth, for each window.

    Parameters
    ----------
    estimate, truth : array of n numbers
    shifted : array of n numbers
        Share of shifted steps.
    ends : array of n integers
        Last step of each window.
    segments : array of T integers
    """

    estimate: Floats
    truth: Floats
    shifted: Floats
    ends: Ints
    segments: Ints

    @classmethod
    def of(cls, windows: Cut, shown: Shown, estimate: Floats, right: Bools) -> Judged:
        """Judge an estimate by where answers were right; both have an entry for each window, or step.

        Parameters
        ----------
        windows : Cut
        shown : Shown
        estimate : array of n numbers
        right : array of T booleans
        """
        steps = windows.steps
        return cls(
            np.asarray(estimate, dtype=np.float64),
            right[steps].mean(axis=1),
            (shown.shifts[steps] > 0).mean(axis=1),
            windows.ends,
            windows.segments,
        )

    def figures(self, name: str, clean_mean: float) -> dict[str, Drawn]:
        """Return all columns that are defined.

        Parameters
        ----------
        name : str
            Seeds the draws, see `intervals.draws`.
        clean_mean : float
            Mean accuracy on clean data of the answers that the estimate is about.
        """
        gap = self.estimate - self.truth
        everywhere = np.ones(len(gap), dtype=bool)
        means = {
            ERROR: (np.abs(gap), everywhere),
            BIAS: (gap, everywhere),
            SHIFTED: (np.abs(gap), self.shifted >= MOSTLY),
            CLEAN: (np.abs(gap), 1 - self.shifted >= MOSTLY),
        }
        count = len(np.unique(self.segments))
        found = {
            column: drawn(Mean(self._spread(values), self.segments, self._marks(of)), count, name)
            for column, (values, of) in means.items()
            if of.any()
        }
        dropped = self.truth < clean_mean - DROP
        if dropped.any() and not dropped.all():
            positive = self._marks(dropped)
            rank = Auroc(self._spread(-self.estimate), positive, self.segments, self._marks(everywhere))
            found[RANK] = drawn(rank, count, name)
        return found

    def _marks(self, of: Bools) -> Bools:
        marks = np.zeros(len(self.segments), dtype=bool)
        marks[self.ends[of]] = True
        return marks

    def _spread(self, values: npt.NDArray[np.float64]) -> Floats:
        """Return values at the last steps of windows, so that stretches without a window count as such."""
        out = np.zeros(len(self.segments))
        out[self.ends] = values
        return out


def joined(parts: Sequence[Judged]) -> Judged:
    """Return several streams as one, whose stretches stay apart."""
    starts = np.cumsum([0, *(len(each.segments) for each in parts)])
    firsts = np.cumsum([0, *(int(each.segments[-1]) + 1 for each in parts)])
    return Judged(
        np.concatenate([each.estimate for each in parts]),
        np.concatenate([each.truth for each in parts]),
        np.concatenate([each.shifted for each in parts]),
        np.concatenate([each.ends + start for each, start in zip(parts, starts, strict=False)]),
        np.concatenate([each.segments + first for each, first in zip(parts, firsts, strict=False)]),
    )
