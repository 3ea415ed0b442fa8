"""Metrics against scikit-learn or against their definitions, written out slowly."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from tcuq import metrics as m
from tcuq.metrics.inputs import wholes

NAN, INF = math.nan, math.inf
scored = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=40)
bits = st.lists(st.booleans(), min_size=1, max_size=30)


def tied(seed: int, steps: int = 300, values: int = 12) -> tuple[Any, Any]:
    """Scores with many ties that say something about the flags."""
    rng = np.random.default_rng(seed)
    truth = rng.random(steps) < rng.choice([0.05, 0.3, 0.8])
    truth[:2] = True, False
    return rng.integers(0, values, steps) / 7 + truth * rng.choice([0, 2]) / 7, truth


@given(scored)
def test_auroc_counts_pairs_and_turns_around(rows: list[tuple[int, bool]]) -> None:
    score, truth = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    pairs = [
        (a > b) + (a == b) / 2
        for (a, up), (b, low) in itertools.product(rows, rows)
        if up is True and low is False
    ]
    if not pairs:
        assert math.isnan(m.auroc(score, truth))
        return
    assert m.auroc(score, truth) == pytest.approx(sum(pairs) / len(pairs))
    assert m.auroc(-score, truth) == pytest.approx(1 - m.auroc(score, truth))
    assert m.auroc(score, ~truth) == pytest.approx(1 - m.auroc(score, truth))


def test_rankings_at_their_ends() -> None:
    score, truth = np.arange(10.0), np.arange(10) >= 6
    assert m.auroc(score, truth) == 1 and m.auroc(-score, truth) == 0
    assert m.auroc(np.zeros(10), truth) == 0.5 and m.auroc([-INF, INF], [0, 1]) == 1


@pytest.mark.parametrize("truth", [[], [True], [False], [True] * 5, [False] * 5])
def test_rankings_of_one_kind_are_undefined(truth: list[bool]) -> None:
    assert math.isnan(m.auroc(np.arange(len(truth)), truth))


def slow_curve(rows: list[tuple[int, bool]]) -> list[Fraction]:
    """Error rates among the k first, the mean over all orders of the steps sorted stably."""
    orders = [sorted(order, key=lambda r: r[0]) for order in itertools.permutations(rows)]
    return [
        Fraction(sum(sum(r[1] for r in order[:k]) for order in orders), k * len(orders))
        for k in range(1, len(rows) + 1)
    ]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_selective_risk_is_the_mean_over_tie_orders(rows: list[tuple[int, bool]]) -> None:
    score, wrong = [r[0] for r in rows], [r[1] for r in rows]
    expected = slow_curve(rows)
    n = len(rows)
    curve = m.risk_coverage(score, wrong)
    assert curve.coverage.tolist() == [k / n for k in range(1, n + 1)]
    assert curve.error.tolist() == [float(x) for x in expected]


@pytest.mark.parametrize("bins", [1, 2, 7, 10, 15, 400])
@pytest.mark.parametrize("seed", range(4))
def test_calibration_errors(seed: int, bins: int) -> None:
    rng = np.random.default_rng(seed)
    # Values on the edges of the bins, zero and one among them.
    top = rng.integers(0, 31, 250) / 30 if seed % 2 else rng.integers(0, bins + 1, 250) / bins
    right = rng.random(250) < top**2
    table = m.reliability(top, right, bins)
    assert table.count.sum() == 250 and np.array_equal(np.isnan(table.accuracy), table.count == 0)
    assert np.array_equal(table.low[1:], table.high[:-1]) and table.low[0] == 0 and table.high[-1] == 1
    used = table.count > 0
    assert (table.confidence[used] <= table.high[used] + 1e-12).all()
    assert (table.confidence[used] >= table.low[used] - 1e-12).all()
    assert table.count @ np.nan_to_num(table.accuracy) == pytest.approx(right.sum())


def test_calibration_at_its_ends() -> None:
    assert m.reliability([0.0, 0.5, 0.51], [0, 0, 0], 2).count.tolist() == [2, 1]
    assert m.reliability([0.2], [1]).count.tolist() == [0, 0, 1, *[0] * 12]


@given(bits)
def test_worst_windows(events: list[bool]) -> None:
    n = len(events)
    sums = {(a, b): sum(events[a:b]) for a in range(n) for b in range(a + 1, n + 1)}
    slow = [max(sums[a, a + w] for a in range(n - w + 1)) for w in range(1, n + 1)]
    found = m.worst_window(events, range(1, n + 1))
    assert found.tolist() == slow
    steps = np.diff(found)
    assert ((steps == 0) | (steps == 1)).all() and found[-1] == sum(events)


def slow_detection(alarm: list[int], shifted: list[int], segments: list[int]) -> tuple[Any, ...]:
    """One step at a time: the open shift, if any, and what has become of it."""
    rows: list[list[Any]] = []
    already = false = 0
    waiting: list[Any] | None = None
    for t, (on, shift) in enumerate(zip(alarm, shifted, strict=True)):
        was_on = t > 0 and alarm[t - 1] != 0
        fresh = t == 0 or segments[t] != segments[t - 1] or shifted[t] != shifted[t - 1]
        if not shift:
            waiting = None
            false += bool(on and not was_on)
        elif fresh:
            waiting = None
            if was_on:
                already += 1
            else:
                waiting = [t, None]
                rows.append(waiting)
        if shift and on and waiting is not None and waiting[1] is None:
            waiting[1] = t - waiting[0]
    return tuple(r[0] for r in rows), tuple(r[1] for r in rows), already, false, shifted.count(0)


@given(st.lists(st.tuples(*[st.sampled_from([0, 0, 1, 2])] * 2, st.integers(0, 1)), min_size=1, max_size=25))
def test_detection_step_by_step(rows: list[tuple[int, int, int]]) -> None:
    alarm, shifted, segments = ([r[i] for r in rows] for i in range(3))
    found = m.detection(alarm, shifted, segments)
    expected = slow_detection(alarm, shifted, segments)
    fields = (found.starts, found.delays, found.already_raised, found.false_onsets, found.clean_steps)
    assert fields == expected
    plain = m.detection(np.array(alarm) > 0, np.array(shifted) > 0)
    assert (plain.starts, plain.delays) == slow_detection(
        alarm, [int(each > 0) for each in shifted], [0] * len(rows)
    )[:2]


def test_detection_at_its_ends() -> None:
    def of(*delays: int | None) -> m.Detection:
        return m.Detection(tuple(range(len(delays))), delays, 0, 0, 5)

    assert of(4, 2).median == 3 and of(*range(20)).median == 9.5
    assert of(1, 2, None).median == 2 and of(1, None).median == INF and of(None, None).median == INF
    assert math.isnan(of().median) and of().missed == 0
    assert m.detection([1, 1], [1, 1]).delays == (0,)
    split = m.detection([0, 0, 0, 1], [1, 1, 1, 1], segments=[0, 0, 1, 1])
    assert split.starts == (0, 2) and split.delays == (None, 1)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (5, 5), (1, 1), (3, 10), (950, 1000), (1, 10**6)])
@pytest.mark.parametrize("z", [1.0, 1.96])
def test_wilson_holds_the_shares_that_fit(hits: int, n: int, z: float) -> None:
    def fits(p: float) -> bool:
        return abs(hits / n - p) <= z * math.sqrt(p * (1 - p) / n)

    def edge(inside: float, outside: float) -> float:
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if fits(middle) else (inside, middle)
        return inside

    low, high = m.wilson(hits, n, z)
    share = hits / n
    assert low == pytest.approx(edge(share, 0.0) if share else 0, abs=1e-9)
    assert high == pytest.approx(edge(share, 1.0) if share < 1 else 1, abs=1e-9)
    assert low <= share <= high and (low == 0) == (hits == 0) and (high == 1) == (hits == n)


def test_wilson_at_its_ends() -> None:
    assert m.wilson(0, 0) == (0, 1)
    for arguments in ((3, 2), (-1, 2), (0, -1), (1, 2, 0), (1, 2, NAN), (0.5, 2)):
        with refused("value"):
            m.wilson(*arguments)  # type: ignore[arg-type]


def test_blocks_run_on_around_the_end_and_rows_stay_together() -> None:
    steps, seen = 23, []

    def note(a: Any, b: Any) -> float:
        assert len(a) == steps and (b[:, 0] == a).all()
        seen.append(a)
        return float(a[0])

    rows = np.arange(steps)
    found = m.block_bootstrap(note, [rows, np.stack([rows, rows], 1)], 5, 3000, np.random.default_rng(0))
    drawn = np.stack(seen[:-1] if (seen[-1] == rows).all() else seen[1:])
    assert drawn.shape == (3000, steps) and found.estimate == 0 and found.undefined == 0
    within = np.arange(1, steps) % 5 != 0
    jumps = np.diff(drawn, axis=1) % steps
    assert (jumps[:, within] == 1).all() and (jumps[:, ~within] != 1).mean() > 0.9
    times = np.bincount(drawn.ravel(), minlength=steps)
    assert (abs(times - 3000) < 5 * np.sqrt(3000 * 5)).all()


def test_the_ends_of_a_percentile_interval() -> None:
    def take(values: list[float], **more: float) -> m.Interval:
        queue = iter([*values, 0.5])
        return m.block_bootstrap(
            lambda _: next(queue), [[1]], 1, len(values), np.random.default_rng(0), **more
        )

    shuffled = np.random.default_rng(1).permutation(1000).astype(float).tolist()
    assert take(shuffled) == (0.5, 24, 975, 0)
    assert take(shuffled, confidence=0.5) == (0.5, 249, 750, 0)
    assert take([3.0]) == (0.5, 3, 3, 0)
    assert take([NAN, 2.0, NAN, 1.0]) == (0.5, 1, 2, 2)
    assert take([INF, 1.0, INF])[1:] == (1, INF, 0)
    nothing = take([NAN])
    assert math.isnan(nothing.low) and math.isnan(nothing.high) and nothing.undefined == 1


def test_paired_differences_use_the_same_steps() -> None:
    rng = np.random.default_rng(0)
    score, wrong = tied(1, 400)
    better = score + wrong * 0.5
    options: dict[str, Any] = {"block": 20, "replicates": 200}
    found = m.paired_difference(
        m.auroc, [better, wrong], [score, wrong], **options, rng=np.random.default_rng(5)
    )
    assert found.estimate == m.auroc(better, wrong) - m.auroc(score, wrong)
    assert 0 < found.low <= found.estimate <= found.high
    none = m.paired_difference(m.auroc, [score, wrong], [score, wrong], **options, rng=rng)
    assert (none.low, none.high) == (0, 0)
    a, b = rng.random(300), rng.random(300)
    left = m.paired_difference(np.mean, [a], [b], 10, 100, np.random.default_rng(2))
    right = m.block_bootstrap(np.mean, [a - b], 10, 100, np.random.default_rng(2))
    assert np.allclose(left, right)


def boot(**changes: Any) -> Any:
    options = {
        "statistic": np.mean,
        "arrays": [[1, 2, 3]],
        "block": 1,
        "replicates": 5,
        "rng": np.random.default_rng(0),
    }
    return m.block_bootstrap(**{**options, **changes})


REFUSED: list[Any] = [
    lambda: m.auroc([1.0, NAN], [0, 1]),
    lambda: m.auroc([1.0], [0, 1]),
    lambda: m.auroc(["a"], [1]),
    lambda: m.auroc([1.0], [2]),
    lambda: m.auroc([[1.0]], [1]),
    lambda: m.reliability([1.1], [1], 3),
    lambda: m.worst_window([1, 0], [3]),
    lambda: m.detection([], []),
    lambda: m.detection([1], [1, 0]),
    lambda: m.detection([1], [-1]),
    lambda: m.detection([1], [1], [1, 1]),
    lambda: boot(arrays=[]),
    lambda: boot(arrays=[[]]),
    lambda: boot(arrays=[[1, 2], [1]]),
    lambda: boot(block=4),
    lambda: boot(replicates=0),
    lambda: boot(confidence=1),
    lambda: wholes("x", np.array([2**63], dtype=np.uint64)),
]


def test_what_is_refused() -> None:
    for call in REFUSED:
        with refused("value"):
            call()
