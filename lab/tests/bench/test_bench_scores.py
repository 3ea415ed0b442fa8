"""Figures of the benchmark against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tcuq_lab.benchmark.entries import BUILT_IN
from tcuq_lab.benchmark.files import Shown, Task
from tcuq_lab.experiments.benchmark import METRICS
from tcuq_lab.harness.declare import Case, Play
from tcuq_lab.harness.intervals import Drawn, drawn
from tcuq_lab.harness.types import Answers, Outputs
from tcuq_lab.metrics.errors import AUROC, ERRORS, NINETY, RELATIVE

NAMES = ("clean", "fog/1", "fog/5")


def task_of(labels: np.ndarray, sources: np.ndarray, stretches: np.ndarray, name: str = "class 1") -> Task:
    outputs = np.zeros((1, 2), np.uint8)
    shown = Shown(np.zeros(len(labels), int), labels, sources, stretches)
    errors = {"clean": 0.1, "fog/1": 0.15, "fog/5": 0.2}
    return Task("made", outputs, outputs, 1.0, NAMES, errors, {name: shown}, {})


def figures(task: Task, name: str, said: Answers, plain: Answers | None = None) -> dict[str, Drawn]:
    """Return the figures of a stream, whose network answers 0 with a doubt, or as it is given."""
    seen = task.outputs(name)
    if plain is not None:
        probs = np.where(np.eye(2)[plain.answer] > 0, 1 - plain.risk[:, None] / 100, 0.0)
        seen = Outputs(probs, seen.features, stretches=seen.stretches)
    case = Case(task, Play(name, name), "made", task.truth(name), seen, said, None, {})
    found = {column: each for metric in METRICS for column, each in metric(case).items()}
    count = case.truth.count
    return {
        column: each if isinstance(each, Drawn) else drawn(each, count, "x") for column, each in found.items()
    }


def test_errors_are_those_of_answers_and_leave_out_what_is_not_judged() -> None:
    labels = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1])
    task = task_of(labels, np.zeros(12, int), np.arange(12) // 6)
    answer = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    risk = np.array([9.0, 0.0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0])
    plain = Answers(np.arange(12.0)[::-1], answer)
    found = figures(task, "class 1", Answers(risk, answer), plain)
    assert found[ERRORS].value == 0.2
    assert found[NINETY].value == pytest.approx(1 / 9)
    assert found[AUROC].value == 0.5  # one error above all right answers, one below
    assert found[RELATIVE].value == 1.0  # confidence keeps the one of lower risk too


@pytest.mark.parametrize(("dwell", "rival"), [(1, "belief"), (1, "confidence"), (40, "confidence")])
def test_a_mix_of_paces_finds_the_pace(dwell: int, rival: str) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(0, 5, 4000 // dwell), dwell)
    logits = 1.5 * np.eye(5)[labels] + rng.normal(0, 1, (4000, 5))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    stream = Outputs(probs.astype(np.float32), np.ones((4000, 1), np.float32))
    errors = {}
    for name in ("belief_paces", rival):
        said = BUILT_IN[name]().watch(stream)
        answer = probs.argmax(axis=1) if said.answer is None else said.answer
        errors[name] = float((answer != labels).mean())
    ratio = errors["belief_paces"] / errors[rival]
    # Shuffled, it must not lose more than a little to confidence; held, it has to gain from the past.
    assert ratio < {(1, "belief"): 0.9, (1, "confidence"): 1.05, (40, "confidence"): 0.3}[dwell, rival], ratio
