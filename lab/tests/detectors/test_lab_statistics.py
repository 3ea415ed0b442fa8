"""Alarm statistics and run lengths against loops over steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcuq_lab.detectors.run_lengths import SLACK, alarm_steps, find_limit, run_length
from tcuq_lab.detectors.statistics import (
    STATISTICS,
    Cusum,
    Ewma,
    FrozenQuantileCount,
    PageHinkley,
    RankCusum,
    Reference,
    ShiryaevRoberts,
    TwoSidedCusum,
    WindowMean,
)

few = settings(max_examples=25, deadline=None)
scores = st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5)), min_size=0, max_size=60)


def slow_window_mean(z: list[float], m: int) -> list[float]:
    return [math.fsum(z[max(0, t - m + 1) : t + 1]) / m for t in range(len(z))]


def slow_ewma(z: list[float], rate: float) -> list[float]:
    out, value = [], 0.0
    for x in z:
        value = (1 - rate) * value + rate * x
        out.append(value)
    return out


def slow_cusum(z: list[float], allowance: float) -> list[float]:
    out, value = [], 0.0
    for x in z:
        value = max(0.0, value + x - allowance)
        out.append(value)
    return out


def slow_page_hinkley(z: list[float], allowance: float, prior: int) -> list[float]:
    out, total, walk, lowest = [], 0.0, 0.0, 0.0
    for t, x in enumerate(z, 1):
        total += x
        walk += x - total / (t + prior) - allowance
        lowest = min(lowest, walk)
        out.append(walk - lowest)
    return out


def slow_shiryaev_roberts(z: list[float], shift: float) -> list[float]:
    out, value = [], 0.0
    for x in z:
        value = (1 + value) * math.exp(shift * x - shift**2 / 2)
        out.append(math.log(value))
    return out


def slow_rank(x: float, clean: Any) -> float:
    return float(np.mean([1.0 if c < x else 0.5 if c == x else 0.0 for c in clean]))


def slow_path(statistic: Any, score: list[float]) -> list[float]:
    reference = statistic.reference
    z = [(x - reference.mean) / reference.sd for x in score]
    if isinstance(statistic, WindowMean):
        return slow_window_mean(z, statistic.m)
    if isinstance(statistic, Ewma):
        return slow_ewma(z, statistic.rate)
    if isinstance(statistic, TwoSidedCusum):
        up, down = slow_cusum(z, statistic.allowance), slow_cusum([-x for x in z], statistic.allowance)
        return [max(pair) for pair in zip(up, down, strict=True)]
    if isinstance(statistic, Cusum):
        return slow_cusum(z, statistic.allowance)
    if isinstance(statistic, PageHinkley):
        return slow_page_hinkley(z, statistic.allowance, statistic.prior)
    if isinstance(statistic, ShiryaevRoberts):
        return slow_shiryaev_roberts(z, statistic.shift)
    if isinstance(statistic, RankCusum):
        ranks = [slow_rank(x, reference.ordered) for x in reference.ordered]
        spread = float(np.std(ranks)) or math.sqrt(1 / 12)
        return slow_cusum(
            [(slow_rank(x, reference.ordered) - 0.5) / spread for x in score], statistic.allowance
        )
    assert isinstance(statistic, FrozenQuantileCount)
    clean = sorted(reference.ordered)
    cut = clean[min(len(clean) - 1, int(statistic.level * len(clean)))]
    over = [x > cut for x in score]
    return [float(sum(over[max(0, t - statistic.window + 1) : t + 1])) for t in range(len(over))]


def slow_alarms(path: Callable[[Any], Any], score: Any, limit: float) -> list[int]:
    found, begin = [], 0
    while begin < len(score):
        above = [t for t, value in enumerate(path(score[begin:])) if value > limit + SLACK]
        if not above:
            break
        found.append(begin + above[0])
        begin += above[0] + 1
    return found


@pytest.mark.parametrize("name", STATISTICS)
@few
@given(scores, st.lists(st.integers(-2, 2).map(float), min_size=1, max_size=9))
def test_paths_are_those_of_the_recursions(name: str, score: Any, clean: Any) -> None:
    statistic = STATISTICS[name](Reference.of([clean]))
    assert statistic.path(np.array(score, float)) == pytest.approx(slow_path(statistic, score), abs=1e-9)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("rounded", [False, True])
def test_restarts_and_counts_by_loop(name: str, rounded: bool) -> None:
    rng = np.random.default_rng(6)
    score = rng.normal(0, 1, 700)
    score = score.round() if rounded else score
    statistic = STATISTICS[name](Reference.of([score]))
    path = statistic.path(score)
    for limit in (-99.0, float(np.quantile(path, 0.5)), float(np.quantile(path, 0.97)), float(path.max())):
        expected = slow_alarms(statistic.path, score, limit)
        assert alarm_steps(statistic, score, limit).tolist() == expected
        assert alarm_steps(statistic, score, limit, most=3).tolist() == expected[:3]
    halves = [score[:300], score[300:]]
    limit = float(np.quantile(path, 0.9))
    found = run_length(statistic, halves, limit)
    assert found.alarms == sum(len(slow_alarms(statistic.path, half, limit)) for half in halves)
    assert found.steps == 700


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("rounded", [False, True])
def test_the_limit_is_the_smallest_observed_value_that_will_do(name: str, rounded: bool) -> None:
    rng = np.random.default_rng(7)
    runs = [rng.normal(0, 1, n) for n in (400, 250)]
    runs = [run.round() for run in runs] if rounded else runs
    statistic = STATISTICS[name](Reference.of(runs))
    found = find_limit(statistic, runs, 60)
    values = np.unique(np.round(np.concatenate([statistic.path(run) for run in runs]), 9))
    at = int(np.flatnonzero(values == found.limit)[0])

    def alarms(limit: float) -> int:
        return sum(len(slow_alarms(statistic.path, run, limit)) for run in runs)

    assert found.alarms == alarms(found.limit) and found.steps == 650
    assert found.steps / max(1, found.alarms) >= 60
    assert at == 0 or 650 / max(1, alarms(float(values[at - 1]))) < 60


@pytest.mark.parametrize("name", STATISTICS)
def test_unjudged_steps_are_run_over_but_not_counted(name: str) -> None:
    rng = np.random.default_rng(11)
    runs = [rng.normal(0, 1, n) for n in (900, 700)]
    judged = [rng.random(len(run)) < 0.7 for run in runs]
    statistic = STATISTICS[name](Reference.of(runs))
    limit = float(np.quantile(statistic.path(runs[0]), 0.9))

    def alarms(limit: float) -> int:
        return sum(
            int(mask[slow_alarms(statistic.path, run, limit)].sum())
            for run, mask in zip(runs, judged, strict=True)
        )

    found = run_length(statistic, runs, limit, judged)
    assert found.steps == sum(int(mask.sum()) for mask in judged) and found.alarms == alarms(limit) > 0
    kept = find_limit(statistic, runs, 60, judged)
    assert kept.steps == found.steps and kept.alarms == alarms(kept.limit) and kept.value >= 60
