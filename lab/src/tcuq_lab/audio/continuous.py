"""Continuous sound with words, pauses, noise and shifts, as sliding windows; memory does not grow with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from .tape import RATE, Sound, SoundPlan, Tape, Word, noise_floor, shifted_sound, voiced


class Windows(NamedTuple):
    """Some windows in a row."""

    first: int  # number of the first one; window k begins at sample k times hop
    sound: Sound  # a second each, at 16 kHz
    labels: npt.NDArray[np.int64]  # the keyword in the window; -1 where there is none
    # Whether there is one word to judge: a keyword, or with label -1 another word. False for pauses, parts
    # of words, and several words.
    judged: npt.NDArray[np.bool_]
    # 0 where the middle of the window is clean, else the number of the shift in the plan, from 1
    shifts: npt.NDArray[np.int64]


def windows(
    plan: SoundPlan, clips: Sound, labels: npt.ArrayLike, noise: Sound, *, keywords: int = 10, chunk: int = 16
) -> Iterator[Windows]:
    """Give the windows of a plan in order; only a few seconds of its sound exist at a time.

    The same plan, clips and noise give the same windows, and the same plan and voiced parts the same words
    and labels on all machines.
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
    tape = Tape(clips, parts, plan.words(lengths), noise_floor(noise, plan.noise(len(noise)), plan.snr_db))
    sound = shifted_sound(enumerate(plan.stretches()), plan.shifts, plan.seed, tape)
    marks = _Marks(plan, plan.words(lengths))
    first = 0
    for part in slide(sound, plan.hop, plan.windows, chunk):
        found = [marks.at((first + place) * plan.hop) for place in range(len(part))]
        yield Windows(
            first,
            part,
            np.array([-1 if word is None else names[word.clip] for word, _ in found], np.int64),
            np.array([word is not None for word, _ in found]),
            np.array([shift for _, shift in found], np.int64),
        )
        first += len(part)


def slide(sound: Iterator[Sound], hop: int, count: int | None, chunk: int) -> Iterator[Sound]:
    """Give windows of one second over a sound that comes in blocks, (chunk, 16000) at a time.

    Examples
    --------
    >>> blocks = iter([np.arange(10_000, dtype=np.int16)] * 3)
    >>> [part[:, 0].tolist() for part in slide(blocks, 4000, 4, 3)]
    [[0, 4000, 8000], [2000]]
    """
    held = np.empty(0, np.int16)
    first = at = 0  # `held` begins with the sample `at`
    while count is None or first < count:
        last = first + chunk if count is None else min(first + chunk, count)
        starts = np.arange(first, last) * hop
        pieces, there = [held], at + len(held)
        while there < starts[-1] + RATE:
            pieces.append(next(sound))
            there += len(pieces[-1])
        held = np.concatenate(pieces)[starts[0] - at :]
        at, first = int(starts[0]), last
        yield np.stack([held[start : start + RATE] for start in (starts - at).tolist()])


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
