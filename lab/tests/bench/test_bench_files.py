"""Stream files: round trip, checksums, what a method gets to see of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from places import ROOT
from small_benchmark import made_folder, made_task

from tcuq_lab.benchmark.files import LIST, load, save
from tcuq_lab.benchmark.make import of_unit
from tcuq_lab.harness.types import Outputs, Truth

COMMITTED = ROOT / "lab" / "benchmark"
LARGEST = {1: 15_000_000, 2: 3_500_000}
"""Bytes of all files, by edition."""


def test_a_file_holds_all_of_a_task(tmp_path: Path) -> None:
    task = made_task("east", 3)
    save(tmp_path, [task], {"command": "none"})
    [back] = load(tmp_path).tasks
    for name in ("name", "scale", "sources", "errors", "probs", "features"):
        assert np.array_equal(getattr(back, name), getattr(task, name))
    assert list(back.streams) == list(task.streams)
    for name, shown in task.streams.items():
        for column in ("rows", "labels", "sources", "stretches"):
            assert (getattr(back.streams[name], column) == getattr(shown, column)).all()


def test_what_is_damaged_or_other_is_refused(tmp_path: Path) -> None:
    first = load(made_folder(tmp_path / "a")).digest
    assert load(made_folder(tmp_path / "b")).digest == first
    assert load(made_folder(tmp_path / "c", seed=7)).digest != first
    path = tmp_path / "a" / "west.npz"
    whole = path.read_bytes()
    for place in (0, 1000, -1):
        data = bytearray(whole)
        data[place] ^= 1
        path.write_bytes(bytes(data))
        with pytest.raises(ValueError, match=r"west\.npz: sha256 is .*get the file again"):
            load(tmp_path / "a")
    path.write_bytes(whole)
    listed = json.loads(path.with_name(LIST).read_text())
    listed["files"]["west.npz"]["content"] = "0" * 64
    path.with_name(LIST).write_text(json.dumps(listed))
    with pytest.raises(ValueError, match=r"west\.npz: no stream file \(its content is not that of"):
        load(tmp_path / "a")


def test_a_method_gets_floats_that_it_cannot_write_to() -> None:
    task = made_task("east", 0)
    stream = task.dev("class 16", False).outputs().split()[1]
    rows = task.streams["class 16"].rows[120:240]
    assert stream.probs.dtype == np.float32 and stream.probs.max() < 1
    assert (stream.probs * 256 == task.probs[rows]).all()
    assert (stream.features == task.features[rows] * np.float32(0.5)).all()
    with pytest.raises(ValueError, match="read-only"):
        stream.probs[0] = 0


def test_development_data_have_labels_in_one_track_alone() -> None:
    task = made_task("east", 0)
    full, bare = task.dev("dev", True), task.dev("dev", False)
    assert (full.labels == task.streams["dev"].labels).all()
    assert set(full.shifted.tolist()) == {0, 1}  # one corruption type, whatever the severity
    assert not hasattr(bare, "labels") and not hasattr(bare, "shifted")
    for dev in (full, bare):
        assert not hasattr(dev.clean, "labels") and not hasattr(dev.clean, "shifted")
        assert len(dev.clean) == len(task.streams["clean dev"]) and len(dev.pieces()) == 5


class MadeUnit:
    """Two roles of three stretches of ten steps; the clean row of a step is always the same."""

    task = "east"
    plan = SimpleNamespace(network="none-0", laws=("two",))

    def truth(self, role: str) -> Truth:
        names = ("clean", "fog/1") if role == "one" else ("snow/2", "clean")
        sources = np.tile([0, 1], 15)
        numbers = np.repeat(np.arange(3), 10)
        return Truth(np.arange(30) % 3, sources, numbers, names)

    def outputs(self, role: str) -> Outputs:
        probs = np.full((30, 3), 0.25)
        probs[np.arange(30), np.arange(30) % 3] = 0.5
        features = np.ones((30, 2)) * (1 + (np.arange(30) % 2))[:, None] * (1 if role == "one" else 5)
        return Outputs(probs, features)

    def error_rates(self, role: str) -> dict[str, float]:
        return {"clean": 0.1234567, "fog/1": 0.5}


def test_streams_are_the_first_steps_of_stretches() -> None:
    wanted = {"dev": ("one", 2, 10), "clean dev": ("one", 1, 4), "class 1": ("two", 2, 3)}
    task = of_unit(MadeUnit(), wanted, "trial")  # type: ignore[arg-type]
    assert task.sources == ("clean", "fog/1", "snow/2") and task.errors["clean"] == 0.123457
    test = task.streams["class 1"]
    assert test.stretches.tolist() == [0, 0, 0, 1, 1, 1]
    assert test.labels.tolist() == [0, 1, 2, 1, 2, 0]
    assert test.sources.tolist() == [2, 0, 2, 2, 0, 2]
    stream = task.outputs("class 1").split()[1]
    assert stream.probs.tolist() == [[0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]
    assert task.scale == 2 / 127  # of development data: larger test features stay at its end
    assert np.allclose(stream.features, 2.0)
    assert len(task.probs) < 20 + 4 + 6


@pytest.mark.skipif(not (COMMITTED / LIST).exists(), reason="tcuq-lab bench --make makes the streams")
def test_the_committed_streams_are_those_of_their_list() -> None:
    found = load(COMMITTED)
    edition = json.loads((COMMITTED / LIST).read_text()).get("edition", 1)
    assert [task.name for task in found.tasks] == ["mnist", "motion", "signs"]
    assert sum(path.stat().st_size for path in COMMITTED.glob("*.npz")) <= LARGEST[edition]
    for task in found.tasks:
        for shown in task.streams.values():
            assert shown.labels.max() < task.probs.shape[1] and shown.rows.max() < len(task.probs)
        assert replace(task.streams["clean"]).sources.max() == 0
