"""A TFLite model as it was read: tensors, operators, and nothing that was not checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

NO_TENSOR = -1
"""Stands for an input that an operator does without."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor.

    Parameters
    ----------
    name : str
        As in the file; need not be unique.
    dtype : str
        Name of the type, such as "int8".
    scales : float32 array
        None, one, or one for each index of a dimension.
    zeros : int64 array
        Zero points, as many as scales.
    axis : int
        The dimension that `scales` belong to where there are several.
    data : array, optional
        The values of a constant, a view of the file.
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
        """Number of values.

        Examples
        --------
        >>> none = np.empty(0, np.float32), np.empty(0, np.int64)
        >>> Tensor("x", (1, 4, 4, 3), "int8", *none).size
        48
        """
        size = 1
        for each in self.shape:
            size *= each
        return size

    @property
    def title(self) -> str:
        """The name as messages show it: converters join the names of all that they fused.

        Examples
        --------
        >>> none = np.empty(0, np.float32), np.empty(0, np.int64)
        >>> Tensor("a/" + "very/" * 20 + "long/name", (), "int8", *none).title
        "'a/very/very/very/very/v...y/very/long/name'"
        """
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

    Parameters
    ----------
    padding : str
        "SAME" or "VALID".
    stride, window, dilation : (height, width)
        The window of a pool; that of a convolution is the shape of its weights.
    multiplier : int
        Outputs for each channel of a depthwise convolution.
    activation : str
        What is fused into the operator: "NONE", "RELU", "RELU_N1_TO_1" or "RELU6".
    axis : int
        Where tensors are joined, counted from 0.
    keep : bool
        Dimensions that a mean is taken over stay, with length 1.
    beta : float
        Factor before a softmax.
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


@dataclass(frozen=True)
class Operator:
    """A step of the model.

    Parameters
    ----------
    code : str
        Name of the operator, such as "CONV_2D".
    inputs, outputs : tuple of int
        Numbers of tensors; `NO_TENSOR` where an input is left out.
    number : int
        Its place in the file, for messages.
    """

    code: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options = field(default_factory=Options)
    number: int = 0


@dataclass(frozen=True, eq=False)
class Model:
    """A model: operators run in their order.

    Parameters
    ----------
    inputs, outputs : tuple of int
        Numbers of tensors, all of them int8.
    """

    tensors: Sequence[Tensor]
    operators: Sequence[Operator]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
