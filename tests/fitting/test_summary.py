"""What a fit says: six lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fits import told
from streams import dwell_stream

from tcuq import Log, fit


def made(steps: int = 3000, labels: bool = True, kinds: int = 1, features: int = 4) -> Log:
    probs, values, truth, marks = dwell_stream(steps, 5, features, np.random.default_rng(0), shifted=True)
    shifted = np.where(marks, 1 + np.arange(steps) // 500 % kinds, 0)
    return Log(probs, values, truth if labels else None, shifted=shifted)


def lines_of(log: Log, **options: Any) -> list[str]:
    text = str(fit(log, **told(**{"run_length": 200, **options}))).splitlines()
    return [line for line in text if not line.startswith(("Note: ", "Dropped: "))]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("explain", [True, False])
@pytest.mark.parametrize("alarm", ["sight", "risk", "proved"])
def test_there_are_six_lines(labels: bool, explain: bool, alarm: Any) -> None:
    steps, chosen, gain, abstains, alarms, accuracy = lines_of(
        made(labels=labels), explain=explain, alarm=alarm
    )
    assert steps.startswith("3,000 steps in 1 segment, 1,500 of them clean")
    # Without labels, only the alarm reads features.
    inputs = "posteriors and 4 features" if labels or alarm != "risk" else "posteriors alone"
    assert chosen.startswith("Chosen: profile standard (odds, ")
    assert f"for 5 classes on {inputs}, about the answer; " in chosen
    assert abstains == "Abstains: on at most 15% of the steps; flags 15%."
    assert gain.startswith("Wrong: " if labels else "Gain: unknown without labels")
    assert ("best simple rule" in gain) == (labels and explain)
    what = {
        "risk": "risk;",
        "sight": "distance from clean data, of outputs;",
        "proved": "evidence from odds, ",
    }
    assert alarms.startswith(f"Alarm: {what[alarm]}")
    assert ("proved" in alarms) == (alarm == "proved")
    assert ("held-out clean steps" in alarms) == explain
    expects = labels or alarm == "sight"
    assert accuracy.startswith("Expected accuracy: " + ("over about 32 steps" if expects else "none"))
    assert ("fewer than two shift types" in accuracy) == (labels and explain)


def test_too_few_clean_steps_set_no_alarm_of_any_kind() -> None:
    few = made(400).take(np.arange(150))
    for alarm in ("sight", "proved"):
        params = fit(replace(made(1000), shifted=None), clean=few, run_length=200, alarm=alarm)
        assert params.alarm.rise is None and params.alarm.fall is None
        text = str(params)
        assert "Alarm: none, as 150 clean steps are too few" in text and "no alarm is set" in text


def test_what_the_monitor_does_not_do_is_said() -> None:
    log = made(kinds=2)
    params = fit(replace(log, probs=np.eye(5)[log.predictions()], features=None), run_length=200)
    assert "Alarm: distance from clean data, of outputs; " in str(params)
    fitted: Any = params.notes["fit"]
    rules = fitted["rules"]["of"]
    best = min(row["left"] for name, row in rules.items() if name != "monitor")
    for left, said in ((best, True), (best - 0.01, False)):
        told_of = {**fitted["rules"], "of": {**rules, "monitor": {"wrong": 0.2, "left": left}}}
        text = str(params.replace(notes={"fit": {**fitted, "rules": told_of}}))
        assert (". This simple rule does as well as the monitor or better." in text) == said
