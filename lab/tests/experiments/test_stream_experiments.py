"""The experiments on streams, on recorded outputs: pinned figures are what they say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pins
import pytest

from tcuq import FitOptions, fit
from tcuq.metrics import auroc
from tcuq.monitor.alarm import AlarmSide
from tcuq_lab.experiments import accuracy, answers, questions
from tcuq_lab.experiments.registry import STREAMS
from tcuq_lab.harness.declare import Case, Play
from tcuq_lab.harness.intervals import drawn
from tcuq_lab.harness.types import Answers, Outputs, Switch, Truth
from tcuq_lab.methods.tcuq import Ours, run
from tcuq_lab.metrics.windows import BIAS, CLEAN_ERROR, ERROR, RANK, SHIFTED_ERROR, cut
from tcuq_lab.metrics.windows import accuracy as window_figures
from tcuq_lab.reproduce.units import SHUFFLED, Unit

pytestmark = pytest.mark.slow

LAW = "class 16"


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Unit]:
    return list(pins.units(tmp_path_factory.mktemp("kept"), STREAMS["answers"].spare))


@pytest.fixture
def unit(units: list[Unit]) -> Unit:
    return units[0]


@pytest.mark.parametrize(("name", "row", "at"), [("alarms", "CUSUM", "tried"), ("accuracy", "ATC", "trials")])
def test_what_is_chosen_is_kept(unit: Unit, name: str, row: str, at: str) -> None:
    chosen = STREAMS[name].measured(unit, row).choices[row]
    assert {"dev", f"law {LAW}"} < set(chosen)
    assert all(len(each[at]) == 8 for each in chosen.values())


def test_figures_are_those_of_a_plain_computation(units: list[Unit]) -> None:
    stored = pins.stored("answers")
    found: dict[tuple[str, ...], list[float]] = {}

    def note(row: str, fit: str, column: str, value: float) -> None:
        found.setdefault((LAW, row, fit, column), []).append(float(value))

    for unit in units:
        truth, seen = unit.truth(f"test {LAW}"), unit.outputs(f"test {LAW}")
        prediction = seen.probs.argmax(axis=1)
        log = unit.dev("dev", True).log()
        steps, _ = run(fit(log, about="answer", force=True, options=FitOptions(explain=False)), seen)
        wrong = steps["answer"] != truth.labels
        note("tcuq answer", "untold", "error AUROC", auroc(steps["risk"], wrong))
        note("tcuq answer", "untold", "errors", wrong.mean())
        note("base", "", "errors", (prediction != truth.labels).mean())
        doubt = 1 - seen.probs.max(axis=1)
        note("base", "", "prediction error AUROC", auroc(doubt, prediction != truth.labels))
        deep = unit.outputs(f"test {LAW}", accuracy.DEEP).probs.argmax(axis=1)
        note("deep", "told", "errors", (deep != truth.labels).mean())
    for key, values in found.items():
        assert stored[key][0] == pytest.approx(np.mean(values), abs=1e-6), key


def test_sums_of_our_alarm_are_those_of_the_core_at_any_limit(unit: Unit) -> None:
    seen = unit.outputs(f"test {LAW}")
    log = unit.dev(f"law {LAW}", True).log()
    quick: dict[str, Any] = {"run_length": 200, "force": True, "options": FitOptions(explain=False)}
    params = fit(log, about="prediction", alarm="proved", **quick)
    switch = Ours(params, movable=True).watch(seen).alarm
    assert isinstance(switch, Switch)
    side = params.alarm.rise
    assert side is not None
    for factor in (0.5, 1.0, 2.0):
        limit = factor * side.limit
        moved = AlarmSide(0.0, limit, clear=max(0.0, limit - side.limit + side.clear))
        other = params.replace(alarm=replace(params.alarm, rise=moved))
        on = run(other, seen)[0]["alarm"] > 0
        found = Ours(other, movable=True).watch(seen).alarm
        np.testing.assert_array_equal(found.at_limit().ravel(), on)
        moved_on = switch.on(np.array([found.limit]))[0].ravel()
        np.testing.assert_array_equal(moved_on, on)


def test_an_alarm_on_a_distance_is_its_own_at_its_limit_and_may_be_moved(unit: Unit) -> None:
    seen = unit.outputs(f"test {LAW}")
    log = unit.dev(f"law {LAW}", True).log()
    params = fit(log, run_length=200, force=True, options=FitOptions(explain=False))
    switch, steps = Ours(params, movable=True).watch(seen).alarm, run(params, seen)[0]
    assert isinstance(switch, Switch) and params.sight is not None
    np.testing.assert_array_equal(switch.at_limit().ravel(), steps["alarm"] > 0)
    for limit in (0.5, 2.0):
        np.testing.assert_array_equal(switch.on(np.array([limit]))[0].ravel(), steps["degradation"] >= limit)


def test_shuffled_steps_stay_in_their_stretch_and_keep_their_rows(unit: Unit) -> None:
    plain, mixed = (unit.truth(f"test {law}") for law in ("class 1", SHUFFLED))
    seen, other = (unit.outputs(f"test {law}") for law in ("class 1", SHUFFLED))
    assert mixed.stretches.tolist() == plain.stretches.tolist() == other.stretches.tolist()
    assert (mixed.labels != plain.labels).any()
    rows = {probs.tobytes(): label for probs, label in zip(seen.probs, plain.labels, strict=True)}
    assert all(rows[p.tobytes()] == label for p, label in zip(other.probs, mixed.labels, strict=True))


def case(truth: Truth, said: Answers, answer: np.ndarray) -> Case:
    seen = Outputs(np.eye(3)[answer], stretches=truth.stretches)
    return Case(None, Play("made", "made"), "made", truth, seen, said, None, {})  # type: ignore[arg-type]


def test_steps_without_a_class_are_shown_and_not_judged() -> None:
    labels, zeros = np.array([0, -1, 1, 1, -1, 0]), np.zeros(6, np.int64)
    truth = Truth(labels, zeros, np.array([0, 0, 0, 1, 1, 1]), ("clean",))
    score = np.array([0.1, 0.9, 0.8, 0.2, 0.95, 0.7])
    made = case(truth, Answers(score, prediction_risk=score), np.array([0, 0, 0, 1, 0, 1]))
    made = replace(made, play=Play("class 1", "class 1"))
    found = {column: drawn(each, 2, "x").value for column, each in answers._judged(made).items()}
    assert found["errors"] == 0.5 and found["error AUROC"] == 1.0 == found["prediction error AUROC"]


def test_windows_hold_judged_steps_of_one_stretch() -> None:
    judged, stretches = np.ones(1000, dtype=bool), np.repeat([0, 1], 500)
    whole = cut(judged, stretches)
    assert whole.steps.shape == (4, 200) and whole.ends.tolist() == [199, 399, 699, 899]
    assert len(np.unique(whole.steps)) == 800
    judged[100:150] = judged[520:980] = False
    assert cut(judged, stretches).ends.tolist() == [249, 449]


def test_figures_of_windows_count_what_they_say() -> None:
    sources = (np.arange(1000) >= 500).astype(np.int64)
    truth = Truth(np.arange(1000) % 3, sources, np.repeat([0, 1], 500), ("clean", "fog/3"))
    answer = truth.labels.copy()
    answer[500:600] = (answer[500:600] + 1) % 3  # half of the third window
    estimate = np.zeros(1000)
    estimate[[199, 399, 699, 899]] = 0.9, 1.0, 0.7, 0.8
    made = replace(case(truth, Answers(0, accuracy=estimate), answer), memory={"clean accuracy": 0.95})
    values = {column: drawn(each, 2, "x").value for column, each in window_figures(made).items()}
    assert values == pytest.approx(
        {ERROR: 0.5 / 4, BIAS: -0.1 / 4, SHIFTED_ERROR: 0.4 / 2, CLEAN_ERROR: 0.1 / 2, RANK: 1.0}
    )


def test_what_could_be_compared_is_declared_once(unit: Unit) -> None:
    for spec in STREAMS.values():
        pairs = [
            (each.first, each.second, each.column, each.of, each.second_fit) for each in spec.comparisons
        ]
        assert len(set(pairs)) >= len(pairs) - 1  # one is also made between two fits
        missing = {first for first, *_ in pairs} - {row.name for row in spec.rows(unit)}
        assert missing <= {questions.labels_of(steps) for steps in questions.CURVE}
