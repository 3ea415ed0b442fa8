"""Between Spark and a model, without Spark: order of rows, bad rows, state as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import seeing_params, seen_log

from tcuq import FitOptions, Log, Params, fit
from tcuq_watch.engine.events import Events
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


def test_rows_bring_gauges_or_none(frame: Any) -> None:
    """As a fleet takes them: rows without gauges among others are inputs that were not seen."""
    params, log = seeing_params(), seen_log(seeing_params())
    count, blind = 300, [None if row % 50 == 7 else gauges for row, gauges in enumerate(log.gauges[:300])]
    made = type(frame)(
        {"device": ["a"] * count, "boot": 0, "seq": range(count), "arrival": range(count), "content": 0}
    )
    made["probs"], made["gauges"] = [*log.probs[:count]], blind
    model, own = (ModelVersion("v", params, hold=1, keep_events=True) for _ in range(2))
    decided = run_rows(model, made, by_arrival=True)
    for row in range(count):
        seen = {} if blind[row] is None else {"gauges": [blind[row]]}
        own.take(Events(["a"], [0], [row], log.probs[row : row + 1], **seen))
    assert len(decided) == count and model.blind == own.blind == sum(row is None for row in blind) == 6
    assert decided.steps["moved"].tolist()[-1] == 129 and decided.steps["alarm"][-1]
    assert np.array_equal(model.bank.save_many([0]), own.bank.save_many([0]))
    made["gauges"], made["seq"] = [np.ones(3)] * count, range(count, 2 * count)
    assert len(run_rows(model, made, by_arrival=True)) == 0 and model.refused["bad gauges"] == count


def test_gauges_of_rows_are_left_alone_where_the_monitor_reads_none(frame: Any) -> None:
    log, count = seen_log(seeing_params()), 40
    params = fit(Log(log.probs), force=True, options=FitOptions(explain=False))
    assert params.sight is not None and not params.sight.gauges
    made = type(frame)(
        {"device": ["a"] * count, "boot": 0, "seq": range(count), "arrival": range(count), "content": 0}
    )
    made["probs"], made["gauges"] = [*log.probs[:count]], [*log.gauges[:count]]
    model = ModelVersion("v", params, hold=1, keep_events=True)
    assert len(run_rows(model, made, by_arrival=True)) == count and not model.refused.total()
