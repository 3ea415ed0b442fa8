"""Measures of the experiment on streams of any pace, on made-up data with known figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_up import alarm_params, made_unit, shown

from tcuq.metrics import auroc, risk_at_coverage
from tcuq_lab.reproduce.any_stream.alarming import costly_sources, costs, episodes, on_clean, on_stream
from tcuq_lab.reproduce.any_stream.drawn import auroc_of, draw, left_at, mean_of, median_of
from tcuq_lab.reproduce.any_stream.expecting import ConfidenceRules, window_errors
from tcuq_lab.reproduce.any_stream.poisson import poisson_interval


@pytest.mark.parametrize("coverage", [0.9, 0.5, 0.31])
def test_errors_left_are_those_of_the_product_with_ties_and_on_drawn_steps(coverage):
    rng = np.random.default_rng(0)
    score, wrong = rng.integers(0, 9, 300) / 8, rng.random(300) < 0.3
    index = rng.integers(0, 300, 200)
    value = left_at(score, wrong, coverage)
    assert value(None) == pytest.approx(risk_at_coverage(score, wrong, coverage))
    assert value(index) == pytest.approx(risk_at_coverage(score[index], wrong[index], coverage))


def test_auroc_is_that_of_the_product_on_drawn_steps():
    rng = np.random.default_rng(1)
    score, wrong = rng.integers(0, 20, 300) / 8, rng.random(300) < 0.3
    index = rng.integers(0, 300, 200)
    assert auroc_of(score, wrong)(None) == pytest.approx(auroc(score, wrong))
    assert auroc_of(score, wrong)(index) == pytest.approx(auroc(score[index], wrong[index]))


def test_differences_are_paired_and_averaged_over_streams():
    rng = np.random.default_rng(2)
    hard = [rng.random(2000) for _ in range(3)]
    rows = {
        "a": [mean_of(each + 0.1 * number) for number, each in enumerate(hard)],
        "b": [mean_of(each) for each in hard],
    }
    found = draw(rows, [2000] * 3, "x", block=20, replicates=100)
    assert found["a"].less(found["b"]) == pytest.approx((0.1, 0.1, 0.1, 0))
    alone = found["a"].mean()
    assert alone.low < alone.estimate < alone.high and alone.high - alone.low > 0.01
    assert found["a"].over(found["b"]).estimate == pytest.approx(1.2, abs=0.02)
    again = draw({"b": rows["b"]}, [2000] * 3, "x", block=20, replicates=100)["b"]
    assert np.array_equal(again.replicates, found["b"].replicates)  # rows do not disturb each other
    other = draw({"b": rows["b"]}, [2000] * 3, "y", block=20, replicates=100)["b"]
    assert not np.array_equal(other.replicates, again.replicates)


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    inside = 0
    for seed in range(100):
        values = np.repeat(np.random.default_rng(seed).random(200), 5)  # runs of 5 steps
        found = draw({"a": [mean_of(values)]}, [1000], f"{seed}", block=25, replicates=200)["a"].mean()
        inside += found.low <= 0.5 <= found.high
    assert 85 <= inside <= 99


def test_streams_where_a_row_is_undefined_are_left_out():
    rows = {"a": [mean_of([1.0, 0.0], np.zeros(2, bool)), mean_of([0.5, 0.5])]}
    assert draw(rows, [2, 2], "x", replicates=5)["a"].mean().estimate == 0.5
    assert math.isnan(draw({"a": rows["a"][:1]}, [2], "x", replicates=5)["a"].mean().estimate)
    assert median_of(np.array([2.0, np.inf, 1.0, np.inf]))(np.array([0, 0, 1])) == 2.0


def test_episodes_tell_found_late_missed_and_already_raised():
    shifted = np.zeros(60, bool)
    for start in (10, 25, 40, 50):
        shifted[start : start + 5] = True
    on = np.zeros(60, bool)
    on[12:18] = True  # 2 late, cleared 3 steps after
    on[38:47] = True  # already on, cleared 2 steps after; the shift at 25 is missed
    on[54:] = True  # 4 late, still on when the stream ends
    found = episodes(on, shifted, np.where(shifted, "fog/5", "clean"))
    assert found.already.tolist() == [False, False, True, False]
    assert found.delays.tolist() == [2.0, math.inf, 0.0, 4.0]
    assert found.clears[0] == 3.0 and found.clears[2] == 2.0
    assert math.isnan(found.clears[1]) and math.isnan(found.clears[3])
    on[15:25] = True
    assert episodes(on, shifted, np.where(shifted, "fog/5", "clean")).clears[0] == math.inf


def test_shifts_that_cost_little_do_not_count():
    units = [made_unit(seed) for seed in (0, 1)]
    found = costs(units)
    assert found["clean"] == 0.0 and found["hard/5"] > 0.3 and abs(found["easy/1"]) < 0.08
    assert costly_sources(found) == ["hard/5"]


def test_an_alarm_on_a_stream_and_on_clean_data():
    params = alarm_params()
    sure, unsure = [0.97, 0.02, 0.01], [0.34, 0.33, 0.33]
    stream = shown([(100, sure, "clean"), (50, unsure, "hard/5"), (100, sure, "clean")])
    lines = {each.column: each for each in on_stream("t", "s", "with labels", [stream], [params], ["hard/5"])}
    assert lines["costly shifts"].value == 1 and lines["shifts found"].value == 1.0
    assert lines["alarm already on"].value == 0.0
    # Risk of 0.66 against 0.3 adds 0.36 a step: 1 is reached at the third. Then each step takes 0.27 off.
    assert lines["median delay"].value == 2.0 and lines["median steps to clear"].value == 3.0
    assert lines["clean steps on"].value == pytest.approx(3 / 200)
    assert lines["costly steps on"].value == lines["shifted steps on"].value == pytest.approx(48 / 50)
    harmless = on_stream("t", "s", "with labels", [stream], [params], ["fog/5"])
    assert "median delay" not in {each.column for each in harmless}

    unit = made_unit(0, clean=shown([(3000, sure, "clean"), (5, unsure, "clean"), (995, sure, "clean")]).log)
    count, rate, on = on_clean("t", "with labels", [unit], [params])
    assert count.value == 1 and on.value == pytest.approx((3 + 3) / 4000)
    assert rate.value == 0.5 and rate.low == pytest.approx(0.0127, abs=1e-3)
    assert rate.high == pytest.approx(2.786, abs=1e-3)


@pytest.mark.parametrize("count, low, high", [(0, 0.0, 3.689), (1, 0.0253, 5.572), (30, 20.241, 42.827)])
def test_poisson_intervals_are_those_of_tables(count, low, high):
    assert poisson_interval(count) == pytest.approx((low, high), abs=1e-3)


def test_confidence_rules_give_back_the_accuracy_of_development():
    rng = np.random.default_rng(0)
    sure = rng.random(5000)
    right = rng.random(5000) < sure
    rules = ConfidenceRules(sure, right)
    assert rules.atc(sure) == pytest.approx(right.mean(), abs=1e-9)
    assert rules.doc(sure) == pytest.approx(right.mean(), abs=1e-9)
    assert rules.doc(sure - 0.2) == pytest.approx(right.mean() - 0.2)
    assert rules.doc(sure + 5) == 1.0 and rules.doc(sure - 5) == 0.0
    assert ConfidenceRules(sure, np.zeros(5000, bool)).atc(sure) == 0.0


def test_windows_compare_their_last_value_with_their_own_accuracy():
    right = np.repeat([1, 0, 1], [200, 200, 150]).astype(bool)
    expected = np.zeros(550)
    expected[199], expected[399], expected[398] = 0.9, 0.3, 1.0
    assert window_errors(expected, right) == pytest.approx([0.1, 0.3])
