"""What the decisions of a monitor, or of any other method, amount to over a stream.

An empty stream raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number
from tcuq.metrics.inputs import Bools, flags, not_empty, numbers


def _events(name: str, values: npt.ArrayLike) -> Bools:
    events = flags(name, values)
    not_empty(name, events)
    return events


def exceedance_deviation(flagged: npt.ArrayLike, level: float) -> float:
    """Return ``|share of flagged steps - level|``."""
    return abs(float(_events("flagged", flagged).mean()) - number("level", level, 0, 1))


def threshold_spread(threshold: npt.ArrayLike, stretches: Iterable[slice]) -> float:
    """Return the pooled standard deviation of a threshold within stationary stretches.

    The squared distances to the mean of the own stretch, summed over all stretches and divided by
    (steps - stretches), under a root: levels that differ between stretches add nothing.
    """
    values = numbers("threshold", threshold)
    not_empty("threshold", values)
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"threshold[{at}] is {values[at]}, expected any finite number")
    squares, freedom, seen = 0.0, 0, np.zeros(len(values), dtype=np.bool_)
    for stretch in stretches:
        if not isinstance(stretch, slice):
            raise TypeError(f"stretch is {type(stretch).__name__}; a slice is needed")
        start, stop = stretch.start, stretch.stop
        if start is None or stop is None or stretch.step not in (None, 1) or not 0 <= start < stop:
            raise ValueError(f"stretch is {stretch}, expected a slice with 0 <= start < stop")
        if stop > len(values):
            raise ValueError(f"stretch ends at {stop}, expected at most {len(values)}")
        if seen[stretch].any():
            raise ValueError(f"stretch {start} to {stop} overlaps another, expected separate ones")
        seen[stretch] = True
        part = values[stretch]
        squares += float(((part - part.mean()) ** 2).sum())
        freedom += len(part) - 1
    return float(np.sqrt(squares / freedom)) if freedom else float("nan")


def budget_utilization(abstain: npt.ArrayLike, budget: float) -> float:
    """Return the share of abstentions over the budget, which must be above 0; above 1 when overspent.

    Examples
    --------
    >>> budget_utilization([True, False, False, False], 0.5)
    0.5
    """
    allowed = number("budget", budget, 0, 1)
    if allowed == 0:
        raise ValueError("budget is 0, expected above 0, up to 1")
    return float(_events("abstain", abstain).mean()) / allowed
