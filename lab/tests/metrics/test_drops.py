"""Windows, bands, drop events and smoothing against loops over steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcuq_lab.metrics.drops import (
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


def test_the_band_pools_windows_of_all_runs_and_never_joins_runs() -> None:
    rng = np.random.default_rng(0)
    runs = [rng.random(n) < 0.8 for n in (30, 4, 12)]
    values = [run[t - 4 : t + 1].mean() for run in runs for t in range(4, len(run))]
    band = clean_band(runs, 5)
    assert band.m == 5 and band.windows == len(values) == 26 + 0 + 8
    assert band.mu == pytest.approx(np.mean(values)) and band.sigma == pytest.approx(np.std(values))
    assert band.limit == pytest.approx(np.mean(values) - 3 * np.std(values))


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
