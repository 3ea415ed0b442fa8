"""Whether a new version is worse than the one before it: a verdict that holds at every look.

In each part of the time that is over, the devices in alarm are counted for both versions. If versions do not
differ and devices got theirs by chance, the number that falls to the new one is hypergeometric (Fisher's
exact test), however long alarms last and however much devices differ. Every part of the time has its own
share of the level, so looking often costs nothing: an equally good version is ever called worse with a chance
of `LEVEL` at most, over all looks and all versions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..engine.tallies import HOUR
from .baseline import LEVEL, Floats
from .versions import VersionView

Counts = npt.NDArray[np.int64]

SUM = 2.11
"""Of 1 / (n ln(n)^2) over n from 2 on, rounded up."""

TAIL = 1e-17
"""Terms of a tail that are smaller than this share of the first are left out."""


def hypergeometric_tail(hits: int, drawn: int, marked: int, total: int) -> float:
    """Return the chance of so many hits or more, when `drawn` of `total` are taken, of which `marked` count.

    1 where no more than expected were hit.

    Examples
    --------
    >>> round(hypergeometric_tail(2, 2, 2, 4), 6)  # 1 of 6 pairs
    0.166667
    """
    if hits * total <= drawn * marked:
        return 1.0
    first = _log_choose(marked, hits) + _log_choose(total - marked, drawn - hits) - _log_choose(total, drawn)
    term = whole = 1.0
    for x in range(hits, min(drawn, marked)):
        term *= (marked - x) * (drawn - x) / ((x + 1) * (total - marked - drawn + x + 1))
        whole += term
        if term < TAIL * whole:
            break
    return min(1.0, math.exp(first) * whole)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def worse_p(new: Counts, new_alarms: Counts, old: Counts, old_alarms: Counts, *, level: int = 0) -> Floats:
    """Return the chance of each part of the time, corrected for all parts that there may ever be.

    Counts are devices that were heard of and that were in alarm, a part each; parts are 2**level hours wide.
    Under equal versions the chance that any is ever at or below x is at most x.
    """
    together = np.flatnonzero((new > 0) & (old > 0))
    found = np.ones(len(new))
    spent = (level + 1) * (level + 2) * SUM  # widths may double
    for n, at in enumerate(together.tolist(), 2):
        hits, drawn, others, rest = (int(each[at]) for each in (new_alarms, new, old_alarms, old))
        p = hypergeometric_tail(hits, drawn, hits + others, drawn + rest)
        found[at] = min(1.0, p * spent * n * math.log(n) ** 2)
    return found


def rollouts(versions: Sequence[VersionView]) -> list[dict[str, Any]]:
    """Compare each version with the one that came before it, in order of first hearing."""
    begun = {number: v.counts.over_time()["time"] for number, v in enumerate(versions)}
    order = sorted((int(times[0]), number) for number, times in begun.items() if len(times))
    named = [versions[number] for _, number in order]
    return [_compared(new, old, len(named) - 1) for old, new in pairwise(named)]


def _compared(new: VersionView, old: VersionView, verdicts: int) -> dict[str, Any]:
    width = max(new.counts.width, old.counts.width)
    level = (width // HOUR).bit_length() - 1
    (times, *mine), (others, *theirs) = (v.counts.heard_of(level) for v in (new, old))
    shared, here, there = np.intersect1d(times[:-1], others, return_indices=True)  # the last is not over
    found: dict[str, Any] = {
        "version": new.name,
        "before": old.name,
        "error": LEVEL,
        "p_always": None,
        "worse": False,
        "time": None,
        "width": width,
    }
    if not len(shared):
        return found
    counts = [each[here] for each in mine] + [each[there] for each in theirs]
    p = worse_p(*counts, level=level)
    # The part that tells most, or the last one that both were heard in where none tells anything.
    both = np.flatnonzero((counts[0] > 0) & (counts[2] > 0))
    if not len(both):
        return found
    at = int(p.argmin()) if p.min() < 1 else int(both[-1])
    chance = min(1.0, float(p[at]) * verdicts)
    keys = ("devices", "in_alarm", "devices_before", "in_alarm_before")
    told = dict(zip(keys, (int(each[at]) for each in counts), strict=True))
    return found | told | {"p_always": chance, "worse": chance <= LEVEL, "time": float(shared[at])}
