"""The stage that reads: names, profiles, and options that do not go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fits import told
from refusals import refused
from streams import dwell_stream

from tcuq import Log, fit


def made(features: int = 4) -> Log:
    probs, values, truth, marks = dwell_stream(1200, 3, features, np.random.default_rng(0), shifted=True)
    return Log(probs, values, truth, shifted=marks)


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("conflict", {"about": "answer", "profile": "paper"}),
        ("value", {"about": "both"}),
        ("missing", {"signals": ("distance", "disbelief"), "use_features": False}),
        ("value", {"seed": -1}),
        ("value", {"lags": (65,), "profile": "paper"}),
    ],
)
def test_options_that_do_not_go_together_are_refused(code: str, options: dict[str, Any]) -> None:
    with refused(code):
        fit(made(), **told(**options))
