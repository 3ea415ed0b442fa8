"""The track with late labels: who is told what and when, and what counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from small_benchmark import made_benchmark

from tcuq_lab.benchmark import MAX_ERROR, Answers
from tcuq_lab.benchmark.entries import entry_of
from tcuq_lab.benchmark.files import Benchmark
from tcuq_lab.experiments.benchmark import Outcome, run
from tcuq_lab.harness.checks import Broken


class Method:
    """Accepts everything, and writes down what it is told."""

    heard: ClassVar[list[list[tuple[int, int, int]]]] = []

    def start(self) -> None:
        self.steps = 0
        self.heard.append([])

    def step(self, probs: np.ndarray, features: np.ndarray) -> Answers:
        self.steps += 1
        return Answers(1 - probs.max(), accept=True)

    def feedback(self, step: int, label: int) -> None:
        self.heard[-1].append((self.steps, step, label))


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return made_benchmark(tmp_path_factory.mktemp("streams"))


def judge(benchmark: Benchmark, **more: Any) -> Outcome:
    return run(entry_of(type("Method", (Method,), more), "", "", "made.py"), benchmark)


def test_drawn_labels_come_late_and_accepted_errors_of_the_second_half_count(benchmark: Benchmark) -> None:
    heard: list[list[tuple[int, int, int]]] = []
    outcome = judge(benchmark, heard=heard)
    task = benchmark.tasks[0]
    shown = task.streams["class 1"]
    few, many = heard[0], heard[3]  # each run is followed by two that check it
    assert set(few) < set(many) and 0.05 < len(many) / len(shown) < 0.15
    for taken, step, label in many:
        assert taken == step + 101 and label == shown.labels[step]
    wrong = task.probs[shown.rows].argmax(axis=1) != shown.labels
    have = {(each.task, each.stream, each.column): each.value for each in outcome.lines}
    second = wrong[len(shown) // 2 :].mean()
    for rate in ("1%", "10%"):
        assert have["east", "class 1", f"wrong of accepted, {rate}"] == pytest.approx(second)
        assert have["east", "class 1", f"excess, {rate}"] == pytest.approx(second - MAX_ERROR)
    assert len(outcome.cells) == 8 and not any(key[1] == "clean" for key in have)


def test_a_method_that_accepts_nothing_has_no_excess(benchmark: Benchmark) -> None:
    outcome = judge(benchmark, step=lambda self, probs, features: Answers(0.0, accept=False))
    assert outcome.interval().estimate == 0 and np.all(outcome.draws() == 0)
    assert {each.value for each in outcome.lines if each.column == "accepted, 10%"} == {0.0}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"step": lambda self, probs, features: 0.5}, "accept is None, expected True or False at each step"),
        ({"step": None, "watch": print}, "has feedback but no step"),
        ({"feedback": lambda self, step, label: 1 / 0}, "failed.*: ZeroDivisionError"),
        (
            {
                "start": lambda self: None,
                "said": 0.0,
                "step": lambda self, probs, features: Answers(self.said, accept=True),
                "feedback": lambda self, step, label: setattr(self, "said", self.said + 1),
            },
            r"the second time\. State is carried over",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused(benchmark: Benchmark, more: dict[str, Any], message: str) -> None:
    with pytest.raises(Broken, match=message):
        judge(benchmark, **more)
