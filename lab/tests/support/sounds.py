"""Made words for the tests of sound."""

import wave

import numpy as np


def spoken(count=6):
    """Made words: a gliding voice with overtones under two syllables, on a little noise."""
    rng = np.random.default_rng(5)
    time = np.arange(16000) / 16000
    clips = []
    for _ in range(count):
        pitch = rng.uniform(100, 220) * (1 + 0.1 * np.sin(2 * np.pi * 2 * time))
        phase = 2 * np.pi * np.cumsum(pitch) / 16000
        voice = sum(np.sin(k * phase) / k for k in range(1, 18))
        shape = np.exp(-(((time - 0.4) / 0.09) ** 2)) + 0.7 * np.exp(-(((time - 0.62) / 0.06) ** 2))
        clips.append(4000 * voice * shape + 12 * rng.standard_normal(16000))
    return np.rint(clips).astype(np.int16)


def write_wav(path, samples):
    """Write a clip of one channel, 16 bits and 16 kHz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as clip:
        clip.setparams((1, 2, 16000, 0, "NONE", ""))
        clip.writeframes(np.asarray(samples, "<i2").tobytes())
