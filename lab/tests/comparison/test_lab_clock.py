"""The clock knows nothing on alternating streams, and much on a literal one."""

from __future__ import annotations

import clock as tool
import numpy as np
import pytest

from tcuq_lab.comparison.clock import clock, clock_precision, clock_report, simulated
from tcuq_lab.detection.events import Band


@pytest.mark.parametrize("dwell", [1, 16])
def test_the_clock_is_at_chance_on_alternating_streams_and_good_on_a_literal_one(dwell: float) -> None:
    found = clock_report(layouts=20, steps=10_000, seed=0, dwell=dwell)
    assert abs(found.forwards - found.prevalence) < 0.03
    assert abs(found.backwards - found.prevalence) < 0.03
    assert found.bias < 0.03
    assert 0.4 < found.prevalence < 0.7
    assert found.literal > 0.9 > found.literal_prevalence + 0.3


def test_few_stretches_favor_the_clock() -> None:
    assert clock_report(layouts=60, steps=1500, seed=1, mean=300).bias > 0.03


def test_the_clock_ranks_late_drops_first() -> None:
    right = np.r_[np.ones(50, bool), np.zeros(50, bool)]
    band = Band(5, 0.9, 0.02, 10)
    assert clock_precision(right, band)[0] == 1
    early, share = clock_precision(right, band, backwards=True)
    assert early < share < 0.6
    assert (np.diff(clock(9)) > 0).all() and (clock(9, True) == clock(9)[::-1]).all()


def test_errors_are_one_line() -> None:
    with pytest.raises(ValueError, match=r"^layouts is 1"):
        clock_report(1)
    with pytest.raises(ValueError, match=r"^0 of 2 layouts have drop events, expected at least 2$"):
        clock_report(2, steps=300, right=simulated(0.85, 0.85))


def test_the_command_prints_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--layouts", "4", "--steps", "6000", "--mean", "200"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("4 layouts of 6,000 steps") and printed.count("AUPRC") == 3
    assert tool.main(["--layouts", "0"]) == 2
    assert capsys.readouterr().err.startswith("error: layouts is 0")
