"""Corruptions of sound that are made here: background noise, rooms, gaps, and other voices."""

from __future__ import annotations

import numpy as np

from .draws import Draws, Floats
from .needed import scipy

RATE = 16000
FULL = 1.0  # of samples in [-1, 1)
SPEED = 343.0  # of sound, in meters a second
FRAME, HOP = 512, 128  # of the phase vocoder, in samples
TINY, LEAST = 1e-9, 1e-30


def fitted(clips: Floats) -> Floats:
    """Return the clips, those beyond full scale made as soft as needed, so that nothing is cut off."""
    peak = np.abs(clips).max(axis=1, keepdims=True)
    return np.asarray(clips * np.minimum(1.0, FULL / np.maximum(peak, FULL)))


def mix(clips: Floats, noise: Floats, snr_db: float | Floats) -> Floats:
    """Return clips with noise at a ratio of their powers; where either is silent, nothing is added."""
    wanted = _rms(clips) * 10.0 ** (-np.reshape(np.asarray(snr_db, np.float64), (-1, 1)) / 20)
    level = _rms(noise)
    return np.asarray(clips + noise * (wanted / np.where(level > 0, level, 1.0)))


def background_noise(clips: Floats, draws: Draws, snr_db: float) -> Floats:
    """Mix in synthetic noise: pink, brown, a murmur like that of far voices, and mains hum.

    A corruption depends on its inputs alone, so no recordings are used; `mix` takes real ones. The shares of
    the four are drawn for each clip. The murmur has the slope of speech and swells 2 to 6 times a second;
    hum is 50 or 60 Hz with overtones. Nothing lies below 40 Hz.
    """
    line = np.fft.rfftfreq(clips.shape[1], 1 / RATE)
    safe = np.maximum(line, 40.0)
    slopes = np.stack([safe**-0.5, 1 / safe, 1 / (1 + (safe / 500) ** 1.5)]) * (line >= 40)
    noise = np.empty_like(clips)
    # Clip by clip, here and below: vector units may round the last numbers of an array otherwise than the
    # rest, and where a clip lies must not matter.
    for place, own in enumerate(draws.generators):
        noise[place] = _background(own, slopes, clips.shape[1])
    return fitted(mix(clips, noise, snr_db))


def room_reverb(clips: Floats, draws: Draws, room: tuple[float, float]) -> Floats:
    """Let clips sound in a room: the direct sound, early reflections and a tail of decaying noise."""
    decay, direct_db = room
    samples = clips.shape[1]
    whole = 1 << (samples + round(decay * RATE) - 1).bit_length()
    wet = np.empty_like(clips)
    for place, (clip, own) in enumerate(zip(clips, draws.generators, strict=True)):
        response = _echoes(own, decay) * 10.0 ** (-direct_db / 20)
        response[0] = 1.0
        spectrum = np.fft.rfft(clip, whole) * np.fft.rfft(response, whole)
        wet[place] = np.fft.irfft(spectrum, whole)[:samples]
    return fitted(wet)


def pitch_shift(clips: Floats, draws: Draws, semitones: float) -> Floats:
    """Raise or lower the voice, at random, without changing its pace: a phase vocoder, then resampling."""
    interpolate = scipy("interpolate", "for this sound corruption")
    time = np.arange(clips.shape[1])
    out = np.empty_like(clips)
    for place, (clip, own) in enumerate(zip(clips, draws.generators, strict=True)):
        ratio = 2.0 ** ((semitones if own.integers(2) else -semitones) / 12)
        longer = _stretched(clip, ratio)
        out[place] = interpolate.CubicSpline(np.arange(len(longer)), longer)(time * ratio)
    return fitted(out)


def _background(own: np.random.Generator, slopes: Floats, samples: int) -> Floats:
    shares, phase = own.uniform(0.1, 1.0, 4), own.uniform(0, 1)
    mains, swell = (50.0 if own.uniform() < 0.5 else 60.0), own.uniform(2, 6)
    colored = np.fft.irfft(np.fft.rfft(own.standard_normal((3, samples))) * slopes, samples)
    turns = 2 * np.pi * np.arange(samples) / RATE
    colored[2] *= 1 + 0.8 * np.sin(swell * turns + 2 * np.pi * phase)
    tones = [np.sin(mains * order * turns) / order for order in (1, 2, 3, 5, 7)]
    parts = np.vstack([colored, np.sum(tones, axis=0)])
    level = _rms(parts)
    return np.asarray((shares[:, None] * parts / np.where(level > 0, level, 1.0)).sum(axis=0))


def _echoes(own: np.random.Generator, decay: float) -> Floats:
    """Return what a room adds to the direct sound, of unit energy."""
    length = round(decay * RATE)
    ways, walls = own.uniform(1.7, 9.0, 6), own.uniform(-1, 1, 6)  # meters of detour; hard or soft
    echo = own.standard_normal(length) * 10.0 ** (-3 * np.arange(length) / (decay * RATE))
    echo[: RATE // 200] = 0  # 5 ms: nothing comes back sooner
    echo /= np.sqrt((echo**2).sum())
    np.add.at(echo, np.minimum(np.rint(ways * (RATE / SPEED)).astype(np.int64), length - 1), walls / ways)
    return np.asarray(echo / np.sqrt((echo**2).sum()))


def _stretched(clip: Floats, ratio: float) -> Floats:
    """Return a clip that lasts `ratio` times as long at the same pitch, by a phase vocoder."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    padded = np.pad(clip, (FRAME, 2 * FRAME))
    frames = np.fft.rfft(np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP] * window)
    steps = np.arange(0, len(frames) - 1, 1 / ratio)
    before = steps.astype(np.int64)
    share = (steps - before)[:, None]
    magnitude = np.abs(frames)
    size = (1 - share) * magnitude[before] + share * magnitude[before + 1]
    turn = frames[1:] * np.conj(frames[:-1])  # by how much each line's phase goes on in a hop
    turn /= np.abs(turn) + LEAST
    turn = np.take(turn, before, axis=0)
    start = frames[before] * TINY  # after silence, phases are those of the sound
    lines = np.empty((len(steps), FRAME // 2 + 1), np.complex128)
    lines[0] = frames[0]
    for place in range(1, len(lines)):
        # The lines of one tone must keep together: in a Hann window they alternate in sign, and the
        # strongest leads (Puckette's phase locking).
        last = lines[place - 1]
        led = last.copy()
        led[1:] -= last[:-1]
        led[:-1] -= last[1:]
        led *= turn[place - 1]
        led += start[place]
        led *= size[place] / (np.abs(led) + LEAST)
        lines[place] = led
    lines[:, int((FRAME // 2 + 1) / max(1.0, ratio)) :] = 0  # would fold back when read faster
    pieces = np.fft.irfft(lines) * window
    whole = np.zeros((len(steps) + 3) * HOP)
    for quarter in range(FRAME // HOP):
        part = pieces[:, quarter * HOP : (quarter + 1) * HOP].reshape(-1)
        whole[quarter * HOP : quarter * HOP + len(part)] += part
    # A frame keeps its middle: what lay FRAME after the start now lies here.
    head = round(FRAME / 2 * (1 + ratio))
    # Four squared Hann windows overlap to 1.5.
    return whole[head : head + int(np.ceil(len(clip) * ratio)) + 4] / 1.5


def _rms(clips: Floats) -> Floats:
    return np.asarray(np.sqrt((clips**2).mean(axis=1, keepdims=True)))
