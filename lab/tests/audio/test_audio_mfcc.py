"""The front end: against a slow definition, against other libraries, and its properties."""

import numpy as np

from tcuq_lab.audio import mfcc

RNG = np.random.default_rng(3)
SOUND = RNG.integers(-9000, 9000, (3, 16000)).astype(np.int16)


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
