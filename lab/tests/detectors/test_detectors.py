"""Alarm statistics, limits and alarms: against loops, scikit-learn and river, and on made shifts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import EmpiricalCovariance

from tcuq_lab.detectors.run_lengths import SLACK, alarm_steps, find_limit, run_length
from tcuq_lab.detectors.scores import centers_of
from tcuq_lab.detectors.statistics import STATISTICS, Reference, e_values, jumper, page_hinkley
from tcuq_lab.detectors.switches import adwin, capped
from tcuq_lab.detectors.windows import (
    hotelling,
)

scores = st.lists(st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5)), min_size=0, max_size=60)


def recursion(step: Any, z: list[float], start: float = 0.0) -> list[float]:
    out, value = [], start
    for x in z:
        value = step(value, x)
        out.append(value)
    return out


def sums(z: list[float], allowance: float = 0.5) -> list[float]:
    return recursion(lambda value, x: max(0.0, value + x - allowance), z)


def above_mean(z: list[float]) -> list[float]:
    means = [sum(z[: t + 1]) / (t + 1 + 100) for t in range(len(z))]
    return sums([x - mean for x, mean in zip(z, means, strict=True)], 0.25)


def windows(z: list[float], m: int) -> list[float]:
    return [math.fsum(z[max(0, t - m + 1) : t + 1]) for t in range(len(z))]


LOOPS: dict[str, Any] = {
    "window_mean": lambda z: [each / 100 for each in windows(z, 100)],
    "window_mean_25": lambda z: [each / 25 for each in windows(z, 25)],
    "ewma_16": lambda z: recursion(lambda value, x: value * 15 / 16 + x / 16, z),
    "ewma_64": lambda z: recursion(lambda value, x: value * 63 / 64 + x / 64, z),
    "cusum": sums,
    "rank_cusum": sums,
    "two_sided_cusum": lambda z: [max(pair) for pair in zip(sums(z), sums([-x for x in z]), strict=True)],
    "page_hinkley": above_mean,
    "shiryaev_roberts": lambda z: [
        math.log(each) for each in recursion(lambda value, x: (1 + value) * math.exp(x - 0.5), z)
    ],
    "frozen_quantile_count": lambda z: windows(z, 50),
}


@pytest.mark.parametrize("name", STATISTICS)
@settings(max_examples=25, deadline=None)
@given(scores, st.lists(st.integers(-2, 2).map(float), min_size=1, max_size=9))
def test_paths_are_those_of_the_recursions(name: str, score: Any, clean: Any) -> None:
    mean, spread = np.mean(clean), np.std(clean) or 1.0
    z = [(x - mean) / spread for x in score]
    if name == "rank_cusum":
        ranks = [[np.mean([(c < x) + (c == x) / 2 for c in clean]) for x in of] for of in (clean, score)]
        z = [(rank - 0.5) / (np.std(ranks[0]) or math.sqrt(1 / 12)) for rank in ranks[1]]
    if name == "frozen_quantile_count":
        z = [float(x > sorted(clean)[min(len(clean) - 1, int(0.9 * len(clean)))]) for x in score]
    found = STATISTICS[name](Reference.of([clean])).path(np.array(score, float))
    assert found == pytest.approx(LOOPS[name](z), abs=1e-9)


def slow_alarms(statistic: Any, score: Any, limit: float) -> list[int]:
    found, begin = [], 0
    while begin < len(score):
        above = np.flatnonzero(statistic.path(score[begin:]) > limit + SLACK)
        if not len(above):
            break
        found.append(begin + int(above[0]))
        begin = found[-1] + 1
    return found


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("rounded", [False, True])
def test_limits_are_the_smallest_values_that_keep_a_run_length(name: str, rounded: bool) -> None:
    """Statistics start over after each alarm."""
    rng = np.random.default_rng(7)
    runs = [rng.normal(0, 1, n) for n in (700, 500)]
    runs = [run.round() for run in runs] if rounded else runs
    statistic = STATISTICS[name](Reference.of(runs))
    values = np.unique(np.round(np.concatenate([statistic.path(run) for run in runs]), 9))
    terms = statistic.terms(runs[0])
    for limit in (-99.0, float(np.quantile(values, 0.6)), float(values.max())):
        expected = slow_alarms(statistic, runs[0], limit)
        assert alarm_steps(statistic, terms, limit).tolist() == expected
        assert alarm_steps(statistic, terms, limit, most=3).tolist() == expected[:3]

    def alarms(limit: float) -> int:
        return sum(len(slow_alarms(statistic, run, limit)) for run in runs)

    kept = find_limit(statistic, runs, 60)
    assert kept == run_length(statistic, runs, kept.limit)
    assert kept.steps == 1200 and kept.alarms == alarms(kept.limit) and kept.value >= 60
    at = int(np.flatnonzero(values == kept.limit)[0])
    assert at == 0 or 1200 / max(1, alarms(float(values[at - 1]))) < 60


def rises(seed: int, level: float = 2.0, runs: int = 3) -> np.ndarray:
    """Standard scores that rise between steps 400 and 700."""
    x = np.random.default_rng(seed).normal(size=(runs, 1000))
    x[:, 400:700] += level
    return x


@pytest.mark.parametrize("whole", [False, True])
def test_a_capped_sum_is_the_plain_recursion(whole: bool) -> None:
    added = np.random.default_rng(1).normal(-0.2, 1.0, (3, 400))
    added = np.round(1000 * added).astype(np.int64) if whole else added
    limits = np.array([1.0, 2.5, 5.0]) * (1000 if whole else 1)
    found = capped(added, limits)
    for number, limit in enumerate(limits.tolist()):
        for run, line in enumerate(added.tolist()):
            total, on = 0.0, False
            for step, x in enumerate(line):
                total = min(max(0, total + x), limit)
                on = total >= limit or (on and total > 0)
                assert found[number, run, step] == on
    assert found[0].sum() > found[1].sum() > found[2].sum() > 0


def test_river_sees_changes_where_ours_do() -> None:
    drift = pytest.importorskip("river.drift", reason="pip install river")
    x = rises(4, runs=1)[0]
    judge = drift.PageHinkley(min_instances=1, delta=0.25, threshold=20.0, alpha=1.0, mode="up")
    seen = next(step for step, each in enumerate(x.tolist()) if _updated(judge, each))
    assert int(np.argmax(page_hinkley(x, 0.25, 0) > 20.0)) == seen > 400
    unit = np.clip(x / 8 + 0.4, 0, 1)
    window = drift.ADWIN(delta=0.002, clock=8, min_window_length=8)
    seen = next(step for step, each in enumerate(unit.tolist()) if _updated(window, each))
    on = adwin(unit[None], np.array([np.log(1 / 0.002)]), 8, 8, unit[:320])[0, 0]
    assert abs(int(np.argmax(on)) - seen) <= 16 and seen > 400


def _updated(judge: Any, x: float) -> bool:
    judge.update(x)
    return bool(judge.drift_detected)


def test_t2_is_the_squared_mahalanobis_distance_of_a_mean() -> None:
    rng = np.random.default_rng(5)
    mixed = np.eye(6) + 0.3 * rng.normal(0, 1, (6, 6))
    clean, x = (rng.normal(1, 2, (steps, 6)) @ mixed for steps in (800, 200))
    found, judge = hotelling(x[None], centers_of(clean), 30)[0], EmpiricalCovariance().fit(clean)
    means = np.array([x[at - 29 : at + 1].mean(axis=0) for at in range(29, 200)])
    np.testing.assert_allclose(found[29:], 30 * judge.mahalanobis(means), rtol=0.05)


def test_bets_are_fair_on_clean_data_and_win_on_changed_data() -> None:
    p = (np.arange(100_000) + 0.5) / 100_000
    for bets in ("linear", "power"):
        factors = np.exp(jumper(p[:, None], 0.1, bets))  # one step of every p-value
        assert factors.mean() == pytest.approx(1.0, abs=0.01)
        assert jumper(np.full((1, 200), 0.02), 0.01, bets).sum() > 20
    score = np.array([0.1, 0.9, 0.4, 0.6])
    assert np.exp(e_values(score, 0.4, 0.1, 0.9)).mean() == pytest.approx(1.0)
    assert np.exp(e_values(score, 0.6, 0.1, 0.9)).mean() < 1
