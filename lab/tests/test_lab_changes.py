"""What is shown before a file is replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tcuq_lab.changes import put, update


def result(**values: float) -> str:
    lines = [
        {"task": "mnist", "dwell": 4.0, "row": row, "column": "c", "value": v} for row, v in values.items()
    ]
    return json.dumps({"name": "x", "lines": lines})


def test_figures_that_moved_are_shown_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    assert update(path, result(base=0.5)).lines() == [f"{path}: new file"]
    path.write_text(result(base=0.5, tcuq=0.7))
    assert update(path, result(base=0.5, tcuq=0.7)).lines() == [f"{path}: no change"]
    found = update(path, result(tcuq=0.75, base=0.5, deep=0.6))  # another order is no change
    assert found.lines()[:2] == [
        f"{path}: 1 changed, 1 added, 0 removed",
        "  lines mnist 4.0 tcuq c value: 0.7 -> 0.75",
    ]
    assert json.loads(path.read_text()) == json.loads(result(base=0.5, tcuq=0.7))
    found.write()
    assert update(path, found.text).state == "same"


def test_nothing_is_written_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.md"
    path.write_text("old\n")
    put(path, "new\n", write=False)
    assert path.read_text() == "old\n" and "line 1: old -> new" in capsys.readouterr().out
    put(path, "new\n", write=True)
    assert path.read_text() == "new\n" and "line 1: old -> new" in capsys.readouterr().out
