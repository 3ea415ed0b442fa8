"""The integer arithmetic of TFLite's reference kernels, in numpy: what an imported model is compared with.

Bit for bit what LiteRT computes with its reference kernels, tensor by tensor. Real factors become a
multiplier of 31 bits and a shift. Where two roundings are named, the product is rounded, then its shift.

- Convolutions: sum of (input - zero) * weight, plus bias; rescaled with two roundings by a factor for each
  output channel; the output's zero point added; confined to the range of the fused activation.
- Fully connected: the same with one rounding.
- ADD: both inputs times 2**20, rescaled to twice the larger scale, summed, rescaled: two roundings each.
- SUB: the same with a difference. MUL: a product of differences from the zero points, rescaled.
- AVERAGE_POOL_2D: the mean of what lies inside the picture, half away from zero. MEAN: the sum rescaled by a
  multiplier that has the count divided out.
- SOFTMAX: exponentials and reciprocals in fixed point. Functions of one value: see `tflite/curves.py`.
- PAD, CONCATENATION, PACK, RESHAPE and what `tflite/moves.py` has move bytes; MAXIMUM, MINIMUM, REDUCE_MAX,
  REDUCE_MIN and MAX_POOL_2D compare them.
- READ_VARIABLE and ASSIGN_VARIABLE copy a state, which lives from one run to the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value
from tcuq_device.tflite.check import axes_of
from tcuq_device.tflite.curves import REAL, WHOLE, limits, table_of
from tcuq_device.tflite.fixed_point import (
    HIGHEST,
    Int64,
    channel_factors,
    high_product,
    mean_factor,
    multiplier_of,
    powers_of,
    rescaled_twice,
    shifted_left,
    shifted_right,
)
from tcuq_device.tflite.model import Model, Operator, Tensor, spread
from tcuq_device.tflite.moves import MOVES, SHAPES, moved

Int8 = npt.NDArray[np.int8]
Values = dict[int, Int8]
RECIPROCAL = (1515870810, -1010580540)
"""48/17 and -32/17 with two bits before the point: the first guess of a reciprocal."""


def rescaled_once(values: Int64, multiplier: Int64 | int, shift: Int64 | int) -> Int64:
    """Return values * multiplier * 2**(shift - 31), rounded once, half upwards."""
    count = np.asarray(31 - shift, dtype=np.int64)
    return np.asarray((values * multiplier + (np.int64(1) << (count - 1))) >> count)


def reciprocal(values: Int64) -> Int64:
    """Return 1 / (1 + x) for x from 0 to 1, neither with bits before its point."""
    half = (values + HIGHEST + 1) >> 1
    guess = RECIPROCAL[0] + high_product(half, RECIPROCAL[1])
    for _ in range(3):
        missing = 2**29 - high_product(half, guess)
        guess = guess + shifted_left(high_product(guess, missing), 2)
    return shifted_left(guess, 1)


def first_states(model: Model) -> Values:
    """Return the states of a model before its first run."""
    return {
        number: np.full(model.tensors[number].shape, value, np.int8) for number, value in model.states.items()
    }


def evaluate(model: Model, inputs: Sequence[Int8], states: Values | None = None) -> Values:
    """Return every tensor that a model computes for int8 inputs, by number, and the inputs.

    `states` are replaced by those after the run; by default it is the first run.
    """
    if len(inputs) != len(model.inputs):
        raise wrong_value("number of inputs", len(inputs), len(model.inputs))
    values: Values = {}
    for number, x in zip(model.inputs, inputs, strict=True):
        wanted = model.tensors[number].shape
        if x.dtype != np.int8 or x.shape != wanted:
            raise InputError("value", f"input is {x.dtype} {x.shape}, expected int8 {wanted}", "input")
        values[number] = x
    kept = first_states(model) if states is None else states
    for operator in model.operators:
        if operator.code == "ASSIGN_VARIABLE":
            kept[operator.inputs[0]] = values[operator.inputs[1]]
            continue
        if operator.code == "READ_VARIABLE":
            values[operator.outputs[0]] = kept[operator.inputs[0]]
            continue
        target = operator.outputs[0]
        made = _OPERATORS[operator.code](_Step(model, operator, values))
        values[target] = np.asarray(made, dtype=np.int8).reshape(model.tensors[target].shape)
    return values


class _Step:
    """An operator with its tensors at hand."""

    def __init__(self, model: Model, operator: Operator, values: Values) -> None:
        self.options = operator.options
        self.tensors = [None if each < 0 else model.tensors[each] for each in operator.inputs]
        self.target = model.tensors[operator.outputs[0]]
        self.operator = operator
        self._values = values

    def tensor(self, at: int = 0) -> Tensor:
        found = self.tensors[at]
        assert found is not None
        return found

    def constant(self, at: int) -> npt.NDArray[np.int64]:
        data = self.tensor(at).data
        assert data is not None
        return data.astype(np.int64)

    def raw(self, at: int = 0) -> Int64:
        tensor = self.tensor(at)
        found = tensor.data if tensor.data is not None else self._values[self.operator.inputs[at]]
        return np.asarray(found, dtype=np.int64)

    def centered(self, at: int = 0) -> Int64:
        return self.raw(at) - self.tensor(at).zero

    def bias(self) -> Int64 | int:
        return self.constant(2).reshape(-1) if len(self.tensors) > 2 and self.tensors[2] is not None else 0

    def factors(self, outputs: int) -> tuple[Int64, Int64]:
        return channel_factors(self.operator.code, self.tensor(), self.tensor(1), self.target, outputs)

    def finished(self, values: Int64) -> Int64:
        """Add the zero point and confine to the fused activation."""
        low, high = limits(self.options.activation, self.target)
        return np.clip(values + self.target.zero, low, high)


def _framed(step: _Step, x: Int64, window: tuple[int, int], value: int) -> tuple[Int64, int, int]:
    """Return pictures with their borders, and how many rows and columns the output has."""
    options = step.options
    rows, top, bottom = spread(x.shape[1], window[0], options.stride[0], options.dilation[0], options.padding)
    columns, left, right = spread(
        x.shape[2], window[1], options.stride[1], options.dilation[1], options.padding
    )
    borders = ((0, 0), (top, bottom), (left, right), (0, 0))
    return np.pad(x, borders, constant_values=value), rows, columns


def _cells(step: _Step, framed: Int64, window: tuple[int, int], rows: int, columns: int) -> list[Int64]:
    """Return, for each place in the window, what the outputs see there."""
    (down, across), (tall, wide) = step.options.stride, step.options.dilation
    return [
        framed[:, i * tall :: down, j * wide :: across][:, :rows, :columns]
        for i in range(window[0])
        for j in range(window[1])
    ]


def _product(rows: Int64, weights: Int64) -> Int64:
    """Return rows times weights; doubles are exact, as no sum leaves 32 bits."""
    return np.asarray(rows.astype(np.float64) @ weights.astype(np.float64), dtype=np.int64)


def _conv(step: _Step) -> Int64:
    weights = step.constant(1)
    outputs, height, width, depth = weights.shape
    framed, rows, columns = _framed(step, step.centered(), (height, width), 0)
    seen = np.stack(_cells(step, framed, (height, width), rows, columns), axis=3)
    groups = framed.shape[3] // depth
    parts = []
    for group, part in enumerate(np.split(weights, groups)):
        mine = seen[..., group * depth : (group + 1) * depth]
        flat = mine.reshape(-1, height * width * depth)
        parts.append(_product(flat, part.reshape(len(part), -1).T).reshape(*seen.shape[:3], len(part)))
    acc = np.concatenate(parts, axis=3) + step.bias()
    return step.finished(rescaled_twice(acc, *step.factors(outputs)))


def _depthwise(step: _Step) -> Int64:
    weights = step.constant(1)
    _, height, width, outputs = weights.shape
    framed, rows, columns = _framed(step, step.centered(), (height, width), 0)
    acc = np.zeros((len(framed), rows, columns, outputs), dtype=np.int64) + step.bias()
    cells = _cells(step, framed, (height, width), rows, columns)
    for weight, seen in zip(weights.reshape(-1, outputs), cells, strict=True):
        acc += np.repeat(seen, step.options.multiplier, axis=3) * weight
    return step.finished(rescaled_twice(acc, *step.factors(outputs)))


def _dense(step: _Step) -> Int64:
    weights = step.constant(1)
    acc = _product(step.centered().reshape(-1, weights.shape[1]), weights.T) + step.bias()
    return step.finished(rescaled_once(acc, *step.factors(len(weights))))


def _add(step: _Step) -> Int64:
    scales = float(step.tensor().scale), float(step.tensor(1).scale)
    twice = 2 * max(scales)
    first, second = (
        rescaled_twice(step.centered(at) << 20, *multiplier_of(scales[at] / twice)) for at in (0, 1)
    )
    factor = twice / (2**20 * float(step.target.scale))
    acc = first - second if step.operator.code == "SUB" else first + second
    return step.finished(rescaled_twice(acc, *multiplier_of(factor)))


def _mul(step: _Step) -> Int64:
    factor = float(step.tensor().scale * step.tensor(1).scale / step.target.scale)
    return step.finished(rescaled_twice(step.centered() * step.centered(1), *multiplier_of(factor)))


def _average(step: _Step) -> Int64:
    x, window = step.raw(), step.options.window
    framed, rows, columns = _framed(step, x, window, 0)
    inside, _, _ = _framed(step, np.ones_like(x), window, 0)
    total = sum(_cells(step, framed, window, rows, columns), np.zeros(1, np.int64))
    count = sum(_cells(step, inside, window, rows, columns), np.zeros(1, np.int64))
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return np.asarray(np.clip(mean, *limits(step.options.activation, step.target)))


def _max(step: _Step) -> Int64:
    window = step.options.window
    framed, rows, columns = _framed(step, step.raw(), window, -128)
    cells = _cells(step, framed, window, rows, columns)
    found = cells[0]
    for each in cells[1:]:
        found = np.maximum(found, each)
    return np.clip(found, *limits(step.options.activation, step.target))


def _mean(step: _Step) -> Int64:
    axes = axes_of(step.constant(1), len(step.tensor().shape))
    count = math.prod(step.tensor().shape[at] for at in axes)
    factor = mean_factor(step.tensor(), step.target, count)
    return step.finished(rescaled_twice(step.centered().sum(axis=axes), *factor))


def _pad(step: _Step) -> Int64:
    value = int(step.constant(2).reshape(-1)[0]) if len(step.tensors) > 2 else step.target.zero
    return np.pad(step.raw(), step.constant(1).tolist(), constant_values=value)


def _joined(step: _Step) -> Int64:
    return np.concatenate([step.raw(at) for at in range(len(step.tensors))], axis=step.options.axis)


def _same(step: _Step) -> Int64:
    return step.raw()


def _packed(step: _Step) -> Int64:
    return np.stack([step.raw(at) for at in range(len(step.tensors))], axis=step.options.flags[1])


def _moved(step: _Step) -> Int64:
    constants = [step.constant(at) for at in range(1, len(step.tensors))]
    return moved(step.operator, constants, step.target, step.raw())


def _looked_up(step: _Step) -> Int64:
    return table_of(step.operator.code, step.tensor(), step.target, step.options)[step.raw() + 128].astype(
        np.int64
    )


def _extreme(step: _Step) -> Int64:
    return (np.maximum if step.operator.code == "MAXIMUM" else np.minimum)(step.raw(), step.raw(1))


def _largest(step: _Step) -> Int64:
    axes = axes_of(step.constant(1), len(step.tensor().shape))
    return np.asarray((np.max if step.operator.code == "REDUCE_MAX" else np.min)(step.raw(), axis=axes))


def _softmax(step: _Step) -> Int64:
    x = step.raw()
    power = powers_of(step.tensor(), step.options.beta)[x.max(axis=-1, keepdims=True) - x]
    total = shifted_right(power, 12).sum(axis=-1, keepdims=True)
    # The sum has twelve bits before its point; it is shifted up to lie between 1 and 2.
    room = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    scale = reciprocal((total << room) - 2**31)
    return np.clip(shifted_right(high_product(power, scale), 12 - room + 23) - 128, -128, 127)


_OPERATORS: dict[str, Callable[[_Step], Int64]] = {
    "ADD": _add,
    "AVERAGE_POOL_2D": _average,
    "CONCATENATION": _joined,
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _dense,
    "MAXIMUM": _extreme,
    "MAX_POOL_2D": _max,
    "MEAN": _mean,
    "MINIMUM": _extreme,
    "MUL": _mul,
    "PACK": _packed,
    "PAD": _pad,
    "PADV2": _pad,
    "REDUCE_MAX": _largest,
    "REDUCE_MIN": _largest,
    "SOFTMAX": _softmax,
    "SUB": _add,
    **dict.fromkeys(SHAPES, _same),
    **dict.fromkeys((*WHOLE, *REAL), _looked_up),
    **dict.fromkeys(MOVES, _moved),
}
