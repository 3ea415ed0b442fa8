"""Operators that move values and compute none: what each does to an array, as one function of numpy.

`convert` asks it to move the numbers of values in place of them: that gives the place that each comes from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError

from .model import Operator, Options, Tensor

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
SHAPES = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")
"""Operators that move nothing."""
Move = Callable[[Array, Options, Shape, Sequence[list[int]]], Array]
"""From an array, options, the shape that is made, and constants to the array that is made."""


def moved(operator: Operator, constants: Sequence[Array], target: Tensor, x: Array) -> Array:
    """Return an array as an operator moves it; refuse what does not give the target's shape."""
    numbers = [each.reshape(-1).tolist() for each in constants]
    try:
        found = np.asarray(MOVES[operator.code](x, operator.options, target.shape, numbers))
    except (ValueError, IndexError, TypeError, ArithmeticError) as error:
        raise InputError("value", f"does not fit a tensor of shape {x.shape}: {error}") from None
    if found.shape != target.shape:
        raise InputError("value", f"the output has shape {target.shape}, expected {found.shape}")
    return found


def _slice(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    pairs = zip(*constants, strict=True)
    return x[tuple(slice(begin, None if size == -1 else begin + size) for begin, size in pairs)]


def _strided_slice(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    begin_mask, end_mask, ellipsis, new, shrunk = options.flags
    if ellipsis or new:
        raise ValueError("a slice adds dimensions, expected one that does not")
    parts: list[Any] = []
    for at, (begin, end, step) in enumerate(zip(*constants, strict=True)):
        bit = 1 << at
        whole = slice(None if begin_mask & bit else begin, None if end_mask & bit else end, step)
        parts.append(begin if shrunk & bit else whole)
    return np.asarray(x[tuple(parts)])


def _split(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    (axis,) = constants[-1]
    sizes = [x.shape[axis] // options.parts] * options.parts if len(constants) == 1 else constants[0]
    rest = x.shape[axis] - sum(each for each in sizes if each != -1)
    sizes = [rest if each == -1 else each for each in sizes]
    begin = sum(sizes[: options.part])
    return x.take(range(begin, begin + sizes[options.part]), axis)


def _gathered(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    axis, batch = options.flags
    if batch or x.size // x.shape[axis] * len(constants[0]) != math.prod(shape):
        raise ValueError("expected indices for one axis")
    # Indices may have any shape, which the output tells.
    return x.take(constants[0], axis).reshape(shape)


def _tiled(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    if x.size * math.prod(constants[0]) != math.prod(shape):
        raise ValueError(f"{constants[0]} times do not give {shape}")
    return np.tile(x, constants[0])


def _to_depth(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    (block,), (batch, height, width, channels) = options.flags, x.shape
    cells = x.reshape(batch, height // block, block, width // block, block, channels)
    return cells.transpose(0, 1, 3, 2, 4, 5).reshape(shape)


def _to_space(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    (block,), (batch, height, width, channels) = options.flags, x.shape
    cells = x.reshape(batch, height, width, block, block, channels // block**2)
    return cells.transpose(0, 1, 3, 2, 4, 5).reshape(shape)


def _nearest(x: Array, options: Options, shape: Shape, constants: Sequence[list[int]]) -> Array:
    corners, centers = options.flags
    single, places = np.float32, []
    for known, length in zip(x.shape[1:3], shape[1:3], strict=True):
        spaced = corners and length > 1
        scale = single(known - 1) / single(length - 1) if spaced else single(known) / single(length)
        exact = (np.arange(length).astype(single) + single(0.5 * bool(centers))) * scale
        rounded = np.floor(exact + single(0.5)) if corners else np.floor(exact)
        places.append(np.clip(rounded.astype(np.int64), 0, known - 1))
    if (x.shape[0], *constants[0], x.shape[3]) != shape:
        raise ValueError(f"{constants[0]} does not give {shape}")
    return x[:, places[0][:, None], places[1]]


MOVES: dict[str, Move] = {
    "BROADCAST_TO": lambda x, options, shape, constants: np.broadcast_to(x, constants[0]),
    "DEPTH_TO_SPACE": _to_space,
    "GATHER": _gathered,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    "REVERSE_V2": lambda x, options, shape, constants: np.flip(x, tuple(constants[0])),
    "SLICE": _slice,
    "SPACE_TO_DEPTH": _to_depth,
    "SPLIT": _split,
    "SPLIT_V": _split,
    "STRIDED_SLICE": _strided_slice,
    "TILE": _tiled,
    "TRANSPOSE": lambda x, options, shape, constants: x.transpose(constants[0]),
    "UNPACK": lambda x, options, shape, constants: x.take(options.part, options.flags[1]),
}
