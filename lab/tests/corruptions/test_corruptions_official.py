"""Official archives of corrupted pictures: used where they are, refused where they do not fit."""

import io
import os
from tokenize import TokenError

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed: pip install 'tcuq-lab[vision]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install 'tcuq-lab[vision]'")

from PIL import Image

from tcuq_lab.corruptions import corrupt, suite_of
from tcuq_lab.corruptions.official import corrupted
from tcuq_lab.data import load

RNG = np.random.default_rng(11)
DIGITS = RNG.integers(0, 256, (6, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9])
COLORS = RNG.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
WNIDS = [f"n{number:08d}" for number in range(1, 21)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    np.savez(tmp_path / "mnist_test.npz", x=DIGITS, y=LABELS)
    np.savez(tmp_path / "mnist_train.npz", x=DIGITS[::-1], y=LABELS[::-1])
    return tmp_path


def put_mnist(folder, kind="stripe", images=None, labels=LABELS):
    place = folder / "mnist_c" / kind
    place.mkdir(parents=True)
    np.save(place / "test_images.npy", (DIGITS // 3)[..., None] if images is None else images)
    np.save(place / "test_labels.npy", labels)
    return place


def put_cifar(folder, kind, labels=None):
    rows = np.concatenate([COLORS // divisor for divisor in range(1, 6)])
    y = np.array([7, 0, 2, 9])
    batch = np.hstack([y.astype(np.uint8)[:, None], COLORS.transpose(0, 3, 1, 2).reshape(4, -1)])
    (folder / "cifar-10-batches-bin").mkdir()
    (folder / "cifar-10-batches-bin/test_batch.bin").write_bytes(batch.tobytes())
    (folder / "CIFAR-10-C").mkdir()
    np.save(folder / "CIFAR-10-C" / f"{kind}.npy", rows)
    np.save(folder / "CIFAR-10-C/labels.npy", np.tile(y, 5) if labels is None else labels)
    return y


def jpeg(color):
    file = io.BytesIO()
    Image.new("RGB", (64, 64), color).save(file, "JPEG", quality=95)
    return file.getvalue()


def put_tiny(folder, kind, severity, pictures):
    """Write a class list, one clean picture, and an archive with pictures of its own; gray tells which."""
    root = folder / "tiny-imagenet-200"
    (root / "val/images").mkdir(parents=True)
    (root / "wnids.txt").write_text("\n".join(WNIDS[::-1]))
    (root / "val/images/val_0.JPEG").write_bytes(jpeg("black"))
    (root / "val/val_annotations.txt").write_text(f"val_0.JPEG\t{WNIDS[0]}\t0\t0\t63\t63")
    for wnid in [*WNIDS, "n99999999"]:
        place = folder / "Tiny-ImageNet-C" / kind / str(severity) / wnid
        (place / "more").mkdir(parents=True)
        (place / "notes.txt").write_text("no picture")
        (place / "._test_1.JPEG").write_bytes(b"nor this")
        usual = {"test_7.JPEG": WNIDS.index(wnid) if wnid in WNIDS else 255}
        for name, gray in pictures.get(wnid, usual).items():
            (place / name).write_bytes(jpeg((gray, gray, gray)))


def test_each_data_set_has_its_suite():
    pairs = {"mnist": "mnist_c", "cifar10": "cifar10_c", "tinyimagenet": "tinyimagenet_c"}
    pairs |= {
        "tinyimagenet20": "tinyimagenet_c",
        "speech_commands": "speech_c",
        "speech_commands_v2": "speech_c",
    }
    assert {name: suite_of(name).name for name in pairs} == pairs
    with pytest.raises(
        ValueError, match="dataset 'fashion_mnist' has no corruptions, expected one of mnist, "
    ):
        suite_of("fashion_mnist")
    with pytest.raises(ValueError, match=r"dataset 'minst' is unknown; did you mean mnist\?"):
        suite_of("minst")


def test_without_an_archive_the_split_is_corrupted_here(folder):
    found = corrupted("mnist", "test", "rotate", 1, seed=4)
    assert np.array_equal(found.x, corrupt(DIGITS, "mnist_c", "rotate", 1, 4))
    assert found.y.tolist() == LABELS.tolist() and found.license == load("mnist", "test").license
    assert found.source.endswith("; corrupted here by mnist_c rotate, severity 1, seed 4")


def test_names_and_severities_are_checked_before_any_file_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("TCUQ_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"corruption of mnist_c 'zigzak' is unknown; did you mean zigzag\?"):
        corrupted("mnist", "test", "zigzak", 1)
    with pytest.raises(ValueError, match="severity of zigzag is 0"):
        corrupted("mnist", "test", "zigzag", 0)
    with pytest.raises(ValueError, match="mnist test is not in"):
        corrupted("mnist", "test", "zigzag", 1)
    with pytest.raises(ValueError, match="split 'val' of mnist is unknown"):
        corrupted("mnist", "val", "zigzag", 1)


def test_mnist_c_is_used_for_the_test_split_of_that_kind_alone(folder):
    put_mnist(folder)
    found = corrupted("mnist", "test", "stripe", 1)
    assert np.array_equal(found.x, DIGITS // 3) and found.x.flags.writeable
    assert (
        found.official
        and found.source.endswith("; official MNIST-C stripe")
        and found.y.tolist() == LABELS.tolist()
    )
    for other in (
        corrupted("mnist", "test", "stripe", 1, official=False),
        corrupted("mnist", "test", "shear", 1),
        corrupted("mnist", "train", "stripe", 1),
    ):
        assert "corrupted here" in other.source and not other.official


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_cifar_10_c_severities_are_stretches_of_rows(folder, severity):
    y = put_cifar(folder, "fog")
    found = corrupted("cifar10", "test", "fog", severity)
    assert np.array_equal(found.x, COLORS // severity) and found.y.tolist() == y.tolist()
    assert found.source.endswith(f"; official CIFAR-10-C fog, severity {severity}")


OWN = {WNIDS[10]: {"test_20.JPEG": 150, "test_100.JPEG": 90, "b.jpg": 30}, WNIDS[0]: {"z.JPEG": 200}}
# In the order of their names: test_100 before test_20.
ORDER = [200.0, *range(1, 10), 30, 90, 150, *range(11, 20)]


def test_tiny_imagenet_c_has_pictures_of_its_own(folder):
    put_tiny(folder, "snow", 2, OWN)
    found = corrupted("tinyimagenet", "val", "snow", 2)
    assert found.x.shape == (22, 64, 64, 3)
    assert np.abs(found.x[:, 32, 32, 0] - np.array(ORDER)).max() < 4
    assert found.y.tolist() == [*range(10), 10, 10, 10, *range(11, 20)] and found.y.dtype == np.int64
    assert found.official and found.license == load("tinyimagenet", "val").license
    assert found.source.startswith("official Tiny-ImageNet-C snow, severity 2; ")
    assert found.source.endswith("not paired with the clean pictures of tinyimagenet val")
    twenty = corrupted("tinyimagenet20", "val", "snow", 2)
    assert np.abs(twenty.x[:, 32, 32, 0] - np.array([200.0, 30, 90, 150])).max() < 4
    assert twenty.y.tolist() == [0, 1, 1, 1]
    here = corrupted("tinyimagenet20", "val", "snow", 3)
    assert "corrupted here" in here.source and not here.official and len(here.x) == 1


def test_tiny_imagenet_c_without_a_class_is_refused(folder):
    put_tiny(folder, "snow", 2, OWN | {WNIDS[3]: {}})
    message = f"snow/2/{WNIDS[3]}: holds no pictures; JPEG files of every class are needed"
    with pytest.raises(ValueError, match=message):
        corrupted("tinyimagenet", "val", "snow", 2)
    assert len(corrupted("tinyimagenet20", "val", "snow", 2).x) == 4
    (folder / "tiny-imagenet-200").rename(folder / "elsewhere")
    with pytest.raises(ValueError, match=r"tinyimagenet20 val is not in .*; its list of classes is needed"):
        corrupted("tinyimagenet20", "val", "snow", 2)


def test_tiny_imagenet_c_of_another_size_is_refused(folder):
    put_tiny(folder, "snow", 2, OWN)
    file = io.BytesIO()
    Image.new("RGB", (32, 48)).save(file, "JPEG")
    (folder / "Tiny-ImageNet-C/snow/2" / WNIDS[0] / "a.JPEG").write_bytes(file.getvalue())
    with pytest.raises(ValueError, match=r"a.JPEG: is 48x32, expected 64x64"):
        corrupted("tinyimagenet20", "val", "snow", 2)


def test_tiny_imagenet_c_beside_a_packed_split(folder):
    put_tiny(folder, "snow", 1, OWN)
    (folder / "tiny-imagenet-200").rename(folder / "elsewhere")
    np.savez(folder / "tinyimagenet20.npz", wnid=np.array(WNIDS[::10]))
    found = corrupted("tinyimagenet20", "val", "snow", 1)
    assert np.abs(found.x[:, 32, 32, 0] - np.array([200.0, 30, 90, 150])).max() < 4
    assert found.y.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (DIGITS, LABELS, r"test_images.npy: is uint8 \(6, 28, 28\), expected uint8 \(6, 28, 28, 1\)"),
        (DIGITS[:5, ..., None], LABELS, r"is uint8 \(5, 28, 28, 1\)"),
        (DIGITS[..., None] / 255, LABELS, r"is float64 \(6, 28, 28, 1\)"),
        (None, LABELS[:5], r"test_labels.npy: is int64 \(5,\), expected integers \(6,\)"),
        (None, LABELS * 1.0, r"test_labels.npy: is float64"),
        (None, LABELS[::-1], r"row 0 is 9, the dataset's label is 3, expected .* \(6 of 6 differ\)"),
        (
            None,
            np.array([3, 1, 4, 1, 5, 8]),
            r"row 5 is 8, the dataset's label is 9, expected .* \(1 of 6 differ\)",
        ),
        (np.array([{}], dtype=object), LABELS, "is no readable npy file, expected an array of numbers"),
    ],
)
def test_an_archive_that_does_not_fit_is_refused(folder, images, labels, message):
    put_mnist(folder, images=images, labels=labels)
    with pytest.raises(ValueError, match=message) as caught:
        corrupted("mnist", "test", "stripe", 1)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(folder))


def npy(header):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"no numbers at all",
        b"PK\x05\x06" + b"\0" * 18,
        b"PK\x03\x04garbage",
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (6, 28, 28, 1"),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,), }"),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2**9,), }"),
        npy("((" * 3000),
        npy("(" * 150 + ")" * 150),
    ],
)
def test_a_damaged_archive_is_refused(folder, content):
    place = put_mnist(folder)
    (place / "test_images.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"test_images.npy: is no readable npy file") as caught:
        corrupted("mnist", "test", "stripe", 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", [SyntaxError, MemoryError, OverflowError, TokenError])
def test_what_numpy_raises_for_a_damaged_file_is_one_line(folder, monkeypatch, error):
    put_mnist(folder)
    data = load("mnist", "test")
    monkeypatch.setattr("tcuq_lab.corruptions.official.load", lambda *_: data)

    def broken(*_, **__):
        raise error("many\nlines")

    monkeypatch.setattr(np.lib.format, "open_memmap", broken)
    with pytest.raises(
        ValueError, match=r"test_images.npy: is no readable npy file, expected an array of numbers"
    ):
        corrupted("mnist", "test", "stripe", 1)


def test_a_missing_file_keeps_its_own_message(folder):
    (put_mnist(folder) / "test_labels.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"test_labels.npy"):
        corrupted("mnist", "test", "stripe", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"workers": 0}, "workers is 0"),
    ],
)
def test_seed_and_workers_are_checked_also_for_an_archive(folder, change, message):
    put_mnist(folder)
    with pytest.raises(ValueError, match=message):
        corrupted("mnist", "test", "stripe", 1, **change)


def test_a_cut_archive_is_refused(folder):
    place = put_mnist(folder)
    whole = (place / "test_images.npy").read_bytes()
    (place / "test_images.npy").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match="is no readable npy file"):
        corrupted("mnist", "test", "stripe", 1)


def test_labels_of_cifar_10_c_must_be_those_of_the_data_set(folder):
    put_cifar(folder, "fog", labels=np.tile([7, 0, 2, 8], 5))
    with pytest.raises(ValueError, match=r"labels.npy: row 3 is 8, the dataset's label is 9"):
        corrupted("cifar10", "test", "fog", 1)


@pytest.mark.skipif(not os.environ.get("TCUQ_DATA"), reason="TCUQ_DATA names no folder of real data")
def test_labels_of_real_digits_are_kept():
    try:
        clean = load("mnist", "test")
    except ValueError:
        pytest.skip("MNIST is not in TCUQ_DATA; 'tcuq-lab data get mnist' fetches it")
    found = corrupted("mnist", "test", "stripe", 1)
    assert np.array_equal(found.y, clean.y) and found.x.shape == clean.x.shape
