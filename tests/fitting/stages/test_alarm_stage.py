"""The stage that sets the alarm: run lengths, proofs, and what a clean log supports."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fits import findings
from refusals import refused
from streams import dwell_stream

from tcuq import FitOptions, Log, fit


def made(seed: int = 0, steps: int = 3000, labels: bool = True) -> Log:
    probs, features, truth, marks = dwell_stream(steps, 5, 4, np.random.default_rng(seed), shifted=True)
    return Log(probs, features, truth if labels else None, shifted=marks)


def test_a_long_run_length_is_taken_and_what_the_log_supports_is_said() -> None:
    limits = []
    for wanted in (100, 10_000, 10_000_000):
        params = fit(made(), run_length=wanted, options=FitOptions(explain=False))
        assert params.alarm.rise is not None and params.notes["fit"]["run_length"] == wanted
        limits.append(params.alarm.rise.limit)
        count = params.notes["fit"]["clean_steps"]
        few = {"code": "few_clean", "steps": count, "run_length": wanted, "enough": wanted}
        assert findings(params).get("few_clean") == (few if wanted > count else None)
    with refused("value", "run_length"):
        fit(made(), run_length=10_000_001)


@pytest.mark.parametrize("labels", [True, False])
def test_a_proved_limit_follows_from_the_run_length_alone(labels: bool) -> None:
    params = fit(made(labels=labels), alarm="proved", run_length=1_000_000, options=FitOptions(explain=False))
    assert params.alarm.rise is not None and params.evidence is not None and params.evidence.bet is not None
    assert math.isclose(params.alarm.rise.limit, math.log(1_000_000), abs_tol=1e-4)
    assert params.evidence.allowance == 0.0 and params.notes["fit"]["evidence"]["proved"] == 1_000_000
    assert "few_clean" not in findings(params)


def test_a_proved_alarm_needs_two_heads() -> None:
    with refused("value", "alarm"):
        fit(made(), alarm="proved", profile="paper")
    with refused("value", "alarm"):
        fit(made(), alarm="loud")  # type: ignore[arg-type]


def test_a_clean_log_without_the_features_is_refused_by_name() -> None:
    log = made()
    with refused("value"):
        fit(log, clean=Log(log.probs))
    bare = FitOptions(use_features=False, explain=False)
    assert fit(log, clean=Log(log.probs), options=bare, run_length=300).features == 0
