"""Logs in parts: many lines at once read as each alone does, and memory does not grow with a log."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tcuq import InputError, Log, Params
from tcuq.io import read_decisions, read_log, write_log
from tcuq.io.log_rows import CsvRows

LINES = 3000
HEADER = "p0,p1,time,f0,f1,label,segment,shifted\n"


def lines(whole: bool = False) -> list[str]:
    """Return rows of a CSV log, as integers or with points."""
    rng = np.random.default_rng(0)
    probs = rng.integers(-128, 128, (LINES, 2)) if whole else rng.dirichlet([1, 1], LINES).round(6)
    features = rng.integers(-9, 9, (LINES, 2)) if whole else rng.normal(0, 9, (LINES, 2)).round(3)
    rows = zip(probs.tolist(), features.tolist(), rng.integers(-1, 2, LINES).tolist(), strict=True)
    return [
        f"{p[0]},{p[1]},2026-01-01T00:00:0{n % 10},{f[0]},{f[1]},{label},{n // 700},{n % 3}\n"
        for n, (p, f, label) in enumerate(rows)
    ]


def outcome(path: Path, skip: bool, monkeypatch: pytest.MonkeyPatch, together: bool) -> list[object]:
    """Return what reading gives, and what it says of bad lines, with lines taken together or one by one."""
    said: list[str] = []
    with monkeypatch.context() as patch:
        if not together:
            patch.setattr("tcuq.io.rows._takes", lambda rows, block: False)
        try:
            log = read_log(path, on_bad=said.append if skip else None)
        except InputError as error:
            return [str(error)]
    arrays = (log.probs, log.features, log.labels, log.segments, log.kinds)
    return [said, log.shift_names, *((each.dtype, each.tolist()) for each in arrays if each is not None)]


WRITTEN = {
    "as they are": [],
    "end of line": [(2000, "0.25,0.75,x,1,2,1,0,0\r\n")],
    "exponents, spaces, signs": [(2000, " 25e-2, +0.75 ,x,1e3,-0.0,1.0,0,0\n")],
    "quoted": [(2000, '0.25,0.75,"a,b",1,2,1,0,0\n')],
    "blank": [(2000, "\n"), (2001, "  \n")],
    "a name": [(2000, "0.25,0.75,x,1,2,1,0,blur\n")],
    "hexadecimal": [(2000, "0x1p-2,0.75,x,1,2,1,0,0\n")],
    "underscore": [(2000, "0.25,0.75,x,1_0,2,1,0,0\n")],
    "not a number": [(2000, "nan,0.75,x,1,2,1,0,0\n")],
    "infinite": [(2000, "0.25,0.75,x,inf,2,1,0,0\n")],
    "far from one": [(2000, "0.25,0.5,x,1,2,1,0,0\n")],
    "too few": [(2000, "0.25,0.75,x,1,2,1,0\n"), (2500, "0.25,0.75\n")],
    "too many": [(2000, "0.25,0.75,x,1,2,1,0,0,0\n")],
    "empty label": [(2000, "0.25,0.75,x,1,2,,0,0\n")],
    "label too large": [(2000, "0.25,0.75,x,1,2,2,0,0\n")],
    "half a label": [(2000, "0.25,0.75,x,1,2,0.5,0,0\n")],
    "shift too large": [(2000, "0.25,0.75,x,1,2,1,0,256\n")],
    "no text": [(2000, "0.25,0.75,x,1,2,1,0,\x00\n")],
    "wide": [(2000, "200,1,x,1,2,1,0,0\n")],
    "a point among integers": [(2000, "2.0,1,x,1,2,1,0,0\n")],
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("case", WRITTEN)
def test_lines_together_are_read_as_each_alone(
    case: str, whole: bool, skip: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = lines(whole)
    for place, row in WRITTEN[case]:
        rows[place] = row
    path = tmp_path / "log.csv"
    path.write_text(HEADER + "".join(rows), encoding="utf-8", newline="")
    with pytest.warns(match="column 'time' is not used"):
        together, alone = (outcome(path, skip, monkeypatch, each) for each in (True, False))
    assert together == alone


JSON_WRITTEN = {
    "as they are": {},
    "names": {"names": ["a", "b"]},
    "a class by name": {"label": "a"},
    "a shift by name": {"shifted": "fog"},
    "true": {"shifted": True},
    "a key more": {"segment": 3},
    "a key that is not read": {"time": 7},
    "too wide": {"features": [1, 2, 3]},
    "an odd value": {"features": [1, None]},
    "no list": {"probs": 0.5},
    "far from one": {"probs": [0.5, 0.25]},
    "not int8": {"probs": [200, 0]},
    "too large": {"features": [10**400, 0]},
    "label too large": {"label": 2},
    "a label that is true": {"label": True},
    "shift too large": {"shifted": 256},
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("case", JSON_WRITTEN)
@pytest.mark.filterwarnings("ignore:.*key 'time' is not used")
def test_objects_together_are_read_as_each_alone(
    case: str, whole: bool, skip: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [line.split(",") for line in lines(whole)]
    steps = [
        {"probs": f"[{p}, {q}]", "features": f"[{f}, {g}]", "label": label, "shifted": str(int(kind))}
        for p, q, _, f, g, label, _, kind in cells
    ]
    rows = ["{" + ", ".join(f'"{key}": {value}' for key, value in step.items()) + "}" for step in steps]
    if case != "as they are":
        before = {} if case == "names" else json.loads(rows[2000])
        rows[2000] = json.dumps(before | JSON_WRITTEN[case])
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    together, alone = (outcome(path, skip, monkeypatch, each) for each in (True, False))
    assert together == alone


def test_lines_are_taken_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first line, which settles what the numbers are, is read alone."""
    path, sizes, take = tmp_path / "log.csv", [], CsvRows.take
    path.write_text("p0,p1\n" + "0.25,0.75\n" * LINES, encoding="utf-8")
    monkeypatch.setattr(
        CsvRows, "take", lambda self, lines, numbers: sizes.append(len(lines)) or take(self, lines, numbers)
    )
    assert len(read_log(path)) == LINES and sizes == [1, 1024, 1024, 951]


PEAK = """
import re, sys
from tcuq.cli import main
assert main(sys.argv[1:]) == 0
print(int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) // 1024)
"""
"""Not of `getrusage`, which knows the parent's peak too."""


def made(folder: Path, kind: str, steps: int) -> Path:
    path = folder / f"log{steps}.{kind}"
    probs = np.random.default_rng(0).dirichlet(np.ones(3), steps)
    if kind == "parquet":
        write_log(path, Log(probs.astype(np.float32)))
    elif kind == "csv":
        np.savetxt(path, probs, fmt="%.6f", delimiter=",", header="p0,p1,p2", comments="")
    else:
        np.savetxt(path, probs, fmt='{"probs": [%.6f, %.6f, %.6f]}')
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells the peak")
@pytest.mark.parametrize(("kind", "few"), [("csv", 40_000), ("jsonl", 40_000), ("parquet", 160_000)])
def test_the_memory_of_a_run_does_not_grow_with_the_log(kind: str, few: int, tmp_path: Path) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    Params(classes=3).save(tmp_path / "params.json")
    peaks = []
    for steps in (few, 4 * few):
        out = tmp_path / f"out{steps}.{kind}"
        command = ["run", tmp_path / "params.json", made(tmp_path, kind, steps), "-o", out, "--quiet"]
        done = subprocess.run(
            [sys.executable, "-c", PEAK, *command], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout))
    print(f"{kind}: {peaks[0]} MB, {peaks[1]} MB")
    assert peaks[1] < 1.15 * peaks[0]
    assert len(read_decisions(out)) == 4 * few
    if kind == "parquet":
        import pyarrow.parquet

        assert pyarrow.parquet.ParquetFile(out).metadata.num_row_groups > 1
