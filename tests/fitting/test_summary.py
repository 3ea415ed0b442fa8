"""What a fit with two heads says: five lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import Log, fit
from tcuq.fitting import fit_findings


def made(steps: int = 3000, labels: bool = True, kinds: int = 1, features: int = 4) -> Log:
    probs, values, truth, marks = dwell_stream(steps, 5, features, np.random.default_rng(0), shifted=True)
    shifted = np.where(marks, 1 + np.arange(steps) // 500 % kinds, 0)
    return Log(probs, values, truth if labels else None, shifted=shifted)


def lines_of(log: Log, **options: Any) -> list[str]:
    text = fit_findings(fit(log, **{"run_length": 200, **options})).splitlines()
    return [line for line in text if not line.startswith("Note: ")]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("explain", [True, False])
@pytest.mark.parametrize("alarm", ["evidence", "risk", "proved"])
def test_there_are_five_lines(labels: bool, explain: bool, alarm: Any) -> None:
    steps, chosen, gain, alarms, accuracy = lines_of(made(labels=labels), explain=explain, alarm=alarm)
    assert steps.startswith("3,000 steps in 1 segment, 1,500 of them clean")
    # Without labels, only evidence reads features.
    inputs = "posteriors and 4 features" if labels or alarm != "risk" else "posteriors alone"
    assert chosen.startswith("Chosen: profile standard (odds, ")
    assert f"on {inputs}, about the answer; " in chosen
    assert gain.startswith("Wrong: " if labels else "Gain: unknown without labels")
    assert ("best simple rule" in gain) == (labels and explain)
    assert alarms.startswith("Alarm: risk;" if alarm == "risk" else "Alarm: evidence from odds, ")
    assert ("proved" in alarms) == (alarm == "proved")
    assert ("held-out clean steps" in alarms) == explain
    assert accuracy.startswith("Expected accuracy: " + ("over about 128 steps" if labels else "none"))
    assert ("fewer than two kinds" in accuracy) == (labels and explain)


def test_the_lines_say_what_was_measured() -> None:
    log = made(4000, kinds=2)
    params = fit(log, run_length=200)
    found = params.notes["fit"]
    _, _, gain, _, accuracy = lines_of(log)
    rules = found["rules"]["of"]
    assert (
        f"{log.errors().mean():.1%} of the predictions, {found['errors'] / 4000:.1%} of the answers" in gain
    )
    assert f"with kinds of shift left out in turn: {rules['monitor']['left']:.1%}" in gain
    best = min((row["left"], name) for name, row in rules.items() if name != "monitor")
    assert f"{best[1]}: {best[0]:.1%}" in gain
    assert f"off by {found['expected_accuracy']['error']:.3f} on average" in accuracy
    details = fit_findings(params, details=True)
    assert "belief filter" in details and "held-out AUROC" in details
    assert len(details.splitlines()) > len(fit_findings(params).splitlines()) + 8


def test_too_few_clean_steps_set_no_alarm_of_any_kind() -> None:
    few = made(400).take(np.arange(150))
    for alarm in ("evidence", "proved"):
        params = fit(made(1000), clean=few, run_length=200, alarm=alarm)
        assert params.alarm.rise is None and params.alarm.fall is None
        text = fit_findings(params)
        assert "Alarm: none, as 150 clean steps are too few" in text and "no alarm is set" in text


def test_own_signals_are_called_so() -> None:
    assert lines_of(made(), signals=("odds", "disbelief"))[1].startswith("Chosen: own signals (odds, ")


def test_the_line_says_why_the_alarm_is_not_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "as deviations from clean steps, as labels are missing;" in lines_of(made(labels=False))[3]
    bare = replace(made(), shifted=None)
    assert "as deviations from clean steps, as no step is marked as shifted;" in lines_of(bare)[3]
    assert ", learned from shifts;" in lines_of(made(kinds=2), explain=False)[3]
    scores = {"learned": 0.7, "learned without magnitude": 0.8, "deviations": 0.9}
    found = "deviations", ("odds",), {"left_out": scores, "chosen": "deviations"}
    monkeypatch.setattr("tcuq.fitting.stages.alarm.choose_evidence", lambda *given: found)
    line = lines_of(made(kinds=2), explain=False)[3]
    assert "better than learned evidence (AUROC 0.900, not 0.800);" in line
    assert ", learned from shifts;" in lines_of(made(kinds=2), explain=False, evidence=True)[3]
