"""MNIST-C: which kinds there are, what each does to a drawn digit, and that neighbors have no say."""

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install 'tcuq-lab[vision]'")

from tcuq_lab.corruptions import corrupt, suite
from tcuq_lab.corruptions.draws import Draws
from tcuq_lab.corruptions.edges import canny
from tcuq_lab.corruptions.geometry import warp

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


@pytest.mark.parametrize("kind", ["rotate", "shear"])
def test_both_directions_occur_and_can_be_undone(kind):
    out = made(kind).astype(float)
    signs = 2 * Draws(0, f"mnist_c/{kind}", np.arange(30)).integers(0, 2) - 1
    assert set(signs.tolist()) == {-1, 1}

    def off(angle):
        cos, sin, one = np.cos(angle), np.sin(angle), np.ones(30)
        turn = [cos, sin, -sin, cos] if kind == "rotate" else [one, sin / cos, 0 * one, 1 / cos]
        again = warp(out[..., None], np.stack(turn, axis=1).reshape(-1, 2, 2))[..., 0]
        return np.abs(again - DIGITS).mean(axis=(1, 2))

    assert off(0.4 * signs).mean() < 0.9 * min(off(0.3 * signs).mean(), off(0.5 * signs).mean())
    assert (off(0.4 * signs) < 0.7 * off(-0.4 * signs)).all()


def test_stripe_inverts_the_outer_quarters():
    out = made("stripe")
    assert np.array_equal(out[:, :, 7:21], DIGITS[:, :, 7:21])
    assert np.array_equal(out[:, :, :7], 255 - DIGITS[:, :, :7])
    assert np.array_equal(out[:, :, 21:], 255 - DIGITS[:, :, 21:])


@pytest.mark.parametrize("kind", ["dotted_line", "zigzag"])
def test_lines_only_add_ink_and_cross_the_picture(kind):
    added = made(kind, np.zeros((50, 28, 28), np.uint8))
    inked = (added > 100).any(axis=1)
    assert (made(kind) >= DIGITS).all()
    if kind == "dotted_line":
        dashes = np.arange(28) // 2 % 2 == 1
        dashes[27] = False  # the line ends before the last column
        assert (inked == dashes).all()
    else:
        # Where a line runs along the lower or upper edge, teeth stick out of the picture.
        assert (
            (inked[:, 3:25].mean(axis=1) > 0.5).all() and not inked[:, :1].any() and not inked[:, 27:].any()
        )
        assert (inked.sum(axis=1) >= 20).mean() > 0.8


def test_brightness_lifts_black_to_half():
    out = made("brightness")
    assert abs(int(out.min()) - 128) <= 1 and out.max() == 255


def test_glass_blurs_downwards_alone():
    from tcuq_lab.corruptions.gray import glass_blur

    line = np.zeros((1, 28, 28, 1))
    line[:, :, 14] = 1
    assert np.allclose(glass_blur(line, Draws(0, "x", np.arange(1)), (0.7, 1, 0)), line)
    level = glass_blur(line.transpose(0, 2, 1, 3), Draws(0, "x", np.arange(1)), (0.7, 1, 0))
    assert 0.1 < level[0, 13, 5, 0] < 0.3  # twice a normal curve of deviation 0.7


def test_canny_drops_weak_edges_unless_they_touch_a_strong_one():
    step = np.zeros((2, 20, 20))
    step[0, :, 10:] = 0.03  # a slope of 0.08 after the blur, below both limits
    step[1, :, 10:] = np.linspace(0.045, 0.5, 20)[:, None]
    edges = canny(step, 1.0, 0.1, 0.2)
    assert not edges[0].any()
    assert edges[1, 1:19].any(axis=1).all()
    faint = step[1:].copy()
    faint[0, 3:] = 0
    faint[0, :3, 10:] = 0.06
    assert not canny(faint, 1.0, 0.2, 0.9).any()
