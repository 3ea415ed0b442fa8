# SPDX-License-Identifier: MIT
"""What a fit says where it has nothing to say, and what it refuses."""

from __future__ import annotations

import numpy as np
from refusals import refused

from tcuq import Log
from tcuq.fitting.clean import refuse_other_shape
from tcuq.fitting.stages.heads import MOST, _drawn

PROBS = np.full((4, 2), 0.5)


def log_of(scale: float) -> Log:
    return Log(PROBS, np.zeros((4, 3), np.int8), feature_scale=scale, feature_zero_point=0)


def test_a_clean_log_of_another_model_is_refused() -> None:
    refuse_other_shape(log_of(0.5), log_of(0.5), True)
    refuse_other_shape(log_of(0.5), log_of(0.25), False)  # nobody reads them
    with refused("conflict"):
        refuse_other_shape(log_of(0.5), log_of(0.25), True)


def test_a_sample_of_rows_is_bounded() -> None:
    rows = np.ones(MOST + 500, dtype=bool)
    kept = _drawn(rows, np.random.default_rng(0))
    assert kept.sum() == MOST and not (kept & ~rows).any()
    few = np.zeros(100, dtype=bool)
    assert _drawn(few, np.random.default_rng(0)) is few
