"""Logs of networks on described streams: what a network says to each step, kept and found again."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from places import LAB
from sounds import spoken

pytest.importorskip("torch", reason="pip install 'tcuq-lab[zoo]'")

from tcuq_lab.data import Dataset
from tcuq_lab.reproduce import stream_logs
from tcuq_lab.reproduce.stream_logs import StreamLogs, stream_log
from tcuq_lab.streams import (
    Description,
    Geometric,
    Held,
    Ood,
    Segments,
    Shift,
    Sliding,
    build,
    inputs,
)
from tcuq_lab.zoo.examples import front_end
from tcuq_lab.zoo.outputs import outputs
from tcuq_lab.zoo.weights import load_weights

DIGITS = np.arange(400) * 3 % 10


def pictures(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    np.savez(tmp_path / "mnist_test.npz", x=pictures(400, 0), y=DIGITS)
    np.savez(tmp_path / "fashion_mnist_test.npz", x=pictures(50, 1), y=np.arange(50) % 10)
    return tmp_path


def describe(**changes) -> Description:
    fields = {
        "dataset": "mnist",
        "part": "test",
        "seed": 1,
        "steps": 700,
        "dwell": Geometric(8),
        "layout": Segments(mean=60, minimum=30),
        "shifts": (Shift("shot_noise", (1,)),),
    }
    return Description(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes", [{}, {"held": Held()}, {"ood": (Ood("fashion_mnist"),)}], ids=["plain", "held", "ood"]
)
def test_a_log_holds_what_the_network_says_to_each_step(folder, changes):
    about = describe(**changes)
    log = stream_log(about, "cnn4-1", folder / "cache")
    data = Dataset("mnist", "test", pictures(400, 0), DIGITS, "", "")
    ood = {"fashion_mnist": Dataset("fashion_mnist", "test", pictures(50, 1), np.arange(50) % 10, "", "")}
    x = np.concatenate([part.x for part in inputs(about, data, ood=ood, seed=3)])
    network = load_weights(LAB / "weights" / "cnn4-1.npz")[0]
    found = outputs(network, x)
    np.testing.assert_allclose(log.probs, found.probs, atol=1e-5)
    np.testing.assert_allclose(log.features, found.features, rtol=1e-3, atol=1e-4)
    assert log.probs.dtype == log.features.dtype == np.float32
    stream = build(about, DIGITS, {"fashion_mnist": np.arange(50) % 10})
    assert np.array_equal(log.labels, stream.label) and np.array_equal(log.kinds, stream.shift)
    assert log.segments is not None and not log.segments.any()


def test_a_log_is_kept_and_other_streams_seeds_and_networks_have_their_own(folder, monkeypatch):
    logs = StreamLogs(folder / "cache")
    one = logs.log(describe(), "cnn4-0")
    assert len(list((folder / "cache").rglob("*.npz"))) == 1
    others = [
        logs.log(describe(), "cnn4-1"),
        logs.log(describe(seed=2), "cnn4-0"),
        logs.log(describe(held=Held()), "cnn4-0"),
        logs.log(describe(), "cnn4-0", seed=7),
    ]
    assert len(list((folder / "cache").rglob("*.npz"))) == 5
    assert all(not np.array_equal(one.probs, other.probs) for other in others)
    monkeypatch.setattr(StreamLogs, "_run", None)  # what is kept needs no network
    again = stream_log(describe(), "cnn4-0", folder / "cache")
    for name in ("probs", "features", "labels", "kinds", "segments"):
        assert np.array_equal(getattr(again, name), getattr(one, name))
    np.savez(folder / "mnist_test.npz", x=pictures(401, 0), y=np.arange(401) % 10)
    with pytest.raises(TypeError, match="not callable"):  # other data would be run
        stream_log(describe(), "cnn4-0", folder / "cache")


def test_joined_logs_have_a_segment_each(folder):
    logs = StreamLogs(folder / "cache")
    plans = [describe(seed=seed, steps=200 + seed) for seed in range(3)]
    whole = logs.joined(plans, "cnn4-0")
    assert np.array_equal(whole.segments, np.repeat([0, 1, 2], [200, 201, 202]))
    for plan, piece in zip(plans, whole.pieces(), strict=True):
        alone = logs.log(plan, "cnn4-0")
        for name in ("probs", "features", "labels", "kinds"):
            assert np.array_equal(getattr(whole, name)[piece], getattr(alone, name))


def test_continuous_sound_goes_through_the_front_end(tmp_path, monkeypatch):
    data = Dataset("speech_commands", "dev", spoken(20), np.arange(20) % 10, "", "")
    noise = np.random.default_rng(0).integers(-300, 300, (5, 16000)).astype(np.int16)
    monkeypatch.setattr(stream_logs, "load_part", lambda name, part: data)
    monkeypatch.setattr(stream_logs, "noise_of", lambda part: noise)
    monkeypatch.setattr(stream_logs, "present", lambda name, split: None)
    about = describe(
        dataset="speech_commands",
        part="dev",
        steps=90,
        sliding=Sliding(),
        shifts=(Shift("room_reverb", (2,)),),
    )
    log = stream_log(about, "dscnn-2", tmp_path)
    x = np.concatenate([part.x for part in inputs(about, data, noise=noise, seed=4)])
    found = outputs(load_weights(LAB / "weights" / "dscnn-2.npz")[0], front_end(x))
    np.testing.assert_allclose(log.probs, found.probs, atol=1e-5)
    assert log.features.shape == (90, 64)


def test_what_cannot_be_logged_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="steps is null; a log is made of a stream with a number of steps"):
        stream_log(describe(steps=None), "cnn4-0", folder / "cache")
    with pytest.raises(ValueError, match=r"network is 'cnn4-9', expected a file cnn4-9.npz in "):
        stream_log(describe(), "cnn4-9", folder / "cache")
    shutil.copy(LAB / "weights" / "cnn4-0.npz", tmp_path / "mine.npz")
    with pytest.raises(ValueError, match="seed is not given, and network 'mine' does not end in one"):
        stream_log(describe(), "mine", folder / "cache", weights=tmp_path)
