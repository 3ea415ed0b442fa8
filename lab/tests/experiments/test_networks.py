"""Stored networks and trainings: the table and the page are what cards and results give; a run goes on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="pip install torch")

from places import LAB, ROOT
from small_trainings import small, squares

from tcuq_lab.experiments import networks, trainings
from tcuq_lab.experiments.damage import damage_page
from tcuq_lab.experiments.run import run
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.run_size import run_size
from tcuq_lab.zoo.make import Parts


def test_the_table_says_what_cards_say(tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    for name in ("cnn4_godin-0.npz", "dscnn-3.npz", "cards/text-0.json"):
        shutil.copy(LAB / "weights" / name, tmp_path / name)
    stored = (LAB / "weights" / "networks.csv").read_text().splitlines()
    head, *rows = networks.table(tmp_path).splitlines()
    assert head == stored[0] and len(rows) == 3 and set(rows) < set(stored)
    (tmp_path / "cnn4-0.npz").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="no card"):
        networks.table(tmp_path)


def test_the_page_of_corruptions_is_what_the_results_give() -> None:
    folder = ROOT / "docs" / "corruptions"
    assert damage_page(folder) == (folder / "README.md").read_text(encoding="utf-8")


def test_trainings_go_on_where_they_were_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(squares(), squares(40, 1), squares(40, 2), "made up")
    monkeypatch.setattr(trainings, "_parts", lambda dataset, examples: parts)
    monkeypatch.setattr(trainings, "present", lambda *_: True)
    monkeypatch.setattr(
        trainings.Training,
        "config",
        lambda self, setting: small(
            name=self.name,
            seed=self.seed,
            recipe="assisted" if self.suffix else "plain",
            settings=dict(self.variant.settings),
        ),
    )
    recordings = Recordings("", str(tmp_path), run_size("trial"))
    experiment: Any = trainings.SPEC.narrowed(["mnist"], ())
    pieces = experiment.pieces(recordings)
    first = next(iter(pieces))

    class Enough(Exception):
        pass

    def stop(done: int, of: int, what: str) -> None:
        if done == 1:
            raise Enough

    with pytest.raises(Enough):
        run(experiment, recordings, stop)
    before = pieces[first].stat().st_mtime_ns
    lines = run(experiment, recordings).lines
    assert pieces[first].stat().st_mtime_ns == before and len(lines) == len(pieces) == 8
    stored = json.loads((LAB / "results" / "trainings.json").read_text())["lines"]
    assert {frozenset(each) for each in lines} == {frozenset(stored[0])}
    names = {each["name"] for each in stored if each["backbone"] == "cnn4"}
    assert {each["name"] for each in lines} == names
