"""Windows, bands, drop events and smoothing against loops over steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcuq.lab.compare.events import (
    Band,
    clean_band,
    clean_runs,
    drop_events,
    reaches,
    smooth,
    stretches,
    windowed_accuracy,
)

few = settings(max_examples=80, deadline=None)
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
        (lambda: clean_band([np.ones(99)], 100), "longest clean run has 99 steps; at least m = 100"),
        (lambda: clean_band([], 100), "longest clean run has 0 steps"),
        (lambda: windowed_accuracy([1], 0), "m is 0; 1 to"),
        (lambda: windowed_accuracy([2], 1), r"right\[0\] is 2; 0 or 1"),
        (lambda: windowed_accuracy([1, 1], 1, [0]), "segments has 1 entries, the stream has 2"),
        (lambda: smooth([0.0, math.inf]), r"score\[1\] is inf; any finite"),
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
    largest = max([abs(x) for x in score], default=0)
    for t in range(len(rows)):
        mean = math.fsum(score[s] for s in window(t, m, segments)) / len(window(t, m, segments))
        assert abs(found[t] - mean) <= 1e-12 * largest


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
    assert np.allclose(whole[:300], part, atol=1e-13)
    assert whole.min() >= score.min() - 1e-13 and whole.max() <= score.max() + 1e-13


@few
@given(kinds_of, st.integers(1, 5))
def test_stretches_and_clean_runs_by_loop(rows: Any, m: int) -> None:
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
    runs = clean_runs(np.arange(len(rows)), kinds, segments)
    assert sorted(t for run in runs for t in run) == np.flatnonzero(kinds == 0).tolist()
    for run in runs:
        first = int(run[0])
        assert first == 0 or kinds[first - 1] > 0 or segments[first - 1] != segments[first]
        assert (np.diff(run) == 1).all() and len(set(segments[run.astype(int)].tolist())) == 1
    touched = reaches(kinds == 2, m, segments)
    for t in range(len(rows)):
        assert touched[t] == any(kinds[s] == 2 for s in window(t, m, segments))
