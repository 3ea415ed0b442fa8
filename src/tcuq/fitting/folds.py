"""Which part of a log is held out together: segments, stretches of time, or kinds of shift."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..monitor.log import Log

FOLDS = 4
BLOCKS = 12


def folds(log: Log, order: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Return a fold number for each step.

    Whole segments where there are enough, else blocks of time. Where the log tells several kinds of shift
    apart, all steps of a kind go into one fold: what is held out is then a kind that the fit has not seen,
    which is what a device will meet. With an `order`, the steps are one stream without segments.
    """
    pieces = log.pieces() if order is None else []
    out = np.arange(len(log)) * BLOCKS // max(1, len(log)) % FOLDS
    if len(pieces) >= FOLDS:
        for number, piece in enumerate(pieces):
            out[piece] = number % FOLDS
    kinds = log.kinds if order is None or log.kinds is None else log.kinds[order]
    for number, kind in enumerate(shift_kinds(log)):
        out[kinds == kind] = (FOLDS - 1 - number) % FOLDS
    return out


def shift_kinds(log: Log) -> list[int]:
    """Return the kinds of shift that a log tells apart; none when there are fewer than two."""
    kinds = [] if log.kinds is None else [int(kind) for kind in np.unique(log.kinds) if kind]
    return kinds if len(kinds) > 1 else []
