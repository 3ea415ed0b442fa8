"""The experiment `answers`, on made-up networks."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_recordings import made_unit

from tcuq import FitOptions, fit
from tcuq.metrics import auroc
from tcuq_lab.methods.method import Observed
from tcuq_lab.reproduce.field import answers
from tcuq_lab.reproduce.field.answers_rows import Fits, Monitors, Rated, Streams, monitored, rated
from tcuq_lab.reproduce.field.experiment import Key, Measured, combined
from tcuq_lab.reproduce.field.intervals import drawn
from tcuq_lab.reproduce.field.lines import Found
from tcuq_lab.reproduce.field.units import Shown, Unit
from tcuq_lab.reproduce.rows import row_of

ROWS = ("base", "int8 confidence", "conformal", "deep", "hydra", "vote", "vote_8", "belief_told")


def few_laws(unit: Unit, *laws: str) -> None:
    """Leave out most streams of a unit, to be quick."""
    few: Any = _Few(unit.plan, laws)
    unit.plan = few


class _Few:
    def __init__(self, plan: Any, laws: tuple[str, ...]) -> None:
        self._plan, self.laws, self.judged, self.types = plan, laws, laws, plan.types[:2]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plan, name)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Unit, Measured]:
    unit = made_unit(tmp_path_factory.mktemp("made"), "cifar10", 0, "deep")
    few_laws(unit, "object 16")
    patch = pytest.MonkeyPatch()
    patch.setattr(answers, "drawn", partial(drawn, replicates=30))
    patch.setattr(answers, "RIVALS", ROWS)
    try:
        return unit, answers.measure(unit)
    finally:
        patch.undo()


def test_every_row_is_there_with_its_fits_and_those_without_networks_are_not(
    measured: tuple[Unit, Measured],
) -> None:
    _, found = measured
    fits: dict[str, set[str]] = {}
    for key in found.figures:
        if key.stream == "object 16":
            fits.setdefault(key.row, set()).add(key.fit)
    every = {"told", "untold", "other"}
    assert fits == {
        **{row: {""} for row in ("base", "int8 confidence", "conformal", "vote_8")},
        **dict.fromkeys(("deep", "vote", "belief_told", "tcuq", "tcuq answer", "tcuq no labels"), every),
    }
    assert {key.fit for key in found.figures if key.stream == "clean" and key.row == "tcuq"} == {"untold"}
    assert set(found.choices["vote"]) == {"law object 16", "dev", "law class 16"}
    assert found.choices["tcuq"]["dev"].startswith("signals ")


def test_figures_are_those_of_a_plain_computation(measured: tuple[Unit, Measured]) -> None:
    unit, found = measured
    shown, seen = unit.shown("test object 16"), unit.observed("test object 16")
    prediction = seen.probs.argmax(axis=1)
    steps = monitored(fit(unit.log("dev"), about="answer", options=FitOptions(explain=False)), seen)
    risk, wrong = steps["risk"], steps["answer"] != shown.labels

    def value(row: str, fit: str, column: str) -> float:
        return found.figures[Key("object 16", row, fit, column)].value

    assert value("tcuq answer", "untold", "error AUROC") == pytest.approx(auroc(risk, wrong))
    assert value("tcuq answer", "untold", "errors") == pytest.approx(wrong.mean())
    kept = np.argsort(risk, kind="stable")[: round(0.9 * len(risk))]
    assert value("tcuq answer", "untold", "errors at 90 %") == pytest.approx(wrong[kept].mean(), abs=0.005)
    doubt = 1 - seen.probs.max(axis=1)
    assert value("base", "", "prediction error AUROC") == pytest.approx(
        auroc(doubt, prediction != shown.labels), abs=1e-3
    )
    assert value("base", "", "errors") == (prediction != shown.labels).mean()


def test_steps_without_a_class_are_shown_and_not_judged() -> None:
    labels = np.array([0, -1, 1, 1, -1, 0])
    zeros = np.zeros(6, np.int64)
    shown = Shown(labels, zeros.astype(np.uint8), zeros, np.array([0, 0, 0, 1, 1, 1]), ("clean",), ())
    prediction = np.array([0, 0, 0, 1, 0, 1])
    score = np.array([0.1, 0.9, 0.8, 0.2, 0.95, 0.7])
    found = answers.columns(Rated(prediction, score, score), shown, prediction, "made")
    assert found["errors"].value == 0.5 and found["error AUROC"].value == 1.0
    assert found["prediction error AUROC"].value == 1.0


@pytest.mark.parametrize("name", ["vote", "mean_posterior", "median", "vote_8", "mean_8", "belief"])
def test_the_past_of_a_method_is_empty_at_a_stretch(name: str, tmp_path: Path) -> None:
    unit = made_unit(tmp_path)
    method = Fits(Streams(unit), row_of(name)).get("dev")
    seen = unit.observed("test class 16")
    whole, last = method.answer(seen), seen.pieces()[-1]
    alone = method.answer(Observed(seen.probs[last], None if seen.features is None else seen.features[last]))
    assert np.array_equal(alone.score, whole.score[last])
    assert np.array_equal(alone.predictions(), whole.predictions()[last])


def test_a_monitor_forgets_at_a_stretch_what_it_learned_too(tmp_path: Path) -> None:
    unit = made_unit(tmp_path)
    seen = unit.observed("test class 16")
    params = Monitors(unit).get("tcuq answer", "dev")
    assert seen.features is not None
    last = seen.pieces()[-1]
    alone = monitored(params, Observed(seen.probs[last], seen.features[last]))
    assert np.array_equal(alone, monitored(params, seen)[last])


def test_rules_with_a_class_of_their_own_doubt_the_prediction_as_far_as_they_do_not_believe_in_it() -> None:
    seen = Observed(np.array([[0.9, 0.1], [0.9, 0.1], [0.45, 0.55]]))
    prediction = np.array([0, 0, 1])
    believed = rated(row_of("belief"), row_of("belief").method().answer(seen), seen, prediction)
    assert believed.predictions.tolist() == [0, 0, 0]
    assert believed.prediction_score is not None
    assert believed.prediction_score[2] == pytest.approx(1 - believed.score[2])
    plain = rated(row_of("base"), row_of("base").method().answer(seen), seen, prediction)
    assert plain.prediction_score is plain.score


def test_ours_is_compared_with_every_row_in_pairs(measured: tuple[Unit, Measured]) -> None:
    _, found = measured
    lines = Found(combined("cifar10", [found.figures], answers.SPEC.comparisons))
    for row in ("base", "int8 confidence", "deep", "vote_8", "belief_told", "tcuq no labels"):
        for ours, column in (("tcuq", "prediction error AUROC"), ("tcuq answer", "errors at 90 %")):
            gap = lines.get("cifar10", "object 16", f"{ours} - {row}", "other", column)
            first = lines.get("cifar10", "object 16", ours, "other", column)
            second = lines.get("cifar10", "object 16", row, "other", column) or lines.get(
                "cifar10", "object 16", row, "", column
            )
            assert gap is not None and first is not None and second is not None
            assert gap.value == pytest.approx(first.value - second.value)
    ratio = lines.get("cifar10", "object 16", "tcuq answer / base", "untold", "errors")
    assert ratio is not None and ratio.low <= ratio.value <= ratio.high
