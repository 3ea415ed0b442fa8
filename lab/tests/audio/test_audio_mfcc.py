"""The front end: against a slow definition, against other libraries, and its properties."""

import math

import numpy as np

from tcuq_lab.audio import mfcc

RNG = np.random.default_rng(3)
SOUND = RNG.integers(-9000, 9000, (3, 16000)).astype(np.int16)


def slow(clip, rate=16000, window=480, stride=320, fft=512, mels=40, low=20, high=4000, kept=10):
    """The definition, number by number: direct DFT, own triangles, direct DCT-II."""
    clip = clip.astype(float) / clip.max()

    def mel(hertz):
        return 2595 * math.log10(1 + hertz / 700)  # the same scale in other units

    edges = [mel(low) + (mel(high) - mel(low)) * k / (mels + 1) for k in range(mels + 2)]
    rows = []
    for start in range(0, len(clip) - window + 1, stride):
        frame = [
            clip[start + n] * math.sin(math.pi * n / window) ** 2 for n in range(window)
        ]  # a periodic Hann window
        lines = []
        for k in range(fft // 2 + 1):
            angles = -2 * np.pi * k * np.arange(window) / fft
            lines.append(abs(complex(np.dot(frame, np.cos(angles)), np.dot(frame, np.sin(angles)))))
        logs = []
        for band in range(mels):
            left, middle, right = edges[band : band + 3]
            total = 0.0
            for k in range(1, len(lines)):
                at = mel(k * rate / fft)
                if left < at <= middle:
                    total += lines[k] * (at - left) / (middle - left)
                elif middle < at < right:
                    total += lines[k] * (right - at) / (right - middle)
            logs.append(math.log(total + 1e-6))
        rows.append(
            [
                2
                * sum(v * math.cos(math.pi * c * (m + 0.5) / mels) for m, v in enumerate(logs))
                / math.sqrt(2 * mels)
                for c in range(kept)
            ]
        )
    return np.array(rows)


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
