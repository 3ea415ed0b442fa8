"""Running the experiment: streams, fits, measures, and the text of the result file."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION

from ..result_files import read_content
from ..table import plain
from ..versions import PROTOCOL, RECORDING
from .alarming import COSTLY, alarming
from .answering import answering
from .drawn import BLOCK, REPLICATES
from .expecting import WINDOW, expecting
from .fits import RUN_LENGTH, monitors
from .lines import Found, Line, entries, from_entries
from .plan import BACKBONES, SEVERITIES, StreamSizes, UnitPlan
from .ranking import ranking
from .units import Logs, Unit, load_unit

FORMAT = "tcuq any stream 1"
NAME = "any_stream"
SEEDS = (0, 1, 2)
PARTS = (ranking, answering, alarming, expecting)
Progress = Callable[[int, int, str], None]


def fill(plans: Sequence[UnitPlan], logs: Logs, progress: Progress | None = None) -> None:
    """Run the networks on all streams that are not kept yet.

    Parameters
    ----------
    plans : sequence of UnitPlan
    logs : StreamLogs
    progress : callable, optional
        Called with streams done, all of them, and a text.
    """
    todo = [(plan, stream) for plan in plans for stream in plan.all()]
    for number, (plan, stream) in enumerate(todo):
        if progress is not None:
            progress(number, len(todo), f"{plan.network}, {stream.part}")
        logs.log(stream, plan.network)
    if progress is not None:
        progress(len(todo), len(todo), "")


def measured(task: str, units: Sequence[Unit]) -> list[Line]:
    """Return all figures of a task.

    Parameters
    ----------
    task : str
    units : sequence of Unit
        A network each, with the same streams.
    """
    fits = [monitors(unit) for unit in units]
    return [line for part in PARTS for line in part(task, units, fits)]


def run(
    tasks: Sequence[str],
    seeds: Sequence[int],
    logs: Logs,
    sizes: StreamSizes | None = None,
    development: str = "changing",
    progress: Progress | None = None,
) -> list[Line]:
    """Return the figures of some tasks.

    Parameters
    ----------
    tasks : sequence of str
    seeds : sequence of int
        Of the networks.
    logs : StreamLogs
    sizes : StreamSizes, optional
    development : str
        See `UnitPlan`.
    progress : callable, optional
        Called with tasks done, all of them, and a text.
    """
    lines: list[Line] = []
    for number, task in enumerate(tasks):
        if progress is not None:
            progress(number, len(tasks), task)
        plans = [UnitPlan(task, seed, sizes or StreamSizes(), development) for seed in seeds]
        lines += measured(task, [load_unit(plan, logs) for plan in plans])
    if progress is not None:
        progress(len(tasks), len(tasks), "")
    return lines


def result_text(
    lines: Sequence[Line],
    seeds: Sequence[int] = SEEDS,
    development: str = "changing",
    sizes: StreamSizes | None = None,
) -> str:
    """Return the result file: how it was made, then a line for each figure. No clock time is in it.

    Parameters
    ----------
    lines : sequence of Line
    seeds, development, sizes
        See `run`.
    """
    about = {
        "format": FORMAT,
        "name": NAME,
        "command": "tcuq-lab anystream"
        + ("" if development == "changing" else f" --dev {development}")
        + " --write",
        "setting": {
            "networks": dict(BACKBONES),
            "seeds": list(seeds),
            "severities": list(SEVERITIES),
            "development": development,
            "steps": asdict(sizes or StreamSizes()),
            "run_length": RUN_LENGTH,
            "costly": COSTLY,
            "window": WINDOW,
            "block": BLOCK,
            "replicates": REPLICATES,
        },
        "recording": RECORDING,
        "protocol": PROTOCOL,
        "versions": {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()},
    }
    head = json.dumps(about, indent=1, allow_nan=False)[:-2]
    rows = ",\n".join(json.dumps(each, allow_nan=False) for each in plain(entries(lines)))
    return f'{head},\n "lines": [\n{rows}\n]}}\n'


def load_result(path: str | Path) -> tuple[Mapping[str, Any], Found]:
    """Return what a result file says about itself, and its figures.

    Parameters
    ----------
    path : path
    """
    content = read_content(path, FORMAT, "this experiment")
    return content, Found(from_entries(content["lines"]))
