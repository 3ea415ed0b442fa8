"""Calibration as an experiment: posteriors on examples that are shown once, and intervals over examples."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import PLAIN, TINY, Kept

from tcuq.metrics import wilson
from tcuq_lab.comparison.records import Record, Results, pick, record
from tcuq_lab.methods.confidence import fitted as fitted_temperature
from tcuq_lab.methods.tcuq import Tcuq
from tcuq_lab.reproduce.kinds.calibration import METRICS, measure
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import experiment_from
from tcuq_lab.reproduce.table import table

UNIT = Unit("cifar10", 1.0, 0)


class Few(Kept):
    """The same with few draws, for the time they take."""

    setting = replace(TINY, replicates=200)


def _plan(rows: list[Any], **options: Any) -> Any:
    return experiment_from({**PLAIN, "kind": "calibration", "rows": rows, "options": options}, {})


def _value(found: list[Record], method: str, metric: str) -> float:
    (row,) = pick(found, stream="clean", method=method, metric=metric, variant="clean")
    return float(row["value"])


def test_posteriors_are_measured_as_their_rows_stand_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Few(tmp_path)
    monkeypatch.setattr(Tcuq, "fit", None)  # posteriors do not need the monitor
    found = measure(_plan(["base", "temperature", "mean_answer", "tcuq_paper", "tcuq_paper_ts"]), UNIT, kept)  # type: ignore[arg-type]
    y, said = kept.labels, kept.bank["clean"]
    one_hot = np.eye(10)[y]
    heat = fitted_temperature(said.extra["logits"], y)
    logits = said.extra["logits"].astype(np.float64) / heat
    cooled = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert abs(heat - 1) > 0.1  # else the next lines could not tell
    for row, probs in (("base", said.probs.astype(np.float64)), ("temperature", cooled)):
        true = probs[np.arange(len(y)), y]
        squares = ((probs - one_hot) ** 2).sum(axis=1).mean()
        assert _value(found, row, "accuracy") == pytest.approx((probs.argmax(axis=1) == y).mean())
        assert _value(found, row, "brier") == pytest.approx(squares, rel=1e-5)
        assert _value(found, row, "brier_per_class") == pytest.approx(squares / 10, rel=1e-5)
        assert _value(found, row, "nll") == pytest.approx(-np.log(true).mean(), rel=1e-5)
    for metric in METRICS:  # the monitor changes no posterior, and an example alone has no past
        assert _value(found, "tcuq_paper", metric) == _value(found, "base", metric)
        assert _value(found, "mean_answer", metric) == pytest.approx(_value(found, "base", metric))
    assert _value(found, "temperature", "ece") < _value(found, "base", "ece")
    assert _value(found, "tcuq_paper_ts", "nll") < _value(found, "base", "nll")


def test_intervals_come_from_examples_drawn_again(tmp_path: Path) -> None:
    kept = Few(tmp_path)
    found = measure(_plan(["base"]), UNIT, kept)  # type: ignore[arg-type]
    for row in found:
        assert row["low"] < row["value"] < row["high"] and row["n"] == len(kept.labels)
    right = int((kept.bank["clean"].probs.argmax(axis=1) == kept.labels).sum())
    (row,) = pick(found, metric="accuracy")
    assert [row["low"], row["high"]] == pytest.approx(wilson(right, len(kept.labels)), abs=0.015)
    assert found == measure(_plan(["base"]), UNIT, kept)  # type: ignore[arg-type]


def _line(*seeds: list[Record]) -> dict[str, Any]:
    plan = experiment_from({**PLAIN, "rows": ["base"], "columns": [["m", "v", "m"]]}, {})
    about = {"task": "cifar10", "dwell": 16}
    (line,) = table(plan, {str(n): Results(rows, about) for n, rows in enumerate(seeds)})
    return line


def test_a_figure_takes_the_intervals_that_its_records_bring() -> None:
    first = record("clean", "base", "m", "v", 0.5, 9, low=0.4, high=0.6)
    second = record("clean", "base", "m", "v", 0.7, 9, low=0.5, high=1.0)
    line = _line([first], [second])
    assert (line["value"], line["low"], line["high"]) == pytest.approx((0.6, 0.45, 0.8))
    bare = {**second, "low": math.nan, "high": math.nan}
    assert math.isnan(_line([first], [bare])["low"])  # half of the seeds know nothing of it
