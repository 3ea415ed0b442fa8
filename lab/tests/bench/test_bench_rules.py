"""Rules of the benchmark: what breaks one is refused with a line that says what to do."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_benchmark import made_benchmark

from tcuq_lab.benchmark import Answers, Dev, Outputs
from tcuq_lab.benchmark.entries import entry_of, load_entry
from tcuq_lab.benchmark.files import Benchmark
from tcuq_lab.experiments.benchmark import run
from tcuq_lab.harness.checks import Broken


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return made_benchmark(tmp_path_factory.mktemp("streams"))


def doubt(stream: Outputs) -> np.ndarray:
    return np.asarray(1 - stream.probs.max(axis=1))


def judge(benchmark: Benchmark, watch: Any, **more: Any) -> Any:
    kind = type("Method", (), {"watch": lambda self, stream: watch(stream), "name": "made", **more})
    return run(entry_of(kind, "made.py", "0", "made.py"), benchmark)


def shifted_by_one(stream: Outputs) -> np.ndarray:
    return np.append(doubt(stream)[1:], 0.0)


def standardized(stream: Outputs) -> np.ndarray:
    found = doubt(stream)
    return np.asarray((found - found.mean()) / (found.std() + 1e-3))


def longer_is_riskier(stream: Outputs) -> np.ndarray:
    return doubt(stream) + len(stream)


def knows_the_length(stream: Outputs) -> np.ndarray:
    return shifted_by_one(stream) if len(stream) == 120 else doubt(stream)


def peeks_where_no_stretch_is_cut_off(stream: Outputs) -> np.ndarray:
    found = doubt(stream)
    if len(stream) > 60:
        found[59] = found[60]
    return found


def looks_at_later_features(stream: Outputs) -> np.ndarray:
    return np.append(stream.features[1:, 0], 0.0) if len(stream) == 120 else doubt(stream)


@pytest.mark.parametrize(
    "watch",
    [
        shifted_by_one,
        standardized,
        longer_is_riskier,
        knows_the_length,
        looks_at_later_features,
        peeks_where_no_stretch_is_cut_off,
    ],
)
def test_a_method_that_looks_ahead_is_caught(benchmark: Benchmark, watch: Any) -> None:
    with pytest.raises(Broken, match=r"made\.py on east, stream 'class 1', .* use only the steps so far"):
        judge(benchmark, watch)


def test_an_answer_that_looks_ahead_is_caught(benchmark: Benchmark) -> None:
    def watch(stream: Outputs) -> Answers:
        label = stream.probs.argmax(axis=1)
        return Answers(doubt(stream), np.append(label[1:], label[-1]))

    with pytest.raises(Broken, match="gets another answer when later steps are cut off"):
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
        (lambda s: "high", r"risk is text \('high'\), expected numbers"),
        (
            lambda s: {"risk": doubt(s), "alarms": None},
            "unknown key 'alarms'; allowed: risk, answer, alarm, accuracy",
        ),
        (lambda s: None, "risk is None, expected a number for each step"),
        (lambda s: sys.exit(3), "failed: SystemExit: 3"),
        (lambda s: {"alarm": doubt(s)}, "key 'risk' is missing; allowed: risk, answer"),
        (lambda s: s.labels, "AttributeError: 'Outputs' object has no attribute 'labels'"),
        (lambda s: s.probs.sort(), "ValueError: sort array is read-only"),
    ],
)
def test_bad_words_are_refused(benchmark: Benchmark, said: Any, message: str) -> None:
    with pytest.raises(Broken, match=message) as caught:
        judge(benchmark, said)
    assert "\n" not in str(caught.value) and "east, stream 'class 1', stretch 0" in str(caught.value)


def test_random_words_are_refused(benchmark: Benchmark) -> None:
    rng = np.random.default_rng(0)
    counter = itertools.count()
    with pytest.raises(Broken, match=r"the second time\. .* Random numbers need a fixed seed\.$"):
        judge(benchmark, lambda stream: rng.random(len(stream)))
    with pytest.raises(Broken, match=r"stretches: reset it at the beginning of watch\(self, stream\)"):
        judge(benchmark, lambda stream: doubt(stream) + next(counter))


def test_a_memory_that_outlives_a_stretch_is_refused(benchmark: Benchmark) -> None:
    class Method:
        mean = 0.0

        def step(self, probs: np.ndarray, features: np.ndarray) -> float:
            self.mean = 0.9 * self.mean + 0.1 * (1 - float(probs.max()))
            return self.mean

    remedy = r"State is carried over between stretches: define start\(self\) and reset it there\."
    with pytest.raises(Broken, match=rf"another risk the second time\. {remedy}"):
        run(entry_of(Method, "", "", "made.py"), benchmark)
    keeps = type("Method", (Method,), {"start": lambda self: None})
    with pytest.raises(Broken, match=r"between stretches: reset all of it in start\(self\)\."):
        run(entry_of(keeps, "", "", "made.py"), benchmark)
    forgets = type("Method", (Method,), {"start": lambda self: setattr(self, "mean", 0.0)})
    assert run(entry_of(forgets, "", "", "made.py"), benchmark).interval().estimate > 0


def test_a_fit_that_draws_without_a_seed_is_refused(benchmark: Benchmark) -> None:
    seeds = itertools.count()

    def fit(self: Any, dev: Dev) -> None:
        self.weight = next(seeds)

    kind = type("Method", (), {"fit": fit, "watch": lambda self, stream: stream.features[:, 0] * self.weight})
    with pytest.raises(
        Broken, match=r"gets another risk after a second fit\. Seed the random numbers of fit\.$"
    ):
        run(entry_of(kind, "", "", "made.py"), benchmark)


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
    ],
)
def test_files_that_are_no_methods_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(text)
    with pytest.raises(Broken, match=message):
        load_entry(path)


def test_a_function_is_enough(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("def watch(stream):\n    return 1 - stream.probs.max(axis=1)\n")
    entry = load_entry(path)
    assert (entry.name, entry.uses_labels) == ("plain", False)
    assert run(entry, benchmark).interval().estimate == 1.0  # it is confidence


def test_steps_say_what_a_whole_stretch_says(benchmark: Benchmark) -> None:
    with pytest.raises(Broken, match=r"another risk from step\(\) than from watch\(\)\."):
        judge(benchmark, doubt, step=lambda self, probs, features: float(probs.max()))
    judge(benchmark, doubt, step=lambda self, probs, features: 1 - float(probs.max()))


def test_products_of_float32_matrices_are_no_look_ahead(benchmark: Benchmark) -> None:
    weights = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    judge(benchmark, lambda stream: np.tanh(stream.features @ weights / 50).sum(axis=1))
