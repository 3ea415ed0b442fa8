"""How new a step is beside the one before, as the alarm counts it (SPEC.md section 6, "Look")."""

from __future__ import annotations

import numpy as np

from ..base.fixed import ONE
from ..monitor.log import Log
from .signal_table import Flags, Floats, Ints, SignalTable, chunks

BLOCKS = 8
LEAST, MOST = 32, 256
"""Of a look, in 1/256."""

APART = 50
"""Steps between two that count as independent."""

PAIRS = 400
"""That are drawn for each class."""

REACH = 256, 2**32 - 1


def compared(log: Log, table: SignalTable, features: bool) -> Ints:
    """Return what the core compares of each step: eight sums of neighboring features, or the odds."""
    if not features:
        return table.of(("odds",)).astype(np.int64)
    assert log.features is not None
    edges = block_edges(log.width)
    out = np.zeros((len(log), BLOCKS), dtype=np.int64)
    for part in chunks(len(log)):
        rows = np.asarray(log.features[part], dtype=np.int64)
        for block in range(BLOCKS):
            out[part, block] = rows[:, edges[block] : edges[block + 1]].sum(1)
    return out


def block_edges(width: int) -> list[int]:
    """Return where each block of features begins, and where the last one ends."""
    return [(block * width) >> 3 for block in range(BLOCKS + 1)]


def find_reach(values: Ints, subject: Ints, clean: Flags, seed: int) -> int:
    """Return the median squared distance of clean steps of one class that are far from each other."""
    rng = np.random.default_rng([seed, 6])
    parts: list[Ints] = []
    for each in np.unique(subject[clean]):
        rows = np.flatnonzero(clean & (subject == each))
        one, other = rng.choice(rows, PAIRS), rng.choice(rows, PAIRS)
        far = np.abs(one - other) > APART
        parts.append(np.square(values[one] - values[other]).sum(1)[far])
    distances = np.concatenate(parts) if parts else np.zeros(0)
    median = int(np.median(distances)) if len(distances) else 0
    return min(max(REACH[0], median), REACH[1])


STILL_LEAST, STILLER = 7.0, 1.0
"""Doublings beyond which input stands still: this many at least, as a log without held objects does not show
how still clean input may stand; and so many more than the stillest of the log, as none shows all."""

STILL_RATE = 1 / 16


def stillness(values: Ints, reach: int, starts: Flags) -> Floats:
    """Return how often the movement would have to be doubled to be new, as a slow mean."""
    gaps = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
    new = starts | (gaps // (reach >> 8) >= MOST)
    doublings = np.where(new, 0, reach.bit_length() - np.frexp(gaps.astype(np.float64))[1])
    level, out = 0.0, []
    for value, start in zip(doublings.tolist(), starts.tolist(), strict=True):
        level = 0.0 if start else level + (value - level) * STILL_RATE
        out.append(level)
    return np.array(out)


def still_from(clean: Floats, reach: int) -> float:
    """Return the stillness that no clean input had; 0 where clean input may not move at all."""
    still = max(STILL_LEAST, float(clean.max(initial=0)) + STILLER)
    return round(still * ONE) / ONE if still < reach.bit_length() else 0.0


def looks(values: Ints, reach: int, starts: Flags) -> Ints:
    """Return how new each step is, in 1/256."""
    gaps = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
    units = np.clip(gaps // (reach >> 8), LEAST, MOST)
    return np.where(starts, MOST, units)
