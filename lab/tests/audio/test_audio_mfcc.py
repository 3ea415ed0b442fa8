"""The front end: against a slow definition, against other libraries, and its properties."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tcuq_lab.audio import FrontEnd, mfcc

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


def test_scipy_agrees():
    fft, signal = pytest.importorskip("scipy.fft"), pytest.importorskip("scipy.signal")
    front = FrontEnd()
    clip = SOUND[0] / SOUND[0].max()
    frames = np.stack([clip[at : at + 480] for at in range(0, 16000 - 479, 320)])
    lines = np.abs(fft.rfft(frames * signal.get_window("hann", 480), 512))
    logs = np.log(lines @ front.triangles() + 1e-6)
    cosines = fft.dct(logs, type=2, norm="ortho")[:, :10]
    cosines[:, 0] *= math.sqrt(2)
    assert np.abs(mfcc(SOUND[:1])[0] - cosines).max() < 1e-5


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


def test_a_tone_is_heard_in_its_band():
    front = replace(FrontEnd(), coefficients=40)
    time_ = np.arange(16000) / 16000
    logs = mfcc(np.sin(2 * np.pi * np.array([[500], [2000]]) * time_), front) @ np.linalg.pinv(
        front.cosines()
    )
    lines = front.triangles() * (np.arange(257) * 31.25)[:, None]
    centers = lines.sum(axis=0) / front.triangles().sum(axis=0)
    loudest = centers[logs.mean(axis=1).argmax(axis=1)]
    assert np.abs(loudest / [500, 2000] - 1).max() < 0.06
