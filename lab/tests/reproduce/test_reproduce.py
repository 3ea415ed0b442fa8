"""Experiments: their files, recordings that are kept, comparisons that go on where they were cut off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from kept_recordings import PLAIN, TINY, Kept
from places import LAB
from tcuq_lab.reproduce.experiment import NoNetworks
from tcuq_lab.reproduce.kinds import comparison
from tcuq_lab.reproduce.kinds.comparison import fit_rows, followed
from tcuq_lab.reproduce.kinds.schedule import Schedule
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import experiment_from, load_experiments
from tcuq_lab.reproduce.run import run

from tcuq_lab.data import Dataset
from tcuq_lab.reproduce import recordings as recordings_module
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.rows import row_of
from tcuq_lab.reproduce.run_size import RunSize


def test_the_experiments_of_the_repository_are_well_formed() -> None:
    found = load_experiments(LAB / "experiments")
    assert {"drop", "failure", "severity", "literal", "ablation", "headlines"} <= set(found)
    for each in found.values():
        assert each.rows[0].label == "base" or each.kind != "comparison"
        assert len({row.label for row in each.rows}) == len(each.rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": "al"}, "field of rows 'al' is unknown; did you mean all?"),
        ({"rows": ["bse"]}, "method 'bse' is unknown; did you mean base?"),
        ({"dwells": [0]}, "dwell is 0"),
        ({"title": 3}, "title of an experiment is 3, expected text"),
        ({"dwells": [4, 4]}, "expected each once"),
    ],
)
def test_a_bad_experiment_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")) as caught:
        experiment_from({**PLAIN, **change}, {"all": ["base"]})
    assert len(str(caught.value).splitlines()) == 1


def test_no_stream_serves_two_ends() -> None:
    labels = {part: np.arange(50) % 10 for part in ("dev", "test")}
    plan = Schedule("cifar10", TINY, 16, 0, labels, {"test": ("svhn", np.arange(50) % 10)})
    streams = [*plan.learned(), plan.chosen(), plan.clean("dev"), plan.clean("test")]
    streams += plan.ood_tests().values()
    streams += plan.tests().values()
    assert len({stream.digest() for stream in streams}) == len(streams)
    assert plan.sources("dev") == ["clean", *(f"{kind}/3" for kind in plan.suite.seen)]
    assert not set(plan.unseen) & set(plan.suite.seen)


def test_a_comparison_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = experiment_from(PLAIN, {})
    found = run(plan, Kept(tmp_path))  # type: ignore[arg-type]
    lines = found.lines
    assert [(line["row"], line["column"]) for line in lines] == [
        ("base", "drop"),
        ("base", "n"),
        ("tcuq_paper", "drop"),
        ("tcuq_paper", "n"),
    ]
    assert all(0 < line["value"] <= 1 for line in lines)
    assert lines[1]["value"] == lines[3]["value"]  # both have the answers of one network
    assert "| tcuq_paper |" in plan.shown(found)
    monkeypatch.setattr(comparison, "measure", None)  # computing again would fail
    again = run(plan, Kept(tmp_path))  # type: ignore[arg-type]
    assert again == found
    for change in ({"options": {"a": 1}}, {"kind": "severity"}):  # another measurement, another file
        other = experiment_from({**PLAIN, **change}, {}).pieces(Kept(tmp_path))  # type: ignore[arg-type]
        assert not any(path.exists() for path in other.values())
    with pytest.raises(TypeError):  # other rows are another comparison
        run(experiment_from({**PLAIN, "rows": ["base"]}, {}), Kept(tmp_path))  # type: ignore[arg-type]


def test_variants_follow_the_choice_of_a_fitted_row_of_tcuq(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    plan = Schedule("cifar10", TINY, 16, 0, {"dev": kept.labels, "test": kept.labels})
    rows = [row_of("tcuq_paper"), row_of("tcuq_paper_no_temporal")]
    rows.append(rows[1]._replace(label="elsewhere"))
    banks = {"tcuq_paper": kept.bank, "tcuq_paper_no_temporal": kept.bank, "elsewhere": dict(kept.bank)}
    found: dict[str, Any] = fit_rows(rows, banks, plan)
    full, lacking, elsewhere = (found[row.label] for row in rows)
    assert lacking._dev is full._dev and elsewhere._dev is not full._dev  # other networks, another fit
    assert lacking.setting == elsewhere.setting and lacking.params == elsewhere.params
    assert len(full.params.signals) > 1 and lacking.params.signals == ("doubt",)
    for name in ("base", "tcuq_standard", "tcuq_paper_ts"):  # nothing to choose, other grid, other posteriors
        assert followed(row_of(name), found.values()) is None


def test_recordings_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="pip install torch")
    rng = np.random.default_rng(0)
    made = Dataset(
        "mnist", "x", rng.integers(0, 256, (12, 28, 28)).astype(np.uint8), np.arange(12) % 10, "", ""
    )
    monkeypatch.setattr(recordings_module, "load_part", lambda task, part: made)
    rows = [row_of("base"), row_of("entropy"), row_of("early_exit")]
    setting = RunSize("tiny", 8, 8, 100, 100, (0,), (1,))
    calls: list[str] = []
    kept = Recordings(
        str(LAB / "weights"), str(tmp_path), setting, progress=lambda done, all_, name: calls.append(name)
    )
    first = kept.banks("mnist", "test", 0, rows, ["clean", "shot_noise/1"])
    assert calls == ["clean", "shot_noise/1"]
    assert first["base"] is first["entropy"]
    assert len(first["base"]["clean"].probs) == 8
    assert not np.array_equal(first["base"]["clean"].probs, first["early_exit"]["clean"].probs)
    again = kept.banks("mnist", "test", 0, rows, ["clean", "shot_noise/1"])
    assert len(calls) == 2
    dev = kept.banks("mnist", "dev", 0, rows, ["clean", "shot_noise/1"])
    np.testing.assert_array_equal(
        dev["base"]["clean"].probs, first["base"]["clean"].probs
    )  # the same examples
    assert not np.array_equal(dev["base"]["shot_noise/1"].probs, first["base"]["shot_noise/1"].probs)
    del calls[2:]
    np.testing.assert_array_equal(again["base"]["clean"].probs, first["base"]["clean"].probs)
    kept.banks("mnist", "test", 0, rows, ["clean", "shear/1"])
    assert calls[2:] == ["shear/1"]


def test_other_data_or_weights_are_recorded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="pip install torch")
    places = []
    for shift in (0, 1):
        data = Dataset("mnist", "x", np.zeros((8, 28, 28), np.uint8), (np.arange(8) + shift) % 10, "", "")
        monkeypatch.setattr(recordings_module, "load_part", lambda task, part, data=data: data)
        kept = Recordings(str(LAB / "weights"), str(tmp_path), RunSize("tiny", 8, 8, 100, 100, (0,), (1,)))
        places += [kept.place("mnist", "test", seed, row_of("base")) for seed in (0, 1)]
    assert len(set(places)) == 4


THREE = experiment_from({**PLAIN, "rows": ["base", "deep", "hydra"]}, {})


class Some(Kept):
    """Recordings of some rows."""

    weights = "weights"

    def __init__(self, folder: Path, *names: str) -> None:
        super().__init__(folder)
        self.names = names

    def has(self, task: str, seed: int, row: Any) -> bool:
        return seed == 0 or row.label in self.names


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (("base", "deep", "hydra"), ["base", "deep", "hydra"]),
        (("base", "deep"), ["base", "deep"]),
        (("base",), None),  # there is nothing to compare it with
        (("deep", "hydra"), None),  # what they are compared with is missing
        ((), None),
    ],
)
def test_a_unit_compares_the_rows_that_have_networks(
    tmp_path: Path, names: tuple[str, ...], left: list[str] | None
) -> None:
    some: Any = Some(tmp_path, *names)
    assert THREE.compared(some, Unit("cifar10", 16, 0)) is THREE
    found = THREE.compared(some, Unit("cifar10", 16, 4))
    assert left == (None if found is None else [row.label for row in found.rows])


def test_an_experiment_of_one_row_is_run_and_one_without_networks_is_refused(tmp_path: Path) -> None:
    alone = experiment_from({**PLAIN, "rows": ["base"]}, {})
    some: Any = Some(tmp_path, "base")
    assert alone.compared(some, Unit("cifar10", 16, 4)) is alone
    none: Any = Some(tmp_path)
    none.setting = replace(TINY, seeds=(3, 4))
    with pytest.raises(NoNetworks, match="x finds no networks to compare in weights, expected resnet8-3"):
        run(alone, none)


@pytest.mark.slow
def test_units_in_several_processes_give_the_same_records(tmp_path: Path) -> None:
    plan = experiment_from({**PLAIN, "dwells": [4, 16], "rows": ["base", "mean_posterior"]}, {})
    told: list[tuple[int, int, str]] = []
    one, two = Kept(tmp_path / "one"), Kept(tmp_path / "two")
    alone = run(plan, one)  # type: ignore[arg-type]
    beside = run(plan, two, lambda *given: told.append(given), jobs=2)  # type: ignore[arg-type]
    assert repr(alone.lines) == repr(beside.lines) and told[-1] == (2, 2, "")
    again = run(plan, two, jobs=2)  # type: ignore[arg-type]
    assert repr(again) == repr(beside)
