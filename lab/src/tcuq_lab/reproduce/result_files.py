"""Result files: the figures of an experiment with what is needed to get them again."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION

from ..changes import FIELDS
from ..harness.lines import FORMAT, IN_ORDER, Found, from_entries, read_content, strict
from .experiment import Experiment, Outcome
from .packed import unpacked
from .run_size import RunSize
from .table import Line
from .versions import PROTOCOL


def result_text(
    experiment: Experiment, setting: RunSize, outcome: Outcome, command: str | None = None
) -> str:
    """Return the result file of a whole experiment, one line per figure."""
    versions = {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()}
    if experiment.names_torch and find_spec("torch") is not None:
        from torch import __version__ as torch

        versions["torch"] = str(torch).partition("+")[0]
    head = experiment.head(setting, outcome)
    about = {
        "format": experiment.format,
        "name": experiment.name,
        "title": experiment.title,
        **({"paper": head["paper"]} if "paper" in head else {}),
        "command": command or f"tcuq-lab reproduce {experiment.name} --setting {setting.name}",
        "setting": head["setting"],
        **({"recording": head["recording"]} if "recording" in head else {}),
        "protocol": PROTOCOL,
        "versions": versions,
        **({"notes": head["notes"]} if "notes" in head else {}),
        **outcome.about,
    }
    return file_text(about, outcome.lines) if "paper" in head else short_text(about, outcome.lines)


def file_text(about: Mapping[str, Any], lines: Sequence[Line | list[Any]]) -> str:
    """Return the text of a result file: an entry, a network's choices and a figure take one line each.

    Examples
    --------
    >>> print(file_text({"name": "made", "choices": {"a": {"rate": 1}, "b": {}}}, [{"value": 1.5}]))
    {"name": "made",
     "choices": {
      "a": {"rate": 1},
      "b": {}},
     "lines": [
    {"value": 1.5}
    ]}
    <BLANKLINE>
    """

    def entry(name: str, value: Any) -> str:
        if name != "choices":
            return json.dumps(value, allow_nan=False)
        inner = ",\n".join(
            f"  {json.dumps(of)}: {json.dumps(each, allow_nan=False)}" for of, each in value.items()
        )
        return f"{{\n{inner}}}"

    head = ",\n ".join(f"{json.dumps(name)}: {entry(name, value)}" for name, value in about.items())
    rows = ",\n".join(json.dumps(strict(line), allow_nan=False) for line in lines)
    return f'{{{head},\n "lines": [\n{rows}\n]}}\n'


def short_text(about: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a result file whose lines are lists, half as long as objects with a name for each part."""
    rows = [[line.get(name) for name in IN_ORDER] for line in lines]
    return file_text({**about, FIELDS: list(IN_ORDER)}, rows)


def load_stream_result(path: str | Path) -> tuple[Mapping[str, Any], Found]:
    """Return what a result file of an experiment on streams says about itself, and its figures."""
    content = unpacked(path, read_content(path, FORMAT, "this family of experiments"))
    return content, Found(from_entries(content["lines"]))
