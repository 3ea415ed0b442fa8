"""From a TFLite model to our own graph, as far as the graph can express it.

Convolutions and fully connected layers give the bits of `reference.evaluate`. Sums and means round once where
TFLite rounds twice: they are near, not equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import model as own
from ..graph import steps
from ..graph.check import check
from .check import axes_of
from .fixed_point import multiplier_of
from .geometry import spread
from .model import Model, Operator, Tensor

Int64 = npt.NDArray[np.int64]


def graph_of(model: Model, name: str = "model") -> own.Graph:
    """Return a model as a graph.

    Its outputs are `probs` where the model ends in a softmax, with `features`, the vector before the last
    fully connected layer; else `output_1` and so on.

    Parameters
    ----------
    model : Model
        As `read_model` gives it.
    name : str
        Of the graph, a C identifier.

    Raises
    ------
    ValueError
        In one line, naming the operator that the graph cannot express.

    Examples
    --------
    >>> def tensor(shape: tuple[int, ...], scale: float, data: Any = None) -> Tensor:
    ...     quantized = np.array([scale], np.float32), np.zeros(1, np.int64)
    ...     return Tensor("t", shape, "int8", *quantized, data=data)
    >>> weights = np.array([[4, -8]], np.int8)
    >>> tensors = [tensor((1, 2), 0.5), tensor((1, 2), 0.25, weights), tensor((1, 1), 0.5)]
    >>> graph = graph_of(Model(tensors, [Operator("FULLY_CONNECTED", (0, 1), (2,))], (0,), (2,)))
    >>> graph.steps[0].multiplier.tolist(), graph.steps[0].shift.tolist(), graph.outputs
    ([1073741824], [-1], {'output_1': 't2'})
    """
    if len(model.inputs) != 1:
        raise ValueError(f"the model has {len(model.inputs)} inputs, expected one")
    made = _Made(model)
    for operator in model.operators:
        target = operator.outputs[0]
        place = (
            f"operator {operator.number} ({operator.code}) to tensor {target} {model.tensors[target].title}"
        )
        if operator.code not in _STEPS:
            raise ValueError(f"{place}: the graph has no such step, expected one of {', '.join(_STEPS)}")
        try:
            _STEPS[operator.code](made, operator)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
    return check(own.Graph(name, made.tensors, made.steps, made.names[model.inputs[0]], made.outputs()))


class _Made:
    """The graph so far."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tensors: dict[str, own.Tensor] = {}
        self.steps: list[steps.Step] = []
        self.names: dict[int, str] = {}
        self.add(model.inputs[0])

    def add(self, number: int, shape: tuple[int, ...] | None = None) -> str:
        tensor = self.model.tensors[number]
        name = f"t{number}"
        self.names[number] = name
        self.tensors[name] = own.Tensor(name, shape or _shape(tensor), float(tensor.scale), tensor.zero)
        return name

    def source(self, operator: Operator, at: int = 0) -> tuple[str, Tensor]:
        number = operator.inputs[at]
        if number not in self.names:
            raise ValueError(f"input {at} is a constant, expected a tensor that is computed")
        return self.names[number], self.model.tensors[number]

    def target(self, operator: Operator) -> Tensor:
        return self.model.tensors[operator.outputs[0]]

    def outputs(self) -> dict[str, str]:
        names = [self.names[each] for each in self.model.outputs]
        last = self.steps[-1] if self.steps else None
        if len(names) != 1 or not isinstance(last, steps.Softmax) or last.target != names[0]:
            return {f"output_{at}": each for at, each in enumerate(names, 1)}
        before = [
            each.source for each in self.steps if isinstance(each, steps.Dense) and each.target == last.source
        ]
        vectors = [each for each in before if len(self.tensors[each].shape) == 1]
        return {"probs": names[0]} | ({"features": vectors[0]} if vectors else {})


def _shape(tensor: Tensor) -> tuple[int, ...]:
    """Return a shape without its batch, as a picture or a vector."""
    if len(tensor.shape) not in (2, 3, 4) or tensor.shape[0] != 1:
        raise ValueError(f"shape is {tensor.shape}, expected (1, height, width, channels) or (1, channels)")
    return tensor.shape[1:]


def _unclamped(operator: Operator, target: Tensor) -> None:
    """Refuse an activation that saturation does not do by itself."""
    activation = operator.options.activation
    low = {"NONE": -math.inf, "RELU_N1_TO_1": -1.0}.get(activation, 0.0)
    high = {"RELU6": 6.0, "RELU_N1_TO_1": 1.0}.get(activation, math.inf)
    if low / float(target.scale) + target.zero > -127.5 or high / float(target.scale) + target.zero < 126.5:
        raise ValueError(
            f"{activation} with scale {target.scale:g} and zero point {target.zero} needs a clamp of its own"
        )


def _multiplier(factor: Any) -> Any:
    found = np.floor(np.asarray(factor, dtype=np.float64) * 2.0**32 + 0.5)
    if found.max() > steps.HIGHEST:
        raise ValueError(f"rescales by {np.max(factor):g}, expected below 0.5")
    return found.astype(np.int32)


def _ends(operator: Operator, target: Tensor) -> dict[str, int]:
    """Return the range that a fused activation leaves."""

    def quantized(value: float) -> int:
        ratio = float(np.float32(value) / target.scale)
        return target.zero + int(math.copysign(math.floor(abs(ratio) + 0.5), ratio))

    activation = operator.options.activation
    low = {"NONE": -128, "RELU_N1_TO_1": quantized(-1.0)}.get(activation, quantized(0.0))
    high = (
        quantized({"RELU6": 6.0}.get(activation, 1.0)) if activation.startswith(("RELU6", "RELU_N")) else 127
    )
    return {"low": max(-128, low), "high": min(127, high)}


def _bias(made: _Made, operator: Operator, weights: Int64) -> Int64:
    """Return biases, with what the zero of the input adds; weights are (outputs, k)."""
    _, source = made.source(operator)
    bias = np.asarray(-source.zero * weights.sum(axis=1))
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        data = made.model.tensors[operator.inputs[2]].data
        assert data is not None
        bias = bias + data.reshape(-1)
    if np.abs(bias).max() > steps.HIGHEST:
        raise ValueError(f"a bias of {np.abs(bias).max()} leaves 32 bits")
    return bias


def _factors(made: _Made, operator: Operator, outputs: int) -> tuple[steps.Int32, steps.Int32]:
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
        raise ValueError(f"rescales by {factors.max():g}, expected below {2**30}")
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32)


def _convolved(made: _Made, operator: Operator, weights: npt.NDArray[np.int8]) -> dict[str, Any]:
    """Return the fields that convolutions share; weights are (outputs, height, width, k)."""
    _, source = made.source(operator)
    outputs = len(weights)
    bias = _bias(made, operator, weights.reshape(outputs, -1).astype(np.int64))
    multiplier, shift = _factors(made, operator, outputs)
    # A channel that TFLite multiplies by 0: without weights it gives the same, and kernels need no other way.
    idle = multiplier == 0
    bias[idle], multiplier[idle], shift[idle] = 0, 2**30, -31
    options = operator.options
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
        **_ends(operator, made.target(operator)),
    }


def _weights(made: _Made, operator: Operator) -> npt.NDArray[np.int8]:
    data = made.model.tensors[operator.inputs[1]].data
    assert data is not None
    return np.ascontiguousarray(data, dtype=np.int8)


def _conv(made: _Made, operator: Operator) -> None:
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


def _depthwise(made: _Made, operator: Operator) -> None:
    name, source = made.source(operator)
    fields = _convolved(made, operator, _weights(made, operator).transpose(3, 1, 2, 0))
    target = made.add(operator.outputs[0])
    if source.shape[3] == 1:
        # Several outputs of one channel are a convolution, which has a faster kernel.
        made.steps.append(steps.Conv(name, target, **fields))
        return
    fields["weights"] = np.ascontiguousarray(fields["weights"][..., 0].transpose(1, 2, 0))
    made.steps.append(steps.Depthwise(name, target, **fields))


def _dense(made: _Made, operator: Operator) -> None:
    name, source = made.source(operator)
    weights = _weights(made, operator)
    outputs, inputs = weights.shape
    rows = source.size // inputs
    bias = _bias(made, operator, weights.astype(np.int64)).astype(np.int32)
    multiplier, shift = _factors(made, operator, outputs)
    target = made.add(operator.outputs[0], (rows, outputs) if rows > 1 else (outputs,))
    ends = _ends(operator, made.target(operator))
    made.steps.append(steps.Dense(name, target, weights, bias, multiplier, shift, **ends))


def _add(made: _Made, operator: Operator) -> None:
    (first, a), (second, b) = made.source(operator), made.source(operator, 1)
    target = made.target(operator)
    _unclamped(operator, target)
    factors = float(a.scale) / float(target.scale), float(b.scale) / float(target.scale)
    # The largest shift whose multipliers fit 16 bits, and whose sums fit 32.
    for shift in range(24, 0, -1):
        left, right = (math.floor(each * 2**shift + 0.5) for each in factors)
        offset = (target.zero << shift) + (1 << (shift - 1)) - left * a.zero - right * b.zero
        if max(left, right) < 2**15 and 128 * (left + right) + abs(offset) <= steps.HIGHEST:
            break
    else:
        raise ValueError(f"rescales by {max(factors):g}, expected below 16384")
    made.steps.append(steps.Add(first, second, made.add(operator.outputs[0]), left, right, offset, shift))


def _mean(made: _Made, operator: Operator) -> None:
    """Convert a mean over the whole picture, as MEAN or as a pool with one window."""
    name, source = made.source(operator)
    target = made.target(operator)
    _unclamped(operator, target)
    if operator.code == "MEAN":
        axes = made.model.tensors[operator.inputs[1]].data
        assert axes is not None
        whole = len(source.shape) == 4 and axes_of(axes, 4) == (1, 2)
    else:
        whole = target.shape[1:3] == (1, 1) and operator.options.window == source.shape[1:3]
    if not whole:
        raise ValueError("the mean is not one over the whole picture")
    count = source.shape[1] * source.shape[2]
    multiplier = int(_multiplier(float(source.scale) / (float(target.scale) * count)))
    vector = made.add(operator.outputs[0], (source.shape[3],))
    made.steps.append(steps.MeanPool(name, vector, -source.zero * count, multiplier))


def _same(made: _Made, operator: Operator) -> None:
    """Convert a change of shape: the bytes stay; a vector may stand for any of them."""
    name, source = made.source(operator)
    target = made.target(operator)
    kept = made.tensors[name].shape
    ones = [each for each in target.shape if each != 1]
    if len(ones) > 1 and target.shape[1:] != kept:
        raise ValueError(f"shape {source.shape} becomes {target.shape}, expected a vector")
    made.names[operator.outputs[0]] = name


def _softmax(made: _Made, operator: Operator) -> None:
    name, source = made.source(operator)
    distances = np.arange(256) * float(source.scale) * operator.options.beta
    table = np.floor(65535 * np.exp(-distances) + 0.5).astype(np.uint16)
    made.steps.append(steps.Softmax(name, made.add(operator.outputs[0]), table))


_STEPS: dict[str, Callable[[_Made, Operator], None]] = {
    "ADD": _add,
    "AVERAGE_POOL_2D": _mean,
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _dense,
    "MEAN": _mean,
    "RESHAPE": _same,
    "SOFTMAX": _softmax,
    "SQUEEZE": _same,
}
