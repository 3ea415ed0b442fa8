"""Validate a TFLite model before it runs: types, shapes, scales, sums within 32 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, located

from .curves import REAL, WHOLE
from .model import NO_TENSOR, Model, Operator, Tensor, spread
from .moves import MOVES, moved

MOST_VALUES = 2**24
"""In one tensor."""
MOST_WEIGHTS = 2**26
"""In the constants of all operators, each counted as often as it is used."""
HIGHEST = 2**31 - 1
SMALLEST, LARGEST = 2.0**-60, 2.0**20
"""Scales of tensors."""
FIXED = {"LOGISTIC": (1 / 256, -128), "SOFTMAX": (1 / 256, -128), "TANH": (1 / 128, 0)}
"""Scales and zero points of outputs that TFLite demands."""


def check(model: Model) -> Model:
    """Return a model that the reference arithmetic is defined for, or say in one line why it is not."""
    if not model.inputs or not model.outputs:
        raise InputError(
            "damaged",
            f"the model has {len(model.inputs)} inputs and {len(model.outputs)} outputs, "
            "expected at least one of each",
        )
    ready: set[int] = set()
    left = MOST_WEIGHTS
    for number in model.inputs:
        with located(f"input, tensor {number} {model.tensors[number].title}"):
            _activation(model.tensors[number])
            if model.tensors[number].data is not None:
                raise InputError("damaged", "is a constant and an input of the model")
        ready.add(number)
    ready.update(model.states)
    for operator in model.operators:
        with located(place_of(model, operator)):
            if operator.code == "ASSIGN_VARIABLE":
                _assigned(model, operator, ready)
                continue
            if len(operator.outputs) != 1:
                raise InputError(
                    "unsupported", f"{len(operator.outputs)} outputs, expected one", operator.code
                )
            target = operator.outputs[0]
            if operator.code not in _CHECKS:
                raise InputError("unsupported", f"not supported: {REMEDY}", operator.code)
            if target in ready or model.tensors[target].data is not None:
                raise InputError("damaged", "the tensor is made twice, is an input or is a constant")
            read = [model.tensors[each] for each in operator.inputs if each != NO_TENSOR]
            left -= sum(each.size for each in read if each.data is not None)
            if left < 0:
                raise InputError("limit", f"constants of all operators are more than {MOST_WEIGHTS} values")
            _operator(model, operator, ready)
        ready.add(target)
    for number in model.outputs:
        if number not in ready:
            title = model.tensors[number].title
            raise InputError("damaged", "made by no operator", where=f"output, tensor {number} {title}")
    return model


def _assigned(model: Model, operator: Operator, ready: set[int]) -> None:
    known = len(operator.inputs) == 2 and operator.inputs[0] in model.states and operator.inputs[1] in ready
    if not known or len({model.tensors[each].shape for each in operator.inputs}) > 1:
        raise InputError("unsupported", "expected a variable that is read, and a tensor of its shape")


def place_of(model: Model, operator: Operator) -> str:
    """Return how messages name an operator: its number, its name and what it makes."""
    made = "".join(f" to tensor {at} {model.tensors[at].title}" for at in operator.outputs[:1])
    return f"operator {operator.number} ({operator.code}){made}"


def _operator(model: Model, operator: Operator, ready: set[int]) -> None:
    least, most, judge = _CHECKS[operator.code]
    if not least <= len(operator.inputs) <= most:
        raise InputError("damaged", f"{len(operator.inputs)} inputs, expected {least} to {most}")
    tensors: list[Tensor | None] = []
    for at, number in enumerate(operator.inputs):
        if number == NO_TENSOR:
            if at < least:
                raise InputError("missing", f"input {at} is left out")
            tensors.append(None)
            continue
        if number not in ready and model.tensors[number].data is None:
            title = model.tensors[number].title
            raise InputError("damaged", f"input {at}, tensor {number} {title}, is not there yet")
        tensors.append(model.tensors[number])
    target = model.tensors[operator.outputs[0]]
    _activation(target)
    judge(operator, tensors, target)


def _activation(tensor: Tensor) -> None:
    if tensor.dtype != "int8":
        raise InputError("unsupported", f"tensor {tensor.title} is {tensor.dtype}, expected int8", "dtype")
    _sized(tensor)
    if len(tensor.scales) != 1:
        raise _odd(tensor, f"{len(tensor.scales)} scales", "one")
    _scales(tensor)
    if not -128 <= tensor.zero <= 127:
        raise _odd(tensor, f"zero point {tensor.zero}", "-128 to 127")


def _odd(tensor: Tensor, found: str, expected: str) -> InputError:
    return InputError("value", f"tensor {tensor.title} has {found}, expected {expected}")


def _sized(tensor: Tensor) -> None:
    if not 1 <= tensor.size <= MOST_VALUES:
        raise _odd(tensor, f"shape {tensor.shape}", f"1 to {MOST_VALUES} values")


def _scales(tensor: Tensor) -> None:
    with np.errstate(invalid="ignore"):
        ends = tensor.scales.min(), tensor.scales.max()
    for each in ends:
        if not SMALLEST <= each <= LARGEST:
            raise _odd(tensor, f"scale {each:g}", f"{SMALLEST:g} to {LARGEST:g}")


def _source(tensors: list[Tensor | None], at: int = 0) -> Tensor:
    tensor = tensors[at]
    assert tensor is not None
    _activation(tensor)
    return tensor


def _shape(target: Tensor, wanted: tuple[int, ...]) -> None:
    if target.shape != wanted:
        raise InputError("value", f"the output has shape {target.shape}, expected {wanted}")


def _rank(tensor: Tensor, rank: int) -> None:
    if len(tensor.shape) != rank:
        raise _odd(tensor, f"shape {tensor.shape}", f"{rank} dimensions")


def _same_scale(*tensors: Tensor) -> None:
    first, *others = tensors
    for each in others:
        if (each.scale, each.zero) != (first.scale, first.zero):
            raise InputError(
                "value",
                f"tensors {first.title} and {each.title} have scales {first.scale:g} and {each.scale:g} and "
                f"zero points {first.zero} and {each.zero}, expected equal ones",
            )


def _whole(tensor: Tensor | None, what: str) -> npt.NDArray[Any]:
    """Return constants that say where: axes, paddings, shapes."""
    if tensor is None or tensor.data is None or tensor.dtype not in ("int32", "int64"):
        found = "left out" if tensor is None else f"{tensor.dtype}, {'not ' * (tensor.data is None)}constant"
        raise InputError("unsupported", f"{what} is {found}, expected constant int32", what)
    return tensor.data


def _weights(tensor: Tensor | None, rank: int, axis: int) -> npt.NDArray[np.int8]:
    assert tensor is not None
    if tensor.dtype != "int8" or tensor.data is None:
        raise InputError(
            "unsupported",
            f"weights {tensor.title} are {tensor.dtype}, {'not ' * (tensor.data is None)}constant, "
            "expected constant int8",
        )
    _rank(tensor, rank)
    _sized(tensor)
    outputs = tensor.shape[axis]
    if len(tensor.scales) not in (1, outputs) or (
        outputs > 1 and len(tensor.scales) > 1 and tensor.axis != axis
    ):
        raise InputError(
            "value",
            f"weights {tensor.title} have {len(tensor.scales)} scales along dimension {tensor.axis}, "
            f"expected one, or {outputs} along {axis}",
        )
    _scales(tensor)
    if tensor.zeros.any():
        raise InputError("value", f"weights {tensor.title} have a zero point that is not 0")
    return tensor.data


def _sums(source: Tensor, tensors: list[Tensor | None], target: Tensor, axis: int) -> None:
    """Refuse a bias of the wrong shape, and sums that could leave 32 bits in whatever order."""
    weights = tensors[1]
    assert weights is not None and weights.data is not None
    across = tuple(at for at in range(len(weights.shape)) if at != axis % len(weights.shape))
    largest = 255 * np.abs(weights.data.astype(np.int16)).sum(axis=across, dtype=np.int64)
    bias = tensors[2] if len(tensors) > 2 else None
    if bias is not None:
        if bias.dtype != "int32" or bias.data is None or bias.size != len(largest):
            found = f"{bias.dtype} {bias.shape}, {'not ' * (bias.data is None)}constant"
            raise InputError("value", f"bias is {found}, expected constant int32 ({len(largest)},)", "bias")
        largest = largest + np.abs(bias.data.astype(np.int64)).reshape(-1)
    _rescaled(largest, source.scale.astype(np.float64) * weights.scales / float(target.scale))


def _rescaled(largest: Any, factor: Any) -> None:
    """Refuse factors above 1 that shift a sum out of 32 bits."""
    reach = float(np.max(largest * np.maximum(1.0, 2.0 * np.asarray(factor, dtype=np.float64))))
    if reach > HIGHEST:
        raise InputError("limit", f"a sum can reach {reach:.0f}, expected at most {HIGHEST}")


def _window(operator: Operator, source: Tensor, window: tuple[int, int]) -> tuple[int, int]:
    _rank(source, 4)
    options = operator.options
    made = [
        spread(source.shape[1 + at], window[at], options.stride[at], options.dilation[at], options.padding)
        for at in (0, 1)
    ]
    for count, before, behind in made:
        if count < 1 or max(before, behind) > MOST_VALUES:
            raise InputError("value", f"a window of {window} does not fit a picture of {source.shape[1:3]}")
    framed = [source.shape[1 + at] + sum(made[at][1:]) for at in (0, 1)]
    if source.shape[0] * framed[0] * framed[1] * source.shape[3] > MOST_VALUES:
        problem = f"the padded picture has shape {tuple(framed)}, expected at most {MOST_VALUES} values"
        raise InputError("limit", problem)
    return made[0][0], made[1][0]


def _conv(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    outputs, height, width, depth = _weights(tensors[1], 4, 0).shape
    rows, columns = _window(operator, source, (height, width))
    channels = source.shape[3]
    if channels % depth or outputs % (channels // depth):
        raise InputError(
            "value", f"{channels} channels, weights for {depth} and {outputs} outputs do not fit"
        )
    _shape(target, (source.shape[0], rows, columns, outputs))
    _sums(source, tensors, target, 0)


def _depthwise(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    one, height, width, outputs = _weights(tensors[1], 4, 3).shape
    rows, columns = _window(operator, source, (height, width))
    if one != 1 or outputs != source.shape[3] * operator.options.multiplier:
        raise InputError(
            "value",
            f"{source.shape[3]} channels times {operator.options.multiplier} and weights of "
            f"{one} x {outputs} do not fit",
        )
    _shape(target, (source.shape[0], rows, columns, outputs))
    _sums(source, tensors, target, 3)


def _dense(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    outputs, depth = _weights(tensors[1], 2, 0).shape
    if source.size % depth or (operator.options.keep and source.shape[-1:] != (depth,)):
        raise InputError("value", f"weights for {depth} values do not fit a tensor of shape {source.shape}")
    kept = source.shape[:-1] if operator.options.keep else (source.size // depth,)
    _shape(target, (*kept, outputs))
    _sums(source, tensors, target, 0)


def _pair(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> tuple[Tensor, Tensor]:
    first, second = _source(tensors), _source(tensors, 1)
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise InputError("value", f"shapes {first.shape} and {second.shape} do not fit") from None
    _shape(target, tuple(shape))
    return first, second


def _add(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    first, second = _pair(operator, tensors, target)
    ratio = 2 * float(max(first.scale, second.scale)) / (2**20 * float(target.scale))
    if ratio >= 1:
        raise InputError("value", f"the output's scale is {target.scale:g}, too small for its inputs'")


def _mul(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    first, second = _pair(operator, tensors, target)
    _rescaled(255 * 255, float(first.scale) * float(second.scale) / float(target.scale))


def _pool(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    rows, columns = _window(operator, source, operator.options.window)
    _shape(target, (source.shape[0], rows, columns, source.shape[3]))
    _same_scale(source, target)


def axes_of(axes: npt.NDArray[Any], rank: int) -> tuple[int, ...]:
    """Return the axes of a mean, counted from 0, each once and in order."""
    found = {int(each) for each in axes.reshape(-1)[: 2 * rank + 1]}
    if axes.size > 2 * rank or not all(-rank <= each < rank for each in found):
        raise InputError("value", f"axes are {sorted(found)}, expected {-rank} to {rank - 1}")
    return tuple(sorted({each % rank for each in found}))


def _reduced(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> tuple[int, ...]:
    source = _source(tensors)
    axes = axes_of(_whole(tensors[1], "the list of axes"), len(source.shape))
    if not axes:
        raise InputError("missing", "the list of axes is empty, expected at least one", "axes")
    kept = operator.options.keep
    _shape(
        target,
        tuple(1 if at in axes else each for at, each in enumerate(source.shape) if kept or at not in axes),
    )
    return axes


def _largest(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    _reduced(operator, tensors, target)
    _same_scale(_source(tensors), target)


def _mean(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source, axes = _source(tensors), _reduced(operator, tensors, target)
    count = math.prod(source.shape[at] for at in axes)
    _rescaled(255 * count, float(source.scale) / float(target.scale))


def _pad(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    added = _whole(tensors[1], "padding")
    if added.shape != (len(source.shape), 2) or added.min() < 0:
        raise InputError(
            "value", f"padding has shape {added.shape} or is negative, expected ({len(source.shape)}, 2)"
        )
    if len(tensors) > 2:
        value = _source(tensors, 2)
        if value.data is None or value.size != 1:
            raise InputError("value", f"the value is {value.title} {value.shape}, expected one constant")
        _same_scale(source, value)
    pairs = zip(source.shape, added.tolist(), strict=True)
    _shape(target, tuple(each + before + behind for each, (before, behind) in pairs))
    _same_scale(source, target)


def _joined(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    if None in tensors:
        raise InputError("missing", "an input is left out")
    sources = [_source(tensors, at) for at in range(len(tensors))]
    rank, axis = len(sources[0].shape), operator.options.axis
    if not -rank <= axis < rank:
        raise InputError("value", f"the axis is {axis}, expected {-rank} to {rank - 1}")
    if operator.options.activation != "NONE":
        raise InputError(
            "unsupported", f"the fused activation is {operator.options.activation}, expected NONE"
        )
    axis %= rank
    for each in sources:
        _rank(each, rank)
    length = sum(each.shape[axis] for each in sources)
    wanted = (*sources[0].shape[:axis], length, *sources[0].shape[axis + 1 :])
    for each in sources:
        if each.shape[:axis] + each.shape[axis + 1 :] != wanted[:axis] + wanted[axis + 1 :]:
            raise InputError(
                "value", f"shapes {sources[0].shape} and {each.shape} do not fit along axis {axis}"
            )
    _shape(target, wanted)
    _same_scale(target, *sources)


def _packed(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    if None in tensors:
        raise InputError("missing", "an input is left out")
    sources = [_source(tensors, at) for at in range(len(tensors))]
    dummies = [np.broadcast_to(np.int8(0), each.shape) for each in sources]
    try:
        _shape(target, np.stack(dummies, operator.options.flags[1]).shape)
    except ValueError as error:
        raise InputError("value", f"the output has shape {target.shape}: {error}") from None
    _same_scale(target, *sources)


def _reshaped(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    if source.size != target.size:
        raise InputError("value", f"shapes {source.shape} and {target.shape} differ in the number of values")
    if len(tensors) > 1:
        wanted = _whole(tensors[1], "the shape").reshape(-1)
        fits = len(wanted) == len(target.shape) and all(
            each in (-1, found) for each, found in zip(wanted.tolist(), target.shape, strict=True)
        )
        if not fits:
            raise InputError("value", f"the output has shape {target.shape}, expected {wanted[:8].tolist()}")
    _same_scale(source, target)


def _squeezed(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    if [each for each in source.shape if each != 1] != [each for each in target.shape if each != 1]:
        raise InputError("value", f"shapes {source.shape} and {target.shape} differ in more than ones")
    _same_scale(source, target)


def _curve(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    _shape(target, source.shape)
    scale, zero = FIXED.get(operator.code, (float(target.scale), target.zero))
    if (float(target.scale), target.zero) != (scale, zero):
        found = f"scale {target.scale:g} and zero point {target.zero}"
        raise InputError("value", f"the output has {found}, expected 1/{1 / scale:g} and {zero}")
    if operator.code not in WHOLE:
        return
    slope = abs(operator.options.beta) if operator.code == "LEAKY_RELU" else 1.0
    ratio = float(source.scale) / float(target.scale)
    if not slope <= LARGEST or (operator.code == "HARD_SWISH" and ratio >= 128):
        raise InputError(
            "limit", f"rescales by {ratio:g}, with slope {slope:g}; the output's scale is too small"
        )
    _rescaled(255, max(1.0, slope) * ratio)


def _moved(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    source = _source(tensors)
    constants = [_whole(each, "a shape, axis or index") for each in tensors[1:]]
    moved(operator, constants, target, np.broadcast_to(np.int8(0), source.shape))
    if operator.code != "REVERSE_V2":  # of which converters write others, though bytes are only moved
        _same_scale(source, target)


def _extreme(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    _same_scale(target, *_pair(operator, tensors, target))


def _softmax(operator: Operator, tensors: list[Tensor | None], target: Tensor) -> None:
    _curve(operator, tensors, target)
    factor = operator.options.beta * float(_source(tensors).scale)
    if not 2.0**-20 <= factor <= 2.0**10:
        raise InputError("value", f"the input's scale times beta is {factor:g}, expected 2^-20 to 2^10")
    # The sum of exponentials has twelve bits before its point.
    if not target.shape or target.shape[-1] > 4095:
        raise InputError("limit", f"the output has shape {target.shape}, expected at most 4095 classes")


_CHECKS: dict[str, tuple[int, int, Callable[[Operator, list[Tensor | None], Tensor], None]]] = {
    "ADD": (2, 2, _add),
    "AVERAGE_POOL_2D": (1, 1, _pool),
    "CONCATENATION": (1, 32, _joined),
    "CONV_2D": (2, 3, _conv),
    "DEPTHWISE_CONV_2D": (2, 3, _depthwise),
    "EXPAND_DIMS": (2, 2, _squeezed),
    "FULLY_CONNECTED": (2, 3, _dense),
    "MAXIMUM": (2, 2, _extreme),
    "MAX_POOL_2D": (1, 1, _pool),
    "MEAN": (2, 2, _mean),
    "MINIMUM": (2, 2, _extreme),
    "MUL": (2, 2, _mul),
    "PACK": (1, 32, _packed),
    "PAD": (2, 2, _pad),
    "PADV2": (3, 3, _pad),
    "READ_VARIABLE": (1, 1, _squeezed),
    "REDUCE_MAX": (2, 2, _largest),
    "REDUCE_MIN": (2, 2, _largest),
    "RESHAPE": (1, 2, _reshaped),
    "SOFTMAX": (1, 1, _softmax),
    "SQUEEZE": (1, 1, _squeezed),
    "SUB": (2, 2, _add),
    **dict.fromkeys((*REAL, *WHOLE), (1, 1, _curve)),
    **dict.fromkeys(MOVES, (1, 4, _moved)),
}
"""Fewest and most inputs of each operator, and what else must hold."""

REMEDY = "replace the layer by supported ones, or run the model in TFLite Micro and export the monitor alone"
_UNROLL = "build the layer with unroll=True, which converts to supported operators"
REMEDIES = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _UNROLL,
    "WHILE": _UNROLL,
    "SVDF": f"a streaming DEPTHWISE_CONV_2D does the same; {REMEDY}",
}
"""What to do about operators that people meet."""
