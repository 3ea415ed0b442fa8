"""What labels of a designed sample say about accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number

from .intervals import errors_interval, strata_interval


def accuracy_of(rows: npt.NDArray[np.int64], level: float) -> dict[str, Any]:
    """Return the accuracy over all steps of some picks, with its interval; see `Labels.accuracy`.

    Parameters
    ----------
    rows : array of shape (n, 8)
        One row a pick: day, steps, then asked, told and wrong of the risk part, and of the random part.
    level : float

    Examples
    --------
    >>> found = accuracy_of(np.array([[0, 1000, 80, 80, 40, 20, 20, 0]]), 0.95)
    >>> found["estimate"], [round(end, 3) for end in found["interval"]]
    (0.96, [0.807, 0.96])
    """
    inside = number("level", level, 0, 1)
    if not 0 < inside < 1:
        raise ValueError(f"level is {inside:g}, expected above 0 and below 1")
    steps = int(rows[:, 1].sum())
    asked, told, wrong = (int((rows[:, at] + rows[:, at + 3]).sum()) for at in (2, 3, 4))
    found: dict[str, Any] = {
        "level": inside,
        "steps": steps,
        "days": len(rows),
        "asked": asked,
        "told": told,
    }
    found |= {"errors_found": wrong, "estimate": None, "interval": [0.0, 1.0]}
    if not steps:
        return found
    low, high = _errors(rows, inside)
    guess = _guess(rows)
    if guess is not None:
        found["estimate"] = 1 - guess / steps
    found["interval"] = [max(0.0, 1 - high / steps), min(1.0, 1 - low / steps)]
    return found


def _errors(rows: npt.NDArray[np.int64], level: float) -> tuple[float, float]:
    """Return the fewest and the most errors in all: those of the risk part, and those behind the samples."""
    _, steps, asked, told, wrong, drawn, drawn_told, drawn_wrong = rows.T
    known = int(wrong.sum()), int((wrong + asked - told).sum())
    rest, most = steps - asked, drawn_wrong + drawn - drawn_told
    if len(rows) == 1:
        low, high = errors_interval(int(rest[0]), int(drawn[0]), int(drawn_wrong[0]), int(most[0]), level)
        return known[0] + low, known[1] + high
    bounds = strata_interval(rest, drawn, drawn_wrong, most, level)
    return known[0] + bounds[0], known[1] + bounds[1]


def _guess(rows: npt.NDArray[np.int64]) -> float | None:
    """Return the estimated errors, as if labels that have not come back were like those that have."""
    _, steps, asked, told, wrong, _, drawn_told, drawn_wrong = rows.T
    rest, seen = steps - asked, drawn_told > 0
    if (rest.sum() and not seen.any()) or (asked.sum() and not told.sum()):
        return None
    certain = float(wrong.sum() * asked.sum() / max(1, told.sum()))
    if not seen.any():
        return certain
    errors = float((rest[seen] * drawn_wrong[seen] / drawn_told[seen]).sum())
    return certain + errors * float(rest.sum()) / max(1.0, float(rest[seen].sum()))
