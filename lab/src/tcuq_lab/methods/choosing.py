"""What settings are chosen by, the same for every method of an experiment.

Most experiments ask for errors and for drops of accuracy, as `objective` does. One that is about errors alone
has `errors_alone`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics import auroc
from tcuq.metrics.inputs import Bools

from ..metrics import average_precision
from ..metrics.drops import WINDOW, clean_band, drop_events, pieces, reaches, smooth

Measure = Callable[..., float]
"""Takes score, wrong answers, kinds of shift, segments, and the steps that are judged."""


def errors_alone(
    score: npt.NDArray[Any],
    wrong: Bools,
    kinds: npt.NDArray[np.uint8],
    segments: npt.NDArray[np.int64] | None = None,
    inside: Bools | None = None,
) -> float:
    """Return the AUROC of errors; see `objective` for what is given.

    Examples
    --------
    >>> errors_alone(np.array([0.1, 0.9, 0.5]), np.array([False, True, True]), np.zeros(3, np.uint8))
    1.0
    """
    judged = np.ones(len(wrong), dtype=bool) if inside is None else inside
    return auroc(score[judged], wrong[judged])


def objective(
    score: npt.NDArray[Any],
    wrong: Bools,
    kinds: npt.NDArray[np.uint8],
    segments: npt.NDArray[np.int64] | None = None,
    inside: Bools | None = None,
) -> float:
    """Return how well a score finds errors and drops of accuracy on a development stream."""
    judged = np.ones(len(wrong), dtype=bool) if inside is None else inside
    found = [auroc(score[judged], wrong[judged]), _drops(score, ~wrong, kinds > 0, segments, judged)]
    known = [each for each in found if np.isfinite(each)]
    return float(np.mean(known)) if known else 0.0


def _drops(
    score: npt.NDArray[Any],
    right: Bools,
    shifted: Bools,
    segments: npt.NDArray[np.int64] | None,
    inside: Bools,
) -> float:
    """Return the AUPRC of drop events; NaN without a clean window, or where all or no windows are drops."""
    parts = pieces(len(right), segments)
    try:
        band = clean_band([right[part] for part in parts], WINDOW, [~shifted[part] for part in parts])
    except ValueError:
        return float("nan")
    drops = drop_events(right, band, segments)
    judged = drops.judged & ~reaches(shifted & ~inside, WINDOW, segments)
    event = drops.event[judged]
    if not event.any() or event.all():
        return float("nan")
    return average_precision(smooth(score, WINDOW, segments)[judged], event)
