"""Operators that move values and compute none: what each does to an array, as one function of numpy.

The same function gives the reference its bytes, and `convert` the place that every value comes from: it is
asked to move their numbers in place of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError, wrong_value

from .model import Operator, Options, Tensor

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Move:
    """What an operator is told: its options, constants beside its source, the shape that it makes."""

    options: Options
    constants: Sequence[list[int]]
    shape: tuple[int, ...]


def moved(operator: Operator, constants: Sequence[Array], target: Tensor, x: Array) -> Array:
    """Return an array as an operator moves it; refuse what does not give the target's shape."""
    move = Move(operator.options, [each.reshape(-1).tolist() for each in constants], target.shape)
    try:
        found = MOVES[operator.code](move, x)
    except (ValueError, IndexError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("value", f"does not fit a tensor of shape {x.shape}: {error}") from None
    if found.shape != target.shape:
        raise InputError("value", f"the output has shape {target.shape}, expected {found.shape}")
    return found


def _transposed(move: Move, x: Array) -> Array:
    return x.transpose(move.constants[0])


def _reversed(move: Move, x: Array) -> Array:
    return np.flip(x, tuple(move.constants[0]))


def _slice(move: Move, x: Array) -> Array:
    begins, sizes = move.constants
    for at, begin, size, length in zip(range(x.ndim), begins, sizes, x.shape, strict=True):
        if not 0 <= begin <= length or not -1 <= size <= length - begin:
            raise wrong_value(f"slice of dimension {at}", (begin, size), f"a part of {length}")
    ends = (None if size == -1 else begin + size for begin, size in zip(begins, sizes, strict=True))
    return np.asarray(x[tuple(slice(begin, end) for begin, end in zip(begins, ends, strict=True))])


def _strided_slice(move: Move, x: Array) -> Array:
    begin_mask, end_mask, ellipsis, new, shrunk = move.options.flags
    if ellipsis or new:
        raise InputError("unsupported", "a slice adds dimensions, expected one that does not")
    parts: list[Any] = []
    for at, (begin, end, step) in enumerate(zip(*move.constants, strict=True)):
        bit = 1 << at
        whole = slice(None if begin_mask & bit else begin, None if end_mask & bit else end, step)
        parts.append(begin if shrunk & bit else whole)
    return np.asarray(x[tuple(parts)])


def _split(move: Move, x: Array) -> Array:
    (axis,) = move.constants[-1]
    parts = move.options.parts
    sizes = [x.shape[axis] // parts] * parts
    if len(move.constants) > 1:
        sizes = list(move.constants[0])
        rest = x.shape[axis] - sum(each for each in sizes if each != -1)
        sizes = [rest if each == -1 else each for each in sizes]
    if len(sizes) != parts or sum(sizes) != x.shape[axis] or min(sizes) < 0:
        raise wrong_value("sizes", sizes[:8], f"{parts} of {x.shape[axis]} together")
    begin = sum(sizes[: move.options.part])
    return x.take(range(begin, begin + sizes[move.options.part]), axis)


def _unpacked(move: Move, x: Array) -> Array:
    if x.shape[move.options.axis] != move.options.parts:
        raise wrong_value("number of outputs", move.options.parts, x.shape[move.options.axis])
    return np.asarray(x.take(move.options.part, move.options.axis))


def _gathered(move: Move, x: Array) -> Array:
    axis, batch = move.options.flags
    if batch:
        raise wrong_value("batch dimensions", batch, 0)
    axis %= x.ndim
    count = len(move.constants[0])
    if count > int(np.prod(move.shape)):
        raise wrong_value("number of indices", count, "those of the output")
    found = x.take(move.constants[0], axis)
    # Indices may have any shape, which the output tells.
    return found.reshape(move.shape) if found.size == int(np.prod(move.shape)) else found


def _tiled(move: Move, x: Array) -> Array:
    (times,) = move.constants
    made = tuple(each * by for each, by in zip(x.shape, times, strict=True))
    return np.tile(x, times) if made == move.shape else np.broadcast_to(x[:0], made)


def _broadcast(move: Move, x: Array) -> Array:
    (shape,) = move.constants
    return np.broadcast_to(x, shape)


def _to_depth(move: Move, x: Array) -> Array:
    block, (batch, height, width, channels) = move.options.block, x.shape
    cells = x.reshape(batch, height // block, block, width // block, block, channels)
    return cells.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height // block, width // block, -1)


def _to_space(move: Move, x: Array) -> Array:
    block, (batch, height, width, channels) = move.options.block, x.shape
    cells = x.reshape(batch, height, width, block, block, channels // block**2)
    return cells.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height * block, width * block, -1)


def _nearest(move: Move, x: Array) -> Array:
    corners, centers = move.options.flags
    for axis, length in zip((1, 2), move.constants[0], strict=True):
        if length != move.shape[axis]:
            raise wrong_value("size", move.constants[0], move.shape[1:3])
        known, single = x.shape[axis], np.float32
        spaced = corners and length > 1
        scale = single(known - 1) / single(length - 1) if spaced else single(known) / single(length)
        places = (np.arange(length).astype(single) + single(0.5 * bool(centers))) * scale
        rounded = np.floor(places + single(0.5)) if corners else np.floor(places)
        x = x.take(np.clip(rounded.astype(np.int64), 0, known - 1), axis)
    return x


MOVES: dict[str, Callable[[Move, Array], Array]] = {
    "BROADCAST_TO": _broadcast,
    "DEPTH_TO_SPACE": _to_space,
    "GATHER": _gathered,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    "REVERSE_V2": _reversed,
    "SLICE": _slice,
    "SPACE_TO_DEPTH": _to_depth,
    "SPLIT": _split,
    "SPLIT_V": _split,
    "STRIDED_SLICE": _strided_slice,
    "TILE": _tiled,
    "TRANSPOSE": _transposed,
    "UNPACK": _unpacked,
}
