"""Constants in the order in which the kernels read them, and the scratch that they need."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ..graph.model import Tensor
from ..graph.steps import Conv, Dense, Depthwise, Int8, Int32, Step

Words = npt.NDArray[np.uint32]
Window = TypeVar("Window", bound="Conv | Depthwise")


def up4(count: int) -> int:
    """Return a count, up to a multiple of four.

    Examples
    --------
    >>> [up4(n) for n in (0, 1, 4, 5)]
    [0, 4, 4, 8]
    """
    return -(-count // 4) * 4


def pack_pairs(weights: Int8) -> Words:
    """Return weights (outputs, k) as words: pairs of outputs, in each the fours of k.

    A four is two words, (a0 b0 a2 b2) and (a1 b1 a3 b3) from the lowest byte on: widening the even bytes of a
    word gives two weights of output a, the odd ones two of b.

    Examples
    --------
    >>> [hex(word) for word in pack_pairs(np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.int8))]
    ['0x7030501', '0x8040602']
    """
    outputs, k = weights.shape
    whole = np.zeros((outputs + outputs % 2, up4(k)), np.int8)
    whole[:outputs, :k] = weights
    # (pair, partner, four, late, odd): value 2 * late + odd of a four
    split = whole.reshape(-1, 2, up4(k) // 4, 2, 2)
    return _words(split.transpose(0, 2, 4, 3, 1))


def pack_fours(weights: Int8) -> Words:
    """Return weights (height, width, channels) as words of four channels, down the columns of the kernel.

    Examples
    --------
    >>> [hex(word) for word in pack_fours(np.array([[[1, 2, 3, 4]], [[5, 6, 7, 8]]], np.int8))]
    ['0x4030201', '0x8070605']
    """
    height, width, channels = weights.shape
    whole = np.zeros((height, width, up4(channels)), np.int8)
    whole[:, :, :channels] = weights
    return _words(whole.reshape(height, width, -1, 4).transpose(2, 1, 0, 3))


def pack_affine(step: Conv | Depthwise | Dense, group: int) -> Int32:
    """Return groups of biases, each with its other numbers behind it; what a group lacks is 0.

    Examples
    --------
    >>> bias, multiplier = np.array([1, 2, 3], np.int32), np.array([7, 8, 9], np.int32)
    >>> pack_affine(Dense("x", "y", np.zeros((3, 1), np.int8), bias, multiplier), 2).tolist()
    [1, 2, 7, 8, 3, 0, 9, 0]
    """
    numbers = [step.bias, step.multiplier]
    if step.shift is not None:
        more = (step.multiplier, step.shift) if isinstance(step, Dense) else factors(step)
        numbers = [step.bias, *more]
    groups = -(-len(step.bias) // group)
    whole = np.zeros((len(numbers), groups * group), np.int32)
    whole[:, : len(step.bias)] = numbers
    return whole.reshape(len(numbers), groups, group).transpose(1, 0, 2).ravel()


def factors(step: Conv | Depthwise) -> tuple[Int32, Int32]:
    """Return what a kernel multiplies a sum with to round it twice: factors, and powers of two.

    Examples
    --------
    >>> multiplier, shift = np.array([2**30 + 5, 2**30], np.int32), np.array([-8, -1], np.int32)
    >>> rest = {"stride": (1, 1), "padding": (0, 0, 0, 0), "pad": np.zeros(1, np.int8), "shift": shift}
    >>> step = Conv("x", "y", np.zeros((2, 1, 1, 1), np.int8), np.zeros(2, np.int32), multiplier, **rest)
    >>> [found.tolist() for found in factors(step)]
    [[-2147483638, 1073741824], [16777216, -31]]
    """
    multiplier, shift = step.multiplier.astype(np.int64), np.asarray(step.shift, np.int64)
    fast = (multiplier >= 2**30) & (shift <= -2)
    factor = np.where(fast, 2 * multiplier - 2**32, multiplier)
    power = np.where(fast, 1 << np.where(fast, 32 + shift, 0), -32 - shift)
    return factor.astype(np.int32), power.astype(np.int32)


def is_padded(step: Conv | Depthwise, source: Tensor, target: Tensor) -> bool:
    """Return whether the kernel, without dilation, ever leaves the picture."""
    rows, columns = kernel_of(step)
    below = (target.shape[0] - 1) * step.stride[0] + rows - step.padding[0] > source.shape[0]
    beside = (target.shape[1] - 1) * step.stride[1] + columns - step.padding[1] > source.shape[1]
    return step.padding[0] > 0 or step.padding[1] > 0 or below or beside


def kernel_of(step: Conv | Depthwise) -> tuple[int, int]:
    """Return height and width of a kernel."""
    shape = step.weights.shape
    return (shape[1], shape[2]) if isinstance(step, Conv) else (shape[0], shape[1])


def as_called(step: Window, source: Tensor, target: Tensor) -> tuple[Window, Tensor, Tensor]:
    """Return a step and its tensors as the kernel sees them: a picture of one column is turned into one row.

    In memory both are the same, and kernels go faster along rows. A depthwise kernel widens a row as a whole,
    so it stays a column where that would take more memory than the picture.

    Examples
    --------
    >>> step = Depthwise("x", "y", np.zeros((9, 1, 16), np.int8), *(np.zeros(16, np.int32),) * 2,
    ...     (2, 1), (4, 0, 4, 0), np.zeros(16, np.int8))
    >>> turned, *tensors = as_called(step, Tensor("x", (60, 1, 16), 1.0, 0), Tensor("y", (30, 1, 16), 1.0, 0))
    >>> turned.weights.shape, turned.stride, turned.padding, [each.shape for each in tensors]
    ((1, 9, 16), (1, 2), (0, 4, 0, 4), [(1, 60, 16), (1, 30, 16)])
    """
    top, left, bottom, right = step.padding
    length = top + source.shape[0] + bottom
    column = source.shape[1] == target.shape[1] == kernel_of(step)[1] == 1 and left == right == 0
    if not column or (isinstance(step, Depthwise) and 8 * length > source.size):
        return step, source, target
    at = 1 if isinstance(step, Conv) else 0
    turned = replace(
        step,
        weights=step.weights.swapaxes(at, at + 1),
        stride=step.stride[::-1],
        padding=(left, top, right, bottom),
        dilation=step.dilation[::-1],
    )
    row, made = (replace(each, shape=(1, each.shape[0], each.shape[2])) for each in (source, target))
    return turned, row, made


def is_spread(step: Depthwise) -> bool:
    """Return whether a depthwise step needs the general kernel: dilation, or several outputs a channel."""
    return step.dilation != (1, 1) or step.weights.shape[2] != len(step.pad)


def scratch_of(step: Step, source: Tensor, target: Tensor) -> int:
    """Return the bytes of scratch that a step's kernel takes, as its header says."""
    if isinstance(step, Dense):
        return 2 * up4(step.weights.shape[1])
    if isinstance(step, (Conv, Depthwise)):
        step, source, target = as_called(step, source, target)
    if isinstance(step, Conv):
        rows, columns = kernel_of(step)
        row = columns * source.shape[2]
        values = up4(rows * row)
        if step.dilation != (1, 1):
            return 12 * values
        ragged = 4 * values if source.shape[2] % 4 else 0
        return 8 * values + ragged + (up4(row) if is_padded(step, source, target) else 0)
    if isinstance(step, Depthwise) and not is_spread(step):
        rows, columns = kernel_of(step)
        slots = 4 if (rows, columns, step.stride) == (3, 3, (1, 1)) else rows
        return 8 * (((target.shape[1] - 1) * step.stride[1] + columns) * slots + rows * columns)
    return 0


def _words(values: npt.NDArray[np.int8]) -> Words:
    """Return groups of four bytes as words, the first byte lowest."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, 4).view("<u4").ravel().astype(np.uint32)
