"""Messages in the words of the command line: those of the library, and on files of the wrong kind."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..base.errors import InputError
from ..base.spelling import keyword, spelled
from .process import UsageError


@contextmanager
def spoken(args: argparse.Namespace, *others: str) -> Iterator[None]:
    """Have messages of the library name options of a command, and of others, as their lines spell them."""
    from . import build_parser

    parsers = [*(build_parser(name).commands[name] for name in others), args.parser]
    actions = [each for parser in parsers for each in parser._actions if each.option_strings]
    flags: dict[str, str] = {each.dest: each.option_strings[-1] for each in actions}

    def flag(name: str, value: Any = None) -> str:
        if name not in flags:
            return keyword(name, value)
        if value is None or isinstance(value, bool):
            return flags[name]
        if isinstance(value, list):
            value = ",".join(value)
        values = value if isinstance(value, tuple) else (value,)
        return " ".join([flags[name], *(each if isinstance(each, str) else f"{each:g}" for each in values)])

    try:
        with spelled(flag):
            yield
    except InputError as error:
        error.name = flags.get(error.name, error.name)
        raise


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
