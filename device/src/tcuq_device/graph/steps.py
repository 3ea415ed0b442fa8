"""The steps of an int8 network, and the arithmetic of each.

All values are integers, `>>` rounds down, and every machine gives the same bits:

- A tensor is int8, stored channels last: (height, width, channels), (rows, channels) or (channels,). Its real
  value is (q - zero) * scale. A rectified tensor has zero -128, so that saturation is the rectifier.
- There are three ways to bring a sum `acc` of 32 bits to the scale of its target, each with a multiplier m in
  [0, 2**31):

  - `scaled(acc, m) = (acc * m + 2**31) >> 32`: one multiplication whose upper half is kept, rounded once. It
    is the cheapest, and what a step without `shift` does.
  - `twice(acc, m, shift)`: p = (acc * 2**max(shift, 0) * m + 2**30) >> 31, then p / 2**max(-shift, 0),
    rounded half away from zero. It is what TFLite's reference kernels do, and all steps with a `shift` but
    Dense and Add.
  - `once(acc, m, shift) = (acc * m + 2**(30 - shift)) >> (31 - shift)`: what TFLite does in a fully connected
    layer, and Dense with a `shift`.

- What comes out, plus the zero of the target, is confined to [`low`, `high`], or by `sat8` to [-128, 127]
  where a step has no such fields.
- Where a step reads two tensors of different shapes, lengths of 1 are repeated, as numpy does it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
UInt16 = npt.NDArray[np.uint16]
HIGHEST = 2**31 - 1
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Window:
    """What moves over a picture: a `Conv` or a `Depthwise`."""

    source: str
    target: str
    weights: Int8
    bias: Int32
    multiplier: Int32
    stride: Pair
    padding: tuple[int, int, int, int]
    pad: Int8
    shift: Int32 | None = None
    low: int = -128
    high: int = 127
    dilation: Pair = (1, 1)


class Conv(Window):
    """A convolution; a pointwise one has a kernel of 1 x 1.

    acc = bias + sum of weight * input over the raw int8 values, where an input outside the picture is `pad`
    of its channel. The bias holds what the zero of the input adds. No sum may leave 32 bits. A `shift` rounds
    `twice` in place of `scaled`.
    """


class Depthwise(Window):
    """A kernel of its own for every output: weights (height, width, outputs), all else as in Conv.

    Outputs are a multiple n of the inputs; output o reads input o // n.
    """


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix product: weights (outputs, inputs), bias and multiplier as in Conv.

    The source is one row of inputs, or several; each gives a row of the target. `shift` rounds `once`.
    """

    source: str
    target: str
    weights: Int8
    bias: Int32
    multiplier: Int32
    shift: Int32 | None = None
    low: int = -128
    high: int = 127


@dataclass(frozen=True)
class Add:
    """The sum of two tensors of one shape: sat8((a * left + b * right + offset) >> shift).

    Multipliers have 16 bits with sign, the offset 32; no sum may leave 32 bits.
    """

    first: str
    second: str
    target: str
    left: int
    right: int
    offset: int
    shift: int


@dataclass(frozen=True, eq=False)
class TableAdd:
    """The sum of two tensors as TFLite takes it: twice(left[a + 128] + right[b + 128], multiplier, shift).

    `left` and `right` are what every byte stands for, at one common scale.
    """

    first: str
    second: str
    target: str
    left: Int32
    right: Int32
    multiplier: int
    shift: int
    low: int = -128
    high: int = 127


@dataclass(frozen=True)
class Mul:
    """The product of two tensors: twice((a - zero of a) * (b - zero of b), multiplier, shift)."""

    first: str
    second: str
    target: str
    multiplier: int
    shift: int
    low: int = -128
    high: int = 127


@dataclass(frozen=True)
class MeanPool:
    """The mean over a picture, a value a channel: acc = sum of the raw values + bias.

    In general the source is read as (`outer`, n, inner, `tail`), and the mean is one over n and the tail.
    `shift` rounds `twice`.
    """

    source: str
    target: str
    bias: int
    multiplier: int
    shift: int | None = None
    low: int = -128
    high: int = 127
    outer: int = 1
    tail: int = 1


@dataclass(frozen=True)
class Pool:
    """The mean or the largest of the raw values in a window; what lies outside the picture does not count.

    The mean is rounded half away from zero. Source and target have one scale and zero.
    """

    source: str
    target: str
    kind: str
    window: Pair
    stride: Pair
    padding: tuple[int, int, int, int]
    low: int = -128
    high: int = 127


@dataclass(frozen=True, eq=False)
class Table:
    """A value of its own for every byte: values[q + 128], int8 (256,)."""

    source: str
    target: str
    values: Int8


@dataclass(frozen=True)
class Pad:
    """A border of a value around a picture: `before` and `after` it, for every dimension of the source."""

    source: str
    target: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    value: int


@dataclass(frozen=True)
class Concat:
    """Tensors after each other along a dimension of the target."""

    sources: tuple[str, ...]
    target: str
    axis: int


@dataclass(frozen=True)
class Strided:
    """The bytes of a source in another order: target[i] = source[offset + sum of index * stride].

    `lengths` are those of up to six dimensions, whose product is the target's size; `strides` may be
    negative, or 0 where values are repeated.
    """

    source: str
    target: str
    offset: int
    lengths: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Keep:
    """A copy of a tensor into a state, for the run after this one and for steps after this one."""

    source: str
    target: str


@dataclass(frozen=True)
class View:
    """The same bytes in another shape; takes neither time nor memory."""

    source: str
    target: str


@dataclass(frozen=True, eq=False)
class Constant:
    """A tensor that is the same at every run: int8 values of its shape."""

    target: str
    values: Int8


@dataclass(frozen=True)
class Drop:
    """Dropout at inference: a value is dropped when a fresh byte of the generator is below `threshold`.

    A value that is kept is sat8(((q - zero) * m + 2**14 >> 15) + zero), one that is dropped is zero. The
    generator has 32 bits of state x, not 0, which a firmware seeds once: x ^= x << 13, x ^= x >> 17,
    x ^= x << 5. It steps once for every four values, in their order; the lowest byte is for the first.
    """

    source: str
    target: str
    threshold: int
    multiplier: int


@dataclass(frozen=True, eq=False)
class Softmax:
    """Posteriors from logits: what the monitor takes, scale 1/256 and zero -128.

    With top the largest logit, e = table[top - q] in 16 bits, s = sum of e, p = (e * 512 + s) // (2 * s):
    min(p, 255) - 128. The table has 256 entries of exp(-scale * distance), 65535 for distance 0.
    """

    source: str
    target: str
    table: UInt16


@dataclass(frozen=True, eq=False)
class FixedSoftmax:
    """Posteriors of every row as TFLite takes them, scale 1/256 and zero -128.

    With top the largest logit of a row, e = table[top - q], an exponential with 31 bits behind its point, 0
    where TFLite does not count it. s is the sum of e / 2**12, each rounded half away from zero, shifted up by
    `room` to lie in [2**31, 2**32). With h(a, b) = (a * b + 2**30) >> 31 and half = s >> 1, its reciprocal r
    is 1515870810 + h(half, -1010580540) at first, then three times r + 4 * h(r, 2**29 - h(half, r)), then
    2 * r, every number confined to 32 bits. The value is h(e, r) / 2**(35 - room), rounded half away from
    zero, - 128, confined to [-128, 127]; -128 where e is 0.
    """

    source: str
    target: str
    table: Int32


Step = (
    Conv
    | Depthwise
    | Dense
    | Add
    | TableAdd
    | Mul
    | MeanPool
    | Pool
    | Table
    | Pad
    | Concat
    | Strided
    | Keep
    | View
    | Constant
    | Drop
    | Softmax
    | FixedSoftmax
)


def sources_of(step: Step) -> tuple[str, ...]:
    """Return the names of the tensors that a step reads."""
    if isinstance(step, (Add, TableAdd, Mul)):
        return (step.first, step.second)
    if isinstance(step, Concat):
        return step.sources
    return () if isinstance(step, Constant) else (step.source,)
