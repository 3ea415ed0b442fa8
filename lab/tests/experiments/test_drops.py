"""Rankings of drops and delays against their definitions, written out slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcuq_lab.detectors.run_lengths import arm, trials
from tcuq_lab.detectors.statistics import STATISTICS
from tcuq_lab.experiments.drops import MEASURES, Ranking, counted, from_blocks


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["cusum", "window_mean_25", "ewma_16"])
def test_delays_by_loop(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    armed = arm([rng.normal(0, 1, 4000)], 200, {name: STATISTICS[name]})[name]
    kinds = np.repeat(rng.integers(0, 3, 40), rng.integers(5, 60, 40))
    shift = (0.8, 0.1)[seed % 2]
    risk = rng.normal(0, 1, len(kinds)) + shift * (kinds > 0)
    raised, begin = set(), 0
    while begin < len(kinds):
        above = np.flatnonzero(armed.statistic.path(risk[begin:]) > armed.limit + 1e-9)
        begin = begin + int(above[0]) + 1 if len(above) else len(kinds) + 1
        raised |= {begin - 1} & set(range(len(kinds)))
    starts = [t for t in range(1, len(kinds)) if kinds[t] > 0 and kinds[t - 1] == 0]
    stops = [next((s for s in range(t, len(kinds)) if kinds[s] == 0), len(kinds)) for t in starts]
    delays = [
        min((s - t for s in range(t, stop) if s in raised), default=math.inf)
        for t, stop in zip(starts, stops, strict=True)
    ]
    found = trials(armed, risk, kinds, memory=20)
    assert found.starts.tolist() == starts and found.delays.tolist() == delays
    assert len(delays) > 3 and (math.inf in delays or shift == 0.8)
    clean = [t for t in range(len(kinds)) if not kinds[max(0, t - 19) : t + 1].any()]
    assert found.clean == len(clean) and found.false == len(raised & set(clean))
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
