"""Convert a TFLite model to a graph whose tensors equal those of LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located

from ..graph import model as own
from ..graph import steps
from ..graph.check import check
from .builder import GraphBuilder, leading
from .check import axes_of, place_of
from .convert_moves import assign, extreme, largest, move, parts_of, read, stack
from .curves import REAL, WHOLE, limits, table_of
from .fixed_point import channel_factors, mean_factor, multiplier_of, powers_of, rescaled_twice
from .model import Model, Operator, Tensor, spread
from .moves import MOVES, SHAPES
from .outputs import OutputChoice, outputs_of

Int64 = npt.NDArray[np.int64]


def graph_of(model: Model, name: str = "model", asked: OutputChoice | None = None) -> own.Graph:
    """Return a model as a graph, whose tensor t5 is the model's tensor 5.

    Its outputs are as `outputs.outputs_of` chooses them: `probs` and `features` for the monitor, if the
    model has them.
    """
    if len(model.inputs) != 1:
        raise InputError("unsupported", f"the model has {len(model.inputs)} inputs, expected one", "inputs")
    builder = GraphBuilder(model)
    for operator in model.operators:
        with located(place_of(model, operator)):
            if operator.code not in _STEPS:
                problem = f"the graph has no such step, expected one of {', '.join(_STEPS)}"
                raise InputError("unsupported", problem, operator.code)
            deep = [each for each in operator.inputs if each >= 0 and len(model.tensors[each].shape) > 4]
            if operator.code in ("ADD", "MUL", "PAD", "PADV2", "SUB") and deep:
                shape = model.tensors[deep[0]].shape
                raise InputError("unsupported", f"a tensor has shape {shape}, expected up to four dimensions")
            _STEPS[operator.code](builder, operator)
    outputs = outputs_of(builder, asked or OutputChoice())
    states = {builder.names[number]: value for number, value in model.states.items()}
    given = builder.names[model.inputs[0]]
    return check(own.Graph(name, builder.tensors, builder.steps, given, outputs, states=states))


def _bias(builder: GraphBuilder, operator: Operator, weights: Int64) -> Int64:
    """Return biases, with what the zero of the input adds; weights are (outputs, k)."""
    _, source = builder.source(operator)
    bias = np.asarray(-source.zero * weights.sum(axis=1))
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        bias = bias + builder.constant(operator, 2).reshape(-1)
    if np.abs(bias).max() > steps.HIGHEST:
        raise InputError("limit", f"a bias of {np.abs(bias).max()} leaves 32 bits")
    return bias


def _factors(builder: GraphBuilder, operator: Operator, outputs: int) -> tuple[steps.Int32, steps.Int32]:
    """Return multipliers and shifts of the outputs."""
    (_, source), target = builder.source(operator), builder.target(operator)
    weights = builder.model.tensors[operator.inputs[1]]
    multiplier, shift = channel_factors(operator.code, source, weights, target, outputs)
    if shift.max() > 30:
        raise InputError("limit", f"rescales by 2^{shift.max()}, expected below 2^30")
    return multiplier.astype(np.int32), shift.astype(np.int32)


def _picture(builder: GraphBuilder, operator: Operator) -> tuple[str, Tensor]:
    name, source = builder.source(operator)
    if source.shape[0] != 1 or len(builder.tensors[name].shape) != 3:
        problem = f"input has shape {source.shape}, expected (1, height, width, channels)"
        raise InputError("unsupported", problem)
    return name, source


def _convolved(builder: GraphBuilder, operator: Operator, weights: npt.NDArray[np.int8]) -> dict[str, Any]:
    """Return the fields that convolutions share; weights are (outputs, height, width, k)."""
    _, source = builder.source(operator)
    outputs = len(weights)
    bias = _bias(builder, operator, weights.reshape(outputs, -1).astype(np.int64))
    multiplier, shift = _factors(builder, operator, outputs)
    # A channel that TFLite multiplies by 0: without weights it gives the same, and kernels need no other way.
    idle = multiplier == 0
    bias[idle], multiplier[idle], shift[idle] = 0, 2**30, -31
    options = operator.options
    low, high = limits(options.activation, builder.target(operator))
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


def _weights(builder: GraphBuilder, operator: Operator) -> npt.NDArray[np.int8]:
    return np.ascontiguousarray(builder.constant(operator, 1), dtype=np.int8)


def _conv(builder: GraphBuilder, operator: Operator) -> None:
    name, source = _picture(builder, operator)
    weights = _whole(_weights(builder, operator), source.shape[3])
    target = builder.add(operator.outputs[0])
    builder.steps.append(steps.Conv(name, target, **_convolved(builder, operator, weights)))


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


def _depthwise(builder: GraphBuilder, operator: Operator) -> None:
    name, source = _picture(builder, operator)
    fields = _convolved(builder, operator, _weights(builder, operator).transpose(3, 1, 2, 0))
    target = builder.add(operator.outputs[0])
    if source.shape[3] == 1:
        # Several outputs of one channel are a convolution, which has a faster kernel.
        builder.steps.append(steps.Conv(name, target, **fields))
        return
    fields["weights"] = np.ascontiguousarray(fields["weights"][..., 0].transpose(1, 2, 0))
    builder.steps.append(steps.Depthwise(name, target, **fields))


def _dense(builder: GraphBuilder, operator: Operator) -> None:
    name, _ = builder.source(operator)
    weights = _weights(builder, operator)
    bias = _bias(builder, operator, weights.astype(np.int64)).astype(np.int32)
    multiplier, shift = _factors(builder, operator, len(weights))
    ends = limits(operator.options.activation, builder.target(operator))
    target = builder.add(operator.outputs[0])
    builder.steps.append(steps.Dense(name, target, weights, bias, multiplier, shift, *ends))


def _add(builder: GraphBuilder, operator: Operator) -> None:
    (first, a), (second, b) = builder.source(operator), builder.source(operator, 1)
    target = builder.target(operator)
    double = 2 * max(float(a.scale), float(b.scale))
    left, right = (_scaled(each, double) for each in (a, b))
    right = -right if operator.code == "SUB" else right
    factor = multiplier_of(double / (2**20 * float(target.scale)))
    ends = limits(operator.options.activation, target)
    builder.steps.append(
        steps.TableAdd(first, second, builder.add(operator.outputs[0]), left, right, *factor, *ends)
    )


def _scaled(tensor: Tensor, scale: float) -> steps.Int32:
    """Return every byte of a tensor times 2**20, at another scale."""
    values = (np.arange(-128, 128) - tensor.zero) << 20
    return rescaled_twice(values, *multiplier_of(float(tensor.scale) / scale)).astype(np.int32)


def _mul(builder: GraphBuilder, operator: Operator) -> None:
    (first, a), (second, b) = builder.source(operator), builder.source(operator, 1)
    target = builder.target(operator)
    # In single precision, as TFLite has it.
    factor = multiplier_of(float(a.scale * b.scale / target.scale))
    ends = limits(operator.options.activation, target)
    builder.steps.append(steps.Mul(first, second, builder.add(operator.outputs[0]), *factor, *ends))


def _mean(builder: GraphBuilder, operator: Operator) -> None:
    name, source = builder.source(operator)
    target = builder.target(operator)
    axes = axes_of(builder.constant(operator, 1), len(source.shape))
    outer, count, _, tail = parts_of(source.shape, axes)
    total = count * tail
    factor = mean_factor(source, target, total)
    builder.steps.append(
        steps.MeanPool(
            name, builder.add(operator.outputs[0]), -source.zero * total, *factor, outer=outer, tail=tail
        )
    )


def _pool(kind: str) -> Callable[[GraphBuilder, Operator], None]:
    def pool(builder: GraphBuilder, operator: Operator) -> None:
        name, source = _picture(builder, operator)
        options = operator.options
        sides = [
            spread(source.shape[1 + at], options.window[at], options.stride[at], 1, options.padding)
            for at in (0, 1)
        ]
        padding = sides[0][1], sides[1][1], sides[0][2], sides[1][2]
        ends = limits(options.activation, builder.target(operator))
        target = builder.add(operator.outputs[0])
        builder.steps.append(steps.Pool(name, target, kind, options.window, options.stride, padding, *ends))

    return pool


def _view(builder: GraphBuilder, operator: Operator) -> None:
    name, _ = builder.source(operator)
    builder.steps.append(steps.View(name, builder.add(operator.outputs[0])))


def _pad(builder: GraphBuilder, operator: Operator) -> None:
    name, source = builder.source(operator)
    sides = builder.constant(operator, 1)
    batch = leading(source)
    if sides[:batch].any():
        raise InputError("unsupported", "padding adds to the batch, expected none there")
    before, after = (tuple(int(each) for each in sides[batch:, at]) for at in (0, 1))
    value = builder.target(operator).zero
    if len(operator.inputs) > 2:
        value = int(builder.constant(operator, 2).reshape(-1)[0])
    builder.steps.append(steps.Pad(name, builder.add(operator.outputs[0]), before, after, value))


def _concat(builder: GraphBuilder, operator: Operator) -> None:
    sources = [builder.source(operator, at) for at in range(len(operator.inputs))]
    rank = len(sources[0][1].shape)
    axis, batch = operator.options.axis % rank, leading(builder.target(operator))
    if {leading(each) for _, each in sources} != {batch} or axis < batch or rank - batch > 3:
        stack(builder, operator)
        return
    names = tuple(name for name, _ in sources)
    builder.steps.append(steps.Concat(names, builder.add(operator.outputs[0]), axis - batch))


def _table(builder: GraphBuilder, operator: Operator) -> None:
    name, source = builder.source(operator)
    values = table_of(operator.code, source, builder.target(operator), operator.options)
    builder.steps.append(steps.Table(name, builder.add(operator.outputs[0]), values))


def _softmax(builder: GraphBuilder, operator: Operator) -> None:
    name, source = builder.source(operator)
    table = powers_of(source, operator.options.beta).astype(np.int32)
    builder.steps.append(steps.FixedSoftmax(name, builder.add(operator.outputs[0]), table))


_STEPS: dict[str, Callable[[GraphBuilder, Operator], None]] = {
    "ADD": _add,
    "ASSIGN_VARIABLE": assign,
    "AVERAGE_POOL_2D": _pool("mean"),
    "CONCATENATION": _concat,
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _dense,
    "MAXIMUM": extreme,
    "MAX_POOL_2D": _pool("max"),
    "MEAN": _mean,
    "MINIMUM": extreme,
    "MUL": _mul,
    "PACK": stack,
    "PAD": _pad,
    "PADV2": _pad,
    "READ_VARIABLE": read,
    "REDUCE_MAX": largest,
    "REDUCE_MIN": largest,
    "SOFTMAX": _softmax,
    "SUB": _add,
    **dict.fromkeys(SHAPES, _view),
    **dict.fromkeys((*WHOLE, *REAL), _table),
    **dict.fromkeys(MOVES, move),
}
