"""Between Spark and a model, without Spark: order of rows, bad rows, state as bytes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from spark_events import simulated

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch.engine.packing import pack_arrays, unpack_arrays
from tcuq_watch.fleet import ModelVersion
from tcuq_watch.spark_rows import ShardRows

PARAMS = Params(classes=2, warmup=0, reference=0.3)


@pytest.fixture(name="pandas")
def _pandas() -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed")


def _taken(frame: Any, by_arrival: bool = True, model: ModelVersion | None = None) -> list[tuple[Any, ...]]:
    rows = ShardRows(frame, model or ModelVersion("v", PARAMS))
    events = rows.events(rows.order(by_arrival))
    columns = (events.devices, events.boots, events.seqs, events.probs[:, 0])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_rows_are_taken_by_arrival_or_by_place(pandas: Any) -> None:
    places = [(1, 0, 0), (0, 5, 1), (0, 4, 2), (0, 4, 3)]
    frame = pandas.DataFrame(places, columns=["boot", "seq", "arrival"])
    frame["device"], frame["probs"] = (
        "a",
        [np.array([0.5 + 0.1 * each, 0.5 - 0.1 * each]) for each in range(4)],
    )
    mixed = frame.iloc[[2, 0, 3, 1]].reset_index(drop=True)
    assert [row[1:3] for row in _taken(mixed)] == [(1, 0), (0, 5), (0, 4), (0, 4)]
    assert _taken(mixed, by_arrival=False) == [
        ("a", 0, 4, 0.7),
        ("a", 0, 4, 0.8),
        ("a", 0, 5, 0.6),
        ("a", 1, 0, 0.5),
    ]
    alone = mixed.drop(columns="arrival")
    assert [row[1:3] for row in _taken(alone)] == [(0, 4), (0, 4), (0, 5), (1, 0)]


def test_what_no_array_holds_is_counted(pandas: Any) -> None:
    model = ModelVersion("v", PARAMS)
    rows = [[0.5, 0.5], None, [1.0], [0.2, 0.3, 0.5], [0.9, 0.1]]
    frame = pandas.DataFrame({"device": ["a"] * 5, "boot": [0] * 5, "seq": range(5)})
    frame["probs"] = [None if row is None else np.array(row) for row in rows]
    assert [row[2] for row in _taken(frame, model=model)] == [0, 4]
    assert model.refused["wrong width"] == 3
    frame["probs"] = None
    assert _taken(frame, model=model) == [] and model.refused["wrong width"] == 8


def test_a_lane_comes_back_from_bytes() -> None:
    params, events = simulated(devices=30, steps=40)
    half = len(events) // 2
    model = ModelVersion("v", params)
    model.take(events.some(slice(half)))
    content = pack_arrays(model.arrays())
    again = ModelVersion.restored("v", params, [unpack_arrays(content)])
    assert pack_arrays(again.arrays()) == content
    left, right = (each.take(events.some(slice(half, None))) for each in (model, again))
    assert len(left) == len(right) > 100 and left.devices.tolist() == right.devices.tolist()
    for name in STEP_DTYPE.names or ():
        assert left.steps[name].tobytes() == right.steps[name].tobytes(), name


def test_neither_spark_nor_pandas_is_needed_to_import_it() -> None:
    code = (
        "import sys, tcuq_watch.spark\n"
        "print({name.partition('.')[0] for name in sys.modules} & {'pyspark', 'pandas', 'pyarrow'})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
