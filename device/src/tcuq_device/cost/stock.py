"""What is measured on boards: monitors of stock parameters and a small network; no fit, no data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tcuq.log.logits import softmax_table
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq.monitor.heads import EvidenceHead, InstantHead
from tcuq.monitor.params import Params
from tcuq.monitor.signals import STOCK_INSTANT, STOCK_STEADY, profile_signals

from ..graph.model import Graph, Tensor
from ..graph.steps import Conv, Dense, MeanPool, Softmax, Step

CLASSES, FEATURES, WIDE = 10, 32, 64

STANDARD = ("standard", "standard, bet", "standard, posteriors alone")
PAPER = ("paper", "paper, posteriors alone")


def monitors() -> dict[str, Params]:
    """Return the monitors that are measured, by profile."""
    found = {name: standard(name) for name in STANDARD}
    for name in PAPER:
        width = 0 if name.endswith("alone") else FEATURES
        found[name] = Params(
            classes=CLASSES,
            features=width,
            feature_zero_point=-128,
            signals=profile_signals(name.partition(",")[0], width),
        )
    return found


def standard(name: str) -> Params:
    """Return a monitor of the standard profile with everything a fit would set, at arbitrary values."""
    width = 0 if name.endswith("alone") else FEATURES
    signals = profile_signals("standard", width)
    draw = np.random.PCG64(3).random_raw(CLASSES * FEATURES) >> np.uint64(57)
    centers = (draw.astype(np.int64) - 128).reshape(CLASSES, FEATURES)
    coef, bias = STOCK_INSTANT
    steady, steady_bias = STOCK_STEADY
    return Params(
        classes=CLASSES,
        features=width,
        feature_zero_point=-128,
        signals=signals,
        lags=(),
        coef=steady,
        bias=steady_bias,
        anchor="belief",
        about="answer",
        instant=InstantHead(coef, bias),
        centers=tuple(map(tuple, centers.tolist())) if width else None,
        horizon=32,
        expected_start=0.9,
        alarm=Alarm(0.0, AlarmSide(0.0, 12.0, clear=8.0), least_raised=32),
        evidence=EvidenceHead(
            {"odds": 6.0, "disbelief": 4.0, "degradation": 16.0} | ({"drift": 8.0} if width else {}),
            [-4.0 - 0.1 * k for k in range(CLASSES)],
            reach=4096,
            bias=-9.0,
            allowance=0.0 if "bet" in name else 0.05,
            bet=(0.9, 0.15) if "bet" in name else None,
        ),
    )


def small_graph() -> Graph:
    """Return a network of one convolution and arbitrary weights, to measure a monitor beside it."""
    side, inputs = 6, 4
    draw = np.random.PCG64(1).random_raw(FEATURES * 9 * inputs + CLASSES * FEATURES) >> np.uint64(56)
    weights = (draw.astype(np.int64) - 128).astype(np.int8)
    kernels = weights[: FEATURES * 9 * inputs].reshape(FEATURES, 3, 3, inputs)
    matrix = weights[FEATURES * 9 * inputs :].reshape(CLASSES, FEATURES)
    tensors = [
        Tensor("input", (side, side, inputs), 1 / 256, -128),
        Tensor("hidden", (side, side, FEATURES), 0.1, -128),
        Tensor("features", (FEATURES,), 0.1, -128),
        Tensor("logits", (CLASSES,), 0.1, 0),
        Tensor("probs", (CLASSES,), 1 / 256, -128),
    ]
    pad = np.full(inputs, -128, np.int8)
    steps: list[Step] = [
        Conv(
            "input", "hidden", kernels, _row(FEATURES, 0), _row(FEATURES, 1 << 23), (1, 1), (1, 1, 1, 1), pad
        ),
        MeanPool("hidden", "features", side * side * 128, 2**32 // (side * side)),
        Dense("features", "logits", matrix, _row(CLASSES, 0), _row(CLASSES, 1 << 24)),
        Softmax("logits", "probs", softmax_table(0.1)),
    ]
    outputs = {"probs": "probs", "features": "features"}
    return Graph("small", {tensor.name: tensor for tensor in tensors}, steps, "input", outputs)


def _row(count: int, value: int) -> npt.NDArray[np.int32]:
    return np.full(count, value, np.int32)
