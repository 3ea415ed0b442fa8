"""How unlike neighboring steps are in a log: what the variety of other streams is compared with."""

from __future__ import annotations

import numpy as np

from ..monitor.log import Log
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..monitor.quantize import quantize_probs
from .signal_table import Ints, chunks

FEWEST = 200
"""Pairs of steps below which nothing is said."""

LEAST = 4
"""Doubt, in 1/256, from which a pair counts, as in the core (SPEC.md section 6)."""


def find_spread(params: Params, log: Log) -> float:
    """Return the mean square of the difference of neighboring doubts over their mean variance; 0 for too few.

    Parameters
    ----------
    params : Params
        With an instant head; its answers tell which neighboring steps belong together.
    """
    monitor = Monitor(params)
    squares = variances = pairs = 0
    for piece in log.pieces():
        if piece.start:
            monitor.reset()
        last: Ints = np.empty((2, 0), dtype=np.int64)  # answer and doubt of the step before
        for part in chunks(piece.stop - piece.start):
            rows = slice(piece.start + part.start, piece.start + part.stop)
            features = log.features[rows] if params.features and log.features is not None else None
            answers = monitor.run(log.probs[rows], features)["answer"]
            said = quantize_probs(log.probs[rows])[np.arange(len(answers)), answers]
            now = np.concatenate([last, [answers, 128 - said.astype(np.int64)]], axis=1)
            answer, doubt = now
            counts = (answer[1:] == answer[:-1]) & (np.maximum(doubt[1:], doubt[:-1]) >= LEAST)
            both = (doubt[1:] + doubt[:-1])[counts]
            pairs += int(counts.sum())
            squares += int(np.square(np.diff(doubt)[counts]).sum())
            variances += int((both * (512 - both)).sum())
            last = now[:, -1:]
    return min(4.0, 4 * squares / variances) if pairs >= FEWEST and variances else 0.0
