"""Whether a new version is worse than the one before it: a verdict that holds at every look.

In each part of the time that is over, the devices in alarm are counted for both versions. If versions do not
differ and devices got theirs by chance, the number that falls to the new one is hypergeometric (Fisher's
exact test), however long alarms last and however much devices differ. Every part of the time has its own
share of the level, so looking often costs nothing: an equally good version is ever called worse with a chance
of `LEVEL` at most, over all looks and all versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..engine.tallies import HOUR
from .baseline import LEVEL, Floats
from .versions import VersionView

Counts = npt.NDArray[np.int64]
SUM = 2.11  # of 1 / (n ln(n)^2) over n from 2 on, rounded up


def worse_p(new: Counts, new_alarms: Counts, old: Counts, old_alarms: Counts, *, level: int = 0) -> Floats:
    """Return the chance of each part of the time, corrected for all parts that there may ever be.

    Counts are devices that were heard of and that were in alarm, a part of 2**level hours each. Under equal
    versions the chance that any is ever at or below x is at most x.
    """
    from scipy.stats import hypergeom  # takes long to import

    p = hypergeom.sf(new_alarms - 1, new + old, new_alarms + old_alarms, new)
    n = np.arange(2, len(new) + 2)
    spent = (level + 1) * (level + 2) * SUM  # widths may double
    return np.asarray(np.minimum(1.0, p * spent * n * np.log(n) ** 2))


def rollouts(versions: Sequence[VersionView]) -> list[dict[str, Any]]:
    """Compare each version with the one that came before it, in order of first hearing."""
    begun = [(times[0], view) for view in versions if len(times := view.counts.over_time()["time"])]
    order = [view for _, view in sorted(begun, key=lambda pair: int(pair[0]))]
    return [_compared(new, old, len(order) - 1) for old, new in pairwise(order)]


def _compared(new: VersionView, old: VersionView, verdicts: int) -> dict[str, Any]:
    width = max(new.counts.width, old.counts.width)
    level = (width // HOUR).bit_length() - 1
    (times, *mine), (others, *theirs) = (view.counts.heard_of(level) for view in (new, old))
    shared, here, there = np.intersect1d(times[:-1], others, return_indices=True)  # the last is not over
    counts = np.array([*(column[here] for column in mine), *(column[there] for column in theirs)])
    both = (counts[0] > 0) & (counts[2] > 0)
    compared: dict[str, Any] = {"version": new.name, "before": old.name, "error": LEVEL, "width": width}
    if not both.any():
        return compared | {"worse": False, "p_always": None, "time": None}
    shared, counts = shared[both], counts[:, both]
    p = worse_p(*counts, level=level)
    part = len(p) - 1 - int(p[::-1].argmin())  # the part that tells most, or the last where none does
    chance = min(1.0, float(p[part]) * verdicts)
    keys = ("devices", "in_alarm", "devices_before", "in_alarm_before")
    compared |= dict(zip(keys, counts[:, part].tolist(), strict=True))
    return compared | {"p_always": chance, "worse": chance <= LEVEL, "time": float(shared[part])}
