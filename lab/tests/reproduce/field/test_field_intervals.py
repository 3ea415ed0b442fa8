"""Figures of stretches, their replicates and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcuq.metrics import auroc
from tcuq_lab.reproduce.field.coverage import coverage
from tcuq_lab.reproduce.field.intervals import (
    Auroc,
    Drawn,
    LeftAt,
    averaged,
    difference,
    drawn,
    draws,
    interval,
    mean,
)

RNG = np.random.default_rng(3)
STRETCH = np.repeat([4, 1, 7], [30, 50, 40])
SCORE = np.round(RNG.random(120), 1)
WRONG = RNG.random(120) < SCORE
JUDGED = RNG.random(120) < 0.8


def taken_again(taken: np.ndarray) -> np.ndarray:
    """Return the judged steps, those of a stretch as often as it is taken."""
    number = np.unique(STRETCH, return_inverse=True)[1]
    return np.repeat(np.arange(120), np.where(JUDGED, taken[number], 0).astype(int))


def test_an_auroc_is_that_of_the_steps_that_are_taken() -> None:
    found = Auroc(SCORE, WRONG, STRETCH, JUDGED)
    for taken in draws(3, "some", 20):
        index = taken_again(taken)
        assert found.of(taken[None])[0] == pytest.approx(auroc(SCORE[index], WRONG[index]))


@pytest.mark.parametrize("coverage", [0.9, 0.8, 1.0, 0.001])
def test_errors_left_are_those_of_the_steps_that_are_taken(coverage: float) -> None:
    found = LeftAt(SCORE, WRONG, STRETCH, coverage, JUDGED)
    for taken in draws(3, "some", 20):
        index = taken_again(taken)
        score, wrong, left, kept = SCORE[index], WRONG[index], 0.0, coverage * len(index)
        for value in np.unique(score):
            share = min(1.0, max(0.0, kept - (score < value).sum()) / (score == value).sum())
            left += share * wrong[score == value].sum()
        assert found.of(taken[None])[0] == pytest.approx(left / kept)


def test_nothing_that_is_judged_is_undefined() -> None:
    none = np.zeros(120, dtype=bool)
    for figure in (Auroc(SCORE, WRONG, STRETCH, none), LeftAt(SCORE, WRONG, STRETCH, 0.9, none)):
        assert math.isnan(figure.of(np.ones((1, 3)))[0])


def test_rows_of_one_stream_are_drawn_alike_and_others_are_not() -> None:
    first, same = (drawn(Auroc(SCORE, WRONG, STRETCH), 3, "cifar10 0 test class 16", 50) for _ in range(2))
    assert difference([first], [same])[:3] == (0.0, 0.0, 0.0)
    assert not np.array_equal(draws(12, "a", 50), draws(12, "b", 50))


def test_an_interval_counts_bias_and_freedom_and_stays_within_the_replicates() -> None:
    replicates = np.linspace(0.0, 1.0, 101).astype(np.float32)
    many, few = interval(Drawn(0.5, replicates, 1000)), interval(Drawn(0.5, replicates, 4))
    assert many.low == 0.0 and few.high == 1.0
    narrow = np.random.default_rng(0).normal(0.5, 0.1, 2000).astype(np.float32)
    at = interval(Drawn(0.5, narrow, 11))
    assert at.high - 0.5 == pytest.approx(2.2 * 0.1, rel=0.05)
    biased = interval(Drawn(0.55, narrow, 11))
    assert biased.high - biased.low > 1.1 * (at.high - at.low)


def test_infinite_replicates_give_an_infinite_end() -> None:
    replicates = np.array([1.0] * 1000 + [math.inf] * 1000, np.float32)
    assert interval(Drawn(1.0, replicates, 11))[:3] == (1.0, 1.0, math.inf)
    assert math.isnan(interval(Drawn(math.nan, np.full(5, math.nan, np.float32))).low)


def test_a_mean_over_networks_adds_their_degrees_of_freedom() -> None:
    parts = [drawn(Auroc(SCORE, WRONG, STRETCH), 3, name, 50) for name in "abc"]
    assert averaged(parts).freedom == 6
    assert mean(parts).estimate == pytest.approx(parts[0].value)


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    # 120 experiments: a share of 0.95 is known to 0.02.
    found = coverage(120, replicates=300)
    assert len(found) == 6
    assert min(found.values()) > 0.88 and np.mean(list(found.values())) > 0.92
