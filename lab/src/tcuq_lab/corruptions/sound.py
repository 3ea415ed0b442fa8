"""Corruptions of sound by the library audiomentations, each clip from random numbers of its own.

The library draws from the two global generators, `random` and `numpy.random`. Both are reseeded from the
clip's own numbers before each clip, and are as before when a function here returns. Threads that draw from
them meanwhile would disturb this; processes do not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..home import library
from .draws import Draws, Floats, scipy

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
    """Let clips sound in a room: the direct sound, early reflections and a tail of decaying noise.

    The setting is the seconds of reverberation, and the direct sound to the echoes in dB.
    """
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


STEEP = {"min_rolloff": 12, "max_rolloff": 24}  # dB an octave
Choose = Callable[[np.random.Generator, float], dict[str, Any]]


def time_mask(clips: Floats, draws: Draws, part: float) -> Floats:
    """Silence a part of every second; more than a fifth leaves nothing of short words.

    A clip of up to one second has one mask; longer sound is cut in equal pieces of at most one second, of
    which each has its own. Places are drawn here and handed to the library, which would draw others for
    every width: so a mask of a higher severity covers that of a lower one.
    """
    mask = _library().TimeMask(p=1.0)
    samples = clips.shape[1]
    ends = np.linspace(0, samples, -(-samples // RATE) + 1).astype(np.int64).tolist()
    out = clips.copy()
    for clip, own in zip(out, draws.generators, strict=True):
        places = own.uniform(0, 1, len(ends) - 1).tolist()
        for first, last, place in zip(ends, ends[1:], places, strict=False):
            width = int(part * (last - first))
            mask.parameters = {"should_apply": True, "t": width, "t0": int(place * (last - first - width))}
            clip[first:last] = mask.apply(clip[first:last], RATE)
    return out


def _by(name: str, choose: Choose) -> Callable[[Floats, Draws, float], Floats]:
    """Return a corruption: each clip goes through a transform of the library with settings chosen for it."""

    def corrupt(clips: Floats, draws: Draws, setting: float) -> Floats:
        make = getattr(_library(), name)
        out = np.empty_like(clips)
        with _globals_kept():
            for place, (clip, own) in enumerate(zip(clips, draws.generators, strict=True)):
                transform = make(p=1.0, **choose(own, setting))
                seed = int(own.integers(2**32))
                random.seed(seed)
                np.random.seed(seed)  # noqa: NPY002
                found = np.asarray(transform(clip.astype(np.float32), RATE), np.float64)
                out[place] = found if len(found) == len(clip) else _recut(clip, found)
        return fitted(out)

    return corrupt


@contextmanager
def _globals_kept() -> Iterator[None]:
    plain, numeric = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numeric)  # noqa: NPY002


def _recut(clip: Floats, longer: Floats) -> Floats:
    """Return a stretched clip in its former length, the middle of its energy where it was."""
    length, spare = len(clip), len(longer) - len(clip)
    start = round(_middle(longer) - _middle(clip))
    start = min(max(start, min(0, spare)), max(0, spare))
    out = np.zeros(length)
    part = longer[max(0, start) : start + length]
    out[max(0, -start) : max(0, -start) + len(part)] = part
    return out


def _middle(clip: Floats) -> float:
    energy = clip**2
    whole = float(energy.sum())
    return float((energy * np.arange(len(clip))).sum()) / whole if whole > 0 else len(clip) / 2


def _both(name: str, value: float) -> dict[str, Any]:
    return {f"min_{name}": value, f"max_{name}": value}


def _center(low: float, high: float) -> dict[str, Any]:
    return {"min_center_freq": low, "max_center_freq": high}


def _band(low: float, high: float, width: float) -> dict[str, Any]:
    return _center(low, high) | _both("bandwidth_fraction", width) | STEEP


def _cutoff(hertz: float) -> dict[str, Any]:
    return {"min_cutoff_freq": hertz / 1.1, "max_cutoff_freq": hertz * 1.1} | STEEP


def _either(own: np.random.Generator, gain_db: float) -> dict[str, Any]:
    return _both("gain_db", gain_db if own.integers(2) else -gain_db)


def _shelf(own: np.random.Generator, low: float, high: float, gain_db: float) -> dict[str, Any]:
    return _center(low, high) | _either(own, gain_db) | {"min_q": 0.5, "max_q": 0.999}


def _library() -> Any:
    return library("audiomentations", "for sound corruptions")


gaussian_noise = _by("AddGaussianSNR", lambda _, snr_db: _both("snr_db", snr_db))
"""White noise at a ratio of the powers in dB."""
air_absorption = _by("AirAbsorption", lambda _, meters: _both("distance", meters))
"""High tones dampened as so many meters of air do; its warmth and humidity are drawn."""
band_pass_filter = _by("BandPassFilter", lambda _, width: _band(700.0, 1500.0, width))
"""A band around 700 to 1500 Hz is kept; its width is relative to its center."""
band_stop_filter = _by("BandStopFilter", lambda _, width: _band(500.0, 2500.0, width))
"""A band around 500 to 2500 Hz is taken out; its width is relative to its center."""
high_pass_filter = _by("HighPassFilter", lambda _, hertz: _cutoff(hertz))
"""What lies below a cut-off is dampened, which is drawn from within a tenth around so many Hz."""
low_pass_filter = _by("LowPassFilter", lambda _, hertz: _cutoff(hertz))
"""What lies above a cut-off is dampened, which is drawn from within a tenth around so many Hz."""
high_shelf_filter = _by("HighShelfFilter", lambda own, gain_db: _shelf(own, 1000.0, 3000.0, gain_db))
"""All above 1000 to 3000 Hz is raised or lowered, at random."""
low_shelf_filter = _by("LowShelfFilter", lambda own, gain_db: _shelf(own, 300.0, 1200.0, gain_db))
"""All below 300 to 1200 Hz is raised or lowered, at random."""
peaking_filter = _by(
    "PeakingFilter",
    lambda own, gain_db: _center(300.0, 3500.0) | _either(own, gain_db) | {"min_q": 0.5, "max_q": 1.5},
)
"""What lies around 300 to 3500 Hz is raised or lowered, at random."""
tanh_distortion = _by("TanhDistortion", lambda _, amount: _both("distortion", amount))
"""Overdriven softly, a share of the samples bent."""
time_stretch = _by(
    "TimeStretch",
    lambda own, factor: (
        _both("rate", factor if own.integers(2) else 1 / factor) | {"leave_length_unchanged": False}
    ),
)
"""Spoken faster or slower by a factor, at random. The length stays: the middle of the sound's energy keeps
its place as far as the clip has room, so that what is lost or filled with silence is not the word."""
