"""The sound corruptions: bytes that depend on nothing else, random states left alone, severities in order."""

from itertools import pairwise

import numpy as np
import pytest
from sounds import spoken

from tcuq_lab.audio import mfcc
from tcuq_lab.corruptions import corrupt, suite

pytest.importorskip("audiomentations", reason="audiomentations is missing: pip install audiomentations")

from tcuq_lab.corruptions.draws import Draws
from tcuq_lab.corruptions.sound import room_reverb

SUITE = suite("speech_c")
KINDS = tuple(SUITE.kinds)
CLIPS = spoken()


def distance(clips, others):
    return float(np.sqrt(((mfcc(clips) - mfcc(others)) ** 2).sum(axis=2)).mean())


def test_there_are_fifteen_kinds_of_five_severities():
    assert len(KINDS) == 15 and all(len(kind.settings) == 5 for kind in SUITE.kinds.values())
    assert SUITE.seen == ("gaussian_noise", "low_pass_filter", "time_mask", "background_noise")
    assert len(SUITE.unseen) == 11 and {"room_reverb", "pitch_shift", "time_stretch"} <= set(SUITE.unseen)


@pytest.mark.parametrize("kind", KINDS)
def test_a_clip_depends_on_seed_kind_severity_place_and_samples_alone(kind):
    at_once = corrupt(CLIPS, "speech_c", kind, 3, seed=4)
    assert at_once.dtype == np.int16 and at_once.shape == CLIPS.shape
    one_by_one = [corrupt(CLIPS[at : at + 1], "speech_c", kind, 3, 4, index=[at])[0] for at in range(6)]
    assert np.array_equal(at_once, one_by_one)
    back = corrupt(CLIPS[::-1], "speech_c", kind, 3, seed=4, index=np.arange(6)[::-1])
    assert np.array_equal(back[::-1], at_once)
    assert not np.array_equal(corrupt(CLIPS, "speech_c", kind, 3, seed=5), at_once) or kind in (
        "tanh_distortion",  # has nothing to draw
    )


@pytest.mark.parametrize("kind", KINDS)
def test_severities_go_away_from_the_original(kind):
    ways = [distance(corrupt(CLIPS, "speech_c", kind, severity, seed=1), CLIPS) for severity in range(1, 6)]
    assert ways[0] > 0.1 and ways[4] > 1.5 * ways[0]
    assert all(near < far for near, far in pairwise(ways)), ways


# The others hide the borders of a word by noise, masks or the loss of most tones, but do not move it.


@pytest.mark.parametrize("kind", ["gaussian_noise", "background_noise"])
def test_noise_has_the_ratio_of_its_setting(kind):
    for severity in (1, 3, 5):
        noise = corrupt(CLIPS, "speech_c", kind, severity).astype(float) - CLIPS
        ratio = 10 * np.log10((CLIPS.astype(float) ** 2).mean(axis=1) / (noise**2).mean(axis=1))
        assert np.abs(ratio - SUITE.setting(kind, severity)).max() < 0.2


def test_a_mask_silences_its_part_of_every_second():
    steady = np.full((3, 16000), 500, np.int16)
    gone = [corrupt(steady, "speech_c", "time_mask", severity) == 0 for severity in range(1, 6)]
    fades = 2 * 80 / 16000
    for mask, part in zip(gone, (0.04, 0.08, 0.12, 0.16, 0.20), strict=True):
        assert (np.abs(mask.mean(axis=1) - (part - fades)) < 0.001).all()
    assert all((more | ~less).all() for less, more in pairwise(gone))
    long = corrupt(np.full((1, 81600), 500, np.int16), "speech_c", "time_mask", 5)[0] == 0
    starts = np.flatnonzero(np.diff(long.astype(int)) == 1)
    assert len(starts) == 6 and (starts // 13600 == np.arange(6)).all()


def test_a_room_decays_as_it_says():
    click = np.zeros((4, 16000))
    click[:, 0] = 0.01
    found = room_reverb(click, Draws(0, "x", np.arange(4)), (0.4, 0.0)) * 100
    assert np.allclose(found[:, 0], 1)
    echo = (found[:, 1:] ** 2).sum(axis=1)
    assert np.allclose(echo, 1)
    late = (found[:, 2000:2800] ** 2).mean(axis=1), (found[:, 5200:6000] ** 2).mean(axis=1)
    assert np.abs(10 * np.log10(late[0] / late[1]) - 30).max() < 3  # half of 0.4 s: half of 60 dB
