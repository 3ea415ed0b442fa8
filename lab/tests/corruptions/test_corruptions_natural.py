"""Corruptions of natural pictures: constants, shapes, the same bytes in every batch, what kinds mean."""

import hashlib
import json

import numpy as np
import pytest

from tcuq_lab.corruptions import corrupt, suite
from tcuq_lab.corruptions.apply import CHUNK

pytest.importorskip("scipy", reason="pip install scipy")
pytest.importorskip("PIL", reason="pip install pillow")

SEEN = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
SUITES = ("cifar10_c", "tinyimagenet_c", "imagenet_c")
KINDS = tuple(suite("cifar10_c").kinds)
UNORDERED = {
    "glass_blur": "more rounds come with less smoothing",
    "motion_blur": "severities 3 and 4 of CIFAR-10-C smear by the same deviation",
    "frost": "the picture darkens while the ice brightens",
    "elastic_transform": "smaller waves replace larger moves",
    "spatter": "mud replaces water",
    "saturate": "first less, then more color",
}
KEEP_FLAT = ("gaussian_blur", "defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "contrast")
KEEP_FLAT += ("elastic_transform", "pixelate")


def pictures(count, height, width, channels=3):
    """Return soft blobs of color with a little grain; without channels for 0."""
    from scipy import ndimage

    shape = (count, height, width) + (channels,) * (channels > 0)
    soft = (0, 2, 2, 0)[: len(shape)]
    rng = np.random.default_rng(3)
    blobs = ndimage.gaussian_filter(rng.normal(size=shape), soft) * 400 + rng.normal(0, 4, shape)
    return np.clip(128 + blobs, 0, 255).astype(np.uint8)


def change(x, name, kind, severity):
    return np.abs(corrupt(x, name, kind, severity).astype(float) - x).mean()


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_has_19_kinds_of_5_severities(name):
    known = suite(name)
    assert len(known.kinds) == 19
    assert {len(kind.settings) for kind in known.kinds.values()} == {5}
    assert known.seen == SEEN and len(known.unseen) == 15 and not set(known.unseen) & set(SEEN)
    assert all(callable(kind.call()) for kind in known.kinds.values())


@pytest.mark.parametrize(
    ("name", "fog", "digest"),
    [
        ("cifar10_c", (1.5, 1.75), "0b6ee3f92a5b34f1"),
        ("tinyimagenet_c", (2, 1.75), "61adef9803733fc9"),
        ("imagenet_c", (3, 1.4), "833d33aebd909618"),
    ],
)
def test_no_constant_changes_unnoticed(name, fog, digest):
    settings = {kind: known.settings for kind, known in suite(name).kinds.items()}
    assert settings["fog"][4] == fog
    assert hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16] == digest


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_do_not_depend_on_the_batch(kind):
    x = pictures(30, 32, 32)
    for severity in (3, 5):
        whole = corrupt(x, "cifar10_c", kind, severity, seed=9)
        for size in (1, 7):
            parts = [
                corrupt(
                    x[at : at + size], "cifar10_c", kind, severity, 9, index=np.arange(30)[at : at + size]
                )
                for at in range(0, 30, size)
            ]
            assert (np.concatenate(parts) == whole).all(), (severity, size)
        turned = corrupt(x[::-1], "cifar10_c", kind, severity, 9, index=np.arange(30)[::-1])
        assert (turned[::-1] == whole).all()


def digest():
    x, all_ = pictures(3, 32, 32), hashlib.sha256()
    for kind in KINDS:
        all_.update(corrupt(x, "cifar10_c", kind, 3, seed=2).tobytes())
    return all_.hexdigest()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in UNORDERED])
@pytest.mark.parametrize("name", SUITES[:2])
def test_changes_grow_with_the_severity(name, kind):
    side = 32 if name == "cifar10_c" else 64
    x = pictures(16, side, side)
    changes = [change(x, name, kind, severity) for severity in range(1, 6)]
    assert (np.diff(changes) > 0).all(), changes


def test_impulse_noise_turns_its_share_black_or_white():
    x = np.full((20, 32, 32, 3), 100, np.uint8)
    out = corrupt(x, "cifar10_c", "impulse_noise", 5)
    assert set(np.unique(out)) == {0, 100, 255}
    assert abs((out == 0).mean() - 0.035) < 0.004 and abs((out == 255).mean() - 0.035) < 0.004


def test_noise_has_its_spread():
    x = np.full((20, 32, 32, 3), 128, np.uint8)
    for kind, spread in (("gaussian_noise", 0.10 * 255), ("speckle_noise", 0.2 * 128)):
        assert corrupt(x, "cifar10_c", kind, 5).std() == pytest.approx(spread, rel=0.02)
    assert corrupt(x, "cifar10_c", "shot_noise", 5).std() == pytest.approx(
        (128 / 255 / 50) ** 0.5 * 255, rel=0.02
    )


def test_saturation_and_brightness_work_on_hue_saturation_and_value():
    import colorsys

    x = pictures(1, 8, 8)
    bright = corrupt(x, "cifar10_c", "brightness", 3)
    tinted = corrupt(x, "cifar10_c", "saturate", 5)
    for before, one, two in zip(*(each.reshape(-1, 3) / 255.0 for each in (x, bright, tinted)), strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        assert np.allclose(one, colorsys.hsv_to_rgb(hue, saturation, min(1, value + 0.15)), atol=0.51 / 255)
        wanted = colorsys.hsv_to_rgb(hue, min(1, saturation * 2.5 + 0.2), value)
        assert np.allclose(two, wanted, atol=0.51 / 255)


def test_bytes_do_not_depend_on_the_workers():
    x = pictures(CHUNK + 30, 16, 16)
    assert (
        corrupt(x, "cifar10_c", "zoom_blur", 5, workers=2) == corrupt(x, "cifar10_c", "zoom_blur", 5)
    ).all()
