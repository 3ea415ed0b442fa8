"""Result files: the figures of an experiment with what is needed to get them again."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole

from .experiment import Experiment
from .run_size import RunSize
from .table import Line, strict
from .versions import PROTOCOL

FORMAT = "tcuq experiment 1"
ENTRIES = ("format", "name", "title", "paper", "command", "setting", "protocol", "versions", "lines")


def result_text(
    experiment: Experiment,
    setting: RunSize,
    lines: list[Line],
    seconds: float = math.nan,
    command: str | None = None,
) -> str:
    """Return the figures of a whole experiment as a result file holds them, one line per figure.

    Parameters
    ----------
    experiment : Experiment
    setting : RunSize
    lines : list of dict
        What `table` returns.
    seconds : float
        How long the comparisons took.
    command : str, optional
        That makes the file again, where it is not ``tcuq-lab reproduce``.
    """
    versions = {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()}
    try:
        from torch import __version__ as torch

        versions["torch"] = str(torch).partition("+")[0]
    except ModuleNotFoundError:
        pass
    about = {
        "format": FORMAT,
        "name": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "command": command or f"tcuq-lab reproduce {experiment.name} --setting {setting.name}",
        "setting": asdict(setting),
        "protocol": PROTOCOL,
        "versions": versions,
        "seconds": None if math.isnan(seconds) else round(seconds),
    }
    return file_text(about, lines)


def file_text(about: Mapping[str, Any], lines: Sequence[Line | list[Any]]) -> str:
    """Return the text of a result file: an entry, a network's choices and a figure take one line each.

    Parameters
    ----------
    about : mapping
        Entries other than the figures; "choices" by network.
    lines : sequence of dict or list
        Figures.

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


def save_result(
    path: str | Path, experiment: Experiment, setting: RunSize, lines: list[Line], seconds: float = math.nan
) -> None:
    """Write the figures of a whole experiment; see `result_text`."""
    write_whole(path, result_text(experiment, setting, lines, seconds))


def read_content(path: str | Path, form: str, of: str) -> Mapping[str, Any]:
    """Return the content of a result file of some format.

    Parameters
    ----------
    path : path
    form : str
        Its format.
    of : str
        What it is a result of, in words.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("format") != form:
        raise ValueError(f"{path} is no result of {of}, expected the format {form!r}")
    return content


def load_result(path: str | Path) -> Mapping[str, Any]:
    """Return what `save_result` wrote: its entries by name; numbers may be None or the text "inf".

    Parameters
    ----------
    path : path
    """
    content = read_content(path, FORMAT, "an experiment")
    for entry in ENTRIES:
        if entry not in content:
            raise ValueError(f"{path} lacks {entry}, expected {', '.join(ENTRIES)}")
    return content
