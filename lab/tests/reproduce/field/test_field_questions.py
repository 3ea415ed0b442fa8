"""The experiment `questions`: variants of the monitor on made-up streams."""

from __future__ import annotations

import numpy as np
import pytest
from made_questions import MadeUnit

from tcuq.metrics import auroc
from tcuq_lab.reproduce.field import questions
from tcuq_lab.reproduce.field.alarming.counting import events, scene_of
from tcuq_lab.reproduce.field.alarming.figures import shift_figures
from tcuq_lab.reproduce.field.asked import heads
from tcuq_lab.reproduce.field.asked import rows as names
from tcuq_lab.reproduce.field.asked.fits import CURVE, Logs, fitted
from tcuq_lab.reproduce.field.asked.judging import (
    CLEAN_ON,
    DELAY,
    FOUND,
    PREDICTION_AUROC,
    SHUFFLED,
    Judge,
    said,
    shuffled,
)
from tcuq_lab.reproduce.field.experiment import Key, combined
from tcuq_lab.reproduce.field.lines import Found


@pytest.fixture(scope="module")
def unit():
    return MadeUnit()


@pytest.fixture(scope="module")
def logs(unit):
    return Logs(unit)


@pytest.fixture(scope="module")
def full(logs):
    return fitted(logs.dev)


@pytest.fixture(scope="module")
def signals(logs):
    return heads.seen(logs.dev)


def test_a_head_of_all_signals_is_that_of_the_standard_fit(signals, full):
    found = heads.weighing(signals, signals.params.signals, choose=True)
    assert found.coef == full.coef and found.bias == full.bias
    assert found.instant == full.instant and found.anchor == full.anchor


def test_without_memory_the_past_has_no_part(unit, signals):
    params = heads.no_memory(signals)
    log = unit.log("test class 64", labels=False).take(slice(0, 200))
    order = np.random.default_rng(0).permutation(200)
    assert said(params, log)["risk"][order].tolist() == said(params, log.take(order))["risk"].tolist()
    assert params.anchor == "confidence"


def test_alarms_are_counted_as_in_the_experiment_of_alarms(unit):
    judge = Judge(unit, ("class 16",))
    shown, scene = unit.shown("test class 16"), scene_of(unit.shown("test class 16"))
    on = np.zeros(scene.shifted.shape, dtype=bool)
    for stretch, start, stop, _ in scene.shifts[:2]:  # of which the first begins while the alarm is on
        on[stretch, start + 3 : stop] = True
    stretch, start, *_ = scene.shifts[0]
    on[stretch, start - 2 : start + 1] = True
    judge.alarms("made", "class 16", on.ravel())
    expected = shift_figures(on, scene, judge.costly, f"{unit.task} {unit.seed} test class 16")
    for column in (FOUND, DELAY):
        found = judge.figures[Key("class 16", "made", "untold", column)]
        assert found.value == expected[column].value and found.events == expected[column].events
        np.testing.assert_array_equal(found.replicates, expected[column].replicates)
    worth = events(on, scene)
    assert worth.already[0] and worth.delays[0] == 3
    assert len(shown) == on.size


def test_shuffled_steps_stay_in_their_stretch_and_keep_their_rows(unit):
    shown, log = unit.shown("test class 1"), unit.log("test class 1", labels=False)
    mixed, other = shuffled(shown, log)
    assert mixed.segments.tolist() == shown.segments.tolist() == other.segments.tolist()
    assert (mixed.labels != shown.labels).any()
    rows = {probs.tobytes(): label for probs, label in zip(log.probs, shown.labels, strict=True)}
    assert all(rows[p.tobytes()] == label for p, label in zip(other.probs, mixed.labels, strict=True))


def test_steps_without_a_true_class_are_shown_but_not_judged(full):
    unit = MadeUnit(3)
    judge = Judge(unit, ["class 16"])
    judge.prediction("tcuq", full)
    before = judge.figures[Key("class 16", "tcuq", "untold", PREDICTION_AUROC)].value
    unit.pausing("test class 16", 2)
    other = Judge(unit, ["class 16"])
    other.prediction("tcuq", full)
    shown, log = unit.shown("test class 16"), unit.log("test class 16", labels=False)
    kept, risk = shown.judged, said(full, log)["risk"]
    wrong = log.probs.argmax(axis=1) != shown.labels
    after = other.figures[Key("class 16", "tcuq", "untold", PREDICTION_AUROC)].value
    assert after == pytest.approx(auroc(risk[kept], wrong[kept])) and after != before


@pytest.fixture(scope="module")
def measured():
    return questions.measure(MadeUnit())


@pytest.mark.slow
def test_every_row_is_measured_on_every_law_and_compared(measured):
    found = Found(combined("cifar10", [measured.figures], names.COMPARISONS))
    laws = names.laws_of(MadeUnit().plan)
    missing = [steps for steps in CURVE if steps > 720]
    absent = {names.labels_of(steps) for steps in missing if steps > 1440}
    for row in set(names.RANKED) - absent:
        for law in laws:
            gap = found.get("cifar10", law, f"tcuq - {row}", "untold", PREDICTION_AUROC)
            assert gap is not None and gap.networks == 1 and gap.low <= gap.value <= gap.high, (row, law)
    assert found.get("cifar10", "class 16", "tcuq", "untold", FOUND).value > 0.5
    assert found.get("cifar10", SHUFFLED, "tcuq", "untold", FOUND) is None
    for column in (FOUND, CLEAN_ON):  # ranking does not change with clean steps, alarms do
        assert found.get("cifar10", "class 16", f"tcuq - {names.clean_of(500)}", "untold", column)
    assert found.get("cifar10", "class 16", names.clean_of(500), "untold", PREDICTION_AUROC) is None
    for column in (DELAY, CLEAN_ON):
        assert found.get("cifar10", "class 16", "no labels", "untold", column) is not None
    assert found.get("cifar10", "class 16", "assisted network - plain network", "untold", PREDICTION_AUROC)
    change = found.get("cifar10", "class 16", names.OTHER_PAST, "untold", names.RISK_CHANGE)
    assert change.value == change.high == 0
