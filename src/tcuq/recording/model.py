"""What every type of model looks like to a recording; the options that `record` and `start` share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError, wrong_value
from ..base.errors import needed as needed
from ..base.spelling import option

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

WIDEST = 256  # features of a log at most

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


class Model:
    """A model that is ready to run, and what is known of it; `__call__` is that of each type of model."""

    stateful = False  # whether an input leaves something behind for the next one

    def __init__(self, name: str, features: Features = None) -> None:
        self.name = name
        self.shape: tuple[int | None, ...] | None = None  # without the batch; None for a length left open
        self.input: Any = np.float32
        self.quantized: Format | None = None  # of the input
        self.inside: tuple[Format, Any] | None = None  # of the integers that it first makes of a float input
        self.probs_format: Format | None = None
        self.features_format: Format | None = None
        self.classes: Sequence[Any] | None = None  # labels of the training, in the order of the outputs
        self.notes: list[str] = []
        self.wanted = features is not False
        self.asked = None if features is None or isinstance(features, bool) else features

    def __call__(self, x: Array) -> Outputs:
        """Run a batch that has the shape and the dtype of the input."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget what earlier inputs left behind."""

    def refusal(self, code: str, problem: str) -> InputError:
        """Return an error about this model."""
        return InputError(code, problem, where=self.name)

    def cannot_run(self, x: Array, error: BaseException) -> InputError:
        """Return the error of a model that fails on inputs of a shape."""
        return self.refusal("failed", f"cannot run on input of shape {x.shape[1:]}: {first_line(error)}")

    def without_features(self, why: str, code: str = "value") -> None:
        """Leave features out with a note; refuse that where they were asked for by name."""
        if self.asked is not None:
            raise self.refusal(code, why)
        self.notes.append(f"features are left out: {why}")

    def too_wide(self, name: str, width: int) -> bool:
        """Tell whether a tensor has more values than a log takes, and leave it out then."""
        if 1 <= width <= WIDEST:
            return False
        why = f"tensor {name!r} has {width:,} values, a log takes at most {WIDEST}"
        self.without_features(f"{why}; name a smaller one with {option('features')}", "limit")
        return True

    def only_input(self, inputs: Sequence[Any]) -> Any:
        """Return the one input of a file."""
        if len(inputs) != 1:
            raise self.refusal("unsupported", f"has {len(inputs)} inputs, expected one")
        return inputs[0]

    def output_of(self, names: Sequence[str], likely: Sequence[str], asked: str | None) -> str:
        """Return the name of the output of a file that has the posteriors."""
        if asked is not None:
            if asked not in names:
                raise self.refusal("unknown", f"has no output {asked!r}, expected {', '.join(names)}")
            return asked
        if len(likely) != 1:
            problem = f"has {len(likely)} outputs; name that of the posteriors with {option('posteriors')}"
            raise self.refusal("missing", f"{problem}: {', '.join(likely)}")
        return likely[0]


def first_line(error: BaseException) -> str:
    """Return the beginning of what another package says, for a message of one line."""
    text = str(error).strip().splitlines()
    return text[0].strip()[:200] if text else type(error).__name__


@contextmanager
def users_code(problem: str, where: str = "") -> Iterator[None]:
    """Have whatever the user's own code raises as an error of one line."""
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise InputError("failed", f"{problem}: {reason}", where=where) from error


Range = tuple[float, float]  # least and largest value


def checked_range(ends: Any) -> Range:
    """Return the range that somebody gives for inputs."""
    if isinstance(ends, (str, bytes)) or not isinstance(ends, Iterable):
        raise wrong_value("input_range", ends, "two numbers, the lower first")
    numbers = tuple(number("input_range", each, -1e30, 1e30) for each in ends)
    if len(numbers) != 2 or numbers[0] >= numbers[1]:
        shown = " to ".join(f"{each:g}" for each in numbers)
        problem = f"{option('input_range')} is {shown or 'empty'}, expected two numbers, the lower first"
        raise InputError("value", problem, "input_range", numbers)
    return numbers[0], numbers[1]


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
            object.__setattr__(self, "input_range", checked_range(self.input_range))
