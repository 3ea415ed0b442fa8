# SPDX-License-Identifier: MIT
"""How far before its input the output of a step may begin."""

from __future__ import annotations

import numpy as np
import pytest
from device_rescaled import random_step

from tcuq_device.generate.arena import lag_of
from tcuq_device.graph.model import Tensor
from tcuq_device.graph.steps import Conv, Dense


def reads_of(step: Conv, source: Tensor, row: int, column: int) -> list[int]:
    """Return where the values begin that a pixel of a convolution sees."""
    height, width, channels = source.shape
    found = []
    for i in range(step.weights.shape[1]):
        for j in range(step.weights.shape[2]):
            y = row * step.stride[0] - step.padding[0] + i * step.dilation[0]
            x = column * step.stride[1] - step.padding[1] + j * step.dilation[1]
            if 0 <= y < height and 0 <= x < width:
                found.append((y * width + x) * channels)
    return found


def survives(step: Conv | Dense, source: Tensor, target: Tensor, lag: int) -> bool:
    """Return whether a step finds its input untouched when its output begins `lag` before it."""
    size = source.size + target.size + abs(lag)
    written = np.zeros(2 * size, bool)
    if isinstance(step, Dense):
        outputs, inputs = step.weights.shape
        passes = [([row * inputs], inputs) for row in range(source.size // inputs)]
    else:
        outputs = target.shape[2]
        places = np.ndindex(target.shape[0], target.shape[1])
        passes = [(reads_of(step, source, *place), source.shape[2]) for place in places]
    for number, (begins, length) in enumerate(passes):
        if any(written[size + at : size + at + length].any() for at in begins):
            return False
        at = size - lag + number * outputs
        written[at : at + outputs] = True
    return True


@pytest.mark.parametrize("kind", ["conv", "conv line", "dense"])
def test_a_lag_is_enough(kind: str) -> None:
    tight = several = 0
    for seed in range(150):
        graph, _ = random_step(kind, seed)
        step = graph.steps[-1]
        assert isinstance(step, (Conv, Dense))
        source, target = graph.tensors[step.source], graph.tensors[step.target]
        lag = lag_of(step, source, target)
        assert lag is not None
        assert survives(step, source, target, lag), seed
        several += lag > -source.size
        tight += lag > -source.size and not survives(step, source, target, lag - 1)
    # A place that is never read, between strides or beyond a border, may make a lag larger than needed.
    assert several > 80 and tight > several // 2
