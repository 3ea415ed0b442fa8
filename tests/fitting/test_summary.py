"""What a fit says: six lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fits import told
from streams import dwell_stream

from tcuq import Log, fit
from tcuq.monitor.params_words import in_words


def made(steps: int = 3000, labels: bool = True, kinds: int = 1, features: int = 4) -> Log:
    probs, values, truth, marks = dwell_stream(steps, 5, features, np.random.default_rng(0), shifted=True)
    shifted = np.where(marks, 1 + np.arange(steps) // 500 % kinds, 0)
    return Log(probs, values, truth if labels else None, shifted=shifted)


def lines_of(log: Log, **options: Any) -> list[str]:
    text = str(fit(log, **told(**{"run_length": 200, **options}))).splitlines()
    return [line for line in text if not line.startswith(("Note: ", "Dropped: "))]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("explain", [True, False])
@pytest.mark.parametrize("alarm", ["evidence", "risk", "proved"])
def test_there_are_six_lines(labels: bool, explain: bool, alarm: Any) -> None:
    steps, chosen, gain, abstains, alarms, accuracy = lines_of(
        made(labels=labels), explain=explain, alarm=alarm
    )
    assert steps.startswith("3,000 steps in 1 segment, 1,500 of them clean")
    # Without labels, only evidence reads features.
    inputs = "posteriors and 4 features" if labels or alarm != "risk" else "posteriors alone"
    assert chosen.startswith("Chosen: profile standard (odds, ")
    assert f"for 5 classes on {inputs}, about the answer; " in chosen
    assert abstains == "Abstains: on at most 15% of the steps; flags 15%."
    assert gain.startswith("Wrong: " if labels else "Gain: unknown without labels")
    assert ("best simple rule" in gain) == (labels and explain)
    assert alarms.startswith("Alarm: risk;" if alarm == "risk" else "Alarm: evidence from odds, ")
    assert ("proved" in alarms) == (alarm == "proved")
    assert ("held-out clean steps" in alarms) == explain
    assert accuracy.startswith("Expected accuracy: " + ("over about 32 steps" if labels else "none"))
    assert ("fewer than two kinds" in accuracy) == (labels and explain)


def test_the_lines_say_what_was_measured() -> None:
    log = made(4000, kinds=2)
    params = fit(log, run_length=200)
    found = params.notes["fit"]
    _, _, gain, _, finds, _, accuracy = lines_of(log)
    left_out = found["left_out"]
    assert finds.startswith(f"Alarm: found {left_out['found']} of 2 kinds left out in turn, median delay ")
    assert f"on for {left_out['on_shifted']:.0%} of shifted and {left_out['on_clean']:.0%} of clean" in finds
    missed = {**found, "left_out": {**left_out, "found": 0, "delay": None}}
    assert "\nAlarm: do not rely on this alarm: it found 0 of 2 kinds" in str(
        params.replace(notes={"fit": missed})
    )
    rules = found["rules"]["of"]
    assert (
        f"{log.errors().mean():.1%} of the predictions, {found['errors'] / 4000:.1%} of the answers" in gain
    )
    assert f"with kinds of shift left out in turn: {rules['monitor']['left']:.1%}" in gain
    best = min((row["left"], name) for name, row in rules.items() if name != "monitor")
    assert f"{best[1]}: {best[0]:.1%}" in gain
    assert f"off by {found['expected_accuracy']['error']:.3f} on average" in accuracy
    details = in_words(params, details=True)
    assert "belief filter" in details and "held-out AUROC" in details
    assert len(details.splitlines()) > len(str(params).splitlines()) + 8


def test_too_few_clean_steps_set_no_alarm_of_any_kind() -> None:
    few = made(400).take(np.arange(150))
    for alarm in ("evidence", "proved"):
        params = fit(replace(made(1000), shifted=None), clean=few, run_length=200, alarm=alarm)
        assert params.alarm.rise is None and params.alarm.fall is None
        text = str(params)
        assert "Alarm: none, as 150 clean steps are too few" in text and "no alarm is set" in text


def test_own_signals_are_called_so() -> None:
    assert lines_of(made(), signals=("odds", "disbelief"))[1].startswith("Chosen: own signals (odds, ")


def test_the_line_says_why_the_alarm_is_not_learned() -> None:
    assert "as deviations from clean steps, as labels are missing;" in lines_of(made(labels=False))[4]
    bare = replace(made(), shifted=None)
    assert "as deviations from clean steps, as no step is marked as shifted;" in lines_of(bare)[4]
    assert ", learned from shifts;" in lines_of(made(kinds=2), explain=False)[4]
