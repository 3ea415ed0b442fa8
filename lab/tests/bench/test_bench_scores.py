"""Figures of the benchmark against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from small_benchmark import made_task

from tcuq_lab.benchmark.builtin import BUILT_IN, built_in, limit_for
from tcuq_lab.benchmark.files import DEV, Shown, Task
from tcuq_lab.experiments.benchmark import METRICS
from tcuq_lab.harness.checks import Checked
from tcuq_lab.harness.declare import Case, Play
from tcuq_lab.harness.intervals import Drawn, drawn
from tcuq_lab.harness.types import Answers, Outputs, Truth
from tcuq_lab.metrics.alarms import CLEAN_ON, DELAY, FALSE, FOUND, SHIFTED_ON, events, scene_of
from tcuq_lab.metrics.errors import AUROC, ERRORS, NINETY, RELATIVE
from tcuq_lab.metrics.limits import false_starts
from tcuq_lab.metrics.windows import ERROR

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


def test_delays_count_costly_shifts_that_begin_in_a_stretch() -> None:
    sources = np.array([2, 2, 0, 0, 2, 2, 2, 0, 1, 1, 0, 2, 2, 0, 0, 0, 2, 2, 0, 0])
    scene = scene_of(Truth(np.zeros(20, int), sources, np.arange(20) // 14, NAMES))
    on = np.zeros(20, bool)
    on[[5, 8, 9, 15, 16]] = True
    found = events(scene.rows(on), scene)
    costly = np.array([name == "fog/5" for name in found.sources])
    delays, numbers = found.delays[costly], found.stretch[costly]
    # The first begins with the stretch, fog/1 costs too little, the last finds an alarm that is on already.
    assert delays.tolist() == [1.0, math.inf, math.inf] and numbers.tolist() == [0, 0, 1]


def test_an_alarm_is_judged_on_clean_and_on_shifted_steps() -> None:
    sources = np.tile(np.repeat([0, 2], 5), 2)
    task = task_of(np.zeros(20, int), sources, np.arange(20) // 10)
    on = np.zeros(20, bool)
    on[[0, 6, 7]] = True
    said = Answers(np.arange(20.0), np.zeros(20, int), on)
    found = figures(task, "class 1", said, said)
    assert found[CLEAN_ON].value == 0.1 and found[SHIFTED_ON].value == 0.2
    assert found[FOUND].value == 0.5 and FALSE not in found
    assert math.isinf(found[DELAY].value)  # the mean of the two middle ones of 1 and a miss


def test_false_alarms_merge_and_count_again_as_in_experiments() -> None:
    task = task_of(np.zeros(1000, int), np.zeros(1000, int), np.arange(1000) // 500, "clean")
    on = np.zeros(1000, bool)
    on[[3, 4, 40, 498, 500]] = True  # the second is the first again; two stretches have nothing in common
    on[600:900] = True  # counts once more after 150 steps, and after 300, as it might come back
    said = Answers(np.arange(1000.0), np.zeros(1000, int), on)
    found = figures(task, "clean", said, said)
    expected = false_starts(on.reshape(2, 500), np.ones((2, 500), bool)).sum()
    assert expected == 6
    assert found[FALSE].value == 60.0 and found[CLEAN_ON].value == 0.305
    assert found[FALSE].exposure == 0.1  # a rate of 10 in 10,000 steps would be one alarm
    assert AUROC not in found and RELATIVE not in found


def test_accuracy_is_compared_at_the_end_of_full_windows() -> None:
    labels = np.zeros(450, int)
    task = task_of(labels, np.zeros(450, int), np.zeros(450, int))
    answer = (np.arange(450) < 50).astype(int)  # 0.75 right in the first 200 steps, then all
    accuracy = np.zeros(450)
    accuracy[[199, 399]] = 0.5, 0.9
    found = figures(
        task, "class 1", Answers(np.zeros(450), answer, None, accuracy), Answers(np.zeros(450), answer)
    )
    assert found[ERROR].value == pytest.approx((0.25 + 0.1) / 2)


def test_a_limit_keeps_to_the_false_alarms_asked_for() -> None:
    rng = np.random.default_rng(0)
    runs = [rng.random(500) for _ in range(4)]
    limit = limit_for(runs, asked=200)
    values = np.stack(runs)
    count, more = (
        false_starts(values > each, np.ones(values.shape, bool)).sum() for each in (limit, limit - 0.01)
    )
    assert count <= 10 < more


@pytest.mark.parametrize("name", [name for name, kind in BUILT_IN.items() if not hasattr(kind, "feedback")])
def test_built_in_methods_speak(name: str) -> None:
    task, entry = made_task("east", 0, steps=240), built_in(name)
    fitted = Checked(entry, task.dev(DEV, entry.uses_labels), "east")
    [stream, *_] = task.outputs("class 16").split()
    said = fitted.say(stream, "class 16")
    wrong = said.answer != task.streams["class 16"].labels[: len(stream)]
    assert said.risk[wrong].mean() > said.risk[~wrong].mean()
    assert fitted.state_bytes is None or fitted.state_bytes >= 0
    assert entry.source.startswith("tcuq_lab/") and len(entry.sha256) == 64


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
