"""The stage that reads: names, profiles, and options that do not go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import dwell_stream

from tcuq import Log, fit
from tcuq.fitting.options import FitOptions
from tcuq.fitting.stages import Request, read


def made(features: int = 4) -> Log:
    probs, values, truth, marks = dwell_stream(1200, 3, features, np.random.default_rng(0), shifted=True)
    return Log(probs, values, truth, shifted=marks)


def test_names_of_the_log_reach_the_parameters() -> None:
    log = made()
    assert fit(log, run_length=100, explain=False).names is None
    object.__setattr__(log, "names", ("cat", "dog", "owl"))  # as a log that was read with names has them
    assert read(Request(log, None, FitOptions())).params.names == ("cat", "dog", "owl")
    assert fit(log, run_length=100, explain=False).names == ("cat", "dog", "owl")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"about": "answer", "profile": "paper"}, "about is 'answer', expected 'prediction' where no signal"),
        ({"about": "both"}, "about is 'both', expected 'answer' or 'prediction'"),
        ({"class_mix": True, "profile": "extended"}, "class_mix corrects beliefs, expected a profile"),
        ({"signals": ("odds", "distance"), "use_features": False}, "signal 'distance' needs 1 to 256"),
        ({"risk_signals": ("doubt",)}, "risk signal doubt is not among the signals"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(made(), **options)


def test_two_heads_come_with_their_signal() -> None:
    own = fit(made(), signals=("odds", "disbelief"), run_length=100, explain=False)
    assert own.instant is not None and own.about == "answer" and own.anchor == "belief"
    one = fit(made(), signals=("odds", "distance"), run_length=100, explain=False)
    assert one.instant is None and one.about == "prediction" and one.centers is not None
    assert fit(made(), budget=1.0, run_length=100, explain=False).level == 0.1, "no level can follow it"
