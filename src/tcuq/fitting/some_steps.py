"""Which steps an explanation looks at, of a long log."""

from __future__ import annotations

import numpy as np

from .signal_table import Ints

EXPLAINED = 200_000
"""Steps, drawn at random, on which an explanation looks at a longer log. Parameters never depend on it."""


def some_of(rows: Ints, seed: int) -> Ints:
    """Return all rows, or as many as an explanation looks at, in their order.

    >>> some_of(np.array([3, 5, 8]), 0).tolist()
    [3, 5, 8]
    """
    if len(rows) <= EXPLAINED:
        return rows
    return np.sort(np.random.default_rng([seed, 0]).choice(rows, EXPLAINED, replace=False))
