"""MNIST-C: which kinds there are, what each does to a drawn digit, and that neighbors have no say."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install scipy")

from tcuq_lab.corruptions import corrupt, suite

MNIST_C = suite("mnist_c")
KINDS = tuple(MNIST_C.kinds)
PUBLISHED = """
identity shot_noise impulse_noise glass_blur motion_blur shear scale rotate brightness translate stripe
fog spatter dotted_line zigzag canny_edges
"""


def digits(count, shape=(28, 28), seed=3):
    """Return made digits: a soft ring and a bar each, at a place and a size of their own."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    pictures = []
    for _ in range(count):
        y, x = np.array(shape) / 2 + rng.uniform(-2, 2, 2)
        radius = min(shape) * rng.uniform(0.15, 0.28)
        ring = np.abs(np.hypot(rows - y, columns - x) - radius)
        bar = np.abs(columns - x - rng.uniform(-3, 3)) + 9 * (np.abs(rows - y) > radius)
        pictures.append(np.clip(2.2 - np.minimum(ring, bar), 0, 1))
    return np.rint(255 * np.array(pictures)).astype(np.uint8)


DIGITS = digits(30)


def made(kind, x=DIGITS, **options):
    return corrupt(x, "mnist_c", kind, 1, **options)


def mass_center(x):
    rows, columns = np.mgrid[: x.shape[1], : x.shape[2]]
    total = x.sum(axis=(1, 2), dtype=float)
    return np.stack([(x * columns).sum((1, 2)) / total, (x * rows).sum((1, 2)) / total], axis=1)


def test_the_published_kinds_at_one_severity_each():
    assert tuple(PUBLISHED.split()) == KINDS and len(KINDS) == 16
    assert all(len(kind.settings) == 1 for kind in MNIST_C.kinds.values())
    assert MNIST_C.seen == ("shot_noise", "glass_blur", "shear", "dotted_line", "stripe")
    assert len(MNIST_C.unseen) == 10 and "identity" not in MNIST_C.unseen
    with pytest.raises(ValueError, match="severity of zigzag is 2"):
        corrupt(DIGITS, "mnist_c", "zigzag", 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_does_not_depend_on_batch_or_neighbors(kind):
    whole = made(kind)
    single = [made(kind, DIGITS[i : i + 1], index=[i]) for i in range(30)]
    sevens = [made(kind, DIGITS[i : i + 7], index=range(i, min(i + 7, 30))) for i in range(0, 30, 7)]
    assert np.array_equal(whole, np.concatenate(single))
    assert np.array_equal(whole, np.concatenate(sevens))
    backwards = made(kind, DIGITS[::-1], index=np.arange(30)[::-1])
    assert np.array_equal(whole, backwards[::-1])


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    assert np.array_equal(made(kind, seed=5), made(kind, seed=5))
    fixed = kind in ("identity", "scale", "brightness", "stripe", "canny_edges")
    assert np.array_equal(made(kind, seed=5), made(kind, seed=6)) == fixed


def test_translate_moves_by_three_pixels_along_both_axes():
    moved = mass_center(made("translate")) - mass_center(DIGITS)
    assert np.abs(np.abs(moved) - 3).max() < 0.2
    assert len({tuple(each) for each in np.sign(moved).tolist()}) == 4
