"""Figures of stretches, their replicates and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcuq.metrics import auroc
from tcuq_lab.experiments.coverage import coverage
from tcuq_lab.harness.figures import Auroc, LeftAt, Mean, Median
from tcuq_lab.harness.intervals import Drawn, difference, drawn, draws, interval, mean, pooled

pytestmark = pytest.mark.slow

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


def never(late: int, replicates: int = 100) -> Drawn:
    """Return a delay of 5 steps that is infinite in some of the replicates."""
    values = np.full(replicates, 5.0, np.float32)
    values[:late] = math.inf
    return Drawn(5.0, values, 11)


def test_a_difference_with_an_undefined_pair_is_undefined() -> None:
    missed = Drawn(math.inf, np.full(100, math.inf, np.float32), 11)
    found = difference([never(0), missed], [never(0), missed])
    assert all(map(math.isnan, found[:3]))
    assert difference([never(0), missed], [never(0), never(0)])[:3] == (math.inf,) * 3


def test_a_delay_over_networks_is_the_median_of_all_delays() -> None:
    rng = np.random.default_rng(4)
    late = [[*rng.integers(1, 40, 8).astype(float), *[math.inf] * missed] for missed in (0, 2, 12)]
    stretches = [np.arange(len(each)) % 6 for each in late]
    networks = [
        drawn(Median(each, at, 6), 6, f"made {number}", 300)
        for number, (each, at) in enumerate(zip(late, stretches, strict=True))
    ]
    assert networks[2].value == math.inf  # one network misses most, yet the figure is defined
    found = mean(networks)
    assert found.estimate == np.median(np.concatenate(late)) < math.inf
    again = []
    taken = np.concatenate([draws(6, f"made {number}", 300) for number in range(3)], axis=1).astype(int)
    for row in taken:
        counts = [row[6 * number + at] for number, at in enumerate(stretches)]
        again.append(np.median(np.repeat(np.concatenate(late), np.concatenate(counts))))
    np.testing.assert_allclose(pooled(networks).replicates, again)
    assert found.low <= np.percentile(again, 20) and found.high >= np.percentile(again, 80)
    sooner = [
        drawn(Median(np.array(each) - 1, at, 6), 6, f"made {n}", 300)
        for n, (each, at) in enumerate(zip(late, stretches, strict=True))
    ]
    assert difference(networks, sooner).estimate == 1


def networks_of(counts: np.ndarray, each: int, of: str) -> list[Drawn]:
    """Return a figure of networks from the events of their stretches, `each` chances in every stretch."""
    found = []
    for number, network in enumerate(counts):
        steps = np.repeat(np.arange(len(network)), each)
        happened = np.concatenate([np.arange(each) < count for count in network])
        got = drawn(Mean(happened, steps), len(network), f"made {number}", 200)
        found.append(got._replace(**{of: float(counts.shape[1] * each)}))
    return found


def test_a_share_of_which_all_events_agree_has_an_interval() -> None:
    alike = networks_of(np.full((5, 12), 1), 1, "events")
    assert mean(alike).low == pytest.approx(0.94, abs=0.005) and mean(alike).high == 1.0
    assert difference(alike, alike)[:3] == pytest.approx((0.0, -0.032, 0.032), abs=0.001)
    steps = [each._replace(events=0.0) for each in alike]
    assert mean(steps).low == 1.0  # a share of steps, such as time under alarm, is drawn again alone


@pytest.mark.parametrize(
    ("of", "chance", "burst"), [("events", 0.98, 1), ("exposure", 0.002, 1), ("exposure", 0.001, 2)]
)
def test_intervals_of_events_hold_the_truth(of: str, chance: float, burst: int) -> None:
    rng, held = np.random.default_rng(5), 0
    each = 3 if of == "events" else 200
    for _ in range(60):
        counts = np.minimum(burst * rng.binomial(each, chance, (2, 12)), each)
        found = mean(networks_of(counts, each, of))
        held += found.low <= chance * burst <= found.high
    assert held >= 53  # a draw from 0.95 is below that once in 60 times


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    # 120 experiments: a share of 0.95 is known to 0.02.
    found = coverage(120, replicates=300)
    assert len(found) == 6
    assert min(found.values()) > 0.88 and np.mean(list(found.values())) > 0.92
