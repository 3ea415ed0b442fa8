"""Corruptions of natural pictures: constants, shapes, the same bytes in every batch, what kinds mean."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tcuq_lab.corruptions import corrupt, suite
from tcuq_lab.corruptions.apply import CHUNK
from tcuq_lab.corruptions.draws import Draws
from tcuq_lab.corruptions.natural import SEEN

pytest.importorskip("scipy", reason="pip install 'tcuq-lab[vision]'")
pytest.importorskip("PIL", reason="pip install 'tcuq-lab[vision]'")

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
@pytest.mark.parametrize("name", SUITES)
def test_every_severity_changes_gray_and_color_pictures_of_any_shape(name, kind):
    for x in (pictures(2, 20, 27, 0), pictures(2, 33, 16)):
        before = x.copy()
        for severity in range(1, 6):
            out = corrupt(x, name, kind, severity, seed=4)
            assert out.shape == x.shape and out.dtype == np.uint8
            assert (out == corrupt(x, name, kind, severity, seed=4)).all()
            if kind == "saturate" and x.ndim == 3:
                assert (out == x).all()
            else:
                assert (out != x).any(), severity
        assert (x == before).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_pictures_are_accepted(kind):
    for name in SUITES:
        for x in (pictures(1, 8, 8, 0), pictures(1, 8, 11)):
            assert corrupt(x, name, kind, 5).shape == x.shape


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


def test_bytes_do_not_depend_on_the_workers():
    x = pictures(CHUNK + 30, 16, 16)
    assert (
        corrupt(x, "cifar10_c", "zoom_blur", 5, workers=2) == corrupt(x, "cifar10_c", "zoom_blur", 5)
    ).all()


def test_a_zoom_by_lines_is_the_zoom_by_one_map():
    from tcuq_lab.corruptions import warp

    x, factors = np.random.default_rng(1).random((2, 40, 33, 3)), (1.0, 1.05, 1.3, 2.5)
    assert np.abs(warp.zoom(x, factors) - warp._by_lines(x, factors)).max() < 1e-12
    # Of large pictures no map of all pixels is kept.
    before = warp._zooms.cache_info().misses
    assert warp.zoom(np.ones((1, 65, 65, 1)), factors).shape == (1, 65, 65, 1)
    assert warp._zooms.cache_info().misses == before


def test_large_pictures_are_corrupted_in_smaller_parts():
    x, done = pictures(9, 224, 224), []
    out = corrupt(x, "imagenet_c", "fog", 2, progress=lambda part, whole: done.append((part, whole)))
    assert len(done) > 1 and done[-1] == (9, 9)
    assert (out[8] == corrupt(x[8:], "imagenet_c", "fog", 2, index=[8])[0]).all()


def digest():
    x, all_ = pictures(3, 32, 32), hashlib.sha256()
    for kind in KINDS:
        all_.update(corrupt(x, "cifar10_c", kind, 3, seed=2).tobytes())
    return all_.hexdigest()


def test_bytes_do_not_depend_on_the_process():
    code = "import test_corruptions_natural as tests; print(tests.digest())"
    for seed in ("1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.path.dirname(__file__)}
        ran = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == digest()


def test_seeds_and_places_give_other_disturbances():
    x = pictures(1, 32, 32).repeat(2, axis=0)
    one = corrupt(x, "cifar10_c", "snow", 3, seed=1)
    assert (one[0] != one[1]).any()
    assert (one != corrupt(x, "cifar10_c", "snow", 3, seed=2)).any()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in UNORDERED])
@pytest.mark.parametrize("name", SUITES[:2])
def test_changes_grow_with_the_severity(name, kind):
    side = 32 if name == "cifar10_c" else 64
    x = pictures(16, side, side)
    changes = [change(x, name, kind, severity) for severity in range(1, 6)]
    assert (np.diff(changes) > 0).all(), changes


@pytest.mark.parametrize("shade", [0, 255])
@pytest.mark.parametrize("kind", KINDS)
def test_black_and_white_pictures_give_numbers(kind, shade):
    for name in SUITES:
        known = suite(name).kind(kind)
        for channels in (1, 3):
            for setting in known.settings:
                flat = np.full((2, 16, 16, channels), shade / 255.0)
                out = known.call()(flat, Draws(1, "test", np.arange(2)), setting)
                assert out.shape == flat.shape and np.isfinite(out).all()


@pytest.mark.parametrize("kind", KEEP_FLAT)
def test_blurs_and_warps_keep_a_picture_of_one_color(kind):
    x = np.empty((2, 32, 32, 3), np.uint8)
    x[:] = (30, 140, 220)
    for severity in range(1, 6):
        assert (corrupt(x, "cifar10_c", kind, severity) == x).all()


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


def test_glass_shows_only_colors_of_the_picture():
    x = pictures(4, 32, 32)
    out = corrupt(x, "cifar10_c", "glass_blur", 1)
    for before, after in zip(x, out, strict=True):
        assert set(map(tuple, after.reshape(-1, 3))) <= set(map(tuple, before.reshape(-1, 3)))


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


def test_contrast_keeps_the_mean():
    x = pictures(3, 32, 32)
    out = corrupt(x, "cifar10_c", "contrast", 5)
    assert np.allclose(out.mean(axis=(1, 2)), x.mean(axis=(1, 2)), atol=0.5)
    assert np.allclose(out.std(axis=(1, 2)), 0.15 * x.std(axis=(1, 2)), rtol=0.1)


def test_panes_of_ice_fit_to_themselves():
    from tcuq_lab.corruptions.texture import PANES, pane

    for number in range(PANES):
        ice = pane(number, 1.0)
        inside = np.abs(np.diff(ice, axis=0)).mean()
        assert np.abs(ice[0] - ice[-1]).mean() < 1.5 * inside
        assert 0.3 < ice.mean() < 0.9 and ice.std() > 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"severity": 0}, "severity of fog is 0"),
        ({"severity": 6}, "severity of fog is 6"),
        ({"kind": "fogg"}, "corruption of cifar10_c 'fogg' is unknown; did you mean fog?"),
        ({"suite": "cifar-10-c"}, "suite 'cifar-10-c' is unknown; did you mean cifar10_c?"),
        (
            {"x": np.zeros((2, 8, 8, 3))},
            "x is float64 (2, 8, 8, 3); cifar10_c corrupts uint8 (n, height, width) or (n, height, width, 3)",
        ),
        ({"x": np.zeros((2, 7, 9), np.uint8)}, "x is (2, 7, 9), expected pictures of 8 x 8 or more"),
    ],
)
def test_errors_are_one_line_and_name_the_value(arguments, message):
    good = {"x": np.zeros((1, 32, 32, 3), np.uint8), "suite": "cifar10_c", "kind": "fog", "severity": 1}
    with pytest.raises(ValueError) as caught:
        corrupt(**{**good, **arguments})
    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)
