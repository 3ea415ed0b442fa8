"""From a TFLite model to our own graph, whose tensors equal those of `reference.evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, placed

from ..graph import model as own
from ..graph import steps
from ..graph.check import check
from .convert_moves import MOVES
from .convert_sums import SUMS
from .fixed_point import multiplier_of
from .geometry import spread
from .made import Made, limits
from .model import Model, Operator
from .outputs import Asked, outputs_of

Int64 = npt.NDArray[np.int64]


def graph_of(model: Model, name: str = "model", asked: Asked | None = None) -> own.Graph:
    """Return a model as a graph, whose tensor t5 is the model's tensor 5.

    Its outputs are as `outputs.outputs_of` chooses them: `probs` and `features` for the monitor, if the
    model has them.
    """
    if len(model.inputs) != 1:
        raise InputError("value", f"the model has {len(model.inputs)} inputs, expected one")
    made = Made(model)
    for operator in model.operators:
        target = operator.outputs[0]
        place = (
            f"operator {operator.number} ({operator.code}) to tensor {target} {model.tensors[target].title}"
        )
        if operator.code not in _STEPS:
            raise InputError(
                "missing", f"{place}: the graph has no such step, expected one of {', '.join(_STEPS)}"
            )
        try:
            _STEPS[operator.code](made, operator)
        except ValueError as error:
            raise placed(error, str(place)) from None
    outputs = outputs_of(made, asked or Asked())
    return check(own.Graph(name, made.tensors, made.steps, made.names[model.inputs[0]], outputs))


def _bias(made: Made, operator: Operator, weights: Int64) -> Int64:
    """Return biases, with what the zero of the input adds; weights are (outputs, k)."""
    _, source = made.source(operator)
    bias = np.asarray(-source.zero * weights.sum(axis=1))
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        data = made.model.tensors[operator.inputs[2]].data
        assert data is not None
        bias = bias + data.reshape(-1)
    if np.abs(bias).max() > steps.HIGHEST:
        raise InputError("value", f"a bias of {np.abs(bias).max()} leaves 32 bits")
    return bias


def _factors(made: Made, operator: Operator, outputs: int) -> tuple[steps.Int32, steps.Int32]:
    """Return multipliers and shifts of the outputs, from scales in double precision."""
    (_, source), target = made.source(operator), made.target(operator)
    scales = np.broadcast_to(made.model.tensors[operator.inputs[1]].scales.astype(np.float64), outputs)
    factors = float(source.scale) * scales / float(target.scale)
    if operator.code == "FULLY_CONNECTED" and len(made.model.tensors[operator.inputs[1]].scales) == 1:
        # Then TFLite takes the product of the scales in single precision.
        product = source.scale * made.model.tensors[operator.inputs[1]].scale
        factors = np.full(outputs, float(product) / float(target.scale))
    pairs = np.array([multiplier_of(each) for each in factors.tolist()], dtype=np.int64)
    if pairs[:, 1].max() > 30:
        raise InputError("value", f"rescales by {factors.max():g}, expected below {2**30}")
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)


def _convolved(made: Made, operator: Operator, weights: npt.NDArray[np.int8]) -> dict[str, Any]:
    """Return the fields that convolutions share; weights are (outputs, height, width, k)."""
    _, source = made.source(operator)
    outputs = len(weights)
    bias = _bias(made, operator, weights.reshape(outputs, -1).astype(np.int64))
    multiplier, shift = _factors(made, operator, outputs)
    # A channel that TFLite multiplies by 0: without weights it gives the same, and kernels need no other way.
    idle = multiplier == 0
    bias[idle], multiplier[idle], shift[idle] = 0, 2**30, -31
    options = operator.options
    low, high = limits(options.activation, made.target(operator))
    height, width = weights.shape[1:3]
    _, top, bottom = spread(source.shape[1], height, options.stride[0], options.dilation[0], options.padding)
    _, left, right = spread(source.shape[2], width, options.stride[1], options.dilation[1], options.padding)
    return {
        "weights": np.where(idle[:, None, None, None], np.int8(0), weights),
        "bias": bias.astype(np.int32),
        "multiplier": multiplier,
        "stride": options.stride,
        "padding": (top, left, bottom, right),
        "pad": np.full(source.shape[3], source.zero, dtype=np.int8),
        "shift": shift,
        "dilation": options.dilation,
        "low": low,
        "high": high,
    }


def _weights(made: Made, operator: Operator) -> npt.NDArray[np.int8]:
    data = made.model.tensors[operator.inputs[1]].data
    assert data is not None
    return np.ascontiguousarray(data, dtype=np.int8)


def _conv(made: Made, operator: Operator) -> None:
    name, source = made.source(operator)
    weights = _whole(_weights(made, operator), source.shape[3])
    target = made.add(operator.outputs[0])
    made.steps.append(steps.Conv(name, target, **_convolved(made, operator, weights)))


def _whole(weights: npt.NDArray[np.int8], channels: int) -> npt.NDArray[np.int8]:
    """Return weights for all channels, where those of a group know but their own: 0 for the others."""
    outputs, height, width, depth = weights.shape
    groups = channels // depth
    if groups == 1:
        return weights
    whole = np.zeros((groups, outputs // groups, height, width, groups, depth), np.int8)
    for at, part in enumerate(np.split(weights, groups)):
        whole[at, :, :, :, at] = part
    return whole.reshape(outputs, height, width, channels)


def _depthwise(made: Made, operator: Operator) -> None:
    name, source = made.source(operator)
    fields = _convolved(made, operator, _weights(made, operator).transpose(3, 1, 2, 0))
    target = made.add(operator.outputs[0])
    if source.shape[3] == 1:
        # Several outputs of one channel are a convolution, which has a faster kernel.
        made.steps.append(steps.Conv(name, target, **fields))
        return
    fields["weights"] = np.ascontiguousarray(fields["weights"][..., 0].transpose(1, 2, 0))
    made.steps.append(steps.Depthwise(name, target, **fields))


def _dense(made: Made, operator: Operator) -> None:
    name, _ = made.source(operator)
    weights = _weights(made, operator)
    bias = _bias(made, operator, weights.astype(np.int64)).astype(np.int32)
    multiplier, shift = _factors(made, operator, len(weights))
    ends = limits(operator.options.activation, made.target(operator))
    target = made.add(operator.outputs[0])
    made.steps.append(steps.Dense(name, target, weights, bias, multiplier, shift, *ends))


_STEPS: dict[str, Callable[[Made, Operator], None]] = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _dense,
    **SUMS,
    **MOVES,
}
