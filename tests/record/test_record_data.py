"""Where inputs of a recording come from: arrays, files, folders of pictures and sounds, functions."""

from __future__ import annotations

import sys
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused, refuses
from tiny_models import MODELS, NAMES, bar_net, bars, write_pictures

import tcuq

X, Y = bars(50)
SHAPE = (8, 8, 1)


def mixed(labels: Any) -> Any:
    """Return the order in which files of a folder are read."""
    order = np.argsort(labels, kind="stable")
    return order[np.random.default_rng(0).permutation(len(order))]


def same(x: Any) -> Any:
    """Be a model whose features are its input."""
    flat = np.asarray(x, np.float32).reshape(len(x), -1)
    return np.full((len(x), 3), 1 / 3), flat


def write_sound(path: Path, samples: Any, rate: int = 16000, width: int = 2, channels: int = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(np.asarray(samples, f"<i{width}").tobytes())


def test_npz_with_all_that_a_log_takes(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    segments, shifted = np.arange(50) // 10, np.arange(50) % 3
    np.savez(path, x=X, y=np.array(NAMES)[Y], segments=segments, shifted=shifted, names=NAMES)
    log = tcuq.record(same, path)
    np.testing.assert_array_equal(log.features, X.reshape(50, -1))
    assert log.labels is not None and log.labels.tolist() == Y.tolist() and log.names == NAMES
    assert log.segments is not None and log.segments.tolist() == segments.tolist()
    assert log.kinds is not None and log.kinds.tolist() == shifted.tolist()


def test_npz_with_other_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", inputs=X, labels=Y)
    log = tcuq.record(same, tmp_path / "data.npz")
    assert log.labels is not None and log.labels.tolist() == Y.tolist()
    np.savez(tmp_path / "data.npz", pictures=X)
    refuses("missing", tcuq.record, same, tmp_path / "data.npz")


def test_npy_is_read_piece_by_piece(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    sizes = []

    def model(x: Any) -> Any:
        sizes.append(len(x))
        assert not isinstance(x, np.memmap) or x.shape[0] <= 8
        return same(x)

    log = tcuq.record(model, tmp_path / "x.npy", tmp_path / "y.npy", batch=8)
    assert sizes[-7:] == [8] * 6 + [2]
    np.testing.assert_array_equal(log.features, X.reshape(50, -1))
    assert log.labels is not None and log.labels.tolist() == Y.tolist()


def test_batches_of_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def batches() -> Iterator[Any]:
        for start in range(0, 50, 20):
            yield X[start : start + 20], Y[start : start + 20]

    for source in (batches, batches(), lambda: (X, Y)):
        log = tcuq.record(same, source)
        np.testing.assert_array_equal(log.features, X.reshape(50, -1))
        assert log.labels is not None and log.labels.tolist() == Y.tolist()
    assert tcuq.record(same, lambda: iter([X])).labels is None
    (tmp_path / "own_batches.py").write_text(
        "import numpy as np\ndef two():\n    yield np.ones((2, 4)), [0, 1]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert len(tcuq.record(same, "own_batches:two")) == 2
    refuses("unknown", tcuq.record, same, "own_batches:three")

    def breaks() -> Iterator[Any]:
        yield X, Y
        raise RuntimeError("disk is gone")

    refuses("failed", tcuq.record, same, breaks)
    refuses("conflict", tcuq.record, same, lambda: iter([(X[:20], Y[:20]), X[:20]]))


@pytest.mark.parametrize(
    ("x", "y", "code"),
    [
        (X[:0], None, "missing"),
        (np.zeros(5), None, "value"),
        (np.array([["a"]]), None, "value"),
        (np.full((2, 3), np.nan), None, "value"),
        (X, Y[:3], "conflict"),
        (X, np.eye(3)[Y], "value"),
        (X, Y + 1, "value"),
        (X, Y + 0.5, "value"),
        (X, np.array(NAMES)[Y], "value"),
        ("data.txt", None, "unknown"),
    ],
)
def test_bad_arrays_are_one_line(x: Any, y: Any, code: str) -> None:
    with refused(code) as caught:
        tcuq.record(same, x, y)
    assert "\n" not in str(caught.value)


def test_labels_by_name_and_wrong_numbers_of_names() -> None:
    log = tcuq.record(same, X, np.array(NAMES)[Y], names=NAMES)
    assert log.labels is not None and log.labels.tolist() == Y.tolist()
    with refused("value", "label"):
        tcuq.record(same, X, np.array(NAMES)[Y], names=["a", "b", "c"])
    refuses("conflict", tcuq.record, same, X, Y, names=["a", "b"])


class TestPictures:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        write_pictures(tmp_path / "pictures")
        return tmp_path / "pictures"

    def test_pixels_names_and_order(self, folder: Path) -> None:
        log = tcuq.record(same, folder, input_shape=SHAPE)
        x, y = bars(12)
        order = mixed(y)
        assert log.names == NAMES and "mixed" in log.notes[0]
        assert log.labels is not None and log.labels.tolist() == y[order].tolist()
        np.testing.assert_allclose(log.features, np.round(x[order] * 255).reshape(12, -1) / 255, atol=1e-6)

    @pytest.mark.parametrize("shape", [(8, 8), (1, 8, 8), (8, 8, 3), (3, 8, 8), (16, 4, 1)])
    def test_layouts(self, folder: Path, shape: tuple[int, ...]) -> None:
        seen = []

        def model(x: Any) -> Any:
            seen.append(x)
            return np.full((len(x), 3), 1 / 3)

        tcuq.record(model, folder, input_shape=shape, input_range=(0, 255))
        assert seen[0].shape == (12, *shape) and seen[0].dtype == np.float32
        if 3 in shape:
            gray = np.moveaxis(seen[0], 1 + shape.index(3), -1)
            np.testing.assert_array_equal(gray[..., 0], gray[..., 2])

    def test_names_give_the_order_of_the_classes(self, folder: Path) -> None:
        names = ("right", "left", "none", "middle")
        log = tcuq.record(lambda x: np.full((len(x), 4), 0.25), folder, input_shape=SHAPE, names=names)
        assert log.names == names and log.labels is not None and set(log.labels.tolist()) <= {0, 1, 3}
        refuses("unknown", tcuq.record, same, folder, input_shape=SHAPE, names=["a", "b"])

    def test_an_int8_model_takes_pixels_on_its_whole_range(self, folder: Path) -> None:
        pytest.importorskip("ai_edge_litert", reason="TFLite: pip install ai-edge-litert")
        x, y = bars(12)
        order = mixed(y)
        pixels = (np.round(x[order] * 255) - 128).astype(np.int8)
        log = tcuq.record(MODELS / "int8.tflite", folder)
        np.testing.assert_array_equal(log.probs, tcuq.record(MODELS / "int8.tflite", pixels).probs)
        assert not log.errors().any()

    def test_folders_that_cannot_be_right(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "none" / "cat").mkdir(parents=True)
        (tmp_path / "bare").mkdir()
        for path, shape, code in (
            (tmp_path / "bare", SHAPE, "missing"),
            (tmp_path / "none", SHAPE, "missing"),
            (folder, None, "value"),
            (folder, (64,), "value"),
        ):
            refuses(code, tcuq.record, same, path, input_shape=shape)
        write_sound(folder / "left" / "a.wav", [0])
        refuses("conflict", tcuq.record, same, folder, input_shape=SHAPE)
        (folder / "left" / "a.wav").unlink()
        (folder / "left" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        refuses("damaged", tcuq.record, same, folder, input_shape=SHAPE)

    def test_without_pillow(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "PIL.Image", None)
        refuses("needs", tcuq.record, same, folder, input_shape=SHAPE)


class TestSounds:
    def test_cut_filled_and_mixed_to_mono(self, tmp_path: Path) -> None:
        write_sound(tmp_path / "a" / "1.wav", [16384, -32768, 0, 8192, 1, 1])
        write_sound(tmp_path / "a" / "2.wav", [16384, -16384, 8192, 8192], channels=2)
        write_sound(tmp_path / "b" / "1.wav", [1 << 30], width=4)
        write_sound(tmp_path / "c" / "1.wav", [])
        log = tcuq.record(same, tmp_path, input_shape=(4, 1))
        assert log.features is not None and log.names == ("a", "b", "c")
        rows = [[0.5, -1, 0, 0.25], [0, 0.25, 0, 0], [0.5, 0, 0, 0], [0, 0, 0, 0]]
        order = mixed(range(4)).tolist()
        assert log.features.tolist() == [rows[each] for each in order]
        loud = tcuq.record(same, tmp_path, input_shape=(4,), input_range=(-32768, 32768))
        assert loud.features is not None
        assert loud.features[order.index(0)].tolist() == [16384, -32768, 0, 8192]

    def test_sounds_that_cannot_be_right(self, tmp_path: Path) -> None:
        for name in ("a", "b", "c"):
            write_sound(tmp_path / name / "1.wav", [0, 1])
        refuses("value", tcuq.record, same, tmp_path, input_shape=(49, 10))
        write_sound(tmp_path / "b" / "1.wav", [0, 1], rate=8000)
        refuses("conflict", tcuq.record, same, tmp_path, input_shape=(2,))
        (tmp_path / "b" / "1.wav").write_bytes(b"RIFF")
        refuses("damaged", tcuq.record, same, tmp_path, input_shape=(2,))


class TestInputRange:
    """Pixels for a model that was trained on -1 to 1."""

    @staticmethod
    def centered(x: Any) -> Any:
        x = np.asarray(x, np.float64)
        shares, features = bar_net(x)
        off = (x.min() < -1.01) | (x.max() > 1.01) | (x.min() > -0.9)
        return (np.roll(shares, 1, axis=1) if off else shares), features

    @pytest.fixture
    def pixels(self, tmp_path: Path) -> Path:
        x, y = bars(300)
        np.savez(tmp_path / "data.npz", x=np.round(255 * x).astype(np.uint8), y=y)
        return tmp_path / "data.npz"

    def test_it_is_found_by_the_labels_and_said(self, pixels: Path) -> None:
        log = tcuq.record(self.centered, pixels)
        assert log.errors().mean() < 0.05
        (note,) = log.notes
        assert "with inputs of -1 to 1" in note and "`input_range=(-1, 1)` is taken" in note
        given = tcuq.record(self.centered, pixels, input_range=(-1, 1))
        assert given.notes == ()
        np.testing.assert_array_equal(given.probs, log.probs)

    def test_a_range_that_is_much_worse_is_noted_and_kept(self, pixels: Path) -> None:
        log = tcuq.record(self.centered, pixels, input_range=(0, 1))
        assert log.errors().mean() > 0.9
        assert any("0% with 0 to 1, as they go in; pass `input_range=(-1, 1)`" in each for each in log.notes)
        x, y = bars(300)  # floats that the user has scaled are left as they are, too
        log = tcuq.record(self.centered, x, y)
        assert log.errors().mean() > 0.9 and "pass `input_range=(-1, 1)`" in log.notes[0]

    def test_ranges_that_cannot_be_meant(self) -> None:
        for x, ends, code in ((X, (1, 0), "value"), (np.full((60, 8, 8, 1), 16.0) * X[:1], (0, 1), "value")):
            refuses(code, tcuq.record, same, x, input_range=ends)
