"""The description of continuous sound, and the choices that follow from it, in whole numbers.

All choices come from the raw output of a bit generator. That stays the same between releases of numpy and
between machines; distributions and floats of the mathematical library need not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.checks import integer, number

from ..corruptions import suite

RATE = 16000
MOVES_WORDS = ("time_stretch",)  # kinds after which a word is no longer where the plan has it
_WORDS, _STRETCHES, _NOISE = range(3)  # each has random numbers of its own


class Word(NamedTuple):
    """A word in the sound.

    Examples
    --------
    >>> next(SoundPlan(seed=1, seconds=4).words([3200, 4800]))
    Word(clip=1, start=9770, length=4800)
    """

    clip: int  # row of the clip that it comes from
    start: int  # first sample of its voiced part, in the sound
    length: int  # samples of its voiced part


class Stretch(NamedTuple):
    """A part of the sound, clean or under one shift.

    Examples
    --------
    >>> list(SoundPlan(seed=1, seconds=4).stretches())
    [Stretch(start=0, stop=64000, shift=0)]
    """

    start: int  # its first sample
    stop: int  # the sample after its last
    shift: int  # 0 where it is clean, else the number of the shift in the plan, from 1


@dataclass(frozen=True)
class SoundPlan:
    """Continuous sound: words with pauses on a floor of noise, clean and shifted by turns."""

    seed: int  # of all choices; at least 0
    seconds: int  # length of the sound
    # Seconds between words; pauses are even between a quarter and seven quarters of it
    mean_pause: float = 0.6
    hop: int = 4000  # samples from one window to the next; at most a second, 16,000
    # Power of the voiced parts, which are all made equally loud, above that of the noise, in dB
    snr_db: float = 20.0
    # Kinds and severities of the suite speech_c; shifted stretches take them in turn. Without any, all is
    # clean. Kinds that move words in time are refused.
    shifts: Sequence[tuple[str, int]] = ()
    # Seconds of a clean stretch; lengths are even between half and one and a half of it. The first stretch
    # is clean.
    mean_clean: float = 60.0
    mean_shifted: float = 30.0  # the same for a shifted stretch
    # Share of a voiced part that must lie in a window for the window to have its label; of any other word
    # no more than the rest may lie in it
    inside: float = 0.8

    def __post_init__(self) -> None:
        if isinstance(self.shifts, str) or not isinstance(self.shifts, Sequence):
            raise ValueError(f"shifts is {self.shifts!r}, expected a list of kinds and severities")
        # Plain numbers, whatever was given: JSON has no others.
        plain = {
            "seed": integer("seed", self.seed, 0, 2**63 - 1),
            "seconds": integer("seconds", self.seconds, 1, 10**7),
            "mean_pause": number("mean_pause", self.mean_pause, 0.01, 3600),
            "hop": integer("hop", self.hop, 1, RATE),
            "snr_db": number("snr_db", self.snr_db, -20, 100),
            "mean_clean": number("mean_clean", self.mean_clean, 1, 10**6),
            "mean_shifted": number("mean_shifted", self.mean_shifted, 1, 10**6),
            "inside": number("inside", self.inside, 0.51, 1),
            "shifts": tuple(map(_shift, self.shifts)),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        integer("number of shifts", len(self.shifts), 0, 255)

    @property
    def samples(self) -> int:
        """Length of the sound, in samples."""
        return self.seconds * RATE

    @property
    def windows(self) -> int:
        """Number of windows of one second."""
        return (self.samples - RATE) // self.hop + 1

    def stretches(self) -> Iterator[Stretch]:
        """Give clean and shifted stretches by turns; each start but the first is a change point."""
        draw, start, turn = _Below(self.seed, _STRETCHES), 0, 0
        while start < self.samples:
            shifted = turn % 2 == 1
            mean = _samples(self.mean_shifted if shifted else self.mean_clean)
            stop = min(self.samples, start + mean // 2 + draw(mean + 1)) if self.shifts else self.samples
            yield Stretch(start, stop, 1 + turn // 2 % len(self.shifts) if shifted else 0)
            start, turn = stop, turn + 1

    def words(self, lengths: Sequence[int]) -> Iterator[Word]:
        """Give the words in order, until the sound ends; all clips are equally likely."""
        draw, mean = _Below(self.seed, _WORDS), _samples(self.mean_pause)
        at = 0
        while True:
            start = at + mean // 4 + draw(3 * mean // 2 + 1)
            clip = draw(len(lengths))
            at = start + int(lengths[clip])
            if at > self.samples:
                return
            yield Word(clip, start, int(lengths[clip]))

    def noise(self, count: int) -> Iterator[int]:
        """Give places of seconds of noise without end: runs of 5 to 20 neighbors, then a leap."""
        draw = _Below(self.seed, _NOISE)
        while True:
            first = draw(count)
            for step in range(5 + draw(16)):
                yield (first + step) % count


class _Below:
    """Random integers from 0 to a limit - 1, from the high bits of raw 64-bit numbers."""

    def __init__(self, seed: int, purpose: int) -> None:
        self._bits = np.random.PCG64([seed, purpose])

    def __call__(self, limit: int) -> int:
        return int(self._bits.random_raw()) * limit >> 64


def _samples(seconds: float) -> int:
    return round(seconds * RATE)


def _shift(value: Any) -> tuple[str, int]:
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise ValueError(f"shift is {value!r}, expected a kind and a severity")
    kind, severity = value
    known = suite("speech_c")
    known.setting(kind, severity)
    if kind in MOVES_WORDS:
        others = ", ".join(name for name in known.kinds if name not in MOVES_WORDS)
        raise ValueError(f"shift {kind!r} moves words in continuous sound, expected one of {others}")
    return str(kind), int(severity)
