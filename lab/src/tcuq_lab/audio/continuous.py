"""Continuous sound with words, pauses, noise and shifts, as sliding windows; memory does not grow with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from ..corruptions import corrupt
from .plan import RATE, SoundPlan, Word
from .voiced import voiced

LEVEL = 0.05 * 32768  # root of the mean square of every voiced part
BLOCK = 4 * RATE  # sound that is shifted together
BEFORE = RATE  # what a block hears of the past, so that filters and rooms have settled
FADE = RATE // 10  # from one block to the next
JOIN = 800  # samples over which one second of noise goes over to the next
# Their disturbance is drawn anew for each block. The others keep theirs for a stretch: one room, one filter.
FRESH = ("gaussian_noise", "background_noise", "time_mask")

Sound = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float64]


class Windows(NamedTuple):
    """Some windows in a row.

    Parameters
    ----------
    first : int
        Number of the first one; window k begins at sample k times hop.
    sound : int16 array (n, 16000)
    labels : int64 array of n
        The keyword in the window; -1 where there is none.
    judged : bool array of n
        Whether there is one word to judge: a keyword, or with label -1 another word. False for pauses, parts
        of words, and several words.
    shifts : int64 array of n
        0 where the middle of the window is clean, else the number of the shift in the plan, from 1.
    """

    first: int
    sound: Sound
    labels: npt.NDArray[np.int64]
    judged: npt.NDArray[np.bool_]
    shifts: npt.NDArray[np.int64]


def windows(
    plan: SoundPlan, clips: Sound, labels: npt.ArrayLike, noise: Sound, *, keywords: int = 10, chunk: int = 16
) -> Iterator[Windows]:
    """Give the windows of a plan in order; only a few seconds of its sound exist at a time.

    The same plan, clips and noise give the same windows, and the same plan and voiced parts the same words
    and labels on all machines.

    Parameters
    ----------
    plan : SoundPlan
    clips : int16 array (n, samples)
        A word each; its voiced part is cut out.
    labels : array of n integers
        0 to keywords - 1, or above for other words.
    noise : int16 array (m, 16000)
        Seconds of noise, those of one recording in a row.
    keywords : int
    chunk : int
        Windows to give at a time.
    """
    if not isinstance(plan, SoundPlan):
        raise TypeError(f"plan is of type {type(plan).__name__}, expected a SoundPlan")
    words, names, floor = np.asarray(clips), np.asarray(labels), np.asarray(noise)
    integer("chunk", chunk, 1, 1 << 16)
    integer("keywords", keywords, 1, 1 << 16)
    if words.dtype != np.int16 or words.ndim != 2 or not len(words):
        raise ValueError(f"clips is {words.dtype} {words.shape}, expected int16 (n, samples)")
    silent = np.flatnonzero(~words.any(axis=1))
    if len(silent):
        raise ValueError(f"clips: row {silent[0]} is silence, expected a word in every row")
    if names.shape != (len(words),) or names.dtype.kind not in "iu" or names.min() < 0:
        raise ValueError(f"labels is {names.dtype} {names.shape}, expected {len(words)} integers from 0 on")
    if floor.dtype != np.int16 or floor.ndim != 2 or floor.shape[1] != RATE or not len(floor):
        raise ValueError(f"noise is {floor.dtype} {floor.shape}, expected int16 (m, {RATE})")
    known = np.where(names < keywords, names.astype(np.int64), -1)
    return _windows(plan, words, voiced(words), known, floor, chunk)


def _windows(
    plan: SoundPlan,
    clips: Sound,
    parts: npt.NDArray[np.int64],
    names: npt.NDArray[np.int64],
    noise: Sound,
    chunk: int,
) -> Iterator[Windows]:
    lengths = (parts[:, 1] - parts[:, 0]).tolist()
    sound = _shifted(plan, _Tape(plan, clips, parts, noise, plan.words(lengths)))
    marks = _Marks(plan, plan.words(lengths))
    held = np.empty(0, np.int16)
    at = 0  # the sample that `held` begins with
    for first in range(0, plan.windows, chunk):
        starts = np.arange(first, min(first + chunk, plan.windows)) * plan.hop
        pieces = [held]
        while at + sum(map(len, pieces)) < starts[-1] + RATE:
            pieces.append(next(sound))
        held = np.concatenate(pieces)[starts[0] - at :]
        at = int(starts[0])
        found = [marks.at(start) for start in starts.tolist()]
        yield Windows(
            first,
            np.stack([held[start : start + RATE] for start in (starts - at).tolist()]),
            np.array([-1 if word is None else names[word.clip] for word, _ in found], np.int64),
            np.array([word is not None for word, _ in found]),
            np.array([shift for _, shift in found], np.int64),
        )


class _Marks:
    """What windows have to be judged by, asked in their order."""

    def __init__(self, plan: SoundPlan, words: Iterator[Word]) -> None:
        self._inside = Fraction(str(plan.inside))  # as it is written: 0.8 is four fifths
        self._words, self._stretches = words, plan.stretches()
        self._coming, self._stretch = next(words, None), next(self._stretches)
        self._near: deque[Word] = deque()

    def at(self, begin: int) -> tuple[Word | None, int]:
        """Return the one word of the window that begins here, if it has one, and the shift at its middle."""
        while self._coming is not None and self._coming.start < begin + RATE:
            self._near.append(self._coming)
            self._coming = next(self._words, None)
        while self._near and self._near[0].start + self._near[0].length <= begin:
            self._near.popleft()
        while begin + RATE // 2 >= self._stretch.stop:
            self._stretch = next(self._stretches)
        return self._only(begin), self._stretch.shift

    def _only(self, begin: int) -> Word | None:
        shares = [
            Fraction(min(word.start + word.length, begin + RATE) - max(word.start, begin), word.length)
            for word in self._near
        ]
        whole = [word for word, share in zip(self._near, shares, strict=True) if share >= self._inside]
        alone = sum(share > 1 - self._inside for share in shares) == 1
        return whole[0] if len(whole) == 1 and alone else None


def _shifted(plan: SoundPlan, tape: _Tape) -> Iterator[Sound]:
    """Give the sound in blocks, shifted where the plan says so, with a fade from each block to the next.

    Noise has its ratio within each block. A block that a shift drives beyond full scale is softer as a whole,
    as by an automatic gain.
    """
    ramp = (np.arange(FADE) + 0.5) / FADE
    tail: Floats | None = None
    number = 0
    for place, stretch in enumerate(plan.stretches()):
        for start in range(stretch.start, stretch.stop, BLOCK):
            stop = min(start + BLOCK, stretch.stop)
            before = min(BEFORE, start)
            block = tape.read(start - before, stop + FADE)
            if stretch.shift:
                kind, severity = plan.shifts[stretch.shift - 1]
                index = number if kind in FRESH else place
                block = corrupt(block[None], "speech_c", kind, severity, plan.seed, index=[index])[0]
            loud = block[before:].astype(np.float64)
            if tail is not None:
                some = min(FADE, len(loud))
                loud[:some] = (1 - ramp[:some]) * tail[:some] + ramp[:some] * loud[:some]
            body, tail = loud[: stop - start], loud[stop - start :]
            yield _rounded(body)
            number += 1


class _Tape:
    """The clean sound, made as it is read, of which only what may be read again is kept."""

    def __init__(
        self, plan: SoundPlan, clips: Sound, parts: npt.NDArray[np.int64], noise: Sound, words: Iterator[Word]
    ) -> None:
        self._clips, self._parts, self._words = clips, parts, words
        self._coming = next(words, None)
        self._floor = _floor(plan, noise)
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


def _floor(plan: SoundPlan, noise: Sound) -> Iterator[Floats]:
    """Give noise of one loudness without end, each second faded into the next."""
    level = LEVEL * 10.0 ** (-plan.snr_db / 20)
    rise = np.sqrt((np.arange(JOIN) + 0.5) / JOIN)
    tail = np.zeros(JOIN)
    for place in plan.noise(len(noise)):
        second = noise[place].astype(np.float64)
        second *= _gain(second, level)
        second[:JOIN] = second[:JOIN] * rise + tail
        tail = second[-JOIN:] * rise[::-1]
        yield second[:-JOIN]


def _gain(sound: Floats, level: float) -> float:
    power = float((sound * sound).sum()) / len(sound)  # of integers: exact
    return level / float(np.sqrt(power)) if power > 0 else 0.0


def _rounded(sound: Floats) -> Sound:
    return np.clip(np.rint(sound), -32768, 32767).astype(np.int16)
