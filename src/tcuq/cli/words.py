"""Messages in the words of the command line: those of the library, and on files of the wrong kind."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..base.errors import InputError
from ..base.spelling import keyword, spelled
from .process import UsageError

OPTIONS = (
    "alarm",
    "budget",
    "clean",
    "feature_scale",
    "feature_zero_point",
    "level",
    "logits",
    "logits_scale",
    "max_error",
    "own_looks",
    "profile",
    "run_length",
)
"""Arguments of `fit` and fields of `FitOptions` whose option is spelled the same, with dashes."""

_SPELLED = {"use_features": "--posterior-only", "force": "--force"}
"""Options of their own name, or of several commands."""

_MADE = ("stream", "shifts", "steps", "seed")
RECORDING = ("features", "posteriors", "logits", "names", "input_range", "input_shape", *_MADE)
"""The same of `record`."""


@contextmanager
def spoken(options: Sequence[str] = OPTIONS) -> Iterator[None]:
    """Have messages of the library name options as the command line spells them."""

    def flag(name: str, value: Any = None) -> str:
        if name in _SPELLED:
            return _SPELLED[name]
        if name not in options:
            return keyword(name, value)
        if value is None or value is True:
            return _dashed(name)
        if isinstance(value, list):
            value = ",".join(value)
        values = value if isinstance(value, tuple) else (value,)
        return " ".join([_dashed(name), *(each if isinstance(each, str) else f"{each:g}" for each in values)])

    try:
        with spelled(flag):
            yield
    except InputError as error:
        if error.name in options:
            error.name = _dashed(error.name)
        raise


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


MODELS = (".tflite", ".onnx", ".keras", ".h5", ".pt", ".pth", ".joblib", ".pkl", ".pickle")
"""How names of model files end; not all of these can be read."""

LOGS = (".csv", ".npz", ".npy", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
"""How names of logs and of data end."""


def _ending(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def expect_log(path: str, wanted: str = "a log", hint: str = "; JSON lines end in .jsonl") -> None:
    """Refuse what by its name cannot be a log, and say how to get one."""
    record = "; make one with: tcuq record {} -o dev.npz" if wanted == "a log" else ""
    if os.path.isdir(path):
        way = record.format(f"MODEL {path}").replace(";", ", or")
        raise UsageError(f"{path}: is a folder, expected {wanted}; name a file in it{way}")
    if _ending(path) in MODELS:
        raise UsageError(f"{path}: is a model, expected {wanted}{record.format(f'{path} DATA')}")
    if _ending(path) == ".json":
        raise UsageError(f"{path}: is a JSON file, expected {wanted}{hint}")


def expect_params(path: str) -> None:
    """Refuse what by its name cannot be a parameter file, and say how to get one."""
    if os.path.isdir(path):
        raise UsageError(f"{path}: is a folder, expected a parameter file; name a file in it")
    if os.path.isfile(path):  # what is read from a pipe is gone
        with suppress(OSError), open(path, "rb") as file:
            begin = file.read(1)
            if begin == b"{":  # parameters under an odd name
                return
            if not begin:
                raise UsageError(f"{path}: is empty, expected a parameter file, from tcuq fit")
    if _ending(path) in MODELS:
        what, way = "a model, expected a parameter file", f"tcuq start {path} DATA -o monitor/"
    elif _ending(path) in LOGS:
        what, way = "not a parameter file", f"tcuq fit {path} -o monitor.json"
    else:
        return
    raise UsageError(f"{path}: is {what}; make one with: {way}")


def expect_model(model: str, data: str) -> None:
    """Refuse a model and data that are swapped, by their names."""
    if _ending(data) in MODELS and (_ending(model) in LOGS or os.path.isdir(model)):
        raise UsageError(f"MODEL is {model} and DATA is {data}; did you swap them?")
