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
)

few = settings(max_examples=25, deadline=None)
steps_of = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2)), max_size=40)


def window(t: int, m: int, segments: Any) -> list[int]:
    """Steps of the window that ends at t: at most m, none beyond the start of the run of equal numbers."""
    steps = [t]
    while len(steps) < m and steps[-1] > 0 and segments[steps[-1] - 1] == segments[t]:
        steps.append(steps[-1] - 1)
    return steps


@few
@given(steps_of, st.integers(1, 7), st.floats(0, 1), st.floats(0.01, 0.3))
def test_windows_and_drops_are_those_of_full_judged_windows(rows: Any, m: int, mu: float, sd: float) -> None:
    right, judged, segments = ([row[at] for row in rows] for at in range(3))
    given = np.array(right, bool), m, np.array(segments, int), np.array(judged, bool)
    drops = drop_events(given[0], Band(m, mu, sd, 9), *given[2:])
    for t in range(len(rows)):
        steps = window(t, m, segments)
        full = len(steps) == m and all(judged[s] for s in steps)
        share = sum(right[s] for s in steps) / m
        assert drops.judged[t] == full
        assert drops.event[t] == (full and share <= mu - 3 * sd + 1e-10)


def test_the_band_pools_judged_windows_of_all_runs_and_never_joins_runs() -> None:
    rng = np.random.default_rng(0)
    runs = [rng.random(n) < 0.8 for n in (30, 4, 12)]
    values = [run[t - 4 : t + 1].mean() for run in runs for t in range(4, len(run))]
    band = clean_band(runs, 5)
    assert band.m == 5 and band.windows == len(values) == 26 + 0 + 8
    assert band.limit == pytest.approx(np.mean(values) - 3 * np.std(values))
    right, judged = rng.random(300) < 0.8, np.arange(300) % 100 > 9
    found = clean_band([right & judged], 20, [judged])
    assert found == clean_band([right[10:100], right[110:200], right[210:]], 20)
    with pytest.raises(ValueError, match="none with enough judged ones in a row, expected at least m = 91"):
        clean_band([right], 91, [judged])
    with pytest.raises(ValueError, match="judged has 2 entries, the stream has 300 steps"):
        clean_band([right], 20, [[True, True]])


@few
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.integers(0, 1)), max_size=40), st.integers(1, 9))
def test_smoothing_is_the_mean_of_the_window(rows: Any, m: int) -> None:
    score, segments = [x for x, _ in rows], [s for _, s in rows]
    found = smooth(np.array(score, float), m, np.array(segments, int))
    for t in range(len(rows)):
        inside = [score[s] for s in window(t, m, segments)]
        mean = math.fsum(inside) / len(inside)
        assert abs(found[t] - mean) <= 1e-13 * max(abs(x) for x in inside)


@few
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40), st.integers(1, 5))
def test_stretches_by_loop(rows: Any, m: int) -> None:
    kinds, segments = np.array([k for k, _ in rows]), np.array([s for _, s in rows])
    same = [t > 0 and segments[t] == segments[t - 1] for t in range(len(rows))]
    begins = [t for t in range(len(rows)) if same[t] and kinds[t] > 0 and kinds[t - 1] == 0]
    found = stretches(kinds, segments)
    assert [part.start for part in found] == begins
    for part in found:
        assert (kinds[part] > 0).all() and len(set(segments[part].tolist())) == 1
        assert part.stop == len(rows) or kinds[part.stop] == 0 or not same[part.stop]
    touched = reaches(kinds == 2, m, segments)
    for t in range(len(rows)):
        assert touched[t] == any(kinds[s] == 2 for s in window(t, m, segments))
