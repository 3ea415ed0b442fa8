"""How a model and its data are read: the options that `record` and `start` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..base.checks import integer, number
from ..base.errors import InputError
from .model import Features

Range = tuple[float, float]
"""Least and largest value."""


@dataclass(frozen=True)
class RecordOptions:
    """How a model and its data are read.

    Parameters
    ----------
    features : str, int or False, optional
        The tensor to keep as features, by name or number (PyTorch: a submodule, Keras: a layer). By default
        the input of the last fully connected layer. False or "none" leaves features out.
    posteriors : str, optional
        Name of the output with the posteriors, where a file has several outputs.
    logits : bool, default False
        Outputs are logits: apply softmax.
    names : sequence of str, optional
        Names of the classes in the order of the outputs; those of class folders by default.
    input_range : pair of float, optional
        The range of values that the model was trained on, such as (0, 1) or (-1, 1): data are moved there
        from the range that they have. Where uint8 pictures have labels, the range with which the model is
        clearly most accurate is taken by default.
    input_shape : sequence of int, optional
        Of one input, where data is a folder and the model does not say it.
    batch : int, default 32
        Inputs to run and to hold in memory at once.
    fast : bool, default False
        Use optimized kernels for int8 TFLite models; single bits may differ from the reference kernels.
    """

    features: Features = None
    posteriors: str | None = None
    logits: bool = False
    names: Sequence[str] | None = None
    input_range: Range | None = None
    input_shape: Sequence[int] | None = None
    batch: int = 32
    fast: bool = False

    def __post_init__(self) -> None:
        integer("batch", self.batch, 1, 1_000_000)
        if self.features == "none":
            object.__setattr__(self, "features", False)
        if self.input_shape is not None:
            shape = tuple(integer("input_shape", each, 1, 1 << 30) for each in self.input_shape)
            object.__setattr__(self, "input_shape", shape)
        if self.input_range is not None:
            ends = tuple(number("input_range", each, -1e30, 1e30) for each in self.input_range)
            if len(ends) != 2 or ends[0] >= ends[1]:
                shown = " to ".join(f"{each:g}" for each in ends)
                problem = f"`input_range` is {shown}, expected two numbers, the lower first"
                raise InputError("value", problem, "input_range", ends)
            object.__setattr__(self, "input_range", ends)
