"""The network's own confidence, from float and from int8 posteriors: what rounding to 8 bits costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.log.quantize import quantize_probs
from tcuq.metrics.inputs import Floats

from .judging import Judge

FLOAT_CONFIDENCE, INT8_CONFIDENCE = "base", "int8 confidence"


def ask(judge: Judge) -> None:
    """Judge confidence, from float and from int8 posteriors."""
    for law in judge.laws:
        _, log = judge.seen(f"test {law}")
        judge.ranks(FLOAT_CONFIDENCE, law, -log.probs.max(axis=1).astype(np.float64), "")
        judge.ranks(INT8_CONFIDENCE, law, -int8(log.probs).max(axis=1), "")


def int8(probs: npt.NDArray[Any]) -> Floats:
    """Return posteriors as int8 holds them.

    Examples
    --------
    >>> int8(np.array([[0.999, 0.001]])).tolist()
    [[0.99609375, 0.0]]
    """
    return np.asarray((quantize_probs(probs).astype(np.float64) + 128) / 256)
