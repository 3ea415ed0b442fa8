"""Continuous sound through sliding windows: words on a floor of noise, a window at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as counted
from typing import TYPE_CHECKING

import numpy as np

from tcuq.base.checks import integer, number, put
from tcuq.recording.rand import Numbers

from ..audio.continuous import slide
from ..audio.tape import MOVES_WORDS, RATE, Sound, Stretch, Tape, Word, noise_floor, shifted_sound, voiced
from ..corruptions.suite import FROZEN
from .chains import Chain, Integers, Picker

if TYPE_CHECKING:
    from .description import Description

BLOCK = 64  # words drawn at a time; the result does not depend on it


@dataclass(frozen=True)
class Sliding:
    """One sound from the first step to the last, heard through windows of one second that overlap.

    The sound has one word in every `period`: the voiced part of a clip, all made equally loud, on a floor of
    recorded noise. The word begins within the middle half of the room that it leaves in its period. A step
    is a window, and its label is the word in whose period the middle of the window lies. The dwell law
    chooses the class of each word, so a dwell counts words. A shift begins and ends between the middles of
    two windows: those near an edge hear both sides of it.
    """

    # Samples, at 16 kHz, from one window to the next: 0.2 s by default, so that five windows fall on a word
    # of one second and the middle of none lies right between two words
    hop: int = 3200
    period: int = RATE  # samples from one word to the next on average, from one second on
    snr_db: float = 20.0  # power of the words above that of the noise floor, in dB

    def __post_init__(self) -> None:
        put(
            self,
            hop=integer("hop of sliding", self.hop, 1, RATE),
            period=integer("period of sliding", self.period, RATE, 60 * RATE),
            snr_db=number("snr_db of sliding", self.snr_db, -20, 100),
        )


class SlidingExamples:
    """The clip of each window: the one in whose period its middle lies."""

    def __init__(self, sliding: Sliding, picker: Picker, chain: Chain) -> None:
        self._about, self._picker, self._chain = sliding, picker, chain
        self._step, self._word, self._clip = 0, -1, -1

    def take(self, count: int) -> Integers:
        """Return the clips of the next windows."""
        if not count:
            return np.zeros(0, dtype=np.int64)
        steps = self._step + np.arange(count, dtype=np.int64)
        words = (steps * self._about.hop + RATE // 2) // self._about.period
        clips = self._picker.take(self._chain.take(int(words[-1]) - self._word))
        found = np.concatenate([[self._clip], clips])[words - self._word]
        self._step, self._word, self._clip = self._step + count, int(words[-1]), int(found[-1])
        return np.asarray(found, dtype=np.int64)


def sliding_windows(
    description: Description, clips: Sound, labels: Integers, noise: Sound, *, chunk: int = 200, seed: int = 0
) -> Iterator[Sound]:
    """Give the windows of a stream of continuous sound, (chunk, 16000) at a time; memory does not grow."""
    about = description.sliding
    assert about is not None
    if clips.dtype != np.int16 or clips.ndim != 2 or noise.dtype != np.int16 or noise.shape[1:] != (RATE,):
        raise ValueError(
            f"clips are {clips.dtype} {clips.shape} and noise {noise.dtype} {noise.shape}, "
            f"expected int16 (n, samples) and int16 (m, {RATE})"
        )
    check_words_stay(description)
    parts = voiced(clips)
    words = _words(description, labels, parts[:, 1] - parts[:, 0])
    floor = noise_floor(noise, _noise_places(description.seed, len(noise)), about.snr_db)
    tape = Tape(clips, parts, words, floor)
    named = (source.partition("/") for source in description.sources[1:])
    shifts = [(kind, int(severity)) for kind, _, severity in named]
    sound = shifted_sound(_stretches(description), shifts, seed, tape)
    return slide(sound, about.hop, description.steps, chunk)


def check_words_stay(description: Description) -> None:
    """Refuse kinds of shift after which a word is no longer where its label has it."""
    for shift in description.shifts:
        if shift.kind in MOVES_WORDS:
            raise ValueError(f"shift {shift.kind!r} moves words in continuous sound, expected another kind")


def _words(description: Description, labels: Integers, lengths: Integers) -> Iterator[Word]:
    """Give all words, without end."""
    assert description.sliding is not None
    period, starts = description.sliding.period, Numbers(description.seed, "sliding/starts")
    picker = Picker(description.seed, "examples/known", labels)
    chain = description.dwell.chain(description.seed, "classes/known", picker.present)
    for block in counted():
        drawn = zip(picker.take(chain.take(BLOCK)).tolist(), starts.raw(BLOCK).tolist(), strict=True)
        for place, (clip, start) in enumerate(drawn, block * BLOCK):
            length = int(lengths[clip])
            room = period - length
            yield Word(clip, place * period + room // 4 + (start * (room // 2 + 1) >> 64), length)


def _noise_places(seed: int, count: int) -> Iterator[int]:
    """Give places of seconds of noise without end: runs of 5 to 20 neighbors, then a leap."""
    numbers = Numbers(seed, "sliding/noise")
    while True:
        first, more = numbers.below(2, [count, 16]).tolist()
        for step in range(5 + more):
            yield (first + step) % count


def _stretches(description: Description) -> Iterator[tuple[int, Stretch]]:
    """Give the stretches of one source in samples; those of one segment have one number."""
    assert description.sliding is not None
    hop = description.sliding.hop
    numbers = {name: number for number, name in enumerate(description.sources)}
    numbers |= {name: 0 for name in numbers if name.startswith(FROZEN)}  # the windows freeze, not the sound
    window, number, before, start = 0, 0, -1, 0
    for piece in description.pieces():
        window += piece.length
        number, before = number + (piece.shift != before), piece.shift
        stop = max(start, window * hop + RATE // 2 - hop // 2)
        if window == description.steps:
            stop = window * hop + RATE
        yield number, Stretch(start, stop, numbers[piece.source])
        start = stop
