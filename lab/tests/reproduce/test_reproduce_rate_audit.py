"""Promised rates: a decision that does not follow is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import PLAIN, Kept
from tcuq_lab.comparison.records import Record, pick
from tcuq_lab.reproduce.kinds import rate_audit
from tcuq_lab.reproduce.kinds.rate_audit import measure
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import experiment_from

UNIT = Unit("cifar10", 16.0, 0)


def _plan(*rows: str, **options: Any) -> Any:
    return experiment_from({**PLAIN, "kind": "rate_audit", "rows": list(rows), "options": options}, {})


def _value(found: list[Record], method: str, metric: str, variant: str, stream: str = "pooled") -> float:
    (row,) = pick(found, stream=stream, method=method, metric=metric, variant=variant)
    return float(row["value"])


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
