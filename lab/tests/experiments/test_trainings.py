"""Trainings as an experiment: each is done once, and a run goes on where it was cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="pip install torch")

from places import LAB
from small_trainings import small, squares

from tcuq_lab.experiments import trainings
from tcuq_lab.experiments.run import run
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.run_size import run_size
from tcuq_lab.zoo.make import Parts

pytestmark = pytest.mark.slow


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
