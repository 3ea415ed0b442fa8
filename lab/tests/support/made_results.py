"""Result files of experiments that repeat the paper's, with made-up figures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from places import LAB

from tcuq_lab.reproduce.experiment import Outcome
from tcuq_lab.reproduce.paper import experiment_from
from tcuq_lab.reproduce.result_files import result_text
from tcuq_lab.reproduce.run_size import RUN_SIZES

KINDS = ("fog", "snow", "frost")
GAIN = "AUPRC above the base's, unseen kinds"

Value = Callable[[str, float, str, str, str], float]


def level(task: str, dwell: float, row: str, column: str, kind: str) -> float:
    """A made-up figure: TCUQ is best, its lead grows with the dwell, delays are short where skill is high."""
    lead = {"tcuq": 0.04, "tcuq_paper": 0.01}.get(row, 0.0) * math.log2(2 * dwell)
    skill = 0.6 + lead + 0.01 * KINDS.index(kind) + 0.002 * len(row) * (not row.startswith("tcuq"))
    return 100 * (1 - skill) if "delay" in column or "per alarm" in column else skill


def write(folder: Path, name: str, value: Value = level, **changes: Any) -> None:
    """Write a result file of an experiment of the repository with made-up figures."""
    plain = json.loads((LAB / "experiments" / f"{name}.json").read_text())
    fields = json.loads((LAB / "experiments" / "fields.json").read_text())
    experiment = experiment_from({**plain, **changes}, fields)
    lines = []
    for task in experiment.tasks:
        for dwell in experiment.dwells:
            for row in (each.label for each in experiment.rows):
                for column in experiment.columns:
                    if column.title != GAIN:
                        lines.append(line(task, dwell, row, column.title, value))
            if name == "drop":
                for row in ("tcuq_paper", "tcuq"):
                    lines.append(
                        line(task, dwell, f"{row} - base", GAIN, lambda *place: 0.1)
                        | {"spans": {kind: [0.05, 0.15] for kind in KINDS}}
                    )
    text = result_text(experiment, RUN_SIZES["reduced"], Outcome(lines, {"seconds": 61}))
    (folder / f"{name}.json").write_text(text)


def line(task: str, dwell: float, row: str, column: str, value: Value) -> dict[str, Any]:
    streams = {kind: value(task, dwell, row, column, kind) for kind in KINDS}
    mean = sum(streams.values()) / len(streams)
    about = {"task": task, "dwell": dwell, "row": row, "column": column}
    spread = {"value": mean, "low": mean - 0.01, "high": mean + 0.01, "seeds": [mean] * 3}
    return {**about, **spread, "streams": streams, "n": 9}


def change(path: Path, wanted: dict[str, Any], new: float) -> None:
    """Set the figures of one place of a result file."""
    content = json.loads(path.read_text())
    hit = [each for each in content["lines"] if all(each[key] == value for key, value in wanted.items())]
    assert len(hit) == 1
    hit[0]["value"], hit[0]["streams"] = new, dict.fromkeys(hit[0]["streams"], new)
    path.write_text(json.dumps(content))
