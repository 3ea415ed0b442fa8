"""What comes in from devices, and what goes out: `Events` and `Decided`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.log.quantize import as_rows, odd_sums, quantize_features, quantize_probs
from tcuq.monitor.params import Params
from tcuq.monitor.signals import FEATURE_BASED
from tcuq.monitor.steps import NOT_MOVED, STEP_DTYPE, Steps, actions_of

Places = npt.NDArray[np.int64]
Rows = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

MAX_NAME = 128  # characters of a device's name
MAX_NUMBER = 2**62  # boots and places are below this

# Seconds since 1970 between which a time is one. Clocks that were never set say 1970, 1980 or 2000; what is
# after 2242 is in milliseconds.
EARLIEST, LATEST = 978_307_200.0, 2.0**33

IN_UNITS = ("",)
"""In place of names: gauges in the order of the fit and in the units of its params, as a device has them."""

_OLD_STEP = 72
"""Bytes of a decision of version 0.3, the first of today's."""

_COLUMNS: dict[str, Any] = {  # types; None is a table that the core takes
    "devices": object,
    "boots": np.int64,
    "seqs": np.int64,
    "probs": None,
    "features": None,
    "times": np.float64,
    "steps": STEP_DTYPE,
    "labels": np.int64,
    "begins": np.bool_,
    "gauges": None,
}


@dataclass(frozen=True, eq=False)
class Events:
    """Inferences of devices, in the order in which they arrived.

    Parameters
    ----------
    devices : sequence of n texts
        Whose inference it is.
    boots, seqs : arrays of n integers
        How often the device had started, and the place since then, from 0; -1 where it does not tell.
    probs, features : arrays of shape (n, L) and (n, d), optional
        One row an event, as `Monitor.run` takes them.
    times : array of n numbers, optional
        Seconds since 1970 (UTC): when the device made it, or when it was received.
    version : str, optional
        Name of the parameters that all of these belong to; not needed where a fleet has only one set.
    steps : array of n steps, optional
        Decisions that the devices made themselves, in place of posteriors.
    labels : array of n integers, optional
        True classes, -1 where they are not known: they are kept beside the decisions.
    begins : array of n booleans, optional
        Where the input begins again, so that the monitor forgets its past.
    gauges : array of shape (n, g), optional
        Of the inputs, for params with `sight`; without them an input counts as clean.
    gauge_names : sequence of g texts, optional
        Their names, where they are not in the order of `Params.sight.gauges`; or `IN_UNITS`.

    Examples
    --------
    >>> events = Events(["door-1", "door-2"], [0, 0], [0, 0], [[0.9, 0.1], [0.5, 0.5]])
    >>> len(events), len(events.some(slice(1)))
    (2, 1)
    """

    devices: Any
    boots: Any
    seqs: Any
    probs: Any = None
    features: Any = None
    times: Any = None
    version: str | None = None
    steps: Any = None
    labels: Any = None
    begins: Any = None
    gauges: Any = None
    gauge_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if (self.probs is None) == (self.steps is None):
            raise InputError("missing", "events have neither or both of probs and steps, expected one")
        count = np.asarray(self.devices, dtype=object).size
        for name, dtype in _COLUMNS.items():
            value = getattr(self, name)
            if value is None:
                continue
            column = as_rows(name, value) if dtype is None else np.asarray(value)
            if dtype is np.int64 and column.size and column.dtype.kind not in "iu":
                raise InputError("value", f"{name} are {column.dtype}, expected integers", name)
            if column.ndim != (2 if dtype is None else 1) or len(column) != count:
                shape = f"{name} have the shape {column.shape}"
                raise InputError("value", f"{shape}, expected {count} rows, one an event", name)
            if dtype is not None:
                column = np.ascontiguousarray(column, dtype=dtype)
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return len(self.devices)

    def some(self, which: Any) -> Events:
        """Return some of the events: a slice, a mask or places, as an index of numpy."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        some = {name: None if column is None else column[which] for name, column in columns.items()}
        return Events(**some, version=self.version, gauge_names=self.gauge_names)


@dataclass(frozen=True, eq=False)
class Decided:
    """What monitors said, in the order in which events were released to them.

    Parameters
    ----------
    version : str
        Name of the parameters.
    devices, boots, seqs, times : arrays
        Of which event each step is, as in `Events`; times are NaN where an event had none.
    steps : Steps
        One row an event.
    probs, features, labels, signals, resets, gauges : arrays, optional
        What the monitors saw and found, and before which steps they forgot their past, where that is kept;
        gauges are NaN where an event had none.
    slots : array of n integers, optional
        Places of the devices in the list of their version.
    """

    version: str
    devices: npt.NDArray[Any]
    boots: npt.NDArray[np.int64]
    seqs: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    steps: Steps
    probs: npt.NDArray[np.int8] | None = None
    features: npt.NDArray[np.int8] | None = None
    labels: npt.NDArray[np.int64] | None = None
    resets: npt.NDArray[np.bool_] | None = None
    signals: npt.NDArray[np.float64] | None = None
    slots: npt.NDArray[np.int64] | None = None
    gauges: npt.NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.devices)


def joined(parts: Sequence[Decided]) -> Decided:
    """Return several answers of one version, at least one, as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    columns: dict[str, Any] = {}
    for name in [field.name for field in fields(Decided)][1:]:
        values = [getattr(part, name) for part in parts]
        columns[name] = None if values[0] is None else np.concatenate([np.asarray(one) for one in values])
    columns["steps"] = Steps.of(columns["steps"], first.steps.class_names, first.steps.sight)
    return Decided(first.version, **columns)


def read_features(params: Params) -> int:
    """Return how many features a step are read; 0 where no signal needs them."""
    return params.features if any(name in FEATURE_BASED for name in params.signals) else 0


def gauge_bytes(params: Params) -> int:
    """Return the bytes of a row that hold gauges: whether there are some, and two for each."""
    count = 0 if params.sight is None else len(params.sight.gauges)
    return 1 + 2 * count if count else 0


def row_type(params: Params, by_device: bool | None = False) -> np.dtype[Any]:
    """Return the type of a row that holds what a monitor reads, or what one on a device decided."""
    content = (
        STEP_DTYPE.itemsize if by_device else params.classes + read_features(params) + gauge_bytes(params)
    )
    return np.dtype([("time", "<f8"), ("label", "<i2"), ("begins", "u1"), ("content", f"V{content}")])


def some_of(column: npt.NDArray[Any], places: Places) -> npt.NDArray[Any]:
    """Return some rows by their rising places, without a copy where these are all."""
    return column if len(places) == len(column) else column[places]


def held_decisions(params: Params, rows: Rows) -> Rows:
    """Return rows of decisions that were held back; those of version 0.3 get an action, and nothing moved."""
    width, old = row_type(params, True).itemsize, _OLD_STEP - STEP_DTYPE.itemsize
    if rows.shape[1] != width + old:
        return rows
    wide = np.pad(rows, ((0, 0), (0, -old)))
    steps = wide[:, -STEP_DTYPE.itemsize :].copy().view(STEP_DTYPE)
    steps["action"], steps["changed"], steps["moved"] = actions_of(steps), False, NOT_MOVED
    wide[:, -STEP_DTYPE.itemsize :] = steps.view(np.uint8)
    return wide


def checked(params: Params, events: Events, latest: float = LATEST) -> tuple[Places, Rows, Counter[str]]:
    """Return which events can be taken, each judged alone, their rows, and how many are refused by kind."""
    refused: Counter[str] = Counter()
    fit = np.ones(len(events), dtype=bool)
    for numbers in (events.boots, events.seqs):
        fit &= (numbers >= -1) & (numbers < MAX_NUMBER)
    good = np.flatnonzero(fit)
    refused["bad number"] = len(events) - len(good)
    read = _readings if events.steps is None else _decisions
    good, content = read(params, events, good, refused)
    rows = np.zeros(len(good), dtype=row_type(params, events.steps is not None))
    # As one value a row: numpy copies rows of a table byte by byte.
    rows["content"] = np.ascontiguousarray(content).view(rows.dtype["content"])[:, 0]
    rows["time"], rows["label"] = np.nan, -1
    if events.times is not None:
        times = some_of(events.times, good)
        fit = (times >= EARLIEST) & (times < min(latest, LATEST))
        refused["bad time"] = int((~fit & ~np.isnan(times)).sum())
        rows["time"] = np.where(fit, times, np.nan)
    if events.labels is not None:
        labels = some_of(events.labels, good)
        rows["label"] = np.where((labels < -1) | (labels >= params.classes), -1, labels)
    if events.begins is not None:
        rows["begins"] = some_of(events.begins, good)
    return good, rows.view(np.uint8).reshape(len(good), rows.dtype.itemsize), +refused


def _readings(params: Params, events: Events, good: Places, refused: Counter[str]) -> tuple[Places, Rows]:
    """Return which events have a posterior, and features where they are needed, and both as bytes."""
    width = read_features(params)
    features = events.features if width else None
    if events.probs.shape[1] != params.classes or (features is not None and features.shape[1] != width):
        refused["wrong width"] = len(good)
    elif width and features is None:
        refused["bad features"] = len(good)
    else:
        content, keep = _posteriors(some_of(events.probs, good))
        refused["bad posterior"] = int((~keep).sum())
        if features is not None:
            more, fit = _features(params, some_of(features, good))
            refused["bad features"] = int((keep & ~fit).sum())
            content, keep = np.concatenate([content, more], axis=1), keep & fit
        if gauge_bytes(params):
            more, fit = _gauges(params, events, good)
            refused["bad gauges"] = int((keep & ~fit).sum())
            content, keep = np.concatenate([content, more], axis=1), keep & fit
        kept = np.flatnonzero(keep)
        return some_of(good, kept), some_of(content, kept).view(np.uint8)
    return good[:0], np.zeros((0, params.classes + width + gauge_bytes(params)), dtype=np.uint8)


def _decisions(params: Params, events: Events, good: Places, refused: Counter[str]) -> tuple[Places, Rows]:
    """Return which events have a decision that can be, and these as bytes without gaps."""
    steps = np.zeros(len(good), dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        steps[name] = events.steps[name][good]
    for name in ("risk", "threshold", "uncertainty", "persistence", "novelty", "expected_accuracy"):
        steps[name] = np.round(steps[name] * 65536) / 65536
    for name in ("risk", "expected_accuracy"):  # the largest numbers that a monitor knows
        steps[name] = np.where(steps[name] <= 1, np.minimum(steps[name], 1 - 2**-16), steps[name])
    steps["action"] = actions_of(steps)  # what anybody else says of it: no answer counts under an alarm
    keep = (steps["alarm"] <= 3) & ~(steps["expected_accuracy"] >= 1)
    for name in ("prediction", "answer"):
        keep &= (steps[name] >= 0) & (steps[name] < params.classes)
    keep &= (steps["risk"] >= 0) & (steps["risk"] < 1) & (np.abs(steps["degradation"]) < 2**15)
    refused["bad decision"] = int((~keep).sum())
    return good[keep], steps[keep].view(np.uint8).reshape(-1, STEP_DTYPE.itemsize)


def _posteriors(probs: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], Mask]:
    try:
        return quantize_probs(probs), np.ones(len(probs), dtype=bool)
    except ValueError:
        keep = ~odd_sums(probs)
    rows = np.zeros(probs.shape, dtype=np.int8)
    try:
        rows[keep] = quantize_probs(probs[keep])
    except ValueError:  # a sum within a rounding of the tolerance: the core has the last word
        for row in np.flatnonzero(keep).tolist():
            try:
                rows[row] = quantize_probs(probs[row : row + 1])[0]
            except ValueError:
                keep[row] = False
    return rows, keep


def _features(params: Params, features: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], Mask]:
    if features.dtype == np.int8:
        return features, np.ones(len(features), dtype=bool)
    rows, keep = np.zeros(features.shape, dtype=np.int8), np.zeros(len(features), dtype=bool)
    if features.dtype != np.uint8:  # as the core has it: nobody knows their zero point
        with np.errstate(over="ignore"):
            keep[:] = np.isfinite(features.astype(np.float32)).all(axis=1)
        rows[keep] = quantize_features(features[keep], params.feature_scale, params.feature_zero_point)
    return rows, keep


def _gauges(params: Params, events: Events, good: Places) -> tuple[npt.NDArray[np.int8], Mask]:
    """Return gauges as the core takes them, a 1 before them; zeros alone where the events have none."""
    rows, keep = np.zeros((len(good), gauge_bytes(params)), np.int8), np.ones(len(good), dtype=bool)
    sight, names = params.sight, None if events.gauge_names == IN_UNITS else events.gauge_names
    if sight is None or events.gauges is None:
        return rows, keep
    if events.gauges.shape[1] != len(sight.gauges if names is None else names):
        return rows, ~keep
    own = sight.own(events.gauges, names)
    if own is None:
        return rows, keep
    values = some_of(own, good)
    keep = np.isfinite(values).all(axis=1)
    if events.gauge_names == IN_UNITS:
        values = values / np.array(sight.gauge_scales)
    rows[:, 0] = 1
    rows[keep, 1:] = sight.gauge_rows(values[keep]).astype("<i2").view(np.int8)
    return rows, keep


def name_fits(name: Any) -> bool:
    """Tell whether a device may be called so; a lone surrogate cannot be written."""
    try:
        return isinstance(name, str) and 1 <= len(name) <= MAX_NAME and bool(name.encode())
    except UnicodeEncodeError:
        return False
