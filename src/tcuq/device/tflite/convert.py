"""From a TFLite model to our own graph, as far as the graph can express it.

The graph rounds once where TFLite's convolutions and sums round twice. Outputs are therefore near those of
`reference.evaluate`, not equal to them.
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
from .convert_moves import MOVES
from .convert_sums import SUMS
from .geometry import spread
from .made import Made as _Made
from .model import Model, Operator, Tensor
from .outputs import Asked, outputs_of

Int64 = npt.NDArray[np.int64]


def graph_of(model: Model, name: str = "model", asked: Asked | None = None) -> own.Graph:
    """Return a model as a graph, whose tensor t5 is the model's tensor 5.

    Its outputs are as `outputs.outputs_of` chooses them: `probs` and `features` for the monitor, if the
    model has them.

    Parameters
    ----------
    model : Model
        As `read_model` gives it.
    name : str
        Of the graph, a C identifier.
    asked : Asked, optional
        Which outputs.

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
    >>> graph.steps[0].multiplier.tolist(), graph.outputs
    ([1073741824], {'output_1': 't2', 'features': 't0'})
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
    outputs = outputs_of(made, asked or Asked())
    return check(own.Graph(name, made.tensors, made.steps, made.names[model.inputs[0]], outputs))


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


def _weighted(made: _Made, operator: Operator, weights: Int64, across: tuple[int, ...]) -> tuple[Any, Any]:
    """Return bias, with what the zero of the input adds, and multiplier for each output."""
    _, source = made.source(operator)
    target = made.target(operator)
    _unclamped(operator, target)
    bias = -source.zero * weights.sum(axis=across)
    if len(operator.inputs) > 2 and operator.inputs[2] >= 0:
        data = made.model.tensors[operator.inputs[2]].data
        assert data is not None
        bias = bias + data.reshape(-1)
    if np.abs(bias).max() > steps.HIGHEST:
        raise ValueError(f"a bias of {np.abs(bias).max()} leaves 32 bits")
    scales = made.model.tensors[operator.inputs[1]].scales.astype(np.float64)
    factor = np.broadcast_to(float(source.scale) * scales / float(target.scale), bias.shape)
    return bias.astype(np.int32), _multiplier(factor)


def _weights(made: _Made, operator: Operator) -> npt.NDArray[np.int8]:
    data = made.model.tensors[operator.inputs[1]].data
    assert data is not None
    return np.ascontiguousarray(data, dtype=np.int8)


def _window(operator: Operator, source: Tensor, height: int, width: int) -> dict[str, Any]:
    options = operator.options
    if options.stride[0] != options.stride[1] or options.dilation != (1, 1):
        raise ValueError(
            f"stride is {options.stride} and dilation {options.dilation}, expected equal strides, no dilation"
        )
    _, top, bottom = spread(source.shape[1], height, options.stride[0], 1, options.padding)
    _, left, right = spread(source.shape[2], width, options.stride[1], 1, options.padding)
    pad = np.full(source.shape[3], source.zero, dtype=np.int8)
    return {"stride": options.stride, "padding": (top, left, bottom, right), "pad": pad}


def _conv(made: _Made, operator: Operator) -> None:
    name, source = made.source(operator)
    weights = _weights(made, operator)
    if weights.shape[3] != source.shape[3]:
        raise ValueError(
            f"weights for {weights.shape[3]} of {source.shape[3]} channels, expected all of them"
        )
    bias, multiplier = _weighted(made, operator, weights.astype(np.int64), (1, 2, 3))
    window = _window(operator, source, *weights.shape[1:3])
    made.steps.append(steps.Conv(name, made.add(operator.outputs[0]), weights, bias, multiplier, **window))


def _depthwise(made: _Made, operator: Operator) -> None:
    name, source = made.source(operator)
    if operator.options.multiplier != 1:
        raise ValueError(f"{operator.options.multiplier} outputs a channel, expected one")
    weights = _weights(made, operator)[0]
    bias, multiplier = _weighted(made, operator, weights.astype(np.int64), (0, 1))
    window = _window(operator, source, *weights.shape[:2])
    made.steps.append(
        steps.Depthwise(name, made.add(operator.outputs[0]), weights, bias, multiplier, **window)
    )


def _dense(made: _Made, operator: Operator) -> None:
    name, source = made.source(operator)
    weights = _weights(made, operator)
    if weights.shape[1] != source.size:
        raise ValueError(f"weights for {weights.shape[1]} of {source.size} values, expected all of them")
    bias, multiplier = _weighted(made, operator, weights.astype(np.int64), (1,))
    target = made.add(operator.outputs[0], (len(weights),))
    made.steps.append(steps.Dense(name, target, weights, bias, multiplier))


_STEPS: dict[str, Callable[[_Made, Operator], None]] = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _dense,
    **SUMS,
    **MOVES,
}
