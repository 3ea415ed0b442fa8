"""Stream files: round trip, checksums, what a method gets to see of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmark_make import Change, Part, Said, Sizes, made
from places import LAB
from small_benchmark import made_folder, made_task

from tcuq_lab.benchmark.draw import OWN_ORDER
from tcuq_lab.benchmark.files import LIST, load, save
from tcuq_lab.metrics.alarms import scene_of

COMMITTED = LAB / "benchmark"
LARGEST = 7_000_000
"""Bytes of all files, results among them."""


def test_a_file_holds_all_of_a_task(tmp_path: Path) -> None:
    task = made_task("east", 3)
    save(tmp_path, [task], {"command": "none"})
    [back] = load(tmp_path).tasks
    for name in ("name", "scale", "units", "gauge_names", "sources", "errors", "probs", "features", "gauges"):
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
    with pytest.raises(ValueError, match=r"west\.npz: no file of outputs \(its content is not that of"):
        load(tmp_path / "a")


def test_a_method_gets_floats_that_it_cannot_write_to() -> None:
    task = made_task("east", 0)
    stream = task.dev("class 16", False).outputs().split()[1]
    rows = task.streams["class 16"].rows[120:240]
    assert stream.probs.dtype == np.float32 and stream.probs.max() < 1
    assert (stream.probs * 256 == task.probs[rows]).all()
    assert (stream.features == task.features[rows] * np.float32(0.5)).all()
    assert (stream.gauges == task.gauges[rows] * np.float32((0.125, 0.25)) + np.float32((0.5, -1))).all()
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


def test_the_committed_streams_are_those_of_their_list() -> None:
    found = load(COMMITTED)  # draws all streams, and compares their digests with those of the list
    assert len(found.tasks) >= 6
    assert sum(path.stat().st_size for path in COMMITTED.rglob("*") if path.is_file()) <= LARGEST
    ordered = [task for task in found.tasks if task.about["ordered"]]
    assert len(ordered) >= 2
    costly, streams = 0, Counter()
    for task in found.tasks:
        for name, shown in task.streams.items():
            assert shown.labels.min() >= 0 and shown.labels.max() < task.probs.shape[1]
            assert shown.rows.min() >= 0 and shown.rows.max() < len(task.probs)
            streams[name] += shown.count * (name in task.tests)
        assert task.streams["clean"].sources.max() == 0 == task.streams["clean dev"].sources.max()
        dev = {task.sources[each] for name in ("dev", "clean dev") for each in task.streams[name].sources}
        for name in task.tests:
            assert {task.sources[at] for at in task.streams[name].sources} & dev <= {"clean", "frozen"}
            costly += sum(each[3] in task.costly for each in scene_of(task.truth(name)).shifts)
    assert costly >= 400
    assert {"stays of 400", "stays of 4,000", OWN_ORDER} <= set(streams)
    assert min(count for count in streams.values() if count) >= 20


def test_what_is_kept_for_the_lab_stays_small() -> None:
    folders = (LAB / name for name in ("weights", "recorded", "benchmark"))
    assert sum(path.stat().st_size for folder in folders for path in folder.rglob("*")) < 20_000_000


def test_a_task_is_what_a_network_says_to_examples_clean_and_shifted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def see(x: np.ndarray) -> Said:
        probs = np.stack([x[:, 0], 255.0 - x[:, 0]], axis=1) / 256
        return probs, x[:, :1] + 0.0, x[:, 1:2].astype(np.float32)

    def part(kinds: dict[str, Change]) -> Part:
        x = np.stack([255 * (np.arange(40) % 2), rng.integers(0, 9, 40)], axis=1)
        return Part(x, 1 - np.arange(40) % 2, np.arange(40) // 4, kinds)

    parts = (
        part({"flip": lambda x: 255 - x}),
        part({"half/1": lambda x: x - x // 4, "half/2": lambda x: x // 2}),
    )
    sizes = Sizes(30, 20, 4, 3)
    task = made("pairs", parts, lambda x: x, see, ["second"], {"network": "none"}, sizes)
    assert task.sources == ("clean", "dev flip", "half/1", "half/2", "frozen")
    assert task.errors["clean"] == 0 and task.errors["half/2"] == 0.5 and task.pools[1].weaker == (0, 1)
    dev, test = task.pools
    assert len(task.probs) == dev.size + test.size == 30 + 20 + 2 * 12 + 30 + 2 * 20 + 3 * 12
    save(tmp_path, [task], {})
    [back] = load(tmp_path).tasks
    assert {name: len(each) for name, each in back.streams.items()} == {
        n: len(s) for n, s in task.streams.items()
    }
    shown = back.streams["runs of 16"]
    said = back.probs[shown.rows].argmax(axis=1)
    for source, right in (("clean", 1.0), ("half/1", 1.0)):
        at = shown.sources == back.sources.index(source)
        assert at.any() and (said == shown.labels)[at].mean() == right
    listed = json.loads((tmp_path / LIST).read_text())
    listed["files"]["pairs.npz"]["drawn"] = "0" * 64
    (tmp_path / LIST).write_text(json.dumps(listed))
    with pytest.raises(ValueError, match="other streams are drawn from it"):
        load(tmp_path)
