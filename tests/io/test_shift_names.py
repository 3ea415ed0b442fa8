"""Kinds of shift by name, in every format, in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq import Log
from tcuq.io import read_log, write_log

PROBS = [[0.75, 0.25]] * 6
MARKS = ["clean", "blur", "", "fog", "fog", "blur"]
KINDS = [0, 1, 0, 2, 2, 1]


def _csv(path: Path, marks: list[Any]) -> None:
    rows = "".join(f"0.75,0.25,{mark}\n" for mark in marks)
    path.write_text("p0,p1,shifted\n" + rows, encoding="utf-8")


def _jsonl(path: Path, marks: list[Any]) -> None:
    path.write_text("".join(json.dumps({"probs": PROBS[0], "shifted": m}) + "\n" for m in marks), "utf-8")


def _npz(path: Path, marks: list[Any]) -> None:
    np.savez(path, probs=PROBS, shifted=np.array(marks))


def _parquet(path: Path, marks: list[Any]) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is missing")
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table({"probs": PROBS, "shifted": marks}), path)


WRITERS = {".csv": _csv, ".jsonl": _jsonl, ".npz": _npz, ".parquet": _parquet}


@pytest.mark.parametrize("ending", WRITERS)
def test_names_are_read_and_written_again(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{ending}"
    WRITERS[ending](path, MARKS)
    log = read_log(path)
    for _ in range(2):
        assert log.kinds is not None and log.kinds.tolist() == KINDS
        assert log.shift_names == ("blur", "fog")
        write_log(tmp_path / "again.npz", log)
        log = read_log(tmp_path / "again.npz")
    if ending == ".parquet":
        write_log(tmp_path / "again.parquet", log)
        assert read_log(tmp_path / "again.parquet").shift_names == ("blur", "fog")


@pytest.mark.parametrize("ending", WRITERS)
def test_numbers_stay_numbers(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{ending}"
    marks = ["0", "2", "0", "1", "1", "2"] if ending != ".jsonl" else [0, 2, False, True, 1, 2]
    WRITERS[ending](path, marks)
    log = read_log(path)
    assert log.kinds is not None and log.kinds.tolist() == [0, 2, 0, 1, 1, 2] and log.shift_names is None


@pytest.mark.parametrize("ending", WRITERS)
def test_names_and_numbers_do_not_mix(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{ending}"
    for marks in (["blur", "2", "fog"], ["2", "blur", "0"]):
        WRITERS[ending](path, marks * 2)
        with refused("value", "shifted"):
            read_log(path)


def test_a_data_frame_holds_names() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is missing")
    frame = pandas.DataFrame({"p0": 0.75, "p1": 0.25, "shifted": [*MARKS[:2], None, *MARKS[3:]]})
    log = Log.from_frame(frame)
    assert log.kinds is not None and log.kinds.tolist() == KINDS and log.shift_names == ("blur", "fog")


def test_names_stay_with_a_part_of_a_log() -> None:
    log = Log(PROBS, shifted=MARKS)
    part = log.take(slice(3, 5))
    assert part.kinds is not None and part.kinds.tolist() == [2, 2] and part.shift_names == ("blur", "fog")
    assert [(each.start, each.stop) for each in log.stretches()] == [(1, 2), (3, 5), (5, 6)]
    assert Log(PROBS, shifted=[0, 1, 2, 0, 0, 0], shift_names=["blur", "fog"]).shift_names == ("blur", "fog")
    with refused("value"):
        Log(PROBS, shifted=[0, 1, 2, 0, 0, 3], shift_names=["blur", "fog"])
    with refused("value"):
        Log(PROBS, shifted=["a\nb"] * 6)
    with refused("value", "shifted"):
        Log([[0.75, 0.25]] * 256, shifted=[f"kind {each}" for each in range(256)])
