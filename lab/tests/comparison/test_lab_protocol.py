"""The comparison of methods against its definitions, written out slowly, and its results as files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tcuq_lab.comparison.delays import delay_records
from tcuq_lab.comparison.paired import joint_bootstrap, measured
from tcuq_lab.comparison.protocol import (
    ComparisonRules,
    JudgedStream,
    Scores,
    Truth,
    delay_part,
    evaluate,
    score_part,
)
from tcuq_lab.comparison.records import pick
from tcuq_lab.comparison.tasks import MEASURES, Task
from tcuq_lab.detectors.run_lengths import arm, trials
from tcuq_lab.detectors.statistics import STATISTICS

NAMES = ("clean", "fog", "snow", "ood")
STRENGTH = {"BASE": 0.05, "GOOD": 0.15, "BAD": -0.1}
CUSUM = {"cusum": STATISTICS["cusum"]}


def stream(name: str, steps: int, seed: int, kinds: Any = (0,), stretch: int = 150) -> JudgedStream:
    """A stream whose stretches go through `kinds` in turn; kind 3 is of no class."""
    rng = np.random.default_rng(seed)
    kind = np.array(kinds)[np.arange(steps) // stretch % len(kinds)]
    labels = np.where(kind == 3, -1, rng.integers(0, 5, steps))
    answers = []
    for method, strength in STRENGTH.items():
        right = rng.random(steps) < np.where(kind > 0, 0.4, 0.9)
        guess = np.where(right & (labels >= 0), labels, (labels + 1) % 5)
        risk = rng.beta(2, 6, steps) + strength * ((kind > 0) + 0.5 * (guess != labels))
        answers.append(Scores(method, risk, guess))
    return JudgedStream(name, Truth(labels, kind, names=NAMES), tuple(answers))


@pytest.fixture(scope="module")
def clean_dev() -> list[JudgedStream]:
    return [stream("dev 0", 6000, 100), stream("dev 1", 5000, 101)]


@pytest.fixture(scope="module")
def tests() -> list[JudgedStream]:
    return [stream("a", 3000, 1, (0, 1, 0, 2)), stream("b", 2400, 2, (2, 0, 3, 0))]


def value(rows: Any, stream: str, method: str, metric: str, variant: str) -> float:
    found = pick(rows, stream=stream, method=method, metric=metric, variant=variant)
    assert len(found) == 1
    return float(found[0]["value"])


def slow_delays(alarm: Any, truth: Truth) -> tuple[list[int], list[float]]:
    starts, delays = [], []
    segments = np.zeros(len(truth), int) if truth.segments is None else truth.segments
    for t in range(1, len(truth)):
        if truth.kinds[t] > 0 and truth.kinds[t - 1] == 0 and segments[t] == segments[t - 1]:
            stop = t
            while stop < len(truth) and truth.kinds[stop] > 0 and segments[stop] == segments[t]:
                stop += 1
            inside = [s for s in range(t, stop) if s in alarm]
            starts.append(t)
            delays.append(inside[0] - t if inside else math.inf)
    return starts, delays


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["cusum", "window_mean_25", "ewma_16"])
def test_delays_by_loop(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dev = [rng.normal(0, 1, 4000)]
    armed = arm(dev, 200, {name: STATISTICS[name]})[name]
    kinds = np.repeat(rng.integers(0, 3, 40), rng.integers(5, 60, 40))
    segments = np.arange(len(kinds)) // 300
    truth = Truth(np.zeros(len(kinds), int), kinds, segments)
    shift = (0.8, 0.1)[seed % 2]
    risk = rng.normal(0, 1, len(kinds)) + shift * (kinds > 0)
    alarm = set()
    for piece in truth.pieces():
        begin = piece.start
        while begin < piece.stop:
            path = armed.statistic.path(risk[begin : piece.stop])
            above = np.flatnonzero(path > armed.limit + 1e-9)
            if not len(above):
                break
            alarm.add(begin + int(above[0]))
            begin += int(above[0]) + 1
    starts, delays = slow_delays(alarm, truth)
    found = trials(armed, risk, truth, memory=20)
    assert found.starts.tolist() == starts and found.delays.tolist() == delays
    assert len(delays) > 3 and (math.inf in delays or shift == 0.8)
    clean = [
        t
        for t in range(len(kinds))
        if not (kinds[max(0, t - 19) : t + 1] * (segments[max(0, t - 19) : t + 1] == segments[t])).any()
    ]
    assert found.clean == len(clean) and found.false == len(alarm & set(clean))
    rows = {row["metric"]: row for row in delay_records("s", "x", name, "all", found)}
    assert rows["missed"]["value"] == delays.count(math.inf) and rows["missed"]["n"] == len(delays)
    assert rows["delay_median"]["value"] == np.median(delays)
    assert rows["delay_p90"]["value"] == sorted(delays)[math.ceil(0.9 * len(delays)) - 1]
    capped = [min(d, n) for d, n in zip(delays, found.lengths.tolist(), strict=True)]
    assert rows["delay_mean"]["value"] == pytest.approx(np.mean(capped))


def test_the_test_streams_do_not_choose(tests: Any, clean_dev: Any) -> None:
    fixed = ComparisonRules(statistics={"cusum": STATISTICS["cusum"], "ewma_16": STATISTICS["ewma_16"]})
    shifted = [stream("dev shifted", 1500, 50, (0, 1))]
    chosen = [
        pick(delay_part(part, clean_dev, fixed, shifted), metric="chosen") for part in (tests, tests[:1])
    ]
    assert chosen[0] == chosen[1]
    assert not pick(delay_part(tests, clean_dev, fixed), metric="chosen")


def test_an_interval_is_that_of_the_mean_of_one_stream() -> None:
    values = np.random.default_rng(1).random(3000)
    found = joint_bootstrap(
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
def test_resampled_metrics_are_those_of_the_resampled_steps(levels: int, share: float) -> None:
    rng = np.random.default_rng(levels)
    score = rng.integers(0, levels, 400) / 7
    task = Task(score, rng.random(400) < share, rng.random(400) < 0.8)
    for name, measures in MEASURES.items():
        for measure, function in measures.items():
            found = measured(task, f"{name}_{measure}", function)
            assert found(None) == pytest.approx(task.measure(function), nan_ok=True)
            for _ in range(5):
                index = rng.integers(0, 400, 400)
                drawn = Task(task.score[index], task.positive[index], task.judged[index])
                assert found(index) == pytest.approx(drawn.measure(function), abs=1e-12, nan_ok=True)
            nobody = np.flatnonzero(~task.judged)
            assert math.isnan(found(nobody))


def test_a_stream_has_one_role(tests: Any, clean_dev: Any) -> None:
    fixed = ComparisonRules(statistics=CUSUM)
    for roles, message in (
        ({"shifted_dev": tests[:1]}, "stream a is in tests and in shifted_dev"),
        ({"clean_test": clean_dev}, "stream dev 0 is in clean_dev and in clean_test"),
    ):
        for call in (delay_part, evaluate):
            with pytest.raises(ValueError, match=message):
                call(tests, clean_dev, fixed, **roles)
    with pytest.raises(ValueError, match="stream dev 0 is in tests and in clean_dev"):
        score_part(clean_dev, clean_dev)
