"""Corruptions of sound by the library audiomentations, each clip from random numbers of its own.

The library draws from the two global generators, `random` and `numpy.random`. Both are reseeded from the
clip's own numbers before each clip, and are as before when a function here returns. Threads that draw from
them meanwhile would disturb this; processes do not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from .acoustics import RATE, fitted
from .draws import Draws, Floats

STEEP = {"min_rolloff": 12, "max_rolloff": 24}  # dB an octave
Choose = Callable[[np.random.Generator], dict[str, Any]]


def gaussian_noise(clips: Floats, draws: Draws, snr_db: float) -> Floats:
    """Add white noise at a ratio of the powers in dB."""
    return _each("AddGaussianSNR", clips, draws, lambda _: _both("snr_db", snr_db))


def air_absorption(clips: Floats, draws: Draws, meters: float) -> Floats:
    """Dampen high tones as so many meters of air do; its warmth and humidity are drawn."""
    return _each("AirAbsorption", clips, draws, lambda _: _both("distance", meters))


def band_pass_filter(clips: Floats, draws: Draws, width: float) -> Floats:
    """Keep a band around 700 to 1500 Hz; `width` is relative to its center."""
    return _each("BandPassFilter", clips, draws, lambda _: _band(700.0, 1500.0, width))


def band_stop_filter(clips: Floats, draws: Draws, width: float) -> Floats:
    """Take out a band around 500 to 2500 Hz; `width` is relative to its center."""
    return _each("BandStopFilter", clips, draws, lambda _: _band(500.0, 2500.0, width))


def high_pass_filter(clips: Floats, draws: Draws, hertz: float) -> Floats:
    """Dampen what lies below a cut-off, which is drawn from within a tenth around `hertz`."""
    return _each("HighPassFilter", clips, draws, lambda _: _cutoff(hertz))


def low_pass_filter(clips: Floats, draws: Draws, hertz: float) -> Floats:
    """Dampen what lies above a cut-off, which is drawn from within a tenth around `hertz`."""
    return _each("LowPassFilter", clips, draws, lambda _: _cutoff(hertz))


def high_shelf_filter(clips: Floats, draws: Draws, gain_db: float) -> Floats:
    """Raise or lower, at random, all above 1000 to 3000 Hz."""
    return _each("HighShelfFilter", clips, draws, lambda own: _shelf(own, 1000.0, 3000.0, gain_db))


def low_shelf_filter(clips: Floats, draws: Draws, gain_db: float) -> Floats:
    """Raise or lower, at random, all below 300 to 1200 Hz."""
    return _each("LowShelfFilter", clips, draws, lambda own: _shelf(own, 300.0, 1200.0, gain_db))


def peaking_filter(clips: Floats, draws: Draws, gain_db: float) -> Floats:
    """Raise or lower, at random, what lies around 300 to 3500 Hz."""
    return _each(
        "PeakingFilter",
        clips,
        draws,
        lambda own: _center(300.0, 3500.0) | _either(own, gain_db) | {"min_q": 0.5, "max_q": 1.5},
    )


def tanh_distortion(clips: Floats, draws: Draws, amount: float) -> Floats:
    """Overdrive softly; `amount` is the share of samples that are bent."""
    return _each("TanhDistortion", clips, draws, lambda _: _both("distortion", amount))


def time_mask(clips: Floats, draws: Draws, part: float) -> Floats:
    """Silence a part of every second.

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


def time_stretch(clips: Floats, draws: Draws, factor: float) -> Floats:
    """Speak faster or slower, at random, by a factor.

    The length stays: the middle of the sound's energy keeps its place as far as the clip has room, so that
    what is lost at an end, or filled with silence, is not the word.
    """
    return _each(
        "TimeStretch",
        clips,
        draws,
        lambda own: (
            _both("rate", factor if own.integers(2) else 1 / factor) | {"leave_length_unchanged": False}
        ),
    )


def _each(name: str, clips: Floats, draws: Draws, choose: Choose) -> Floats:
    """Put each clip through a transform with the settings chosen for it."""
    make = getattr(_library(), name)
    out = np.empty_like(clips)
    with _globals_kept():
        for place, (clip, own) in enumerate(zip(clips, draws.generators, strict=True)):
            transform = make(p=1.0, **choose(own))
            seed = int(own.integers(2**32))
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            found = np.asarray(transform(clip.astype(np.float32), RATE), np.float64)
            out[place] = found if len(found) == len(clip) else _recut(clip, found)
    return fitted(out)


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
    try:
        return import_module("audiomentations")
    except ImportError:
        raise ImportError(
            "audiomentations is needed for sound corruptions: pip install audiomentations"
        ) from None
