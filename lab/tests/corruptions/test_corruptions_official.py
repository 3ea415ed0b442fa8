"""Official archives of corrupted pictures: used where they are, refused where they do not fit."""

import numpy as np
import pytest

pytest.importorskip("PIL", reason="Pillow is not installed: pip install pillow")
pytest.importorskip("scipy", reason="scipy is not installed: pip install scipy")


from tcuq_lab.corruptions.official import corrupted

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(11)
DIGITS = RNG.integers(0, 256, (6, 28, 28), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9])
COLORS = RNG.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)


@pytest.fixture
def folder(data_home):
    np.savez(data_home / "mnist_test.npz", x=DIGITS, y=LABELS)
    np.savez(data_home / "mnist_train.npz", x=DIGITS[::-1], y=LABELS[::-1])
    return data_home


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


def test_labels_of_cifar_10_c_must_be_those_of_the_data_set(folder):
    put_cifar(folder, "fog", labels=np.tile([7, 0, 2, 8], 5))
    with pytest.raises(ValueError, match=r"labels.npy: row 3 is 8, the dataset's label is 9"):
        corrupted("cifar10", "test", "fog", 1)
