"""Small result files with made-up figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FIELDS = ("task", "name", "row", "fit", "column", "value", "low", "high", "networks")
STREAMS = ("class 4", "class 16", "class 64", "heavy-tailed 16", "changing pace")


def stream_line(place: str, value: float, half: float | None = 0.01, fit: str = "told") -> list[Any]:
    """A line of a result file; its place is "task/stream/row/column"."""
    task, stream, row, column = place.split("/")
    ends = [None, None] if half is None else [value - half, value + half]
    return [task, stream, row, fit, column, value, *ends, 3]


def write_streams(folder: Path, name: str, lines: Sequence[Sequence[Any]]) -> Path:
    """Write the result file of an experiment on streams."""
    about = {
        "format": "tcuq field 1",
        "name": name,
        "title": name,
        "command": f"tcuq-lab reproduce {name}",
        "setting": {"name": "full"},
        "versions": {"tcuq": "0.0"},
        "seconds": 60,
        "choices": {"net-0": {"EWMA": {"setting": {"rate": 0.123456789}, "tried": [1, 2, 3]}}},
        "fields": FIELDS,
        "lines": lines,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(about))
    return path


def write_answers(folder: Path, ours: float, rival: float) -> Path:
    """Write `answers` in which ours and every rival leave so many errors on five streams of CIFAR-10."""
    lines = []
    for stream in STREAMS:
        here = f"cifar10/{stream}"
        lines.append(stream_line(f"{here}/tcuq answer/errors at 90 %", ours))
        for row in ("base", "belief_told", "deep"):
            fit = "told" if row == "belief_told" else ""
            lines.append(stream_line(f"{here}/{row}/errors at 90 %", rival, fit=fit))
            lines.append(stream_line(f"{here}/tcuq answer - {row}/errors at 90 %", ours - rival))
    return write_streams(folder, "answers", lines)


def write_paper_result(folder: Path, name: str, figures: dict[str, float]) -> Path:
    """Write the result file of an experiment that repeats the paper's, places "task/dwell/row/column"."""
    lines = []
    for place, value in figures.items():
        task, dwell, row, column = place.split("/", 3)
        where = {"task": task, "dwell": float(dwell), "row": row, "column": column}
        ends = {"value": value, "low": value - 0.01, "high": value + 0.01, "networks": 5, "n": 5}
        streams = {"fog/1": value, "fog/2": value + 0.1, "snow/2": value + 0.3}
        lines.append({**where, **ends, "seeds": [value] * 5, "streams": streams})
    about = {"format": "tcuq experiment 1", "name": name, "title": name, "paper": "", "command": "x"}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**about, "setting": {}, "versions": {"tcuq": "0.0"}, "lines": lines}))
    return path
