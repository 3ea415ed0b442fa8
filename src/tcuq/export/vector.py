"""A short stream for a monitor's own parameters, with what the core says to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..monitor.logits import posteriors, softmax_table
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from .contents import Contents
from .forged import Forged, forged
from .laps import Lap, Laps
from .transcript import Int8, Transcript, take

LARGEST = 16384
"""Bytes of the rows at most; the widest monitor there can be has 12 of them."""

MOST = 48
"""Rows at most, before those that laps add."""

LARGEST_STATE = 8192
"""A saved state of more bytes is left out, and with it the second part of the vector."""

RAMPS = 5
"""Rows of posteriors that no softmax gives, after the three of the extremes."""

SEARCHED = 600
"""Steps after the warm-up among which the second part is looked for."""

LONGEST_WARMUP = 2000

DIGEST_BYTES, LAP_BYTES, FORGED_BYTES = 4, 16, 8
"""Of one step, and `sizeof` the entry of a lap and of a forged state in the generated file."""


@dataclass(frozen=True, eq=False)
class Vector:
    """Rows played once from a fresh start, then once from a saved state, then in laps.

    Parameters
    ----------
    probs : int8 array (rows, classes)
    features : int8 array (rows, features)
    singles : int
        Rows that are played once, in order, before the laps; the others belong to laps alone.
    late : int
        The row, from 0, before which `state` is loaded; `singles` where there is no state.
    state : bytes
    said : Transcript
        Everything that the monitor gives at every step, laps included.
    laps : tuple of Lap
        Stretches of rows that are repeated until something happens that the single rows did not show.
    unseen : tuple of str
        What these parameters did not do in this stream, in words.
    fresh, forged : tuple of Forged
        Changes of the state of a new monitor, all refused, and of `state`.
    logits, shares : int8 arrays (rows, classes), or None
        Logits, and the posteriors that they become.
    wide, narrow : int8 arrays (rows, inputs) and (rows, features), or None
        Wide features, and what they are projected to.
    """

    probs: Int8
    features: Int8
    singles: int
    late: int
    state: bytes
    said: Transcript
    laps: tuple[Lap, ...] = ()
    unseen: tuple[str, ...] = ()
    fresh: tuple[Forged, ...] = ()
    forged: tuple[Forged, ...] = ()
    logits: Int8 | None = None
    shares: Int8 | None = None
    wide: Int8 | None = None
    narrow: Int8 | None = None

    def __len__(self) -> int:
        """Return the steps that are taken."""
        return len(self.said)

    def count(self, field: str) -> int:
        """Return the steps whose field is not 0."""
        return int(np.count_nonzero(self.said.column(field)))

    @property
    def bytes(self) -> int:
        """Bytes of all its tables."""
        tables = (self.logits, self.shares, self.wide, self.narrow)
        rows = self.probs.size + self.features.size + sum(t.size for t in tables if t is not None)
        tries = FORGED_BYTES * (len(self.fresh) + len(self.forged))
        return rows + DIGEST_BYTES * self.singles + LAP_BYTES * len(self.laps) + len(self.state) + tries


class _Draws:
    """Integers from a bit generator, whose bits do not change between versions of numpy."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def __call__(self, low: int, high: int, *shape: int) -> npt.NDArray[np.int64]:
        """Return integers in [low, high)."""
        raw = self._bits.random_raw(int(np.prod(shape))) >> np.uint64(32)
        return (low + (raw % np.uint64(high - low)).astype(np.int64)).reshape(shape)


def vector(contents: Contents) -> Vector:
    """Return the vector of a monitor; the same parameters give the same one.

    Parameters
    ----------
    contents : Contents

    Examples
    --------
    >>> found = vector(Contents(Params(classes=10)))
    >>> found.singles, found.late, found.count("flagged") > 0, found.count("abstain") > 0
    (48, 16, True, True)
    """
    params = contents.params
    rows = min(MOST, LARGEST // (params.classes + params.features))
    resumes = params.state_bytes <= LARGEST_STATE
    first = rows // 3 if resumes else rows
    assert params.warmup is not None
    last = rows - first
    probs, features = _stream(params, min(params.warmup, LONGEST_WARMUP) + SEARCHED)
    edges = [table[:first] for table in _edges(params)]
    few = first - len(edges[0])
    shown = [np.concatenate([edges[0], probs[:few]]), np.concatenate([edges[1], features[:few]])]
    monitor = Monitor(params)
    parts = [take(monitor, *shown)]
    state = b""
    if last:
        start = _liveliest(take(Monitor(params), probs, features), last)
        monitor, part = Monitor(params), slice(start, start + last)
        take(monitor, probs[:start], features[:start])
        state = monitor.save()
        parts.append(take(monitor, probs[part], features[part]))
        shown = [np.concatenate([shown[0], probs[part]]), np.concatenate([shown[1], features[part]])]
    more = Laps(monitor, shown[0], shown[1], parts)
    said = parts[0] if not last else parts[0] + parts[1]
    return Vector(
        more.probs,
        more.features,
        rows,
        first,
        state,
        said,
        tuple(more.laps),
        tuple(more.unseen),
        tuple(one for one in forged(params, Monitor(params).save()) if not one.loads) if state else (),
        tuple(forged(params, state)) if state else (),
        *_before(contents),
    )


def _stream(params: Params, steps: int) -> tuple[Int8, Int8]:
    """Return calm and rough stretches of 24 steps in turn; a class stays for 6."""
    draws = _Draws(1)
    at = np.arange(steps)
    rough = at // 24 % 2 == 1
    label = draws(0, params.classes, steps // 6 + 1)[at // 6]
    logits = draws(-100, -20, steps, params.classes)
    logits[at, label] = np.where(rough, draws(-40, 30, steps), draws(20, 80, steps))
    probs = posteriors(logits.astype(np.int8), softmax_table(0.06))
    patterns = draws(-100, 100, 8, params.features)
    noise = draws(-60, 61, steps, params.features)
    features = patterns[label % 8] + np.where(rough[:, None], noise, noise // 8)
    return probs, np.clip(features, -128, 127).astype(np.int8)


def _edges(params: Params) -> tuple[Int8, Int8]:
    """Return posteriors of no mass, too much, a tie, many values; features of no length, and extreme ones."""
    draws = _Draws(3)
    probs = np.full((3 + RAMPS, params.classes), -128, np.int8)
    features = np.full((3 + RAMPS, params.features), -128, np.int8)
    probs[1], features[1] = 127, params.feature_zero_point
    probs[2, -2:], features[2] = 0, 127
    for row in range(RAMPS):
        # From nearly the mass of one to several times that: values that a softmax seldom gives.
        most = min(255, (2 + row) * 256 // params.classes)
        probs[3 + row] = draws(0, max(2, most), params.classes) - 128
        features[3 + row] = draws(-128, 128, params.features)
    return probs, features


def _liveliest(said: Transcript, length: int) -> int:
    """Return where the last stretch begins that has most decisions both ways, then most kinds of steps."""

    def both(field: str) -> npt.NDArray[np.int64]:
        on = np.lib.stride_tricks.sliding_window_view(said.column(field) > 0, length)
        return np.asarray(on.any(axis=1) & ~on.all(axis=1), np.int64)

    # An alarm may change once only, before anything else can happen: abstaining weighs more.
    ways = 4 * both("abstain") + 2 * both("alarm") + both("flagged")
    names = ("flagged", "abstain", "alarm", "reason", "low_mass")
    columns = np.stack([said.column(name) for name in names], axis=1)
    starts = np.flatnonzero(ways == ways.max()).tolist()
    return max(starts, key=lambda at: (len(np.unique(columns[at : at + length], axis=0)), at))


def _before(contents: Contents) -> tuple[Int8 | None, Int8 | None, Int8 | None, Int8 | None]:
    """Return rows for the softmax and for the projection, with what comes out."""
    draws = _Draws(2)
    logits = shares = wide = narrow = None
    if contents.table is not None:
        # Near each other, anywhere, and the two ends of the table.
        spans = [draws(-8, 8, contents.params.classes), draws(-128, 128, contents.params.classes)]
        ends = np.where(np.arange(contents.params.classes) == 1, 127, -128)
        logits = np.stack([*spans, ends]).astype(np.int8)
        shares = posteriors(logits, contents.table)
    if contents.projection is not None:
        inputs = contents.projection.inputs
        wide = np.stack([draws(-128, 128, inputs), draws(-20, 20, inputs)]).astype(np.int8)
        narrow = contents.projection(wide)
    return logits, shares, wide, narrow
