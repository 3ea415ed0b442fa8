"""Whether a graph can be run as the arithmetic says: shapes that fit, sums that stay in 32 bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import integer
from .graph import HIGHEST, Add, Conv, Dense, Depthwise, Drop, Graph, MeanPool, Softmax, Tensor, sources_of

MAX_CLASSES = 16384
"""Logits of a softmax whose sum stays well inside 32 bits."""


def check(graph: Graph) -> None:
    """Refuse a graph whose steps do not fit together, or could overflow.

    Parameters
    ----------
    graph : Graph

    Raises
    ------
    ValueError
        Naming the step, the value and what is accepted.

    Examples
    --------
    >>> x, y = Tensor("x", (4,), 1.0, 0), Tensor("y", (5,), 1.0, 0)
    >>> check(Graph("g", {"x": x, "y": y}, [Add("x", "x", "y", 1, 1, 0, 1)], "x", {"y": "y"}))
    Traceback (most recent call last):
    ...
    ValueError: step y: target is (5,); (4,) is accepted
    """
    for name, tensor in graph.tensors.items():
        _named(name)
        if tensor.name != name:
            raise ValueError(f"tensor {name} has the name {tensor.name}; its own is accepted")
        if len(tensor.shape) not in (1, 3) or min(tensor.shape) < 1:
            accepted = "(height, width, channels) or (channels,) is accepted"
            raise ValueError(f"tensor {name}: shape is {tensor.shape}; {accepted}")
        integer(f"tensor {name}: zero", tensor.zero, -128, 127)
    if graph.input not in graph.tensors:
        raise ValueError(f"input is {graph.input!r}; the name of a tensor is accepted")
    made = {graph.input}
    for step in graph.steps:
        if type(step) not in _RULES:
            accepted = ", ".join(kind.__name__ for kind in _RULES)
            raise ValueError(f"step {_target(step)} is a {type(step).__name__}; {accepted} are accepted")
        for source in sources_of(step):
            if source not in made:
                raise ValueError(f"step {step.target} reads {source!r}, which no step before it makes")
        if step.target in made or step.target not in graph.tensors:
            raise ValueError(f"step {step.target} makes {step.target!r}; a tensor not yet made is accepted")
        made.add(step.target)
        try:
            _RULES[type(step)](step, graph.tensors)
        except ValueError as error:
            raise ValueError(f"step {step.target}: {error}") from None
    if not graph.outputs:
        raise ValueError("a graph without outputs has nothing to say; at least one is accepted")
    for purpose, name in graph.outputs.items():
        _named(purpose)
        if name not in made:
            raise ValueError(f"output {purpose} is {name!r}, which no step makes")


def _named(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ValueError(f"name is {name!r}; a letter, then letters, digits and _, are accepted")


def _target(step: Any) -> str:
    return str(getattr(step, "target", "without a target"))


def _shape(what: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if found != wanted:
        raise ValueError(f"{what} is {found}; {wanted} is accepted")


def _array(what: str, found: Any, wanted: tuple[int, ...], kind: type) -> None:
    if not isinstance(found, np.ndarray) or found.dtype != kind:
        raise ValueError(
            f"{what} is {getattr(found, 'dtype', type(found).__name__)}; {kind.__name__} is accepted"
        )
    _shape(f"{what}: shape", found.shape, wanted)


def _picture(tensor: Tensor) -> tuple[int, int, int]:
    if len(tensor.shape) != 3:
        raise ValueError(f"source is {tensor.shape}; (height, width, channels) is accepted")
    return tensor.shape[0], tensor.shape[1], tensor.shape[2]


def _affine(step: Conv | Depthwise | Dense, outputs: int, weights: Any) -> None:
    """Check bias and multiplier against weights (outputs, all others)."""
    _array("bias", step.bias, (outputs,), np.int32)
    _array("multiplier", step.multiplier, (outputs,), np.int32)
    integer("multiplier", int(step.multiplier.min()), 0, HIGHEST)
    worst = np.abs(step.bias.astype(np.int64)) + 128 * np.abs(weights.astype(np.int64)).sum(axis=1)
    integer("largest sum", int(worst.max()), 0, HIGHEST)


def _window(step: Conv | Depthwise, tensors: Any, kernel: tuple[int, int], outputs: int) -> None:
    height, width, channels = _picture(tensors[step.source])
    _array("pad", step.pad, (channels,), np.int8)
    integer("stride", step.stride, 1, 2**15)
    if len(step.padding) != 4:
        raise ValueError(f"padding is {step.padding}; (top, left, bottom, right) is accepted")
    top, left, bottom, right = (integer("padding", side, 0, 2**15) for side in step.padding)
    spare = (height + top + bottom - kernel[0], width + left + right - kernel[1])
    if min(spare) < 0:
        raise ValueError(f"kernel is {kernel}; at most the padded picture is accepted")
    places = (spare[0] // step.stride + 1, spare[1] // step.stride + 1)
    _shape("target", tensors[step.target].shape, (*places, outputs))


def _conv(step: Conv, tensors: Any) -> None:
    channels = _picture(tensors[step.source])[2]
    outputs, rows, columns = (*step.weights.shape, 0, 0, 0)[:3]
    _array("weights", step.weights, (outputs, rows, columns, channels), np.int8)
    _affine(step, outputs, step.weights.reshape(outputs, -1))
    _window(step, tensors, (rows, columns), outputs)


def _depthwise(step: Depthwise, tensors: Any) -> None:
    channels = _picture(tensors[step.source])[2]
    rows, columns = (*step.weights.shape, 0, 0)[:2]
    _array("weights", step.weights, (rows, columns, channels), np.int8)
    _affine(step, channels, step.weights.reshape(-1, channels).T)
    _window(step, tensors, (rows, columns), channels)


def _dense(step: Dense, tensors: Any) -> None:
    outputs = step.weights.shape[0]
    _array("weights", step.weights, (outputs, tensors[step.source].size), np.int8)
    _affine(step, outputs, step.weights)
    _shape("target", tensors[step.target].shape, (outputs,))


def _add(step: Add, tensors: Any) -> None:
    shape = tensors[step.first].shape
    _shape("second", tensors[step.second].shape, shape)
    _shape("target", tensors[step.target].shape, shape)
    left = integer("left", step.left, -(2**15), 2**15 - 1)
    right = integer("right", step.right, -(2**15), 2**15 - 1)
    room = HIGHEST - 128 * (abs(left) + abs(right))
    integer("offset", step.offset, -room, room)
    integer("shift", step.shift, 0, 31)


def _mean(step: MeanPool, tensors: Any) -> None:
    height, width, channels = _picture(tensors[step.source])
    _shape("target", tensors[step.target].shape, (channels,))
    room = HIGHEST - 128 * height * width
    integer("bias", step.bias, -room, room)
    integer("multiplier", step.multiplier, 0, HIGHEST)


def _drop(step: Drop, tensors: Any) -> None:
    _shape("target", tensors[step.target].shape, tensors[step.source].shape)
    integer("zero of the target", tensors[step.target].zero, *[tensors[step.source].zero] * 2)
    integer("threshold", step.threshold, 0, 256)
    integer("multiplier", step.multiplier, 0, 2**23 - 1)


def _softmax(step: Softmax, tensors: Any) -> None:
    _shape("target", tensors[step.target].shape, tensors[step.source].shape)
    integer("logits", tensors[step.source].size, 1, MAX_CLASSES)
    _array("table", step.table, (256,), np.uint16)
    integer("first entry of the table", int(step.table[0]), 65535, 65535)


_RULES: dict[type, Callable[[Any, Any], None]] = {
    Conv: _conv,
    Depthwise: _depthwise,
    Dense: _dense,
    Add: _add,
    MeanPool: _mean,
    Drop: _drop,
    Softmax: _softmax,
}
