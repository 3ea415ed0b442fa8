"""The clock knows nothing on alternating streams, and much on a literal one."""

from __future__ import annotations

import numpy as np
import pytest

from tcuq_lab.experiments.studies import clock_ranking, clock_report
from tcuq_lab.metrics import average_precision
from tcuq_lab.metrics.drops import Band


@pytest.mark.parametrize("dwell", [1, 16])
def test_the_clock_is_at_chance_on_alternating_streams_and_good_on_a_literal_one(dwell: float) -> None:
    found = clock_report(layouts=20, steps=10_000, dwell=dwell)
    assert abs(found["clock"] - found["prevalence"]) < 0.03
    assert abs(found["reversed"] - found["prevalence"]) < 0.03
    assert 0.4 < found["prevalence"] < 0.7
    assert found["literal clock"] > 0.9 > found["literal prev."] + 0.3


def test_the_clock_ranks_late_drops_first() -> None:
    right = np.r_[np.ones(50, bool), np.zeros(50, bool)]
    late, early = (clock_ranking(right, Band(5, 0.9, 0.02, 10), backwards) for backwards in (False, True))
    assert late.measure(average_precision) == 1
    assert early.measure(average_precision) < early.share < 0.6
