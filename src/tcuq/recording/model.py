"""What every kind of model looks like to a recording; the options that `record` and `start` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError
from ..base.errors import needed as needed

Array = npt.NDArray[Any]

WIDEST = 256
"""Features of a log at most."""

OWN_OUTPUTS = (
    ". If your model takes text, run it yourself and write its softmax to a log for `tcuq fit`: "
    'docs/COMMANDS.md, "What goes into a log"'
)
"""What to do about inputs that no recording can take."""

Features = str | int | bool | None
"""Which tensor has the features: its name or number, None to find it, False for none."""


class Outputs(NamedTuple):
    """What a model says about a batch: posteriors (n, L) and, if there are any, features (n, d)."""

    probs: Array
    features: Array | None = None


class Format(NamedTuple):
    """How integers of a tensor become numbers: ``scale * (integer - zero_point)``."""

    scale: float
    zero_point: int

    def numbers(self, integers: Array) -> npt.NDArray[np.float32]:
        """Return the numbers that integers stand for."""
        values = np.float32(self.scale) * (integers.astype(np.float32) - np.float32(self.zero_point))
        return np.asarray(values, np.float32)

    def __str__(self) -> str:
        return f"scale {self.scale:g} and zero point {self.zero_point}"


@dataclass
class Info:
    """What is known of a model before, and after, it runs."""

    name: str
    shape: tuple[int | None, ...] | None = None  # without the batch; None for a length that is left open
    input: Any = np.float32
    quantized: Format | None = None
    inside: tuple[Format, Any] | None = None  # of the integers that it first makes of a float input
    probs: Format | None = None
    features: Format | None = None
    classes: Sequence[Any] | None = None  # labels of the training, in the order of the outputs
    notes: list[str] = field(default_factory=list)

    def refusal(self, code: str, problem: str) -> InputError:
        """Return an error about this model."""
        return InputError(code, problem, where=self.name)

    def cannot_run(self, x: Array, error: BaseException) -> InputError:
        """Return the error of a model that fails on inputs of a shape."""
        return self.refusal("failed", f"cannot run on input of shape {x.shape[1:]}: {first_line(error)}")

    def without_features(self, why: str) -> None:
        """Note why features are left out."""
        self.notes.append(f"features are left out: {why}")


class Model(Protocol):
    """A model that is ready to run."""

    info: Info

    def __call__(self, x: Array) -> Outputs:
        """Run a batch that has the shape and the dtype of `info`."""


def too_wide(info: Info, name: str, width: int, asked: bool) -> bool:
    """Tell whether a tensor has more values than a log takes; refuse it where it was asked for."""
    if 1 <= width <= WIDEST:
        return False
    why = f"tensor {name!r} has {width:,} values, a log takes at most {WIDEST}"
    if asked:
        raise info.refusal("limit", f"{why}; name a smaller one with `features`")
    info.without_features(f"{why}; name a smaller one with `features`")
    return True


def first_line(error: BaseException) -> str:
    """Return the beginning of what another package says, for a message of one line."""
    text = str(error).strip().splitlines()
    return text[0].strip()[:200] if text else type(error).__name__


def failure(error: BaseException) -> str:
    """Return an error of the user's own code, for a message of one line."""
    return f"{type(error).__name__}: {first_line(error)}"


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
