"""From TFLite's changes of shape and functions of single bytes to steps of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tcuq.base.errors import InputError

from ..graph import steps
from .fixed_point import exponential, high_product, multiplier_of, radius
from .made import Made, leading
from .model import Model, Operator
from .reference import evaluate


def _view(made: Made, operator: Operator) -> None:
    name, _ = made.source(operator)
    made.steps.append(steps.View(name, made.add(operator.outputs[0])))


def _pad(made: Made, operator: Operator) -> None:
    name, source = made.source(operator)
    sides = made.model.tensors[operator.inputs[1]].data
    assert sides is not None
    batch = leading(source)
    if sides[:batch].any():
        raise InputError("value", "padding adds to the batch, expected none there")
    before, after = (tuple(int(each) for each in sides[batch:, at]) for at in (0, 1))
    value = made.target(operator).zero
    if len(operator.inputs) > 2:
        given = made.model.tensors[operator.inputs[2]].data
        assert given is not None
        value = int(given.reshape(-1)[0])
    made.steps.append(steps.Pad(name, made.add(operator.outputs[0]), before, after, value))


def _concat(made: Made, operator: Operator) -> None:
    sources = [made.source(operator, at) for at in range(len(operator.inputs))]
    axis = operator.options.axis % len(sources[0][1].shape)
    if {leading(each) for _, each in sources} != {leading(made.target(operator))} or axis < leading(
        sources[0][1]
    ):
        raise InputError("value", f"tensors are joined along axis {axis}, the batch, expected another")
    names = tuple(name for name, _ in sources)
    made.steps.append(steps.Concat(names, made.add(operator.outputs[0]), axis - leading(sources[0][1])))


def _table(made: Made, operator: Operator) -> None:
    """Convert a function of single bytes: the reference is asked for all 256."""
    name, source = made.source(operator)
    pair = [replace(each, shape=(1, 256), data=None) for each in (source, made.target(operator))]
    alone = Model(pair, [replace(operator, inputs=(0,), outputs=(1,))], (0,), (1,))
    bytes_ = np.arange(-128, 128).astype(np.int8)[None]
    values = evaluate(alone, [bytes_])[1][0]
    made.steps.append(steps.Table(name, made.add(operator.outputs[0]), values))


def _softmax(made: Made, operator: Operator) -> None:
    name, source = made.source(operator)
    beta = float(np.float32(operator.options.beta))
    multiplier, shift = multiplier_of(min(beta * float(source.scale) * 2**26, 2.0**31 - 1))
    below = -np.arange(256)
    counted = below >= -radius(5, shift)
    powers = exponential(high_product(np.where(counted, below, 0) << shift, multiplier), 5)
    table = np.where(counted, powers, 0).astype(np.int32)
    made.steps.append(steps.FixedSoftmax(name, made.add(operator.outputs[0]), table))


MOVES: dict[str, Callable[[Made, Operator], None]] = {
    "CONCATENATION": _concat,
    "EXPAND_DIMS": _view,
    "LOGISTIC": _table,
    "PAD": _pad,
    "PADV2": _pad,
    "QUANTIZE": _table,
    "RELU": _table,
    "RELU6": _table,
    "RESHAPE": _view,
    "SOFTMAX": _softmax,
    "SQUEEZE": _view,
}
"""By operator."""
