"""An int8 network as a list of steps over typed tensors: what the quantizer makes and everything else reads.

Arithmetic, the same on every machine (`>>` rounds down, all values are integers):

- A tensor is (height, width, channels), or (channels,) for vectors, in int8, stored channels last. Its real
  value is (q - zero) * scale. A rectified tensor has zero -128, so that saturation is the rectifier.
- `scaled(acc, m) = (acc * m + 2**31) >> 32` with acc in 32 bits and m in [0, 2**31): one multiplication whose
  upper half is kept, rounded once. `sat8` confines to [-128, 127].
- Conv, Depthwise, Dense: acc = bias + sum of weight * input over the raw int8 values, where an input outside
  the picture is `pad` of its channel; output = sat8(scaled(acc, m[channel]) + zero). The bias holds what the
  zero of the input adds. No sum may leave 32 bits, which `check` makes sure of.
- Add: output = sat8((a * ma + b * mb + offset) >> shift), multipliers of 16 bits with sign, an offset of 32.
- MeanPool over the whole picture: output = sat8(scaled(sum of the raw values + bias, m) + zero).
- Drop keeps or drops single values by a generator's bits; a value that is kept is
  sat8(((q - zero) * m + 2**14 >> 15) + zero), one that is dropped is zero.
- Softmax: with top the largest logit, e = table[top - q] in 16 bits, s = sum of e,
  p = (e * 512 + s) // (2 * s), output = min(p, 255) - 128: what the monitor takes, scale 1/256 and zero -128.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
UInt16 = npt.NDArray[np.uint16]
HIGHEST = 2**31 - 1


@dataclass(frozen=True)
class Tensor:
    """A value of the graph.

    Parameters
    ----------
    name : str
        A C identifier, unique in the graph.
    shape : tuple of int
        (height, width, channels) or (channels,).
    scale : float
    zero : int
        The value that stands for 0.
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    zero: int

    @property
    def size(self) -> int:
        """Values, which are bytes.

        Examples
        --------
        >>> Tensor("x", (4, 4, 3), 1.0, 0).size
        48
        """
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class Conv:
    """A convolution; a pointwise one has a kernel of 1 x 1.

    Parameters
    ----------
    source, target : str
        Names of tensors.
    weights : int8 array (outputs, height, width, inputs)
    bias, multiplier : int32 arrays (outputs,)
    stride : int
    padding : (top, left, bottom, right)
    pad : int8 array (inputs,)
        What lies outside the picture.
    """

    source: str
    target: str
    weights: Int8
    bias: Int32
    multiplier: Int32
    stride: int
    padding: tuple[int, int, int, int]
    pad: Int8


@dataclass(frozen=True, eq=False)
class Depthwise:
    """A kernel of its own for every channel: weights (height, width, channels), all else as in Conv."""

    source: str
    target: str
    weights: Int8
    bias: Int32
    multiplier: Int32
    stride: int
    padding: tuple[int, int, int, int]
    pad: Int8


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix product over all values of the source: weights (outputs, inputs), bias and multiplier."""

    source: str
    target: str
    weights: Int8
    bias: Int32
    multiplier: Int32


@dataclass(frozen=True)
class Add:
    """The sum of two tensors of one shape; `left` and `right` are their multipliers."""

    first: str
    second: str
    target: str
    left: int
    right: int
    offset: int
    shift: int


@dataclass(frozen=True)
class MeanPool:
    """The mean over a picture, a value a channel."""

    source: str
    target: str
    bias: int
    multiplier: int


@dataclass(frozen=True)
class Drop:
    """Dropout at inference: a value is dropped when a fresh byte of the generator is below `threshold`.

    The generator has 32 bits of state x, not 0, which a firmware seeds once: x ^= x << 13, x ^= x >> 17,
    x ^= x << 5. It steps once for every four values, in their order; the lowest byte is for the first.
    """

    source: str
    target: str
    threshold: int
    multiplier: int


@dataclass(frozen=True, eq=False)
class Softmax:
    """Posteriors from logits; the table has 256 entries of exp(-scale * distance), 65535 for distance 0."""

    source: str
    target: str
    table: UInt16


Step = Conv | Depthwise | Dense | Add | MeanPool | Drop | Softmax


def sources_of(step: Step) -> tuple[str, ...]:
    """Return the names of the tensors that a step reads.

    Examples
    --------
    >>> sources_of(Add("a", "b", "c", 1, 1, 0, 8))
    ('a', 'b')
    """
    return (step.first, step.second) if isinstance(step, Add) else (step.source,)


@dataclass(frozen=True, eq=False)
class Graph:
    """A network.

    Parameters
    ----------
    name : str
        A C identifier.
    tensors : mapping of str to Tensor
    steps : sequence of steps
        In the order in which they run.
    input : str
    outputs : mapping of str to str
        What a tensor is for, and its name: "probs" and "features" for the monitor; "probs_1" and so on where
        a network gives several posteriors.
    about : mapping
        Where it comes from: backbone, seed, data set, examples of the calibration.
    """

    name: str
    tensors: Mapping[str, Tensor]
    steps: Sequence[Step]
    input: str
    outputs: Mapping[str, str]
    about: Mapping[str, object] = field(default_factory=dict)
