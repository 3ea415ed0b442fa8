"""A TFLite model as it was read: tensors and operators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

NO_TENSOR = -1
"""Stands for an input that an operator does without."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor, its name as in the file; `data` of a constant are a view of the file.

    There are no scales, one, or one for each index of dimension `axis`, and as many zero points.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scales: npt.NDArray[np.float32]
    zeros: npt.NDArray[np.int64]
    axis: int = 0
    data: npt.NDArray[Any] | None = None

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def title(self) -> str:
        """The name as messages show it: converters join the names of all that they fused."""
        short = self.name if len(self.name) <= 42 else f"{self.name[:23]}...{self.name[-16:]}"
        return ascii(short)

    @property
    def scale(self) -> np.float32:
        """The one scale of the tensor."""
        return np.float32(self.scales[0])

    @property
    def zero(self) -> int:
        """The one zero point of the tensor."""
        return int(self.zeros[0])


@dataclass(frozen=True)
class Options:
    """What an operator is told beside its tensors; each operator reads its own part.

    The window is that of a pool. `multiplier` is the number of outputs for each channel of a depthwise
    convolution, `axis` where tensors are joined, `beta` the factor before a softmax or of what is negative;
    `keep` leaves dimensions of a mean, of length 1. `part` is which of `parts` outputs the operator makes,
    `state` the name of a variable. `flags` are other numbers, in the order of the file.
    """

    padding: str = "VALID"
    stride: tuple[int, int] = (1, 1)
    window: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    multiplier: int = 1
    activation: str = "NONE"
    axis: int = 0
    keep: bool = False
    beta: float = 1.0
    part: int = 0
    parts: int = 1
    state: str = ""
    flags: tuple[int, ...] = ()


@dataclass(frozen=True)
class Operator:
    """A step of the model; tensors by number, `NO_TENSOR` where an input is left out.

    One that makes several tensors is read as several operators, one for each.
    """

    code: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options = field(default_factory=Options)
    number: int = 0


@dataclass(frozen=True, eq=False)
class Model:
    """A model: operators run in their order.

    `states` are tensors that live from one run to the next, by number, and the byte that fills them before
    the first run.
    """

    tensors: Sequence[Tensor]
    operators: Sequence[Operator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    states: Mapping[int, int] = field(default_factory=dict)


def spread(length: int, window: int, stride: int, dilation: int, padding: str) -> tuple[int, int, int]:
    """Return the length of the output and what "SAME" or "VALID" adds before and behind the input.

    Examples
    --------
    >>> spread(9, 3, 2, 1, "SAME"), spread(8, 3, 2, 1, "SAME"), spread(8, 3, 2, 1, "VALID")
    ((5, 1, 1), (4, 0, 1), (3, 0, 0))
    """
    reach = (window - 1) * dilation + 1
    if padding == "VALID":
        return max((length - reach) // stride + 1, 0), 0, 0
    count = -(-length // stride)
    added = max((count - 1) * stride + reach - length, 0)
    return count, added // 2, added - added // 2
