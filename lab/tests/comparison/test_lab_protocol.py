"""The comparison of methods against its definitions, written out slowly, and its results as files."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tcuq.metrics import auroc
from tcuq_lab import metrics as m
from tcuq_lab.comparison.delays import choose, delay_records
from tcuq_lab.comparison.paired import interval, joint_bootstrap, measured
from tcuq_lab.comparison.protocol import (
    ComparisonRules,
    JudgedStream,
    Scores,
    Truth,
    best_against_best,
    delay_part,
    evaluate,
    same_against_same,
    score_part,
)
from tcuq_lab.comparison.records import pick
from tcuq_lab.comparison.tasks import MEASURES, Task
from tcuq_lab.detection.events import clean_band, drop_events, smooth
from tcuq_lab.detection.statistics import STATISTICS, Cusum
from tcuq_lab.detection.trials import arm, trials

NAMES = ("clean", "fog", "snow", "ood")
STRENGTH = {"BASE": 0.05, "GOOD": 0.15, "BAD": -0.1}
CUSUM = {"cusum": Cusum}


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


def test_drop_events_are_scored_on_own_and_on_base_predictions(tests: Any, clean_dev: Any) -> None:
    rows = score_part(tests, clean_dev, ComparisonRules(seen=("fog",)))
    for each in tests:
        for method in STRENGTH:
            for column, source in (("own", method), ("base", "BASE")):
                dev = [s.truth.right(s.answer(source).predictions) for s in clean_dev]
                right = each.truth.right(each.answer(source).predictions)
                found = drop_events(right, clean_band(dev, 100))
                kept = found.judged
                for smoothing in ("plain", "smoothed"):
                    risk = each.answer(method).risk
                    risk = smooth(risk, 100) if smoothing == "smoothed" else risk
                    args = (each.name, method)
                    variant = f"{column}/{smoothing}/all"
                    pair = (risk[kept], found.event[kept])
                    assert value(rows, *args, "drop_auprc", variant) == m.average_precision(*pair)
                    assert value(rows, *args, "drop_auroc", variant) == auroc(*pair)
                    assert value(rows, *args, "drop_lift", variant) == m.precision_lift(*pair)
                    row = pick(rows, stream=each.name, method=method, metric="drop_auprc", variant=variant)[0]
                    assert row["prevalence"] == found.event[kept].mean() and row["n"] == kept.sum()


def test_failures_and_foreign_inputs(tests: Any, clean_dev: Any) -> None:
    rows = score_part(tests, clean_dev)
    each = tests[1]
    labels, kinds = each.truth.labels, each.truth.kinds
    for method in STRENGTH:
        for column, source in (("own", method), ("base", "BASE")):
            risk, wrong = each.answer(method).risk, each.answer(source).predictions != labels
            variant = f"{column}/plain/all"
            for name, kept in (("clean_failure", kinds == 0), ("mixed_failure", labels >= 0)):
                pair = (risk[kept], wrong[kept])
                for measure, function in (("auroc", auroc), ("auprc", m.average_precision)):
                    assert value(rows, "b", method, f"{name}_{measure}", variant) == function(*pair)
                assert value(rows, "b", method, f"{name}_fpr95", variant) == m.fpr_at_tpr(*pair)
                assert value(rows, "b", method, f"{name}_aurc", variant) == m.aurc(*pair)
            kept = (labels < 0) | ((kinds == 0) & ~wrong)
            expected = auroc(risk[kept], labels[kept] < 0)
            assert value(rows, "b", method, "ood_auroc", variant) == expected
    assert not pick(rows, stream="a", metric="ood_auroc")  # nothing foreign there


def test_groups_of_kinds_leave_out_what_another_kind_touches(tests: Any, clean_dev: Any) -> None:
    each, fixed = tests[0], ComparisonRules(seen=("fog",))
    rows = score_part(tests, clean_dev, fixed)
    kinds = each.truth.kinds
    right = each.truth.right(each.answer("GOOD").predictions)
    dev = [s.truth.right(s.answer("GOOD").predictions) for s in clean_dev]
    found = drop_events(right, clean_band(dev, 100))
    for group, other in (("seen", 2), ("unseen", 1)):
        kept = np.array([not (kinds[max(0, t - 99) : t + 1] == other).any() for t in range(len(kinds))])
        kept &= found.judged
        expected = m.average_precision(each.answer("GOOD").risk[kept], found.event[kept])
        assert value(rows, "a", "GOOD", "drop_auprc", f"own/plain/{group}") == expected
        kept = kinds != other
        expected = auroc(each.answer("GOOD").risk[kept], ~right[kept])
        assert value(rows, "a", "GOOD", "mixed_failure_auroc", f"own/plain/{group}") == expected
    # JudgedStream b has snow and foreign inputs: nothing seen, and foreign inputs are in no group.
    assert not pick(rows, stream="b", metric="drop_auprc", variant="own/plain/seen")
    assert pick(rows, stream="b", metric="drop_auprc", variant="own/plain/unseen")


def test_steps_that_are_not_judged_do_not_count(clean_dev: Any) -> None:
    whole = stream("s", 1500, 3, (0, 1))
    judged = np.arange(1500) < 900
    truth = Truth(whole.truth.labels, whole.truth.kinds, judged=judged, names=NAMES)
    rows = score_part([JudgedStream("s", truth, whole.answers)], clean_dev)
    short = Truth(whole.truth.labels[:900], whole.truth.kinds[:900], names=NAMES)
    answers = tuple(Scores(a.name, a.risk[:900], a.predictions[:900]) for a in whole.answers)
    expected = score_part([JudgedStream("s", short, answers)], clean_dev)
    assert [(r["metric"], r["n"]) for r in rows] == [(r["metric"], r["n"]) for r in expected]
    pairs = [(r["value"], e["value"]) for r, e in zip(rows, expected, strict=True)]
    assert np.array_equal(*zip(*pairs, strict=True), equal_nan=True)


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


def test_the_whole_protocol(tests: Any, clean_dev: Any) -> None:
    settings = ComparisonRules(seen=("fog",))
    shifted = [stream("dev shifted", 3000, 50, (0, 1))]
    fresh = [stream("fresh", 10_000, 60)]
    rows = evaluate(tests, clean_dev, settings, shifted, fresh)
    table = same_against_same(rows)
    assert list(table) == list(STATISTICS)
    assert all(set(row) == set(STRENGTH) for row in table.values())
    assert table["cusum"]["GOOD"] < table["cusum"]["BASE"]
    unseen = same_against_same(rows, "delay_mean", "unseen")["cusum"]["GOOD"]
    seen = same_against_same(rows, "delay_mean", "seen")["cusum"]["GOOD"]
    assert 0 < seen < 40 and 0 < unseen < 40
    best = best_against_best(rows, "delay_mean")
    for method in STRENGTH:
        armed = arm([s.answer(method).risk for s in clean_dev])
        name, cost = choose(armed, [shifted[0].answer(method).risk], [shifted[0].truth])
        assert best[method] == (name, same_against_same(rows, "delay_mean")[name][method])
        assert value(rows, "dev", method, "chosen", name) == cost
        for statistic in STATISTICS:
            assert value(rows, "pooled", method, "run_length_dev", statistic) >= 1000
            assert value(rows, "pooled", method, "run_length", f"{statistic}/clean") > 300
            assert value(rows, "pooled", method, "run_length", f"{statistic}/mixed") > 0
    assert not any("\n" in row["variant"] for row in rows)


def test_the_test_streams_do_not_choose(tests: Any, clean_dev: Any) -> None:
    fixed = ComparisonRules(statistics={"cusum": Cusum, "ewma_16": STATISTICS["ewma_16"]})
    shifted = [stream("dev shifted", 1500, 50, (0, 1))]
    chosen = [
        pick(delay_part(part, clean_dev, fixed, shifted), metric="chosen") for part in (tests, tests[:1])
    ]
    assert chosen[0] == chosen[1]
    assert not pick(delay_part(tests, clean_dev, fixed), metric="chosen")


def test_paired_intervals_cancel_what_is_common(tests: Any, clean_dev: Any) -> None:
    rng = np.random.default_rng(0)
    args: Any = ("drop_auprc", "base/plain/all")
    same = interval(tests, clean_dev, ("GOOD", "GOOD"), *args, rng, replicates=20)
    assert same["value"] == same["low"] == same["high"] == 0
    found = interval(tests, clean_dev, ("GOOD", "BASE"), *args, rng, replicates=40)
    singles = [interval(tests, clean_dev, (name,), *args, rng, replicates=40) for name in ("GOOD", "BASE")]
    assert found["value"] == pytest.approx(singles[0]["value"] - singles[1]["value"])
    assert found["low"] <= found["value"] <= found["high"] and found["low"] > 0
    assert found["high"] - found["low"] < sum(row["high"] - row["low"] for row in singles)
    rows = score_part(tests, clean_dev)
    values = [value(rows, each.name, "GOOD", *args) for each in tests]
    assert singles[0]["value"] == pytest.approx(np.mean(values))
    assert singles[0]["method"] == "GOOD" and found["method"] == "GOOD - BASE"


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
