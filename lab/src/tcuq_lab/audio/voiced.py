"""Where the word lies in a clip, by its energy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
