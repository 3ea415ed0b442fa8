"""Stream files: round trip, checksums, what a method gets to see of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pins
import pytest
from places import ROOT
from small_benchmark import made_folder, made_task

from tcuq_lab.benchmark.files import LIST, load, save
from tcuq_lab.benchmark.make import neighbor_means, of_unit

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


def test_streams_are_the_first_steps_of_stretches(tmp_path: Path) -> None:
    unit = next(pins.units(tmp_path, ""))
    wanted = {"dev": ("dev", 2, 100), "clean dev": ("clean dev", 1, 40), "class 16": ("test class 16", 2, 30)}
    task = of_unit(unit, wanted, "trial")
    truth, seen = unit.truth("test class 16"), unit.outputs("test class 16")
    kept = np.r_[:30, pins.SIZES.stretch : pins.SIZES.stretch + 30]
    stream, shown = task.outputs("class 16"), task.streams["class 16"]
    assert shown.stretches.tolist() == [0] * 30 + [1] * 30
    assert (shown.labels == truth.labels[kept]).all()
    assert [task.sources[at] for at in shown.sources] == [truth.names[at] for at in truth.sources[kept]]
    np.testing.assert_allclose(stream.probs, seen.probs[kept], atol=1 / 256)
    shown_dev = {"dev": np.r_[:100, pins.SIZES.stretch : pins.SIZES.stretch + 100], "clean dev": np.r_[:40]}
    means = [neighbor_means(unit.outputs(role).features[rows]) for role, rows in shown_dev.items()]
    assert task.scale == max(each.max() for each in means) / 127  # larger test features stay at its end
    found = np.minimum(neighbor_means(seen.features[kept]), 127 * task.scale)
    np.testing.assert_allclose(stream.features, found, atol=task.scale)
    assert len(task.probs) < 200 + 40 + 60
    assert task.errors["clean"] == round(unit.error_rates("test class 1")["clean"], 6)


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
