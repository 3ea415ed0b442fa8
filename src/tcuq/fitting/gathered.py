"""The steps of a log in an order in which classes stay, for logs that show no class for long.

The head of steps with a past has nothing to learn from a shuffled log but a few steps at which the past
counted by chance. What it makes of them would be used on the first stream in which classes do stay.
"""

from __future__ import annotations

import numpy as np

from ..monitor.log import Log
from .gated import HALF
from .signal_table import Ints, SignalTable

FEW = 0.1
"""Mean share of the past below which a log says too little about it; 0.3 where classes stay for 4 steps."""

PACES = (4, 8, 16, 32)
"""Steps for which a class stays, on average, in turn."""


def says_little(table: SignalTable) -> bool:
    """Return whether the past hardly ever counts in a log."""
    return float(table.past.mean()) / HALF < FEW


def gathered(log: Log, seed: int) -> Ints:
    """Return an order of the steps of a labeled log in which classes stay, and so do kinds of shift.

    A block holds steps that followed each other within their kind, class by class; blocks come in random
    order.

    >>> labels = np.tile([0, 1, 2], 40)
    >>> order = gathered(Log(np.full((120, 3), 1 / 3), labels=labels), 0)
    >>> bool((np.sort(order) == np.arange(120)).all()), int((np.diff(labels[order]) != 0).sum()) < 20
    (True, True)
    """
    assert log.labels is not None
    rng = np.random.default_rng([seed, 5])
    kinds = np.zeros(len(log), dtype=np.int64) if log.kinds is None else log.kinds
    blocks: list[Ints] = []
    for kind in np.unique(kinds):
        steps = np.flatnonzero(kinds == kind)
        while len(steps):
            size = PACES[len(blocks) % len(PACES)] * log.classes
            block, steps = steps[:size], steps[size:]
            # One more than there are classes: a label below 0 says that it is none of them.
            turn = rng.permutation(log.classes + 1)
            blocks.append(block[np.argsort(turn[np.maximum(log.labels[block], -1)], kind="stable")])
    return np.concatenate([blocks[at] for at in rng.permutation(len(blocks))])
