"""Held objects: one picture is shown for a whole run, a little different at every step."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number, put
from tcuq.recording.rand import Numbers, chance

from .chains import Chain, Integers, Picker

Pixels = npt.NDArray[np.uint8]
BYTES = 8
MIDDLE, SPREAD = 255 * BYTES // 2, 209
"""Mean and, rounded, standard deviation of the sum of 8 random bytes, which is nearly normal."""
FRESH = ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise")
"""Corruptions of the sensor, redrawn at every step. The others stay with the object: one fog, one lens."""


@dataclass(frozen=True)
class Held:
    """An object in front of a camera that is not quite still: every step shows the same picture, shaken.

    At each step the picture is moved by whole pixels in both directions, its edges repeated; then it is made
    brighter or darker; then every value gets noise of its own. All is done in whole numbers, so that the
    bytes are the same on every machine. A shift condition corrupts the shaken picture.
    """

    pixels: int = 2  # farthest move in each direction; all moves up to it are equally likely
    noise: int = 4  # standard deviation of the noise, of 255
    flicker: int = 70  # largest change of the exposure, in thousandths; all up to it are equally likely
    # Share of the runs that hold one picture, by a coin for each run. At every step of the other runs the
    # same camera shows another example of the class. By default all runs hold theirs.
    share: float | None = None

    def __post_init__(self) -> None:
        for name, most in (("pixels", 16), ("noise", 64), ("flicker", 900)):
            put(self, **{name: integer(f"{name} of held", getattr(self, name), 0, most)})
        if self.share is not None:
            put(self, share=number("share of held", self.share, 0, 1))


class Shaker:
    """Shakes pictures, step after step; how many are given at a time does not matter."""

    def __init__(self, held: Held, seed: int) -> None:
        self._held = held
        self._moves, self._gains = Numbers(seed, "held/moves"), Numbers(seed, "held/gains")
        self._noise = Numbers(seed, "held/noise")

    def shake(self, x: Pixels) -> Pixels:
        """Return the pictures of the next steps, (n, height, width) or (n, height, width, 3), shaken."""
        about = self._held
        moves = self._moves.below(2 * len(x), 2 * about.pixels + 1).reshape(-1, 2)  # 0: to the far end
        gains = 1000 - about.flicker + self._gains.below(len(x), 2 * about.flicker + 1)
        height, width = x.shape[1:3]
        edges = [(0, 0), (about.pixels, about.pixels), (about.pixels, about.pixels)]
        wide = np.pad(x, edges + [(0, 0)] * (x.ndim - 3), mode="edge")
        moved = np.empty(x.shape, dtype=np.int32)
        for step, (down, right) in enumerate(moves.tolist()):
            moved[step] = wide[step, down : down + height, right : right + width]
        moved *= gains.astype(np.int32).reshape(-1, *[1] * (x.ndim - 1))
        if about.noise:
            drawn = self._noise.raw(x.size).astype("<u8").view(np.uint8).reshape(-1, BYTES)
            sums = drawn.sum(axis=1, dtype=np.int32).reshape(x.shape)
            moved += (sums - MIDDLE) * (1000 * about.noise) // SPREAD
        return np.clip((moved + 500) // 1000, 0, 255).astype(np.uint8)


class HeldExamples:
    """An example a run; of a `share` of the runs alone where it is given, the others show new ones."""

    def __init__(self, picker: Picker, chain: Chain, share: float | None, coins: Numbers) -> None:
        self._picker, self._chain, self._coins = picker, chain, coins
        self._of = None if share is None else chance(Fraction(share))
        self._class, self._example, self._fresh = -1, -1, False

    def take(self, count: int) -> Integers:
        """Return the examples of the next steps."""
        if not count:
            return np.zeros(0, dtype=np.int64)
        classes = self._chain.take(count)
        begins = np.diff(classes, prepend=self._class) != 0
        self._class = int(classes[-1])
        if self._of is not None:
            tossed = ~self._coins.events(int(begins.sum()), self._of)
            fresh = np.concatenate([[self._fresh], tossed])[np.cumsum(begins)]
            self._fresh = bool(fresh[-1])
            begins |= fresh
        runs = np.concatenate([[self._example], self._picker.take(classes[begins])])
        found = np.asarray(runs[np.cumsum(begins)], dtype=np.int64)
        self._example = int(found[-1])
        return found
