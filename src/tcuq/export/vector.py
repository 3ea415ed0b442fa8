"""A short stream for a monitor's own parameters, with what the core says to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.monitor import Monitor
from ..monitor.params import Params
from .contents import STEP_BYTES, Contents
from .softmax import posteriors, softmax_table

LARGEST = 16384
"""Bytes of the steps at most; the widest monitor there can be has 12 of them."""

MOST = 48
"""Steps at most."""

LARGEST_STATE = 8192
"""A saved state of more bytes is left out, and with it the second part of the vector."""

SEARCHED = 600
"""Steps after the warm-up among which the second part is looked for."""

LONGEST_WARMUP = 2000
FIELDS = (
    *("threshold", "label", "risk", "uncertainty", "flagged", "abstain", "alarm"),
    *("warming_up", "reason", "low_mass"),
)
"""Of `tcuq_step_t`, in its order."""

Int8 = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Vector:
    """Steps from a fresh start, then steps from a saved state.

    Parameters
    ----------
    probs : int8 array (steps, classes)
    features : int8 array (steps, features)
    expected : int array (steps, fields)
        `FIELDS` of every step, risk and the like in units of 1/65536.
    late : int
        The step, from 0, before which `state` is loaded; the number of steps where there is no state.
    state : bytes
    logits, shares : int8 arrays (rows, classes), or None
        Logits, and the posteriors that they become.
    wide, narrow : int8 arrays (rows, inputs) and (rows, features), or None
        Wide features, and what they are projected to.
    """

    probs: Int8
    features: Int8
    expected: npt.NDArray[np.int64]
    late: int
    state: bytes
    logits: Int8 | None = None
    shares: Int8 | None = None
    wide: Int8 | None = None
    narrow: Int8 | None = None

    def __len__(self) -> int:
        return len(self.probs)

    def count(self, field: str) -> int:
        """Return the steps whose field is not 0."""
        return int(np.count_nonzero(self.expected[:, FIELDS.index(field)]))

    @property
    def bytes(self) -> int:
        """Bytes of all its tables."""
        tables = (self.logits, self.shares, self.wide, self.narrow)
        rows = self.probs.size + self.features.size + sum(t.size for t in tables if t is not None)
        return rows + STEP_BYTES * len(self) + len(self.state)


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
    >>> len(found), found.late, found.count("flagged") > 0, found.count("abstain") > 0
    (48, 16, True, True)
    """
    params = contents.params
    width = params.classes + params.features + STEP_BYTES
    steps = min(MOST, LARGEST // width)
    resumes = params.state_bytes <= LARGEST_STATE
    first = steps // 3 if resumes else steps
    assert params.warmup is not None
    last = steps - first
    probs, features = _stream(params, min(params.warmup, LONGEST_WARMUP) + SEARCHED)
    edges = _edges(params)
    few = first - len(edges[0])
    shown = [np.concatenate([edges[0], probs[:few]]), np.concatenate([edges[1], features[:few]])]
    expected = [_said(Monitor(params), *shown)]
    state = b""
    if last:
        start = _liveliest(_said(Monitor(params), probs, features), last)
        monitor, part = Monitor(params), slice(start, start + last)
        _said(monitor, probs[:start], features[:start])
        state = monitor.save()
        expected.append(_said(monitor, probs[part], features[part]))
        shown = [np.concatenate([shown[0], probs[part]]), np.concatenate([shown[1], features[part]])]
    return Vector(shown[0], shown[1], np.concatenate(expected), first, state, *_before(contents))


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
    """Return posteriors of no mass, of too much, and of a tie; features of no length, and extreme ones."""
    probs = np.full((3, params.classes), -128, np.int8)
    features = np.full((3, params.features), -128, np.int8)
    probs[1], features[1] = 127, params.feature_zero_point
    probs[2, -2:], features[2] = 0, 127
    return probs, features


def _said(monitor: Monitor, probs: Int8, features: Int8) -> npt.NDArray[np.int64]:
    steps: Any = monitor.run(probs, features if monitor.params.features else None)
    units = [65536 if steps.dtype[name].kind == "f" else 1 for name in FIELDS]
    columns = [steps[name] * unit for name, unit in zip(FIELDS, units, strict=True)]
    return np.stack([column.astype(np.int64) for column in columns], axis=1)


def _liveliest(said: npt.NDArray[np.int64], length: int) -> int:
    """Return where the last stretch begins that has most decisions both ways, then most kinds of steps."""

    def both(field: str) -> npt.NDArray[np.int64]:
        on = np.lib.stride_tricks.sliding_window_view(said[:, FIELDS.index(field)] > 0, length)
        return np.asarray(on.any(axis=1) & ~on.all(axis=1), np.int64)

    # An alarm may change once only, before anything else can happen: abstaining weighs more.
    ways = 4 * both("abstain") + 2 * both("alarm") + both("flagged")
    columns = said[:, [FIELDS.index(name) for name in ("flagged", "abstain", "alarm", "reason", "low_mass")]]
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
