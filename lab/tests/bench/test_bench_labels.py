"""Figures of the benchmark by hand; late labels: the page, and rules that move a threshold."""

import json

import numpy as np
import pytest
from places import LAB

from tcuq_lab.benchmark.entries import BUILT_IN
from tcuq_lab.benchmark.files import Shown, Task
from tcuq_lab.benchmark.late import RULES, Fixed
from tcuq_lab.experiments.benchmark import METRICS
from tcuq_lab.experiments.labels import on_page, table
from tcuq_lab.harness.declare import Case, Play
from tcuq_lab.harness.intervals import Drawn, drawn
from tcuq_lab.harness.types import Answers, Outputs
from tcuq_lab.metrics.errors import AUROC, ERRORS, NINETY, RELATIVE


def test_errors_are_those_of_answers_and_leave_out_what_is_not_judged() -> None:
    labels, outputs = np.repeat([0, -1], [10, 2]), np.zeros((1, 2), np.uint8)
    stream = Shown(np.zeros(12, int), labels, np.zeros(12, int), np.arange(12) // 6)
    units = ((), ()), None, ("clean",), {"clean": 0.1}
    task = Task("made", outputs, None, None, 1.0, *units, {"class 1": stream}, {})
    answer = np.repeat([1, 0, 1], [2, 8, 2])
    risk = np.array([9.0, 0.0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0])
    probs = np.where(np.eye(2)[answer] > 0, 1 - np.arange(12.0)[::-1, None] / 100, 0.0)
    seen = Outputs(probs, stretches=stream.stretches)
    play = Play("class 1", "class 1")
    case = Case(task, play, "made", task.truth("class 1"), seen, Answers(risk, answer), None, {})
    found = {column: each for metric in METRICS for column, each in metric(case).items()}
    values = {
        column: (each if isinstance(each, Drawn) else drawn(each, 2, "x")).value
        for column, each in found.items()
    }
    assert values[ERRORS] == 0.2 and values[NINETY] == pytest.approx(1 / 9)
    assert values[AUROC] == 0.5  # one error above all right answers, one below
    assert values[RELATIVE] == 1.0  # confidence keeps the one of lower risk too


@pytest.mark.parametrize(
    ("dwell", "rival", "most"), [(1, "belief", 0.9), (1, "confidence", 1.05), (40, "confidence", 0.3)]
)
def test_a_mix_of_paces_finds_the_pace(dwell: int, rival: str, most: float) -> None:
    """Shuffled, it must not lose more than a little to confidence; held, it has to gain from the past."""
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(0, 5, 4000 // dwell), dwell)
    logits = 1.5 * np.eye(5)[labels] + rng.normal(0, 1, (4000, 5))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    stream, errors = Outputs(probs.astype(np.float32), np.ones((4000, 1), np.float32)), {}
    for name in ("belief_paces", rival):
        said = BUILT_IN[name]().watch(stream)
        answer = probs.argmax(axis=1) if said.answer is None else said.answer
        errors[name] = float((answer != labels).mean())
    assert errors["belief_paces"] / errors[rival] < most


def test_the_page_shows_the_stored_figures_and_no_debt_is_above_what_is_certain() -> None:
    stored = json.loads((LAB / "results" / "late" / "labels.json").read_text())["rows"]
    page = (LAB.parent / "docs" / "LABELS.md").read_text()
    assert on_page(page, table(stored)) == page
    assert on_page(page, table(stored[:-1])) != page
    assert max(row["debt"] for row in stored if row["debt"] is not None) <= 1


@pytest.mark.parametrize("rule", RULES[1:])
def test_a_rule_is_stricter_after_errors_and_looser_after_none(rule: type[Fixed]) -> None:
    strict, loose = rule(0.1, 0.05), rule(0.1, 0.05)
    for risk in np.random.default_rng(0).uniform(0, 0.2, 400).tolist():
        strict.told(risk, True, risk < strict.threshold)
        loose.told(risk, False, risk < loose.threshold)
    assert strict.threshold < 0.05 and loose.threshold > 0.1 == Fixed(0.1, 0.05).threshold
