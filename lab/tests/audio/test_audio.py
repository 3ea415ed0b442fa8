"""Sound: plans that can be rebuilt, labels that are right, memory that stays flat, the front end."""

import hashlib
import json
import tracemalloc
from itertools import islice

import numpy as np
import pytest

from tcuq_lab.audio import SoundPlan, mfcc, voiced, windows
from tcuq_lab.audio.tape import LEVEL

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(11)
NOISE = RNG.integers(-500, 500, (7, 16000)).astype(np.int16)


def made(count=12):
    """Words of different lengths: bursts of a tone of their own in silence."""
    clips = np.zeros((count, 16000), np.int16)
    for place in range(count):
        first, length = 320 * (5 + place), 320 * (12 + 2 * place)
        tone = np.sin(2 * np.pi * (300 + 200 * place) * np.arange(length) / 16000)
        clips[place, first : first + length] = 6000 * tone
    return clips


CLIPS, LABELS = made(), np.arange(12) % 11


def run(plan, **options):
    return list(windows(plan, CLIPS, LABELS, NOISE, **options))


def joined(plan, **options):
    return [np.concatenate(parts) for parts in list(zip(*run(plan, **options), strict=True))[1:]]


def test_the_voiced_part_is_found():
    clip = np.zeros((3, 16000), np.int16)
    clip[0, 3200:6400] = 900
    clip[1] = RNG.integers(-30, 30, 16000)
    clip[1, 4800:8000] = 5000
    clip[1, 10000:12000] = 5000  # within 0.2 s: the same word
    assert voiced(clip).tolist() == [[2880, 6720], [4480, 12480], [0, 640]]
    clip[1, 10000:12000] = 0
    clip[1, 14000:15000] = 2000  # a knock that is far away
    assert voiced(clip)[1].tolist() == [4480, 8320]
    with pytest.raises(ValueError, match=r"clips is float64 \(1, 400\), expected int16"):
        voiced(np.zeros((1, 400)))


def test_a_plan_is_the_same_on_all_machines():
    plan = SoundPlan(20, 3000, shifts=(("room_reverb", 1), ("pitch_shift", 2), ("time_mask", 3)))
    words, stretches = list(plan.words([4000, 5120, 9600])), list(plan.stretches())
    noise = list(islice(plan.noise(398), 1000))
    text = json.dumps([words, stretches, noise]).encode()
    assert words[:2] == [(1, 6433, 5120), (1, 15705, 5120)]
    assert hashlib.sha256(text).hexdigest()[:16] == "64f9aeffad7c2b77"


def test_chunks_and_runs_do_not_matter():
    plan = SoundPlan(2, 30, shifts=(("gaussian_noise", 3), ("room_reverb", 2)), mean_clean=6, mean_shifted=5)
    once = joined(plan)
    for chunk in (1, 7, 500):
        for one, other in zip(once, joined(plan, chunk=chunk), strict=True):
            assert np.array_equal(one, other)
    assert [part.first for part in run(plan, chunk=50)] == [0, 50, 100]
    small = list(windows(plan, CLIPS, LABELS.astype(np.uint8), NOISE))
    assert np.array_equal(np.concatenate([part.labels for part in small]), once[1])


def test_labels_follow_the_words():
    plan = SoundPlan(8, 120, hop=1000, mean_pause=0.9, snr_db=40)
    parts = voiced(CLIPS)
    words = list(plan.words((parts[:, 1] - parts[:, 0]).tolist()))
    _, labels, judged, _ = joined(plan, keywords=10)
    kinds = set()
    for place in range(plan.windows):
        begin = place * 1000
        shares = [
            max(0, min(w.start + w.length, begin + 16000) - max(w.start, begin)) / w.length for w in words
        ]
        inside = [w for w, share in zip(words, shares, strict=True) if share >= 0.8]
        touched = sum(share > 0.2 for share in shares)
        if len(inside) == 1 and touched == 1:
            name = LABELS[inside[0].clip]
            assert judged[place] and labels[place] == (name if name < 10 else -1)
            kinds.add("keyword" if name < 10 else "other")
        else:
            assert not judged[place] and labels[place] == -1
            kinds.add(f"{min(2, len(inside))} inside, {min(2, touched)} touched")
    assert {"keyword", "other", "0 inside, 0 touched", "0 inside, 1 touched"} <= kinds and len(kinds) > 4


def test_words_sound_where_the_plan_has_them():
    plan = SoundPlan(8, 60, hop=16000, snr_db=30)
    parts = voiced(CLIPS)
    sound = joined(plan)[0].reshape(-1).astype(float)
    covered = np.zeros(len(sound), bool)
    for word in plan.words((parts[:, 1] - parts[:, 0]).tolist()):
        voice = sound[word.start : word.start + word.length]
        covered[word.start : word.start + word.length] = True
        assert abs(np.sqrt((voice**2).mean()) / LEVEL - 1) < 0.02
        tone = np.abs(np.fft.rfft(voice)).argmax() * 16000 / word.length
        assert abs(tone - (300 + 200 * word.clip)) < 5
    floor = np.sqrt((sound[~covered] ** 2).mean())
    assert abs(20 * np.log10(LEVEL / floor) - 30) < 1


def test_only_shifted_stretches_are_changed():
    shifts = (("low_pass_filter", 5), ("background_noise", 5))
    plan = SoundPlan(5, 60, hop=16000, shifts=shifts, mean_clean=10, mean_shifted=10)
    clean = joined(SoundPlan(5, 60, hop=16000))[0].reshape(-1)
    sound, _, _, marks = joined(plan)
    changed = sound.reshape(-1) != clean
    fade = 1600  # of a shift into the next stretch
    assert {stretch.shift for stretch in plan.stretches()} == {0, 1, 2}
    for stretch in plan.stretches():
        inner = changed[stretch.start + fade : stretch.stop]
        assert inner.mean() > 0.9 if stretch.shift else not inner.any()
        for place in range(-(-(stretch.start - 8000) // 16000), -(-(stretch.stop - 8000) // 16000)):
            assert marks[place] == stretch.shift


def test_memory_does_not_grow_with_the_sound():
    shifts = (("gaussian_noise", 3), ("background_noise", 2))

    def most(seconds):
        plan = SoundPlan(6, seconds, hop=8000, shifts=shifts, mean_clean=8, mean_shifted=4)
        tracemalloc.start()
        count = sum(len(part.labels) for part in windows(plan, CLIPS, LABELS, NOISE))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == plan.windows
        return peak

    most(30)  # imports
    short, long = most(30), most(300)
    assert long < 1.1 * short and long < 32e6


SOUND = np.random.default_rng(3).integers(-9000, 9000, (3, 16000)).astype(np.int16)


def slow(clip, rate=16000, window=480, stride=320, fft=512, mels=40, low=20, high=4000, kept=10):
    """The definition: frames under a periodic Hann window, direct DFT, own triangles, direct DCT-II."""

    def mel(hertz):
        return 2595 * np.log10(1 + hertz / 700)  # the same scale in other units

    starts = range(0, len(clip) - window + 1, stride)
    frames = np.array([clip[start : start + window] / clip.max() for start in starts])
    frames = frames * np.sin(np.pi * np.arange(window) / window) ** 2
    lines = np.arange(fft // 2 + 1)
    size = np.abs(frames @ np.exp(-2j * np.pi * np.outer(np.arange(window), lines) / fft))
    edges = np.linspace(mel(low), mel(high), mels + 2)
    at = mel(lines * rate / fft)
    triangles = np.array([np.interp(at, edges[band : band + 3], (0, 1, 0)) for band in range(mels)])
    logs = np.log(size @ triangles.T + 1e-6)
    cosines = np.cos(np.pi * np.outer(np.arange(mels) + 0.5, np.arange(kept)) / mels)
    return 2 * logs @ cosines / np.sqrt(2 * mels)


def test_it_is_the_definition():
    clip = SOUND[:1, :1500]
    found = mfcc(clip)
    assert found.shape == (1, 4, 10) and found.dtype == np.float32
    assert np.abs(found[0] - slow(clip[0])).max() < 1e-5


def test_the_scale_does_not_matter():
    base = mfcc(SOUND)
    assert np.abs(mfcc(SOUND / 32768.0) - base).max() < 1e-5
    assert np.abs(mfcc(SOUND.astype(np.float32) * 3) - base).max() < 1e-4
    below = -np.abs(SOUND.astype(float)) - 1
    assert np.abs(mfcc(below) - mfcc(-below)).max() < 1e-5


def test_a_clip_does_not_depend_on_its_batch():
    many = np.concatenate([SOUND] * 23)
    at_once = mfcc(many)
    one_by_one = np.concatenate([mfcc(clip[None]) for clip in many])
    assert np.array_equal(at_once, one_by_one)
