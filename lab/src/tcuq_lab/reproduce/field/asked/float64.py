"""The same monitor in float64: what 8-bit input and integer arithmetic cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.log.log import Log
from tcuq.log.quantize import quantize_probs
from tcuq.metrics.inputs import Floats
from tcuq.monitor.params import Params
from tcuq_lab.float_reference import exact

from .judging import Judge

REALS, ROUNDED = "float64", "float64, int8 posteriors"
FLOAT_CONFIDENCE, INT8_CONFIDENCE = "base", "int8 confidence"


def ask(judge: Judge, params: Params) -> None:
    """Judge confidence and risk, each from float and from int8 posteriors.

    Parameters
    ----------
    judge : Judge
    params : Params
        Of the integer core, which is judged elsewhere.
    """
    for law in judge.laws:
        _, log = judge.seen(f"test {law}")
        rounded = int8(log.probs)
        judge.ranks(FLOAT_CONFIDENCE, law, -log.probs.max(axis=1).astype(np.float64), "")
        judge.ranks(INT8_CONFIDENCE, law, -rounded.max(axis=1), "")
        judge.ranks(REALS, law, risk(params, log, log.probs.astype(np.float64)))
        judge.ranks(ROUNDED, law, risk(params, log, rounded))


def int8(probs: npt.NDArray[Any]) -> Floats:
    """Return posteriors as int8 holds them.

    Examples
    --------
    >>> int8(np.array([[0.999, 0.001]])).tolist()
    [[0.99609375, 0.0]]
    """
    return np.asarray((quantize_probs(probs).astype(np.float64) + 128) / 256)


def risk(params: Params, log: Log, probs: Floats) -> Floats:
    """Return the risk of each step in float64, from float features.

    Parameters
    ----------
    params : Params
    log : Log
        With float features, where the parameters read some.
    probs : array of shape (T, L)
    """
    if params.features and log.features is not None:
        x = log.features.astype(np.float64) / params.feature_scale
    else:
        x = np.zeros((len(log), 1))
    return np.concatenate([exact(params, probs[piece], x[piece]).risk for piece in log.pieces()])
