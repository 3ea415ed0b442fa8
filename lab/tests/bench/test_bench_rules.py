"""Rules of the benchmark: what breaks one is refused with a line that says what to do."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from small_benchmark import made_benchmark

from tcuq_lab.benchmark import MAX_ERROR, Answers, Dev, Outputs
from tcuq_lab.benchmark.entries import entry_of, load_entry
from tcuq_lab.benchmark.files import Benchmark
from tcuq_lab.experiments.benchmark import run
from tcuq_lab.harness.checks import Broken


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return made_benchmark(tmp_path_factory.mktemp("streams"))


def doubt(stream: Outputs) -> np.ndarray:
    return np.asarray(1 - stream.probs.max(axis=1))


def judge(benchmark: Benchmark, watch: Any = doubt, **more: Any) -> Any:
    made = {"name": "made", **more}
    if watch is not None:
        made["watch"] = lambda self, stream: watch(stream)
    return run(entry_of(type("Method", (), made), "made.py", "0", "made.py"), benchmark)


def later(values: np.ndarray) -> np.ndarray:
    return np.append(values[1:], 0.0)


def standardized(stream: Outputs) -> np.ndarray:
    return np.asarray((doubt(stream) - doubt(stream).mean()) / (doubt(stream).std() + 1e-3))


def peeks_where_no_stretch_is_cut_off(stream: Outputs) -> np.ndarray:
    found = doubt(stream)
    if len(stream) > 60:
        found[59] = found[60]
    return found


@pytest.mark.parametrize(
    "watch",
    [
        lambda s: later(doubt(s)),
        standardized,
        lambda s: doubt(s) + len(s),
        lambda s: later(doubt(s)) if len(s) == 120 else doubt(s),
        lambda s: later(s.features[:, 0]) if len(s) == 120 else doubt(s),
        peeks_where_no_stretch_is_cut_off,
        lambda s: Answers(doubt(s), np.roll(s.probs.argmax(axis=1), -1)),
    ],
)
def test_a_method_that_looks_ahead_is_caught(benchmark: Benchmark, watch: Any) -> None:
    with pytest.raises(Broken, match=r"made\.py on east, stream 'clean', .* use only the steps so far"):
        judge(benchmark, watch)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (lambda s: doubt(s)[1:], r"risk has shape \(119,\), expected \(120,\): one value for each step"),
        (lambda s: np.where(np.arange(120) == 7, np.nan, 0), r"risk\[7\] is nan, expected a finite number"),
        (lambda s: np.full(120, "a"), r"risk is text \('a'\), expected numbers"),
        (lambda s: Answers(doubt(s), np.full(120, 3)), r"answer\[0\] is 3, expected a class from 0 to 2"),
        (lambda s: Answers(doubt(s), np.full(120, 0.5)), "answer has dtype float64, expected integers"),
        (lambda s: Answers(doubt(s), alarm=np.full(120, 2)), r"alarm\[0\] is 2, expected True or False"),
        (lambda s: Answers(doubt(s), accuracy=np.full(120, 80.0)), r"accuracy\[0\] is 80.0, expected 0 to 1"),
        (lambda s: {"risk": doubt(s), "alarms": 0}, "unknown key 'alarms'; allowed: risk, answer, alarm"),
        (lambda s: {"alarm": doubt(s)}, "key 'risk' is missing; allowed: risk, answer"),
        (lambda s: None, "risk is None, expected a number for each step"),
        (lambda s: sys.exit(3), "failed: SystemExit: 3"),
        (lambda s: s.labels, "AttributeError: 'Outputs' object has no attribute 'labels'"),
        (lambda s: s.probs.sort(), "ValueError: sort array is read-only"),
    ],
)
def test_bad_words_are_refused(benchmark: Benchmark, said: Any, message: str) -> None:
    with pytest.raises(Broken, match=message) as caught:
        judge(benchmark, said)
    assert "\n" not in str(caught.value) and "east, stream 'clean', stretch 0" in str(caught.value)


def test_what_is_random_or_outlives_a_stretch_is_refused(benchmark: Benchmark) -> None:
    rng, counter = np.random.default_rng(0), itertools.count()
    with pytest.raises(Broken, match=r"the second time\. .* Random numbers need a fixed seed\.$"):
        judge(benchmark, lambda stream: rng.random(len(stream)))
    with pytest.raises(Broken, match=r"stretches: reset it at the beginning of watch\(self, stream\)"):
        judge(benchmark, lambda stream: doubt(stream) + next(counter))

    def fit(self: Any, dev: Dev) -> None:
        self.weight = next(counter)

    def step(self: Any, probs: np.ndarray, features: np.ndarray) -> float:
        self.mean = 0.9 * self.mean + 0.1 * (1 - float(probs.max()))
        return float(self.mean)

    stateful: dict[str, Any] = {"mean": 0.0, "step": step}
    with pytest.raises(Broken, match=r"State is carried over .*: define start\(self\) and reset it there\."):
        judge(benchmark, None, **stateful)
    with pytest.raises(Broken, match=r"between stretches: reset all of it in start\(self\)\."):
        judge(benchmark, None, start=lambda self: None, **stateful)
    judge(benchmark, None, start=lambda self: setattr(self, "mean", 0.0), **stateful)
    seedless: dict[str, Any] = {"fit": fit, "step": lambda self, probs, features: features[0] * self.weight}
    with pytest.raises(Broken, match=r"another risk after a second fit\. Seed the random numbers of fit\.$"):
        judge(benchmark, None, **seedless)


def test_steps_say_what_a_whole_stretch_says_up_to_rounding(benchmark: Benchmark) -> None:
    with pytest.raises(Broken, match=r"another risk from step\(\) than from watch\(\)\."):
        judge(benchmark, doubt, step=lambda self, probs, features: float(probs.max()))
    judge(benchmark, doubt, step=lambda self, probs, features: 1 - float(probs.max()))
    weights = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    judge(benchmark, lambda stream: np.tanh(stream.features @ weights / 50).sum(axis=1))


@pytest.mark.parametrize("uses_labels", [True, False])
def test_labels_are_given_in_their_track_alone(benchmark: Benchmark, uses_labels: bool) -> None:
    seen = []

    def fit(self: Any, dev: Dev) -> None:
        assert repr(dev)  # says nothing of what is not there
        seen.append((hasattr(dev, "labels"), hasattr(dev, "shifted"), hasattr(dev.clean, "labels")))

    judge(benchmark, doubt, fit=fit, uses_labels=uses_labels)
    assert set(seen) == {(uses_labels, uses_labels, False)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "no class Method; define a class Method with watch"),
        ("class Method:\n    pass\n", "Method has neither watch nor step"),
        ("import nothing_of_this_name\n", r"import failed \(line 1\): ModuleNotFoundError"),
        ("class Method(\n", "import failed: SyntaxError"),
        (
            "class Method:\n    uses_labels = 1\n    watch = print\n",
            "uses_labels is 1, expected True or False",
        ),
        ("class Method:\n    passes = 0\n    watch = print\n", "passes is 0, expected 1 to 1000"),
        ("class Method:\n    name = 'a|b'\n    watch = print\n", r"name is 'a\|b', expected a text"),
        ("class Method:\n    feedback = watch = print\n", "has feedback but no step"),
    ],
)
def test_files_that_are_no_methods_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(text)
    with pytest.raises(Broken, match=message):
        load_entry(path)


class Told:
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


def told(benchmark: Benchmark, **more: Any) -> Any:
    return run(entry_of(type("Method", (Told,), more), "", "", "made.py"), benchmark)


def test_drawn_labels_come_late_and_accepted_errors_of_the_second_half_count(benchmark: Benchmark) -> None:
    heard: list[list[tuple[int, int, int]]] = []
    outcome, task = told(benchmark, heard=heard), benchmark.tasks[0]
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
    silent = told(benchmark, step=lambda self, probs, features: Answers(0.0, accept=False))
    assert silent.interval().estimate == 0 and np.all(silent.draws() == 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"step": lambda self, probs, features: 0.5}, "accept is None, expected True or False at each step"),
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
def test_rules_hold_where_labels_come_late(benchmark: Benchmark, more: dict[str, Any], message: str) -> None:
    with pytest.raises(Broken, match=message):
        told(benchmark, **more)
