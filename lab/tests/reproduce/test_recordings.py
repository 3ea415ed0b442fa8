"""Recordings: streams step by step, all rows and seeds at once, files that are kept, and their checksums."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="pip install scipy")

from places import LAB

from tcuq_lab.corruptions import corrupt
from tcuq_lab.data import Dataset
from tcuq_lab.harness.laws import UnitPlan
from tcuq_lab.reproduce import recordings as recordings_module
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.rows import row_of
from tcuq_lab.reproduce.run_size import RunSize
from tcuq_lab.streams import Description, Geometric, Held, Segments, Shift, build

pytestmark = pytest.mark.slow

WEIGHTS = str(LAB / "weights")
SMALL = RunSize("small", 12, 10, 100, 100, (0, 3), (1,), kinds=1, corrupted_once=True)


def made(task: str, part: str) -> Dataset:
    rng = np.random.default_rng(len(part))
    x = rng.integers(0, 256, (20, 28, 28), dtype=np.uint8)
    return Dataset(task, part, x, np.arange(20) * 3 % 10, "", "")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recordings:
    pytest.importorskip("torch", reason="pip install torch")
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
    paths = {kept.path("mnist", about.part, about, seed, row) for about, seed in [(held(), 3), *others]}
    assert len(paths) == 5
    # A stream that was built knows checksums, which change nothing.
    plan = build(held(), kept.part("mnist", "test").y).description
    monkeypatch.setattr(Recordings, "rendered", None)  # what is kept is not rendered again
    assert np.array_equal(kept.of_stream(plan, 3, row_of("entropy")).probs, found.probs)
    with pytest.raises(TypeError):
        kept.of_stream(held(seed=2), 3, row)


def test_all_rows_and_seeds_see_one_corrupted_set(kept: Recordings, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcuq_lab.reproduce.recorder import all_jobs, checksums, differing, manifest, record_all
    from tcuq_lab.zoo import examples

    shown: list[tuple[str, int, int]] = []

    def counted(x: Any, suite: str, kind: str, severity: int, seed: int, **more: Any) -> Any:
        shown.append((kind, severity, seed))
        return corrupt(x, suite, kind, severity, seed, **more)

    monkeypatch.setattr(examples, "corrupt", counted)
    monkeypatch.setattr(Recordings, "all_streams", lambda self, task, seed: [held(seed=seed)])
    sources = {
        "dev": ["clean", "shot_noise/1", "ood/cifar10"],
        "test": ["clean", "shot_noise/1", "ood/fashion_mnist"],
    }
    monkeypatch.setattr(Recordings, "all_sources", lambda self, task, part, tables: sources[part])
    rows = {"mnist": [row_of(name) for name in ("base", "deep", "early_exit")]}
    told: list[tuple[int, int, str]] = []
    count = record_all(kept, rows, (0, 3), progress=lambda *given: told.append(given))
    # Rows of two seeds see one set of noisy examples; those of test never meet the noise of dev.
    assert sorted(shown) == [("shot_noise", 1, 0), ("shot_noise", 1, 1)]
    # Two seeds have plain networks, one has an ensemble and exits; a stream for each of them too.
    assert count == 4 * (len(sources["dev"]) + len(sources["test"]) + 1)
    assert [each[0] for each in told] == sorted(each[0] for each in told) and told[-1][:2] == (100, 100)
    assert all_jobs(kept, "mnist", rows["mnist"], (0, 3)) == []
    fresh = Recordings(WEIGHTS, f"{kept.folder}/other", SMALL)
    for seed, name in ((0, "early_exit"), (0, "deep"), (3, "base")):
        row = row_of(name)
        one, other = (each.banks("mnist", "test", seed, [row], sources["test"]) for each in (kept, fresh))
        for source in sources["test"]:
            assert np.array_equal(one[name][source].probs, other[name][source].probs)
    path = Path(kept.folder) / "sums.json"
    path.write_text(manifest(checksums(kept.folder), SMALL, {"device": "cpu"}))
    gone = kept.place("mnist", "test", 0, row_of("deep")) / "clean.npz"
    gone.unlink()
    (line,) = differing(checksums(kept.folder), path)
    assert gone.parent.name in line and "differ from the manifest's" in line
    assert record_all(kept, rows, (0, 3)) == 1 and differing(checksums(kept.folder), path) == []


def test_processes_that_share_the_work_make_the_same_files(
    kept: Recordings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tcuq_lab.reproduce import recorder

    sides: list[int] = []

    def pool(side: int, begin: Any, *given: Any) -> ThreadPoolExecutor:
        sides.append(side)
        return ThreadPoolExecutor(1, initializer=begin, initargs=given)

    monkeypatch.setattr(recorder, "workers", pool)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    rows = [row_of(name) for name in ("base", "deep", "early_exit", "temperature")]
    other = Recordings(WEIGHTS, f"{kept.folder}/other", SMALL)
    shows = ["clean", "shot_noise/1", held()]
    for recordings, side in ((kept, 1), (other, 2)):
        jobs = recordings.missing("mnist", "test", 0, rows, shows)
        again = recordings.missing("mnist", "test", 0, rows[:1], shows)  # as another plan would ask
        assert [job.shown for job in jobs] == shows
        assert recorder.record_jobs(recordings, [*jobs, *again], side) == sum(
            len(job.targets) for job in jobs
        )
        assert recordings.missing("mnist", "test", 0, rows, shows) == []
        assert recorder.record_jobs(recordings, [], side) == 0
    assert sides == [2]
    assert recorder.checksums(other.folder) == {
        name: files for name, files in recorder.checksums(kept.folder).items() if "other" not in name
    }


def test_a_run_of_a_few_streams_records_those_alone() -> None:
    every = Recordings(WEIGHTS, "", SMALL).all_streams("mnist", 0)
    few = Recordings(WEIGHTS, "", replace(SMALL, streams=("mixed, fast",))).all_streams("mnist", 0)
    assert set(few) < set(every)
    plan = UnitPlan("mnist", 0, severities=SMALL.severities)
    assert set(plan.stretches("test mixed, fast")) <= set(few)
    assert set(plan.stretches("law mixed")) <= set(few)  # what it is fitted to
    assert set(few).isdisjoint(plan.stretches("test mixed, label shift"))


def test_other_data_or_weights_are_recorded_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="pip install torch")
    places = []
    for shift in (0, 1):
        data = Dataset("mnist", "x", np.zeros((8, 28, 28), np.uint8), (np.arange(8) + shift) % 10, "", "")
        monkeypatch.setattr(recordings_module, "load_part", lambda task, part, data=data: data)
        kept = Recordings(str(LAB / "weights"), str(tmp_path), RunSize("tiny", 8, 8, 100, 100, (0,), (1,)))
        places += [kept.place("mnist", "test", seed, row_of("base")) for seed in (0, 1)]
    assert len(set(places)) == 4
