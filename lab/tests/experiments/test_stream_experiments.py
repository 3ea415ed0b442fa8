"""The experiments on streams, on made-up networks: figures are what they say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_recordings import made_unit

from tcuq import FitOptions, fit
from tcuq.metrics import auroc
from tcuq.monitor.alarm import AlarmSide
from tcuq_lab.experiments import accuracy, alarms, answers, questions
from tcuq_lab.experiments.experiment import StreamExperiment
from tcuq_lab.experiments.registry import STREAMS
from tcuq_lab.harness import measure
from tcuq_lab.harness.declare import Case, Key, Measured, Play
from tcuq_lab.harness.intervals import drawn
from tcuq_lab.harness.types import Answers, Outputs, Switch, Truth
from tcuq_lab.methods.tcuq import Ours, run
from tcuq_lab.metrics.windows import BIAS, CLEAN_ERROR, ERROR, RANK, SHIFTED_ERROR, cut
from tcuq_lab.metrics.windows import accuracy as window_figures
from tcuq_lab.reproduce.units import SHUFFLED, Unit

LAW = "class 16"
ROWS = {
    "answers": (
        "base",
        "int8 confidence",
        "conformal",
        "deep",
        "vote",
        "vote_8",
        "belief_told",
        *answers.OURS,
    ),
    "alarms": ("tcuq", "tcuq no labels", "CUSUM", "CUSUM, confidence and norm", "MMD window"),
    "accuracy": ("tcuq", "tcuq, window mean", "ATC", "mean confidence", "GDE", "ATC, deep"),
    "questions": ("tcuq", "no labels", "gate told", "base", "clean, 250 steps", "other lags and window"),
}


class Few:
    """A plan with one law and two corruption types."""

    def __init__(self, plan: Any, *laws: str) -> None:
        self._plan, self.judged, self.types, self.lived = plan, laws, plan.types[:2], "object 16"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Unit:
    found = made_unit(tmp_path_factory.mktemp("made"), "cifar10", 0, "deep")
    found.plan = Few(found.plan, LAW)  # type: ignore[assignment]
    return found


def few_rows(spec: StreamExperiment) -> StreamExperiment:
    kept = ROWS[spec.name]
    return replace(spec, rows=lambda unit: [row for row in spec.rows(unit) if row.name in kept])


@pytest.fixture(scope="module")
def measured(unit: Unit) -> dict[str, Measured]:
    patch = pytest.MonkeyPatch()
    patch.setattr(measure, "drawn", partial(drawn, replicates=30))
    unit.spare = STREAMS["answers"].spare
    try:
        return {name: few_rows(spec).measured(unit) for name, spec in STREAMS.items()}
    finally:
        patch.undo()


def test_what_is_chosen_is_kept(measured: dict[str, Measured]) -> None:
    assert set(measured["answers"].choices["vote"]) == {"dev", f"law {LAW}", "law class 1"}
    assert measured["answers"].choices["tcuq"]["dev"].startswith("signals ")
    assert len(measured["alarms"].choices["CUSUM"]["dev"]["tried"]) == 8
    assert len(measured["accuracy"].choices["ATC"]["dev"]["trials"]) == 8
    assert measured["questions"].choices["gate told"][f"law {LAW}"].startswith("gate ")


def test_figures_are_those_of_a_plain_computation(unit: Unit, measured: dict[str, Measured]) -> None:
    truth, seen = unit.truth(f"test {LAW}"), unit.outputs(f"test {LAW}")
    prediction = seen.probs.argmax(axis=1)
    params = fit(unit.dev("dev", True).log(), about="answer", force=True, options=FitOptions(explain=False))
    steps, _ = run(params, seen)
    risk, wrong = steps["risk"], steps["answer"] != truth.labels

    def value(row: str, fit: str, column: str) -> float:
        return measured["answers"].figures[Key(LAW, row, fit, column)].value

    assert value("tcuq answer", "untold", "error AUROC") == pytest.approx(auroc(risk, wrong))
    assert value("tcuq answer", "untold", "errors") == pytest.approx(wrong.mean())
    kept = np.argsort(risk, kind="stable")[: round(0.9 * len(risk))]
    assert value("tcuq answer", "untold", "errors at 90 %") == pytest.approx(wrong[kept].mean(), abs=0.01)
    doubt = 1 - seen.probs.max(axis=1)
    expected = auroc(doubt, prediction != truth.labels)
    assert value("base", "", "prediction error AUROC") == pytest.approx(expected, abs=1e-3)
    assert value("base", "", "errors") == (prediction != truth.labels).mean()
    deep = unit.outputs(f"test {LAW}", accuracy.DEEP).probs.argmax(axis=1)
    assert value("deep", "told", "errors") == (deep != truth.labels).mean()


def test_sums_of_our_alarm_are_those_of_the_core_at_any_limit(unit: Unit) -> None:
    seen = unit.outputs(f"test {LAW}")
    for options in ({"about": "prediction"}, {"about": "prediction", "alarm": "proved"}):
        log = unit.dev(f"law {LAW}", True).log()
        params = fit(log, run_length=200, force=True, options=FitOptions(explain=False), **options)  # type: ignore[arg-type]
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


def test_what_could_be_compared_is_declared_once(tmp_path: Path) -> None:
    for spec in STREAMS.values():
        names = {row.name for row in spec.rows(made_unit(tmp_path, "cifar10", 0, "deep", "assisted"))}
        pairs = [
            (each.first, each.second, each.column, each.of, each.second_fit) for each in spec.comparisons
        ]
        assert len(set(pairs)) >= len(pairs) - 1  # one is also made between two fits
        assert {first for first, *_ in pairs} - names <= {"assisted network"} | {
            questions.labels_of(steps) for steps in questions.CURVE
        }
    assert alarms.SPEC.inverses[0].of == "false per 10,000"
