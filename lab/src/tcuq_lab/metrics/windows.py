"""How far an expected accuracy is from the true one, in windows of judged steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats, Ints

from ..harness.declare import Case
from ..harness.figures import Auroc, Figure, Mean
from ..harness.types import CLEAN

SIZE = 200
"""Steps of a window."""
MOSTLY = 0.9
"""Share of shifted steps from which a window is called shifted, and of clean ones from which it is clean."""
DROP = 0.1
"""How far the accuracy of a window is below its clean mean where an estimate should tell it."""
ERROR, BIAS, RANK = "accuracy error", "accuracy bias", "accuracy rank"
SHIFTED_ERROR, CLEAN_ERROR = f"{ERROR}, shifted", f"{ERROR}, clean"


@dataclass(frozen=True, eq=False)
class Cut:
    """Steps of each window, in order; windows do not overlap, and none reaches across stretches."""

    steps: Ints  # (n, size): judged ones only, so that a window reaches further where some are not
    stretches: Ints  # of each step of the stream

    @property
    def ends(self) -> Ints:
        """The last step of each window."""
        return np.asarray(self.steps[:, -1])

    def marks(self, of: Bools) -> Bools:
        """Return the last steps of some windows, among all steps."""
        marks = np.zeros(len(self.stretches), dtype=bool)
        marks[self.ends[of]] = True
        return marks

    def spread(self, values: npt.NDArray[Any]) -> Floats:
        """Return values at the last steps of windows, so that stretches without a window count as such."""
        out = np.zeros(len(self.stretches))
        out[self.ends] = values
        return out


def cut(judged: Bools, stretches: Ints, size: int = SIZE) -> Cut:
    """Cut a stream into windows; steps at the end of a stretch that fill none are left out."""
    windows = [np.empty((0, size), dtype=np.int64)]
    for stretch in np.unique(stretches):
        steps = np.flatnonzero(judged & (stretches == stretch))
        windows.append(steps[: len(steps) // size * size].reshape(-1, size))
    return Cut(np.concatenate(windows), stretches)


def accuracy(case: Case) -> dict[str, Figure]:
    """Return how near an expected accuracy comes to the true one, and whether it ranks windows that drop.

    A drop is below the mean of the clean stream, which has to be shown first.
    """
    said, truth = case.answers.accuracy, case.truth
    if said is None:
        return {}
    windows = cut(truth.judged, truth.stretches)
    if not len(windows.steps):
        return {}
    estimate = np.asarray(said(windows.steps) if callable(said) else said[windows.ends], dtype=np.float64)
    right = (~case.wrong)[windows.steps].mean(axis=1)
    shifted = truth.shifted[windows.steps].mean(axis=1)
    gap, everywhere = estimate - right, np.ones(len(estimate), dtype=bool)
    if case.play.stream == CLEAN:
        case.memory["clean accuracy"] = float(right.mean())
    means = {
        ERROR: (np.abs(gap), everywhere),
        BIAS: (gap, everywhere),
        SHIFTED_ERROR: (np.abs(gap), shifted >= MOSTLY),
        CLEAN_ERROR: (np.abs(gap), 1 - shifted >= MOSTLY),
    }
    found: dict[str, Figure] = {
        column: Mean(windows.spread(values), truth.stretches, windows.marks(of))
        for column, (values, of) in means.items()
        if of.any()
    }
    dropped = right < case.memory.get("clean accuracy", np.nan) - DROP
    if dropped.any() and not dropped.all():
        found[RANK] = Auroc(
            windows.spread(-estimate), windows.marks(dropped), truth.stretches, windows.marks(everywhere)
        )
    return found


def accuracy_error(case: Case) -> dict[str, Figure]:
    """Return the mean distance alone."""
    return {column: each for column, each in accuracy(case).items() if column == ERROR}
