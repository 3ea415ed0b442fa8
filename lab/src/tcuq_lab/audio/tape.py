"""The sound itself: words on a floor of noise, shifted stretch by stretch; a few seconds exist at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..corruptions import corrupt
from .plan import RATE, Stretch, Word

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
    level = LEVEL * 10.0 ** (-snr_db / 20)
    rise = np.sqrt((np.arange(JOIN) + 0.5) / JOIN)
    tail = np.zeros(JOIN)
    for place in places:
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
