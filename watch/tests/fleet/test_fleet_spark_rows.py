"""Between Spark and a model, without Spark: order of rows, bad rows, state as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tcuq import Params
from tcuq_watch.fleet import ModelVersion
from tcuq_watch.spark import run_rows


@pytest.fixture(name="frame")
def _frame() -> Any:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame([(1, 0, 0), (0, 5, 1), (0, 4, 2), (0, 4, 3)], columns=["boot", "seq", "arrival"])
    frame["device"], frame["content"] = "a", [7, 5, 3, 2]
    frame["probs"] = [np.array([0.5 + 0.1 * row, 0.5 - 0.1 * row]) for row in range(4)]
    return frame.iloc[[2, 0, 3, 1]].reset_index(drop=True)


def model_of(hold: int = 8) -> ModelVersion:
    return ModelVersion("v", Params(classes=2, warmup=0, reference=0.3), hold=hold, keep_events=True)


def test_rows_are_taken_by_arrival_or_by_place(frame: Any) -> None:
    model = model_of()
    assert run_rows(model, frame, by_arrival=True).boots.tolist() == [1]
    assert model.places["late"].tolist() == [3]
    for columns, first in ((frame, 0.7), (frame.drop(columns="arrival"), 0.8)):
        model = model_of(hold=1)
        decided = run_rows(model, columns, by_arrival=False)
        assert (decided.boots.tolist(), decided.seqs.tolist()) == ([0, 0, 1], [4, 5, 0])
        # Of two rows of one place: the first that arrived, else the one of the smaller hash.
        assert decided.probs is not None and int(decided.probs[0, 0]) == round(256 * first) - 128


def test_what_no_array_holds_is_counted(frame: Any) -> None:
    model = model_of()
    rows = [[0.5, 0.5], None, [1.0], [0.2, 0.3, 0.5]]
    frame["probs"] = [None if row is None else np.array(row) for row in rows]
    assert len(run_rows(model, frame, by_arrival=True)) == 0 and model.refused == {"wrong width": 3}
    frame["probs"] = None
    run_rows(model, frame, by_arrival=True)
    assert model.refused == {"wrong width": 7}
