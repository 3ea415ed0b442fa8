"""Selective prediction as an experiment: curves by ranking, and what monitors accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import PLAIN, Kept

from tcuq_lab.comparison.records import Record, pick
from tcuq_lab.methods.gather import observed
from tcuq_lab.methods.tcuq import Tcuq
from tcuq_lab.reproduce.kinds.comparison import fit_rows
from tcuq_lab.reproduce.kinds.selective import measure
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import experiment_from
from tcuq_lab.reproduce.rows import row_of

UNIT = Unit("cifar10", 16.0, 0)


def _plan(*rows: str, **options: Any) -> Any:
    return experiment_from({**PLAIN, "kind": "selective", "rows": list(rows), "options": options}, {})


def _value(found: list[Record], method: str, metric: str, variant: str) -> float:
    (row,) = pick(found, method=method, metric=metric, variant=variant)
    return float(row["value"])


def test_curves_and_decisions_are_those_of_the_rows(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    plan = _plan("base", "tcuq_paper", blend=[0, 1], lags=[[1, 2, 4], [8]], level=[0.05, 0.3])
    found = measure(plan, UNIT, kept)  # type: ignore[arg-type]
    schedule = UNIT.schedule(kept)  # type: ignore[arg-type]
    (kind,) = schedule.unseen
    stream = schedule.tests()[kind]
    seen = observed(stream, kept.banks("cifar10", "test", 0, [row_of("base")], stream.sources)["base"])
    wrong, top = seen.probs.argmax(axis=1) != stream.label, seen.probs.max(axis=1)
    for coverage in (0.5, 0.9):
        safest = np.argsort(-top, kind="stable")[: int(np.ceil(coverage * len(top)))]
        # Ties share their errors, an order of them does not: examples come again and again.
        assert _value(found, "base", "error", f"{coverage:g}") == pytest.approx(
            wrong[safest].mean(), abs=0.005
        )
    assert _value(found, "base", "error", "1") == pytest.approx(wrong.mean())
    assert _value(found, "base", "error", "0.5") < _value(found, "base", "aurc", "curve") < wrong.mean()
    # At a blend of 0 the paper's risk is the confidence, in 8 bits; at 1 it is not.
    base = _value(found, "base", "aurc", "curve")
    assert _value(found, "tcuq_paper, blend 0", "aurc", "curve") == pytest.approx(base, abs=0.003)
    assert _value(found, "tcuq_paper, blend 1", "aurc", "curve") < base - 0.003
    # Its own lags are 1, 2 and 4.
    own, far = (_value(found, f"tcuq_paper, lags {lags}", "aurc", "curve") for lags in ("1+2+4", "8"))
    assert own == _value(found, "tcuq_paper", "aurc", "curve") != far
    row = row_of("tcuq_paper")
    dev = kept.banks("cifar10", "dev", 0, [row], schedule.sources("dev"))
    method = fit_rows([row], dev, schedule)["tcuq_paper"]
    assert isinstance(method, Tcuq)
    for level in (0.05, 0.3):
        label = f"tcuq_paper, level {level:g}"
        other = method.altered(level="budget", budget=level)
        assert other.params.level == other.params.budget == level
        accepted = ~other.decisions(seen).abstained
        assert _value(found, label, "coverage", "decided") == pytest.approx(accepted.mean())
        assert _value(found, label, "error", "decided") == pytest.approx(wrong[accepted].mean())
        risk = other.answer(seen).score
        safest = np.argsort(risk, kind="stable")[: int(accepted.sum())]
        assert _value(found, label, "curve_error", "decided") == pytest.approx(
            wrong[safest].mean(), abs=0.005
        )
        assert not pick(found, method=label, metric="aurc")
    assert _value(found, "tcuq_paper, level 0.3", "coverage", "decided") < 0.85
