"""Continuous sound: its description, the choices that follow from it, and the tape that words are laid on.

All choices come from the raw output of a bit generator, in whole numbers. That stays the same between
releases of numpy and between machines; distributions and floats of the mathematical library need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number, put

from ..corruptions import corrupt, suite

RATE = 16000
MOVES_WORDS = ("time_stretch",)  # kinds after which a word is no longer where the plan has it
_WORDS, _STRETCHES, _NOISE = range(3)  # each has random numbers of its own


class Word(NamedTuple):
    """A word in the sound."""

    clip: int  # row of the clip that it comes from
    start: int  # first sample of its voiced part, in the sound
    length: int  # samples of its voiced part


class Stretch(NamedTuple):
    """A part of the sound, clean or under one shift."""

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
        integer("number of shifts", len(self.shifts), 0, 255)
        put(
            self,  # plain numbers, whatever was given: JSON has no others
            seed=integer("seed", self.seed, 0, 2**63 - 1),
            seconds=integer("seconds", self.seconds, 1, 10**7),
            mean_pause=number("mean_pause", self.mean_pause, 0.01, 3600),
            hop=integer("hop", self.hop, 1, RATE),
            snr_db=number("snr_db", self.snr_db, -20, 100),
            mean_clean=number("mean_clean", self.mean_clean, 1, 10**6),
            mean_shifted=number("mean_shifted", self.mean_shifted, 1, 10**6),
            inside=number("inside", self.inside, 0.51, 1),
            shifts=tuple(map(_shift, self.shifts)),
        )

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
        draw, start, turn = _below(self.seed, _STRETCHES), 0, 0
        while start < self.samples:
            shifted = turn % 2 == 1
            mean = _samples(self.mean_shifted if shifted else self.mean_clean)
            stop = min(self.samples, start + mean // 2 + draw(mean + 1)) if self.shifts else self.samples
            yield Stretch(start, stop, 1 + turn // 2 % len(self.shifts) if shifted else 0)
            start, turn = stop, turn + 1

    def words(self, lengths: Sequence[int]) -> Iterator[Word]:
        """Give the words in order, until the sound ends; all clips are equally likely."""
        draw, mean = _below(self.seed, _WORDS), _samples(self.mean_pause)
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
        draw = _below(self.seed, _NOISE)
        while True:
            first = draw(count)
            for step in range(5 + draw(16)):
                yield (first + step) % count


def _below(seed: int, purpose: int) -> Callable[[int], int]:
    """Return what draws integers from 0 to a limit - 1, from the high bits of raw 64-bit numbers."""
    bits = np.random.PCG64([seed, purpose])
    return lambda limit: int(bits.random_raw()) * limit >> 64


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


FRAME = 320  # samples: 20 ms at 16 kHz
GAP = 10  # frames of silence within a word, such as the closure before a final t
BELOW_PEAK = 316  # 25 dB
ABOVE_FLOOR = 4  # 6 dB


def voiced(clips: npt.NDArray[np.int16]) -> npt.NDArray[np.int64]:
    """Return the first sample of the word in each clip, and the one after its last.

    A frame belongs to the word if it is less than 25 dB below the loudest frame and 6 dB above the floor (the
    tenth quietest of a hundred frames). The word is what surrounds the loudest frame, over gaps of up to
    0.2 s, and one frame more on either side. Whole numbers are used throughout, so that the answer is the
    same on all machines.
    """
    sound = np.asarray(clips)
    if sound.dtype != np.int16 or sound.ndim != 2 or sound.shape[1] < FRAME:
        raise ValueError(f"clips is {sound.dtype} {sound.shape}, expected int16 (n, {FRAME} or more)")
    count = sound.shape[1] // FRAME
    out = np.empty((len(sound), 2), np.int64)
    for place, clip in enumerate(sound):
        frames = clip[: count * FRAME].astype(np.int64).reshape(count, FRAME)
        energy = (frames * frames).sum(axis=1)
        peak, floor = int(energy.max()), int(np.sort(energy)[count // 10])
        least = min(max(peak // BELOW_PEAK, ABOVE_FLOOR * floor), peak // ABOVE_FLOOR)
        first, last = _around(np.flatnonzero(energy >= max(1, least)), int(energy.argmax()))
        out[place] = max(0, first - 1) * FRAME, min(count, last + 2) * FRAME
    return out


def _around(loud: npt.NDArray[np.int64], peak: int) -> tuple[int, int]:
    """Return the first and last frame of those that hang together with the loudest one."""
    if not len(loud):
        return peak, peak
    breaks = np.flatnonzero(np.diff(loud) > GAP + 1) + 1
    group = next(part for part in np.split(loud, breaks) if part[-1] >= peak)
    return int(group[0]), int(group[-1])


LEVEL = 0.05 * 32768  # root of the mean square of every voiced part
BLOCK = 4 * RATE  # sound that is shifted together
BEFORE = RATE  # what a block hears of the past, so that filters and rooms have settled
FADE = RATE // 10  # from one block to the next
JOIN = 800  # samples over which one second of noise goes over to the next
# Their disturbance is redrawn for each block. The others keep theirs for a stretch: one room, one filter.
FRESH = ("gaussian_noise", "background_noise", "time_mask")

Sound = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]


def shifted_sound(
    stretches: Iterable[tuple[int, Stretch]], shifts: Sequence[tuple[str, int]], seed: int, tape: Tape
) -> Iterator[Sound]:
    """Give the sound in blocks, shifted where it should be, with a fade from each block to the next.

    Noise has its ratio within each block. A block that a shift drives beyond full scale is softer as a whole,
    as by an automatic gain.
    """
    ramp = (np.arange(FADE) + 0.5) / FADE
    tail: Floats | None = None
    number = 0
    for place, stretch in stretches:
        for start in range(stretch.start, stretch.stop, BLOCK):
            stop = min(start + BLOCK, stretch.stop)
            before = min(BEFORE, start)
            block = tape.read(start - before, stop + FADE)
            if stretch.shift:
                kind, severity = shifts[stretch.shift - 1]
                index = number if kind in FRESH else place
                block = corrupt(block[None], "speech_c", kind, severity, seed, index=[index])[0]
            loud = block[before:].astype(np.float64)
            if tail is not None:
                some = min(FADE, len(loud))
                loud[:some] = (1 - ramp[:some]) * tail[:some] + ramp[:some] * loud[:some]
            body, tail = loud[: stop - start], loud[stop - start :]
            yield _rounded(body)
            number += 1


class Tape:
    """The clean sound, made as it is read, of which only what may be read again is kept."""

    def __init__(
        self, clips: Sound, parts: npt.NDArray[np.int64], words: Iterator[Word], floor: Iterator[Floats]
    ) -> None:
        self._clips, self._parts, self._words = clips, parts, words
        self._coming = next(words, None)
        self._floor = floor
        self._ready = np.empty(0)  # noise that is not laid yet
        self._kept = np.empty(0)
        self._start = 0

    def read(self, start: int, stop: int) -> Sound:
        """Return samples; `start` must not go back."""
        self._kept = self._kept[start - self._start :]
        self._start = start
        while self._start + len(self._kept) < stop:
            self._extend()
        return _rounded(self._kept[: stop - start])

    def _extend(self) -> None:
        """Lay noise up to where no word is cut, and the words on it."""
        end = self._start + len(self._kept)
        to, words = end + RATE, []
        while self._coming is not None and self._coming.start < to:
            words.append(self._coming)
            to = max(to, self._coming.start + self._coming.length)
            self._coming = next(self._words, None)
        fresh = self._noise(to - end)
        for word in words:
            first, last = self._parts[word.clip].tolist()
            voice = self._clips[word.clip, first:last].astype(np.float64)
            fresh[word.start - end : word.start - end + word.length] += voice * _gain(voice, LEVEL)
        self._kept = np.concatenate([self._kept, fresh])

    def _noise(self, count: int) -> Floats:
        while len(self._ready) < count:
            self._ready = np.concatenate([self._ready, next(self._floor)])
        out, self._ready = self._ready[:count].copy(), self._ready[count:]
        return out


def noise_floor(noise: Sound, places: Iterable[int], snr_db: float) -> Iterator[Floats]:
    """Give noise of one loudness, each second faded into the next."""
    loudness = LEVEL * 10.0 ** (-snr_db / 20)
    rise = np.sqrt((np.arange(JOIN) + 0.5) / JOIN)
    tail = np.zeros(JOIN)
    for place in places:
        second = noise[place].astype(np.float64)
        second *= _gain(second, loudness)
        second[:JOIN] = second[:JOIN] * rise + tail
        tail = second[-JOIN:] * rise[::-1]
        yield second[:-JOIN]


def _gain(sound: Floats, loudness: float) -> float:
    power = float((sound * sound).sum()) / len(sound)  # of integers: exact
    return loudness / float(np.sqrt(power)) if power > 0 else 0.0


def _rounded(sound: Floats) -> Sound:
    return np.clip(np.rint(sound), -32768, 32767).astype(np.int16)
