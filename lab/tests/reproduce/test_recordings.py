"""Recordings: streams step by step, all rows and seeds at once, files that are kept, and their checksums."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install 'tcuq-lab[all]'")

from places import LAB

from tcuq_lab.cli import main
from tcuq_lab.corruptions import corrupt
from tcuq_lab.data import Dataset
from tcuq_lab.reproduce import recordings as recordings_module
from tcuq_lab.reproduce.kinds.schedule import Schedule
from tcuq_lab.reproduce.paper import load_experiments
from tcuq_lab.reproduce.recording import decoded as decoded_module
from tcuq_lab.reproduce.recording import demand
from tcuq_lab.reproduce.recording.decoded import decoded
from tcuq_lab.reproduce.recording.manifest import checksums, differing, manifest
from tcuq_lab.reproduce.recording.recorder import rendered
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.rows import Row, row_of
from tcuq_lab.reproduce.run_size import RunSize
from tcuq_lab.streams import Description, Geometric, Held, Segments, Shift, build

WEIGHTS = str(LAB / "weights")
SMALL = RunSize("small", 12, 10, 100, 100, (0, 3), (1,), kinds=1, corrupted_once=True)


def made(task: str, part: str) -> Dataset:
    rng = np.random.default_rng(len(part))
    x = rng.integers(0, 256, (20, 28, 28), dtype=np.uint8)
    return Dataset(task, part, x, np.arange(20) * 3 % 10, "", "")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recordings:
    pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")
    monkeypatch.setattr(recordings_module, "load_part", made)
    monkeypatch.setattr(recordings_module, "load_ood", lambda task, part: made("strange", "train"))
    return Recordings(WEIGHTS, str(tmp_path), SMALL)


def held(**changes: Any) -> Description:
    fields: dict[str, Any] = {
        "dataset": "mnist",
        "part": "test",
        "seed": 1,
        "steps": 60,
        "dwell": Geometric(8),
        "layout": Segments(mean=20, minimum=10),
        "shifts": (Shift("shot_noise", (1,)),),
        "held": Held(),
    }
    return Description(**{**fields, **changes})


def test_a_stream_is_what_the_network_says_to_each_step_and_is_kept(
    kept: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tcuq_lab.streams import inputs
    from tcuq_lab.zoo.outputs import outputs
    from tcuq_lab.zoo.weights import load_weights

    row = row_of("base")
    found = kept.of_stream(held(), 3, row)
    shows = inputs(held(), kept.part("mnist", "test"), seed=SMALL.noise_seed("test", 3))
    network = load_weights(f"{WEIGHTS}/cnn4-3.npz")[0]
    said = outputs(network, np.concatenate([each.x for each in shows]))
    np.testing.assert_allclose(found.probs, said.probs, atol=1e-5)
    assert found.features is not None and found.features.shape == said.features.shape
    others = [(held(seed=2), 3), (held(), 0), (held(steps=61), 3), (held(part="dev"), 3)]
    paths = {kept.stream_path(about, seed, row) for about, seed in [(held(), 3), *others]}
    assert len(paths) == 5
    # A stream that was built knows checksums, which change nothing.
    plan = build(held(), kept.part("mnist", "test").y).description
    monkeypatch.setattr(recordings_module, "rendered", None)  # what is kept is not rendered again
    assert np.array_equal(kept.of_stream(plan, 3, row_of("entropy")).probs, found.probs)
    with pytest.raises(TypeError):
        kept.of_stream(held(seed=2), 3, row)


def test_rows_share_one_rendering_of_a_stream(kept: Recordings, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(recordings: Recordings, description: Description, seed: int) -> Any:
        calls.append(seed)
        return rendered(recordings, description, seed)

    monkeypatch.setattr(recordings_module, "rendered", counted)
    rows = [row_of(name) for name in ("base", "deep", "temperature")]
    kept.record_streams([held(), held(seed=2)], 0, rows)
    assert len(calls) == 2
    deep = kept.of_stream(held(), 0, rows[1])
    assert deep.features is None and "risks" in deep.extra  # its score reads no features
    assert len(calls) == 2
    with pytest.raises(ValueError, match="steps is null"):
        kept.of_stream(held(steps=None), 0, rows[0])


def test_all_rows_and_seeds_see_one_corrupted_set(kept: Recordings, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcuq_lab.reproduce.recording.everything import items, record_all
    from tcuq_lab.zoo import bank

    shown: list[tuple[str, int, int]] = []

    def counted(x: Any, suite: str, kind: str, severity: int, seed: int, **more: Any) -> Any:
        shown.append((kind, severity, seed))
        return corrupt(x, suite, kind, severity, seed, **more)

    monkeypatch.setattr(bank, "corrupt", counted)
    monkeypatch.setattr(demand, "streams", lambda task, seed, setting: [held(seed=seed)])
    sources = {
        "dev": ["clean", "shot_noise/1", "ood/cifar10"],
        "test": ["clean", "shot_noise/1", "ood/fashion_mnist"],
    }
    monkeypatch.setattr(demand, "sources", lambda task, part, setting, tables: sources[part])
    rows = {"mnist": [row_of(name) for name in ("base", "deep", "early_exit")]}
    told: list[tuple[int, int, str]] = []
    count = record_all(kept, rows, (0, 3), progress=lambda *given: told.append(given))
    assert len(shown) == len(set(shown))  # five rows of two seeds, one set of noisy examples
    # Two seeds have plain networks and ensembles, one has exits; a stream for each of them too.
    assert count == 5 * (len(sources["dev"]) + len(sources["test"]) + 1)
    assert [each[0] for each in told] == sorted(each[0] for each in told) and told[-1][:2] == (100, 100)
    assert items(kept, "mnist", rows["mnist"], (0, 3)) == []
    fresh = Recordings(WEIGHTS, f"{kept.folder}/other", SMALL)
    for seed, name in ((0, "early_exit"), (3, "deep"), (3, "base")):
        row = row_of(name)
        one, other = (each.banks("mnist", "test", seed, [row], sources["test"]) for each in (kept, fresh))
        for source in sources["test"]:
            assert np.array_equal(one[name][source].probs, other[name][source].probs)
    gone = kept.place("mnist", "test", 3, row_of("deep")) / "clean.npz"
    gone.unlink()
    assert record_all(kept, rows, (0, 3)) == 1 and gone.exists()


def test_a_method_learns_once_for_all_processes(kept: Recordings) -> None:
    from tcuq_lab.reproduce.recording.recorder import Recorder, learns

    row = row_of("odin")
    assert learns(row.method) and not learns(row_of("deep").method)
    state = kept.recorder.state("mnist", 0, row)
    assert {"epsilon", "temperature"} <= set(state)
    given = {**state, "epsilon": 0.125}  # as another process might have found it
    assert vars(Recorder(kept).method("mnist", 0, row, given))["epsilon"] == 0.125


def test_what_each_seed_has() -> None:
    kept = Recordings(WEIGHTS, "unused", SMALL)
    for seed, names in {0: {"base", "deep", "hydra"}, 4: {"base", "deep"}, 7: set()}.items():
        rows = [row_of(name) for name in ("base", "deep", "hydra")]
        assert {row.label for row in rows if kept.has("mnist", seed, row)} == names
    assert row_of("deep").networks("mnist", 4, WEIGHTS)[-2:] == ["cnn4-0", "cnn4-1"]


def test_the_rows_that_experiments_show_are_found_once_each() -> None:
    experiments = load_experiments(LAB / "experiments").values()
    found = demand.available("mnist", (0, 1, 2, 3, 4), demand.rows_of("mnist", experiments), WEIGHTS)
    banks = [(row.method.bank, row.networks("mnist", 0, WEIGHTS)[0]) for row in found.rows]
    assert len(set(banks)) == len(banks) and ("plain", "cnn4-0") in banks
    assert {("deep", "cnn4-0"), ("plain", "cnn4_assisted-0"), ("plain", "cnn4_wide-0")} <= set(banks)
    none = demand.available("tinyimagenet20", (0,), [row_of("base"), row_of("mc_dropout")], WEIGHTS)
    assert none.rows == [] and none.absent == ["mobilenetv2-0", "tinyimagenet20 dropout"]
    labels = {part: np.arange(50) % 10 for part in ("dev", "test")}
    ood = {"dev": ("cifar10", labels["dev"]), "test": ("fashion_mnist", labels["test"])}
    schedule = Schedule("mnist", SMALL, 16, 0, labels, ood)
    for part in ("dev", "test"):
        more = ["attenuated/1", "blank/1", "saturated/1"] if part == "test" else []
        assert demand.sources("mnist", part, SMALL) == [*schedule.sources(part), *more]
        shown = Recordings(WEIGHTS, "unused", SMALL).sources("mnist", part)
        assert set(shown) <= set(schedule.sources(part))
    plans = demand.streams("mnist", 1, SMALL)
    # Objects: 6 and 12 stretches; mixed: 5 and 5 of development, 8 of each of six test streams.
    assert len(plans) == 18 + 10 + 48 and all(each.held for each in plans)


def test_rows_and_recordings_go_to_other_processes() -> None:
    odd = type("Odd", (row_of("base").method,), {"name": "base"})
    for row in (row_of("tcuq_paper_no_temporal"), row_of({"method": "base", "networks": "_wide"})):
        again: Row = pickle.loads(pickle.dumps(row))
        assert again == row and again.method is row.method
    with pytest.raises((pickle.PicklingError, AttributeError)):  # never another class of that name
        pickle.dumps(Row("odd", odd))
    kept = Recordings(WEIGHTS, "somewhere", SMALL, progress=lambda *given: None)
    kept._parts["mnist", "dev"] = made("mnist", "dev")
    other = pickle.loads(pickle.dumps(kept))
    assert other.setting == SMALL and other._parts == {} and other.progress is None


def test_decoded_sets_are_kept_until_their_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_module, "SLOW", ("mnist",))
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    (tmp_path / "mnist_test.npz").write_bytes(b"1")
    calls = []

    def load() -> Dataset:
        calls.append(1)
        return made("mnist", "test")

    first, second = (decoded(tmp_path, "mnist", "test", "part", load) for _ in range(2))
    assert len(calls) == 1 and np.array_equal(first.x, second.x) and second.split == "test"
    assert np.array_equal(first.y, second.y) and second.y.dtype == np.int64
    decoded(tmp_path, "mnist", "test", "other", load)
    (tmp_path / "mnist_test.npz").write_bytes(b"22")
    decoded(tmp_path, "mnist", "test", "part", load)
    assert len(calls) == 3


def test_checksums_tell_missing_and_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = tmp_path / "recording-1" / "mnist-test-12" / "cnn4-0-plain"
    home.mkdir(parents=True)
    for name in ("clean", "fog_3", "fog_5"):
        (home / f"{name}.npz").write_bytes(name.encode())
    (home / ".fog_1.npz.abc").write_bytes(b"left behind")
    path = tmp_path / "recordings.json"
    path.write_text(manifest(checksums(tmp_path), SMALL, {"seconds": 1}))
    command = ["record", "--check", str(path), "--cache", str(tmp_path)]
    assert differing(checksums(tmp_path), path) == [] and main(command) == 0
    (home / "fog_3.npz").write_bytes(b"fog_4")
    assert main(command) == 1
    assert "cnn4-0-plain has 3 files of 15 bytes that differ" in capsys.readouterr().out
    for path_ in home.glob("*.npz"):
        path_.unlink()
    assert main(command) == 1
    assert "cnn4-0-plain is missing" in capsys.readouterr().out
    path.write_text("{}")
    assert main(command) == 2
    assert "no manifest of recordings" in capsys.readouterr().err
