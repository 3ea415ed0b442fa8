"""The voiced part of a clip, and the sound that such parts are laid into, a second at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..corruptions import corrupt
from .plan import RATE, Stretch, Word

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
