"""Gauges of a log: what is checked, and that every format keeps them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcuq import InputError, Log
from tcuq.io import read_log, write_log

PROBS = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
GAUGES = [[1.5, -2.0], [0.25, 3.0], [4.0, 1e6]]
NAMES = ("brightness", "temperature")


def log_with(**more: Any) -> Log:
    return Log(PROBS, labels=[0, 1, 1], **{"gauges": GAUGES, "gauge_names": NAMES, **more})


def same(log: Log, names: tuple[str, ...] | None = NAMES) -> bool:
    assert log.gauges is not None and log.gauges.dtype == np.float32
    return log.gauges.tolist() == GAUGES and log.gauge_names == names


@pytest.mark.parametrize("ending", ["npz", "parquet", "arrow"])
@pytest.mark.parametrize("names", [NAMES, None])
def test_binary_formats_keep_them(ending: str, names: tuple[str, ...] | None, tmp_path: Path) -> None:
    if ending != "npz":
        pytest.importorskip("pyarrow")
    write_log(tmp_path / f"a.{ending}", log_with(gauge_names=names))
    assert same(read_log(tmp_path / f"a.{ending}"), names)
    write_log(tmp_path / f"b.{ending}", Log(PROBS))
    assert read_log(tmp_path / f"b.{ending}").gauges is None


@pytest.mark.parametrize("names", [NAMES, None])
def test_csv_has_a_column_for_each(names: tuple[str, ...] | None, tmp_path: Path) -> None:
    header = ",".join(["p0", "p1", *(f"gauge_{name}" for name in names or range(2))])
    lines = [",".join(map(str, (*p, *g))) for p, g in zip(PROBS, GAUGES, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join([header, *lines]))
    assert same(read_log(tmp_path / "a.csv"), names)


@pytest.mark.parametrize(
    "head", [{"gauge_names": NAMES}, {"names": ["cat", "dog"], "gauge_names": NAMES}, None]
)
def test_json_lines_have_lists(head: dict[str, Any] | None, tmp_path: Path) -> None:
    steps = [{"probs": p, "gauges": g} for p, g in zip(PROBS, GAUGES, strict=True)]
    lines = [*([head] if head else []), *steps]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    log = read_log(tmp_path / "a.jsonl")
    assert same(log, NAMES if head else None)
    assert log.names == (("cat", "dog") if head and "names" in head else None)


def test_frames_have_columns_or_lists() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"p0": [0.9, 0.2, 0.6], "p1": [0.1, 0.8, 0.4]})
    first, second = zip(*GAUGES, strict=True)
    named = frame.assign(gauge_brightness=first, gauge_temperature=second)
    assert same(Log.from_frame(named))
    assert same(Log.from_frame(frame.assign(gauges=GAUGES)), None)


def test_parts_keep_them() -> None:
    log = log_with()
    assert log.take(slice(1, 3)).gauges.tolist() == GAUGES[1:]  # type: ignore[union-attr]
    assert log.take(slice(1, 3)).gauge_names == NAMES
    assert same(replace(log, labels=None))


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"gauges": GAUGES[:2]}, "gauges has shape (2, 2), expected 3 rows of 1 to 16 numbers"),
        ({"gauges": np.zeros((3, 17)), "gauge_names": None}, "expected 3 rows of 1 to 16 numbers"),
        ({"gauges": [[1, 2], [3, np.nan], [4, 5]]}, "gauges[1][1] is nan, expected a finite number"),
        ({"gauge_names": ("one",)}, "gauge_names: names has 1 entries, expected 2"),
        ({"gauge_names": ("one", "one")}, "gauge_names holds a name twice"),
    ],
)
def test_gauges_that_are_refused(more: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as error:
        log_with(**more)
    assert problem in str(error.value)
