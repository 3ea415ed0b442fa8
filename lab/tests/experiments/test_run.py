"""Running an experiment network by network: it goes on where it was cut off, and compares in pairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kept_recordings import TINY, Kept

from tcuq_lab.experiments.experiment import StreamExperiment
from tcuq_lab.experiments.run import run
from tcuq_lab.harness.declare import Case, Comparison, Key, Play, Row, combined
from tcuq_lab.harness.intervals import Drawn
from tcuq_lab.harness.lines import from_entries
from tcuq_lab.harness.types import Answers, Outputs, doubt
from tcuq_lab.reproduce.units import Unit

pytestmark = pytest.mark.slow


class Cut:
    """A row that fails at one network, until it is mended."""

    def __init__(self) -> None:
        self.fails: int | None = 1
        self.calls: list[int] = []

    def __call__(self, unit: Unit, role: str) -> Cut:
        self.calls.append(unit.seed)
        if unit.seed == self.fails:
            raise KeyboardInterrupt
        return self

    choice = 1

    def watch(self, seen: Outputs) -> Answers:
        return Answers(doubt(seen.probs))


def seed_of(case: Case) -> dict[str, Drawn]:
    seed = case.streams.seed  # type: ignore[attr-defined]
    return {"errors": Drawn(seed + 1.5, np.arange(4, dtype=np.float32) + seed, 11)}


def experiment(row: Cut, *more: Row) -> StreamExperiment:
    return StreamExperiment(
        "answers",
        "made",
        lambda unit: [Row("base", row, False), *more],
        lambda unit: iter([Play("class 1", "test class 1", "told", "law class 1")]),
        (seed_of,),
        tasks=("cifar10",),
    )


def test_a_run_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    row = Cut()
    spec, recordings = experiment(row), Kept(tmp_path, replace(TINY, seeds=(0, 1)))
    with pytest.raises(KeyboardInterrupt):
        run(spec, recordings)  # type: ignore[arg-type]
    assert row.calls == [0, 1]
    row.fails = None
    told: list[tuple[int, int, str]] = []
    lines, about = run(spec, recordings, progress=lambda *at: told.append(at))  # type: ignore[arg-type]
    assert row.calls == [0, 1, 1]
    assert told == [(1, 2, "resnet8-1 base"), (2, 2, "")]
    assert [(each.value, each.networks) for each in from_entries(lines)] == [(2.0, 2)]
    assert about["choices"] == {f"resnet8-{seed}": {"base": {"": 1}} for seed in (0, 1)}


def test_the_forecast_is_of_the_pieces_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row, now = Cut(), [0.0]
    row.fails = None
    told: list[tuple[int, int, str]] = []
    spec, recordings = experiment(row), Kept(tmp_path, replace(TINY, seeds=(0, 1)))

    def slow(*given: object) -> None:
        now[0] += 6000

    def piece(*given: object) -> None:
        now[0] += 60
        keep(*given)

    keep = spec.keep
    monkeypatch.setattr("tcuq_lab.experiments.run.time.monotonic", lambda: now[0])
    monkeypatch.setattr(StreamExperiment, "prepare", slow)
    monkeypatch.setattr(StreamExperiment, "keep", lambda self, *given: piece(*given))
    run(spec, recordings, progress=lambda *at: told.append(at))  # type: ignore[arg-type]
    assert [text.partition(", ")[2] for *_, text in told] == ["", "about 1 min left", ""]


def test_a_new_row_is_measured_alone_and_another_network_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, other, recordings = Cut(), Cut(), Kept(tmp_path, replace(TINY, seeds=(0, 1)))
    row.fails = other.fails = None
    run(experiment(row), recordings)  # type: ignore[arg-type]
    run(experiment(row, Row("new", other, False)), recordings)  # type: ignore[arg-type]
    assert (row.calls, other.calls) == ([0, 1], [0, 1])
    monkeypatch.setattr(recordings, "place", lambda *asked: tmp_path / "trained again")
    run(experiment(row), recordings)  # type: ignore[arg-type]
    run(experiment(row), recordings)  # type: ignore[arg-type]
    assert row.calls == [0, 1, 0, 1]


def figure(row: str, fit: str, value: float) -> tuple[Key, Drawn]:
    return Key("class 1", row, fit, "errors"), Drawn(value, np.full(3, value, np.float32), 11)


def test_comparisons_find_rows_of_the_same_fit_or_of_none() -> None:
    first = dict([figure("a", "told", 5.0), figure("a", "untold", 4.0), figure("b", "", 1.0)])
    second = dict([figure("c", "told", 2.0), figure("c", "untold", 3.0)])
    asked = [
        Comparison("a", "b", "errors"),
        Comparison("a", "c", "errors"),
        Comparison("a", "c", "errors", second_fit="told", first_fit="untold"),
        Comparison("a", "b", "errors", "/", second_fit=""),
    ]
    found = {
        (each.row, each.fit): each.value for each in combined("t", [first | second], asked) if " " in each.row
    }
    assert found == {
        ("a - b", "told"): 4.0,
        ("a - b", "untold"): 3.0,
        ("a - c", "told"): 3.0,
        ("a - c", "untold"): 1.0,
        ("a - c, told", "untold"): 2.0,
        ("a / b, unfitted", "told"): 5.0,
        ("a / b, unfitted", "untold"): 4.0,
    }


def test_a_difference_takes_the_networks_that_have_both_rows() -> None:
    networks = [dict([figure("a", "told", 5.0), figure("b", "told", 1.0)]), dict([figure("a", "told", 9.0)])]
    found = {each.row: each for each in combined("t", networks, [Comparison("a", "b", "errors")])}
    assert (found["a"].value, found["a"].networks) == (7.0, 2)
    assert (found["a - b"].value, found["a - b"].networks) == (4.0, 1)
