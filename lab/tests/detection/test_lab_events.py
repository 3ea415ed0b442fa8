"""Windows, bands, drop events and smoothing against loops over steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcuq_lab.detection.events import (
    Band,
    clean_band,
    drop_events,
    reaches,
    smooth,
    stretches,
    windowed_accuracy,
)

few = settings(max_examples=25, deadline=None)
streams = st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=0, max_size=40)
kinds_of = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40)


def window(t: int, m: int, segments: Any) -> list[int]:
    """Steps of the window that ends at t: at most m, none beyond the start of the run of equal numbers."""
    steps = [t]
    while len(steps) < m and steps[-1] > 0 and segments[steps[-1] - 1] == segments[t]:
        steps.append(steps[-1] - 1)
    return steps


@few
@given(streams, st.integers(1, 7))
def test_accuracy_is_that_of_full_windows(rows: Any, m: int) -> None:
    right, segments = [r for r, _ in rows], [s for _, s in rows]
    found = windowed_accuracy(np.array(right, bool), m, np.array(segments, int))
    for t in range(len(rows)):
        steps = window(t, m, segments)
        assert found.full[t] == (len(steps) == m)
        if found.full[t]:
            assert found.value[t] == sum(right[s] for s in steps) / m
        else:
            assert math.isnan(found.value[t])


@few
@given(streams, st.integers(1, 5), st.floats(0, 1), st.floats(0.01, 0.3))
def test_a_drop_is_at_or_below_the_limit(rows: Any, m: int, mu: float, sigma: float) -> None:
    right, segments = [r for r, _ in rows], [s for _, s in rows]
    found = drop_events(np.array(right, bool), Band(m, mu, sigma, 9), np.array(segments, int))
    for t in range(len(rows)):
        steps = window(t, m, segments)
        share = sum(right[s] for s in steps) / m
        assert found.judged[t] == (len(steps) == m)
        assert found.event[t] == (len(steps) == m and share <= mu - 3 * sigma + 1e-10)


def test_equality_with_the_limit_is_a_drop_in_spite_of_rounding() -> None:
    right = np.array([1] * 6 + [0] * 4, bool)
    for mu, sigma in ((0.9, 0.1), (0.75, 0.05), (0.99, 0.13)):  # each 0.6, not all so in floats
        assert drop_events(right, Band(10, mu, sigma, 1)).event[-1]
        right_7 = np.array([1] * 7 + [0] * 3, bool)
        assert not drop_events(right_7, Band(10, mu, sigma, 1)).event[-1]


def test_the_band_pools_windows_of_all_runs_and_never_joins_runs() -> None:
    rng = np.random.default_rng(0)
    runs = [rng.random(n) < 0.8 for n in (30, 4, 12)]
    values = [run[t - 4 : t + 1].mean() for run in runs for t in range(4, len(run))]
    band = clean_band(runs, 5)
    assert band.m == 5 and band.windows == len(values) == 26 + 0 + 8
    assert band.mu == pytest.approx(np.mean(values)) and band.sigma == pytest.approx(np.std(values))
    assert band.limit == pytest.approx(np.mean(values) - 3 * np.std(values))


@pytest.mark.parametrize("right", [0, 1])
def test_without_spread_the_clean_level_is_no_drop(right: int) -> None:
    band = clean_band([np.full(50, right)], 10)
    assert band.sigma == 0 and band.mu == right
    assert not drop_events(np.full(50, right), band).event.any()
    worse = drop_events(np.r_[np.full(20, right), np.zeros(20, int)], band)
    assert worse.event.any() == bool(right)  # below nothing right there is nothing
    if right:
        assert int(worse.event.argmax()) == 20  # one wrong answer is one too many


def test_a_spread_of_zero_is_zero_in_spite_of_rounding() -> None:
    assert clean_band([np.tile([1, 1, 0], 300)], 3).sigma == 0


def test_nothing_is_judged_in_a_short_stream() -> None:
    found = drop_events(np.zeros(99, bool), Band(100, 0.9, 0.01, 5))
    assert not found.judged.any() and not found.event.any()
    assert drop_events(np.zeros(100, bool), Band(100, 0.9, 0.01, 5)).event.tolist() == [False] * 99 + [True]
    assert len(drop_events([], Band(100, 0.9, 0.01, 5)).event) == 0


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: clean_band([np.ones(99)], 100), "longest clean run has 99 steps, expected at least m = 100"),
        (lambda: clean_band([], 100), "longest clean run has 0 steps"),
        (lambda: windowed_accuracy([1], 0), "m is 0, expected 1 to"),
        (lambda: windowed_accuracy([2], 1), r"right\[0\] is 2, expected 0 or 1"),
        (lambda: windowed_accuracy([1, 1], 1, [0]), "segments has 1 entries, the stream has 2"),
        (lambda: smooth([0.0, math.inf]), r"score\[1\] is inf, expected any finite"),
        (lambda: smooth([[0.0]]), "score has 2 dimensions"),
    ],
)
def test_errors_are_one_line(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@few
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 1)), min_size=0, max_size=40),
    st.integers(1, 9),
)
def test_smoothing_is_the_mean_of_the_window(rows: Any, m: int) -> None:
    score, segments = [x for x, _ in rows], [s for _, s in rows]
    found = smooth(np.array(score, float), m, np.array(segments, int))
    for t in range(len(rows)):
        inside = [score[s] for s in window(t, m, segments)]
        mean = math.fsum(inside) / len(inside)
        assert abs(found[t] - mean) <= 1e-13 * max(abs(x) for x in inside)


def test_windows_of_the_same_scores_tie() -> None:
    rng = np.random.default_rng(1)
    cycle = rng.random(7)
    found = smooth(np.tile(cycle, 2000), 70)[70:]
    assert len(np.unique(found)) == 1
    assert len(np.unique(smooth(np.full(9999, 0.1), 100))) == 1
    assert smooth(np.zeros(5)).tolist() == [0] * 5


def test_smoothing_is_causal_and_stays_in_range() -> None:
    rng = np.random.default_rng(2)
    score = rng.random(500)
    whole, part = smooth(score, 100), smooth(score[:300], 100)
    assert np.array_equal(whole[:300], part)
    assert np.array_equal(smooth(score[:30], 100), whole[:30])
    assert whole.min() >= score.min() - 1e-13 and whole.max() <= score.max() + 1e-13


@few
@given(kinds_of, st.integers(1, 5))
def test_stretches_by_loop(rows: Any, m: int) -> None:
    kinds, segments = np.array([k for k, _ in rows]), np.array([s for _, s in rows])
    begins = [
        t
        for t in range(1, len(rows))
        if kinds[t] > 0 and kinds[t - 1] == 0 and segments[t] == segments[t - 1]
    ]
    found = stretches(kinds, segments)
    assert [part.start for part in found] == begins
    for part in found:
        assert (kinds[part] > 0).all() and len(set(segments[part].tolist())) == 1
        after = part.stop
        assert after == len(rows) or kinds[after] == 0 or segments[after] != segments[part.start]
    touched = reaches(kinds == 2, m, segments)
    for t in range(len(rows)):
        assert touched[t] == any(kinds[s] == 2 for s in window(t, m, segments))


@pytest.mark.parametrize("outlier", [1e20, -1e300, 1e-300])
def test_an_outlier_is_felt_in_its_own_windows_alone(outlier: float) -> None:
    score = np.random.default_rng(3).normal(0, 1, 400)
    plain = smooth(score, 50)
    score[-1] = outlier
    assert np.array_equal(smooth(score, 50)[:-1], plain[:-1])
    score[-1], score[200] = 0.5, outlier
    found = smooth(score, 50)
    assert np.array_equal(found[:200], plain[:200]) and np.array_equal(found[250:-1], plain[250:-1])
    assert found[220] == pytest.approx(score[171:221].mean(), rel=1e-12)


def test_smoothing_reaches_the_ends_of_floats() -> None:
    for scale in (1e-310, 1e-200, 1e200, 1e307):
        found = smooth(np.array([1.0, 3.0, 0.0, 0.0]) * scale, 2)
        assert found.tolist() == pytest.approx([scale, 2 * scale, 1.5 * scale, 0.0])


@few
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 1)), max_size=30), st.integers(1, 4))
def test_a_window_with_an_unjudged_step_is_not_judged(rows: Any, m: int) -> None:
    right, judged, segments = ([row[at] for row in rows] for at in range(3))
    args = (np.array(segments, int), np.array(judged, bool))
    accuracy = windowed_accuracy(np.array(right, bool), m, *args)
    drops = drop_events(np.array(right, bool), Band(m, 0.9, 0.1, 9), *args)
    for t in range(len(rows)):
        steps = window(t, m, segments)
        full = len(steps) == m and all(judged[s] for s in steps)
        assert accuracy.full[t] == drops.judged[t] == full and (full or not drops.event[t])


def test_the_band_is_made_of_judged_windows() -> None:
    rng = np.random.default_rng(4)
    right, judged = rng.random(300) < 0.8, np.arange(300) % 100 > 9
    spoiled = right & judged
    found = clean_band([spoiled], 20, [judged])
    assert found == clean_band([right[10:100], right[110:200], right[210:]], 20)
    assert found.windows == 3 * 71 and found != clean_band([spoiled], 20)
    with pytest.raises(ValueError, match="none with enough judged ones in a row, expected at least m = 91"):
        clean_band([right], 91, [judged])
    with pytest.raises(ValueError, match="judged has 2 entries, the stream has 300 steps"):
        clean_band([right], 20, [[True, True]])
