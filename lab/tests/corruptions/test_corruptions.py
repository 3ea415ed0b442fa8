"""Every kind of every suite: bytes that depend on nothing else, severities in order, what kinds mean."""

import colorsys
import hashlib
import json
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("scipy", reason="scipy is not installed: pip install scipy")
pytest.importorskip("PIL", reason="Pillow is not installed: pip install pillow")

from scipy import ndimage
from sounds import spoken

from tcuq_lab.audio import mfcc
from tcuq_lab.corruptions import corrupt, sequences, suite, suites
from tcuq_lab.corruptions.apply import CHUNK, SHORTEST
from tcuq_lab.corruptions.draws import Draws
from tcuq_lab.corruptions.sound import room_reverb

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(8)
COLOR = RNG.integers(0, 256, (9, 8, 8, 3), dtype=np.uint8)  # so small, means often lie between two bytes
SHOWN = {
    "pictures": [COLOR[..., 0].copy(), COLOR],
    "sound": [RNG.integers(-3000, 3000, (4, SHORTEST)).astype(np.int16)],
    "text": [RNG.integers(32, 127, (6, 64), dtype=np.uint8)],
    "motion": [RNG.integers(64, 192, (6, 64, 1, 3), dtype=np.uint8)],
}
ALL = [(name, kind) for name in suites() for kind in suite(name).kinds]
FIXED = """
identity scale brightness stripe canny_edges gaussian_blur defocus_blur zoom_blur contrast pixelate
jpeg_compression saturate tanh_distortion offset clipped swapped_axes other_wrist sample_rate stuck
"""
UNORDERED = {
    "glass_blur": "more rounds come with less smoothing",
    "motion_blur": "severities 3 and 4 of CIFAR-10-C smear by the same deviation",
    "frost": "the picture darkens while the ice brightens",
    "elastic_transform": "smaller waves replace larger moves",
    "spatter": "mud replaces water",
    "saturate": "first less, then more color",
}


def need(name):
    if name == "speech_c":
        pytest.importorskip("audiomentations", reason="not installed: pip install audiomentations")


def every_second(x):
    wide = np.zeros([2 * size for size in x.shape], x.dtype)
    part = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    part[:] = x
    return part


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_bytes_depend_on_seed_place_and_example_alone(name, kind):
    need(name)
    known = suite(name)
    for severity in {1, len(known.kind(kind).settings)}:
        for x in SHOWN[known.media]:
            many = len(x)
            whole = corrupt(x, name, kind, severity, seed=1)
            assert (whole.dtype, whole.shape) == (x.dtype, x.shape) and whole.flags.writeable
            for size in (1, 4):
                parts = [
                    corrupt(x[at : at + size], name, kind, severity, 1, index=range(at, min(at + size, many)))
                    for at in range(0, many, size)
                ]
                assert np.array_equal(np.concatenate(parts), whole), (severity, size)
            turned = corrupt(x[::-1], name, kind, severity, 1, index=np.arange(many)[::-1])
            assert np.array_equal(turned[::-1], whole)
            for layout in (np.asfortranarray, every_second):
                assert np.array_equal(corrupt(layout(x), name, kind, severity, seed=1), whole)
    assert np.array_equal(corrupt(x, name, kind, 1, seed=2), corrupt(x, name, kind, 1)) == (
        kind in FIXED.split()
    )


def test_bytes_do_not_depend_on_the_workers():
    x = RNG.integers(0, 256, (CHUNK + 30, 16, 16, 3), dtype=np.uint8)
    two = corrupt(x, "cifar10_c", "zoom_blur", 5, workers=2)
    assert np.array_equal(two, corrupt(x, "cifar10_c", "zoom_blur", 5))


NATURAL = ("speckle_noise", "gaussian_blur", "spatter", "saturate")


@pytest.mark.parametrize(
    ("name", "kinds", "severities", "unseen", "seen", "digest"),
    [
        ("mnist_c", 16, 1, 10, ("shot_noise", "glass_blur", "shear", "dotted_line", "stripe"), ""),
        ("cifar10_c", 19, 5, 15, NATURAL, "0b6ee3f92a5b34f1"),
        ("tinyimagenet_c", 19, 5, 15, NATURAL, "61adef9803733fc9"),
        ("imagenet_c", 19, 5, 15, NATURAL, "833d33aebd909618"),
        ("speech_c", 15, 5, 11, ("gaussian_noise", "low_pass_filter", "time_mask", "background_noise"), ""),
    ],
)
def test_kinds_are_those_that_were_published(name, kinds, severities, unseen, seen, digest):
    known = suite(name)
    settings = {kind: each.settings for kind, each in known.kinds.items()}
    assert len(settings) == kinds and set(map(len, settings.values())) == {severities}
    assert set(known.seen) == set(seen) and len(known.unseen) == unseen and not set(known.unseen) & set(seen)
    assert hashlib.sha256(json.dumps(settings).encode()).hexdigest()[:16] == digest or not digest
    with pytest.raises(ValueError, match=f"severity of {seen[0]} is {severities + 1}"):
        corrupt(COLOR, name, seen[0], severities + 1)


def blobs(side):
    """Return soft blobs of color with a little grain."""
    rng = np.random.default_rng(3)
    soft = ndimage.gaussian_filter(rng.normal(size=(16, side, side, 3)), (0, 2, 2, 0)) * 400
    return np.clip(128 + soft + rng.normal(0, 4, soft.shape), 0, 255).astype(np.uint8)


WORDS = np.frombuffer(b"for name in words: total += count(name) or other; return x + y1\n", np.uint8)
CLEAN = {
    "cifar10_c": blobs(32),
    "tinyimagenet_c": blobs(64),
    "speech_c": spoken(),
    "text_c": np.tile(WORDS, (200, 1)),
}
CHANGES = {
    "pictures": lambda x, y: np.abs(x.astype(float) - y).mean(),
    "sound": lambda x, y: np.sqrt(((mfcc(x) - mfcc(y)) ** 2).sum(axis=2)).mean(),
    "text": lambda x, y: (x != y).mean(),
}


@pytest.mark.parametrize(
    ("name", "kind"), [each for each in ALL if each[0] in CLEAN and each[1] not in UNORDERED]
)
def test_changes_grow_with_the_severity(name, kind):
    need(name)
    x, change = CLEAN[name], CHANGES[suite(name).media]
    changes = [change(corrupt(x, name, kind, severity, seed=1), x) for severity in range(1, 6)]
    assert changes[0] > 0 and (np.diff(changes) > 0).all(), changes


def test_impulse_noise_turns_its_share_black_or_white():
    out = corrupt(np.full((20, 32, 32, 3), 100, np.uint8), "cifar10_c", "impulse_noise", 5)
    assert set(np.unique(out)) == {0, 100, 255}
    assert abs((out == 0).mean() - 0.035) < 0.004 and abs((out == 255).mean() - 0.035) < 0.004


def test_noise_has_its_spread():
    x = np.full((20, 32, 32, 3), 128, np.uint8)
    photons = (128 / 255 / 50) ** 0.5
    for kind, spread in (
        ("gaussian_noise", 0.10 * 255),
        ("speckle_noise", 0.2 * 128),
        ("shot_noise", photons * 255),
    ):
        assert corrupt(x, "cifar10_c", kind, 5).std() == pytest.approx(spread, rel=0.02)


def test_saturation_and_brightness_work_on_hue_saturation_and_value():
    x = COLOR[:1]
    bright, tinted = (corrupt(x, "cifar10_c", *each) for each in (("brightness", 3), ("saturate", 5)))
    for before, one, two in zip(*(each.reshape(-1, 3) / 255.0 for each in (x, bright, tinted)), strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        assert np.allclose(one, colorsys.hsv_to_rgb(hue, saturation, min(1, value + 0.15)), atol=0.51 / 255)
        wanted = colorsys.hsv_to_rgb(hue, min(1, saturation * 2.5 + 0.2), value)
        assert np.allclose(two, wanted, atol=0.51 / 255)


def test_translate_moves_by_three_pixels_along_both_axes():
    x = np.zeros((30, 28, 28), np.uint8)
    x[:, 10:16, 12:20] = 200
    places = [np.mean(np.nonzero(each), axis=1) for each in corrupt(x, "mnist_c", "translate", 1)]
    moved = np.array(places) - (12.5, 15.5)
    assert np.abs(np.abs(moved) - 3).max() < 1e-9 and len({tuple(each) for each in moved.tolist()}) == 4


@pytest.mark.parametrize("kind", ["gaussian_noise", "background_noise"])
def test_noise_has_the_ratio_of_its_setting(kind):
    need("speech_c")
    clips = CLEAN["speech_c"]
    for severity in (1, 3, 5):
        noise = corrupt(clips, "speech_c", kind, severity).astype(float) - clips
        ratio = 10 * np.log10((clips.astype(float) ** 2).mean(axis=1) / (noise**2).mean(axis=1))
        assert np.abs(ratio - suite("speech_c").setting(kind, severity)).max() < 0.2


def test_a_mask_silences_its_part_of_every_second():
    need("speech_c")
    steady = np.full((3, 16000), 500, np.int16)
    gone = [corrupt(steady, "speech_c", "time_mask", severity) == 0 for severity in range(1, 6)]
    fades = 2 * 80 / 16000
    for mask, part in zip(gone, (0.04, 0.08, 0.12, 0.16, 0.20), strict=True):
        assert (np.abs(mask.mean(axis=1) - (part - fades)) < 0.001).all()
    assert all((more | ~less).all() for less, more in pairwise(gone))
    long = corrupt(np.full((1, 81600), 500, np.int16), "speech_c", "time_mask", 5)[0] == 0
    starts = np.flatnonzero(np.diff(long.astype(int)) == 1)
    assert len(starts) == 6 and (starts // 13600 == np.arange(6)).all()


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (sequences.capitals, b"AB 1C"),
        (sequences.swapped_letters, b"ba1 c"),
        (sequences.lost_letters, b"     "),
        (sequences.blanked_words, b"     "),
    ],
)
def test_all_letters_are_disturbed_at_a_share_of_one(kind, wanted):
    assert kind(np.frombuffer(b"ab 1c", np.uint8)[None], Draws(0, "x", np.arange(1)), 1.0).tobytes() == wanted


def test_a_room_decays_as_it_says():
    click = np.zeros((4, 16000))
    click[:, 0] = 0.01
    found = room_reverb(click, Draws(0, "x", np.arange(4)), (0.4, 0.0)) * 100
    assert np.allclose(found[:, 0], 1) and np.allclose((found[:, 1:] ** 2).sum(axis=1), 1)
    late = (found[:, 2000:2800] ** 2).mean(axis=1), (found[:, 5200:6000] ** 2).mean(axis=1)
    assert np.abs(10 * np.log10(late[0] / late[1]) - 30).max() < 3  # half of 0.4 s: half of 60 dB
