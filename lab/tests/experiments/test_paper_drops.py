"""Rankings of drops and delays against their definitions, written out slowly; and what a clock finds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tcuq_lab.detectors.run_lengths import arm, trials
from tcuq_lab.detectors.statistics import STATISTICS
from tcuq_lab.experiments.drops import MEASURES, Ranking, counted, from_blocks
from tcuq_lab.experiments.studies import clock_ranking, clock_report
from tcuq_lab.harness.types import slices
from tcuq_lab.metrics import average_precision
from tcuq_lab.metrics.drops import Band

pytestmark = pytest.mark.slow


def slow_delays(alarm: Any, kinds: Any, segments: Any) -> list[float]:
    delays: list[float] = []
    for t in range(1, len(kinds)):
        if kinds[t] > 0 and kinds[t - 1] == 0 and segments[t] == segments[t - 1]:
            stop = t
            while stop < len(kinds) and kinds[stop] > 0 and segments[stop] == segments[t]:
                stop += 1
            inside = [s for s in range(t, stop) if s in alarm]
            delays.append(inside[0] - t if inside else math.inf)
    return delays


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["cusum", "window_mean_25", "ewma_16"])
def test_delays_by_loop(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dev = [rng.normal(0, 1, 4000)]
    armed = arm(dev, 200, {name: STATISTICS[name]})[name]
    kinds = np.repeat(rng.integers(0, 3, 40), rng.integers(5, 60, 40))
    segments = np.arange(len(kinds)) // 300
    shift = (0.8, 0.1)[seed % 2]
    risk = rng.normal(0, 1, len(kinds)) + shift * (kinds > 0)
    alarm = set()
    for piece in slices(segments, len(kinds)):
        begin = piece.start
        while begin < piece.stop:
            path = armed.statistic.path(risk[begin : piece.stop])
            above = np.flatnonzero(path > armed.limit + 1e-9)
            if not len(above):
                break
            alarm.add(begin + int(above[0]))
            begin += int(above[0]) + 1
    delays = slow_delays(alarm, kinds, segments)
    found = trials(armed, risk, kinds, segments, memory=20)
    assert found.delays.tolist() == delays
    assert len(delays) > 3 and (math.inf in delays or shift == 0.8)
    clean = [
        t
        for t in range(len(kinds))
        if not (kinds[max(0, t - 19) : t + 1] * (segments[max(0, t - 19) : t + 1] == segments[t])).any()
    ]
    assert found.clean == len(clean) and found.false == len(alarm & set(clean))
    capped = [min(d, n) for d, n in zip(delays, found.lengths.tolist(), strict=True)]
    assert found.restricted.mean() == pytest.approx(np.mean(capped))


def test_an_interval_is_that_of_the_mean_of_one_stream() -> None:
    values = np.random.default_rng(1).random(3000)
    found = from_blocks(
        lambda _, index: float((values if index is None else values[index]).mean()),
        [3000],
        10,
        2000,
        np.random.default_rng(2),
    )
    half = 1.968 * values.reshape(300, 10).mean(axis=1).std(ddof=1) / np.sqrt(300)  # t of 299
    assert found.estimate == values.mean()
    assert found.high - found.estimate == pytest.approx(half, rel=0.05)
    assert found.estimate - found.low == pytest.approx(half, rel=0.05)


@pytest.mark.parametrize("levels", [1, 2, 9, 10_000])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
def test_measures_of_counts_are_those_of_the_steps(levels: int, share: float) -> None:
    rng = np.random.default_rng(levels)
    ranking = Ranking(rng.integers(0, levels, 400) / 7, rng.random(400) < share, rng.random(400) < 0.8)
    counts = counted(ranking)
    for whole, fast in MEASURES.values():
        for _ in range(5):
            index = rng.integers(0, 400, 400)
            drawn = Ranking(*(column[index] for column in ranking))
            assert fast(*counts(index)) == pytest.approx(drawn.measure(whole), abs=1e-12, nan_ok=True)
        assert math.isnan(fast(*counts(np.flatnonzero(~ranking.judged))))


@pytest.mark.parametrize("dwell", [1, 16])
def test_the_clock_is_at_chance_on_alternating_streams_and_good_on_a_literal_one(dwell: float) -> None:
    found = clock_report(layouts=20, steps=10_000, dwell=dwell)
    assert abs(found["clock"] - found["prevalence"]) < 0.03
    assert abs(found["reversed"] - found["prevalence"]) < 0.03
    assert 0.4 < found["prevalence"] < 0.7
    assert found["literal clock"] > 0.9 > found["literal prev."] + 0.3


def test_the_clock_ranks_late_drops_first() -> None:
    right = np.r_[np.ones(50, bool), np.zeros(50, bool)]
    late, early = (clock_ranking(right, Band(5, 0.9, 0.02, 10), backwards) for backwards in (False, True))
    assert late.measure(average_precision) == 1
    assert early.measure(average_precision) < early.share < 0.6
