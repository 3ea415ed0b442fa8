"""Promised rates as an experiment: every decision of fitted monitors audited, on streams of every order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import PLAIN, Kept

from tcuq.monitor.monitor import Monitor
from tcuq_lab.comparison.records import Record, pick
from tcuq_lab.methods.gather import observed
from tcuq_lab.reproduce.kinds import rate_audit
from tcuq_lab.reproduce.kinds.comparison import fit_rows
from tcuq_lab.reproduce.kinds.rate_audit import every_stream, measure
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import experiment_from
from tcuq_lab.reproduce.rows import row_of

UNIT = Unit("cifar10", 16.0, 0)


def _plan(*rows: str, **options: Any) -> Any:
    return experiment_from({**PLAIN, "kind": "rate_audit", "rows": list(rows), "options": options}, {})


def _value(found: list[Record], method: str, metric: str, variant: str, stream: str = "pooled") -> float:
    (row,) = pick(found, stream=stream, method=method, metric=metric, variant=variant)
    return float(row["value"])


@pytest.mark.slow
def test_rates_are_those_of_the_monitor_and_no_promise_is_broken(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    found = measure(_plan("tcuq_paper", "tcuq_paper_no_conformal"), UNIT, kept)  # type: ignore[arg-type]
    schedule = UNIT.schedule(kept)  # type: ignore[arg-type]
    row = row_of("tcuq_paper")
    dev = kept.banks("cifar10", "dev", 0, [row], schedule.sources("dev"))
    method = fit_rows([row], dev, schedule)["tcuq_paper"]
    banks = kept.banks("cifar10", "test", 0, [row], schedule.sources("test"))["tcuq_paper"]
    (kind,) = schedule.unseen
    params = method.params  # type: ignore[attr-defined]

    def decided(name: str) -> np.ndarray:
        seen = observed(every_stream(schedule)[name], banks)
        features = None if not params.features else method.fitted.projection(seen.features)  # type: ignore[attr-defined]
        return Monitor(params).run(seen.probs, features)

    clean, shifted = decided("clean"), decided(kind)
    off = abs(clean["flagged"].mean() - params.level)
    assert _value(found, "tcuq_paper", "exceedance_deviation", "clean", "clean") == pytest.approx(off)
    spent = clean["abstain"].mean()
    assert _value(found, "tcuq_paper", "abstention_rate", "clean", "clean") == pytest.approx(spent)
    assert _value(found, "tcuq_paper", "budget_share", "clean", "clean") == pytest.approx(spent / 0.1)
    spread = clean["threshold"][params.warmup :].std(ddof=1)
    assert _value(found, "tcuq_paper", "threshold_spread", "clean", "clean") == pytest.approx(spread)
    rate = shifted["flagged"].mean()
    assert _value(found, "tcuq_paper", "flag_rate", "unseen", kind) == pytest.approx(rate)
    there = every_stream(schedule)[kind].shift > 0
    rate = shifted["flagged"][there].mean()
    assert _value(found, "tcuq_paper", "flag_rate", "shifted", kind) == pytest.approx(rate)
    for label in ("tcuq_paper", "tcuq_paper_no_conformal"):
        assert _value(found, label, "violations", "all") == 0
        assert _value(found, label, "streams", "all") == len(every_stream(schedule))
        assert 0 < _value(found, label, "share_of_bound", "worst") <= 1
        assert _value(found, label, "window_bound", "all") == 18
        assert _value(found, label, "window_abstentions", "worst") <= 18
    # What adapts keeps its level under shift; what is frozen flags what the shift brings.
    assert _value(found, "tcuq_paper", "flag_rate", "unseen", kind) < 0.12
    assert _value(found, "tcuq_paper_no_conformal", "flag_rate", "unseen", kind) > 0.2
    assert _value(found, "tcuq_paper_no_conformal", "threshold_spread", "clean", "clean") == 0
    assert _value(found, "tcuq_paper", "window_change", "first") == 0


def test_a_decision_that_does_not_follow_is_a_violation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_run = rate_audit.run_over

    def forged(*args: Any, **more: Any) -> Any:
        if not more:
            return true_run(*args)
        steps, signals = true_run(*args, **more)
        steps["abstain"][500] ^= True
        return steps, signals

    monkeypatch.setattr(rate_audit, "run_over", forged)
    found = measure(_plan("tcuq_paper"), UNIT, Kept(tmp_path))  # type: ignore[arg-type]
    streams = _value(found, "tcuq_paper", "streams", "all")
    assert _value(found, "tcuq_paper", "violations", "all") >= streams
