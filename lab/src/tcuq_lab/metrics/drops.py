"""Drop events: steps at which the accuracy of the last steps is far below its clean level.

A window never reaches across independent segments. It is full when it holds m steps, all of them judged:
where an answer does not count, the accuracy of a window with it is unknown. Only full windows are judged, and
clean bands are made of full windows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.metrics import auroc
from tcuq.metrics.inputs import Bools, Floats, Ints, flags, numbers, wholes

from ..harness.types import slices
from .ranking import average_precision

WINDOW = 100
"""Steps of the accuracy window and of the smoothing that every method gets."""

SIGMAS = 3.0
MOST_STEPS = 2**31 - 1
NOTHING = -5000
"""Exponent of a score of 0, below that of any other float."""


class Drops(NamedTuple):
    """Where a drop event is, and which steps are judged at all."""

    event: Bools
    judged: Bools


@dataclass(frozen=True)
class Band:
    """Windowed accuracy on clean streams."""

    m: int
    mu: float
    sigma: float
    windows: int

    @property
    def limit(self) -> float:
        """Windowed accuracy at or below which a step is a drop event; below 0 there can be none."""
        return self.mu - SIGMAS * self.sigma

    @property
    def most_right(self) -> int:
        """Most right answers in a window of a drop event; without spread the clean level makes none."""
        if self.sigma == 0:
            return int(np.ceil(self.m * self.mu - 1e-9)) - 1
        return int(np.floor(self.m * self.limit + 1e-9))  # 0.6 stays 0.6 after 0.9 - 3 * 0.1 in floats


def pieces(length: int, segments: npt.ArrayLike | None = None) -> list[slice]:
    """Return independent segments as slices, in order."""
    numbered = None if segments is None else wholes("segments", segments)
    if numbered is not None and len(numbered) != length:
        raise ValueError(f"segments has {len(numbered)} entries, the stream has {length} steps")
    return slices(numbered, length)


def ages(length: int, segments: npt.ArrayLike | None = None) -> Ints:
    """Return the steps since the start of the own segment, 0 at its first step."""
    age = np.arange(length, dtype=np.int64)
    for piece in pieces(length, segments):
        age[piece] -= piece.start
    return age


def trailing_sum(values: Ints, m: int, segments: npt.ArrayLike | None = None) -> Ints:
    """Return exact sums over the last m steps, or over those since the segment began."""
    count = np.minimum(ages(len(values), segments) + 1, m)
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])  # may wrap around; differences do not
    after = np.arange(1, len(values) + 1)
    return np.asarray(total[after] - total[after - count], dtype=np.int64)


def full_windows(
    length: int, m: int, segments: npt.ArrayLike | None = None, judged: npt.ArrayLike | None = None
) -> Bools:
    """Return the steps whose last m steps all lie in their own segment and are all judged."""
    full = np.asarray(ages(length, segments) >= m - 1)
    if judged is None:
        return full
    counted = flags("judged", judged)
    if len(counted) != length:
        raise ValueError(f"judged has {len(counted)} entries, the stream has {length} steps")
    return full & ~reaches(~counted, m, segments)


def clean_band(
    runs: Sequence[npt.ArrayLike], m: int = WINDOW, judged: Sequence[npt.ArrayLike] | None = None
) -> Band:
    """Return the band of the windowed accuracy over clean runs."""
    size, masks = integer("m", m, 1, MOST_STEPS), [None] * len(runs) if judged is None else judged
    hits = [flags("right", run) for run in runs]
    found = [
        trailing_sum(run.astype(np.int64), size)[full_windows(len(run), size, None, mask)] / size
        for run, mask in zip(hits, masks, strict=True)
    ]
    values = np.concatenate([*found, np.empty(0)])
    if not len(values):
        of = "" if judged is None else ", none with enough judged ones in a row"
        longest = max(map(len, hits), default=0)
        raise ValueError(f"the longest clean run has {longest} steps{of}, expected at least m = {m}")
    spread = 0.0 if (values == values[0]).all() else float(values.std())
    return Band(size, float(values.mean()), spread, len(values))


def drop_events(
    right: npt.ArrayLike,
    band: Band,
    segments: npt.ArrayLike | None = None,
    judged: npt.ArrayLike | None = None,
) -> Drops:
    """Return where the windowed accuracy is at or below the limit of the band."""
    hits = flags("right", right)
    full = full_windows(len(hits), band.m, segments, judged)
    count = trailing_sum(hits.astype(np.int64), band.m, segments)
    return Drops(full & (count <= band.most_right), full)


def finite(name: str, values: npt.ArrayLike) -> Floats:
    """Return one finite float a step."""
    array = numbers(name, values)
    if not np.isfinite(array).all():
        at = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name}[{at}] is {array[at]}, expected any finite number")
    return array


def trailing_max(values: Ints, m: int, segments: npt.ArrayLike | None = None) -> Ints:
    """Return the largest value of the last m steps, or of those since the segment began."""
    found = values.copy()
    for piece in pieces(len(values), segments):
        part, width = found[piece], 1
        while width < min(m, len(part)):  # windows of twice the steps, the last time of fewer
            ahead = min(width, m - width)
            part[ahead:] = np.maximum(part[ahead:], part[:-ahead])
            width += ahead
    return found


def smooth(score: npt.ArrayLike, m: int = WINDOW, segments: npt.ArrayLike | None = None) -> Floats:
    """Return the mean score over the last m steps, or over those since the segment began.

    Each window is summed in fixed point, with as many bits of its own largest score as a float can sum
    without rounding (46 for 100 steps). So a value depends on its own window alone, windows that hold the
    same scores tie whatever their order, as float sums would not, and a constant score stays constant.
    """
    values, size = finite("score", score), integer("m", m, 1, MOST_STEPS)
    count = np.minimum(ages(len(values), segments) + 1, size)
    bits = 53 - size.bit_length()
    exponent = np.where(values == 0, NOTHING, np.frexp(values)[1]).astype(np.int64)
    largest = trailing_max(exponent, size, segments)
    found = np.zeros(len(values))
    # Few exponents occur among the largest of a window; larger scores are in other windows.
    for each in np.unique(largest[largest > NOTHING]).tolist():
        rows = largest == each
        whole = np.rint(np.ldexp(np.where(exponent <= each, values, 0.0), bits - each)).astype(np.int64)
        found[rows] = np.ldexp(trailing_sum(whole, size, segments)[rows] / count[rows], each - bits)
    return found


def reaches(marked: npt.ArrayLike, m: int, segments: npt.ArrayLike | None = None) -> Bools:
    """Return the steps whose window of m steps holds a marked one."""
    return np.asarray(trailing_sum(flags("marked", marked).astype(np.int64), m, segments) > 0)


def stretches(kinds: npt.ArrayLike, segments: npt.ArrayLike | None = None) -> list[slice]:
    """Return the shifted stretches that begin after a clean step of their own segment, of any kinds."""
    shifted = wholes("kinds", kinds, low=0) > 0
    found = []
    for piece in pieces(len(shifted), segments):
        cuts = (np.flatnonzero(np.diff(shifted[piece])) + 1 + piece.start).tolist()
        found += [slice(a, b) for a, b in pairwise([*cuts, piece.stop]) if shifted[a]]
    return found


Measure = Callable[..., float]
"""Takes score, wrong answers, kinds of shift, segments, and the steps that are judged."""


def errors_alone(
    score: npt.NDArray[Any],
    wrong: Bools,
    kinds: npt.NDArray[np.uint8],
    segments: npt.NDArray[np.int64] | None = None,
    inside: Bools | None = None,
) -> float:
    """Return the AUROC of errors; see `objective` for what is given."""
    judged = np.ones(len(wrong), dtype=bool) if inside is None else inside
    return auroc(score[judged], wrong[judged])


def objective(
    score: npt.NDArray[Any],
    wrong: Bools,
    kinds: npt.NDArray[np.uint8],
    segments: npt.NDArray[np.int64] | None = None,
    inside: Bools | None = None,
) -> float:
    """Return how well a score finds errors and drops of accuracy on a development stream."""
    judged = np.ones(len(wrong), dtype=bool) if inside is None else inside
    found = [auroc(score[judged], wrong[judged]), _drops(score, ~wrong, kinds > 0, segments, judged)]
    known = [each for each in found if np.isfinite(each)]
    return float(np.mean(known)) if known else 0.0


def _drops(
    score: npt.NDArray[Any],
    right: Bools,
    shifted: Bools,
    segments: npt.NDArray[np.int64] | None,
    inside: Bools,
) -> float:
    """Return the AUPRC of drop events; NaN without a clean window, or where all or no windows are drops."""
    parts = pieces(len(right), segments)
    try:
        band = clean_band([right[part] for part in parts], WINDOW, [~shifted[part] for part in parts])
    except ValueError:
        return float("nan")
    drops = drop_events(right, band, segments)
    judged = drops.judged & ~reaches(shifted & ~inside, WINDOW, segments)
    event = drops.event[judged]
    if not event.any() or event.all():
        return float("nan")
    return average_precision(smooth(score, WINDOW, segments)[judged], event)
