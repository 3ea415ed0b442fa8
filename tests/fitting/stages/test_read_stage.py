"""The stage that reads: names, profiles, and options that do not go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fits import told
from streams import dwell_stream

from tcuq import FitOptions, Log, fit
from tcuq.fitting.stages import Request, read


def made(features: int = 4) -> Log:
    probs, values, truth, marks = dwell_stream(1200, 3, features, np.random.default_rng(0), shifted=True)
    return Log(probs, values, truth, shifted=marks)


def test_names_of_the_log_reach_the_parameters() -> None:
    log = made()
    assert fit(log, run_length=100, options=FitOptions(explain=False)).names is None
    object.__setattr__(log, "names", ("cat", "dog", "owl"))  # as a log that was read with names has them
    assert read(Request(log)).params.names == ("cat", "dog", "owl")
    assert fit(log, run_length=100, options=FitOptions(explain=False)).names == ("cat", "dog", "owl")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"about": "answer", "profile": "paper"},
            "about is 'answer', expected 'prediction' with profile 'paper'",
        ),
        ({"about": "both"}, "about is 'both', expected 'answer' or 'prediction'"),
        ({"class_mix": True, "profile": "paper"}, "class_mix corrects beliefs, expected profile 'standard'"),
        ({"signals": ("distance", "disbelief"), "use_features": False}, "signal 'distance' reads features"),
        ({"seed": -1}, "seed is -1"),
        ({"lags": (65,), "profile": "paper"}, "lag is 65, expected 1 to 64"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(made(), **told(**options))


def test_a_level_that_cannot_follow_the_budget_does_not() -> None:
    quick = FitOptions(explain=False)
    assert fit(made(), budget=1.0, run_length=100, options=quick).level == 0.1
