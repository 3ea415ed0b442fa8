"""Result files of this family: how figures were made, every choice, then one line for each figure."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION

from ...changes import FIELDS, named_lines
from ...comparison.spread import LEVEL
from ..result_files import file_text, read_content
from ..run_size import RunSize
from ..versions import PROTOCOL, RECORDING
from .intervals import REPLICATES
from .lines import IN_ORDER, Found, Line, entries, from_entries
from .plan import NETWORKS
from .run import Spec

FORMAT = "tcuq field 1"


def result_text(
    spec: Spec, setting: RunSize, seeds: Sequence[int], lines: Sequence[Line], about: Mapping[str, Any]
) -> str:
    """Return a result file.

    Parameters
    ----------
    spec : Spec
    setting : RunSize
    seeds : sequence of int
    lines : sequence of Line
    about : mapping
        What `run` says: processor seconds, and the choices of every network.
    """
    content = {
        "format": FORMAT,
        "name": spec.name,
        "title": spec.title,
        "command": f"tcuq-lab reproduce {spec.name} --setting {setting.name}",
        "setting": {
            "name": setting.name,
            "networks": {line.task: NETWORKS[line.task] for line in lines},
            "seeds": list(seeds),
            "examples": {part: setting.of(part) for part in ("dev", "test")},
            "severities": list(setting.severities),
            "sizes": asdict(spec.sizes),
            "replicates": REPLICATES,
            "level": LEVEL,
        },
        "recording": RECORDING,
        "protocol": PROTOCOL,
        "versions": {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        **({"notes": list(spec.notes)} if spec.notes else {}),
        **about,
    }
    return short_text(content, entries(lines))


def short_text(about: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a result file whose lines are lists, half as long as objects with a name for each part."""
    rows = [[line.get(name) for name in IN_ORDER] for line in lines]
    return file_text({**about, FIELDS: list(IN_ORDER)}, rows)


def load_result(path: str | Path) -> tuple[Mapping[str, Any], Found]:
    """Return what a result file says about itself, and its figures.

    Parameters
    ----------
    path : path
    """
    content = named_lines(read_content(path, FORMAT, "this family of experiments"))
    return content, Found(from_entries(content["lines"]))
