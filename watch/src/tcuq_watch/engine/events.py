"""What comes in from devices, and what goes out: `Events` and `Decided`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.params import Params
from tcuq.monitor.quantize import as_rows, odd_sums, quantize_features, quantize_probs
from tcuq.monitor.signals import FEATURE_BASED
from tcuq.monitor.steps import STEP_DTYPE, Steps

MAX_NAME = 128
"""Characters of a device's name."""

MAX_NUMBER = 2**62
"""Boots and places are below this."""


@dataclass(frozen=True, eq=False)
class Events:
    """Inferences of devices, in the order in which they arrived.

    Parameters
    ----------
    devices : sequence of n texts
        Whose inference it is.
    boots : array of n integers
        How often the device had started; -1 where it does not tell.
    seqs : array of n integers
        Place of the inference since that start, from 0; -1 where the device does not number its inferences.
    probs : array of shape (n, L)
        Posteriors, one row an event, as `Monitor.run` takes them.
    features : array of shape (n, d), optional
        Features, one row an event; left out where the parameters use none.
    times : array of n numbers, optional
        Seconds since 1970 (UTC): when the device made it, or when it was received.
    version : str, optional
        Name of the parameters that all of these belong to; not needed where a fleet has only one set.
    steps : array of n steps, optional
        Decisions that the devices made themselves, in place of posteriors.
    labels : array of n integers, optional
        True classes where devices told them, -1 where not: they are kept beside the decisions.
    begins : array of n booleans, optional
        Where the input begins again, so that the monitor forgets its past.

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

    def __post_init__(self) -> None:
        devices = np.asarray(self.devices, dtype=object)
        if devices.ndim != 1:
            raise InputError("value", f"devices have {devices.ndim} dimensions, expected a list of names")
        object.__setattr__(self, "devices", devices)
        if (self.probs is None) == (self.steps is None):
            raise InputError(
                "missing", "events have neither or both of probs and steps, expected one of them"
            )
        for name in ("boots", "seqs", "labels"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _integers(name, getattr(self, name), len(devices)))
        for name, dtype in (("steps", STEP_DTYPE), ("begins", np.bool_)):
            if getattr(self, name) is not None:
                found = np.asarray(getattr(self, name), dtype=dtype)
                if found.shape != devices.shape:
                    raise InputError(
                        "value", f"{name} have the shape {found.shape}, expected {devices.shape}"
                    )
                object.__setattr__(self, name, found)
        for name in ("probs", "features"):
            if getattr(self, name) is None:
                continue
            rows = as_rows(name, getattr(self, name))
            if len(rows) != len(devices):
                raise InputError(
                    "value", f"{name} have {len(rows)} rows, expected {len(devices)}, one an event"
                )
            object.__setattr__(self, name, rows)
        if self.times is not None:
            times = np.asarray(self.times, dtype=np.float64)
            if times.shape != devices.shape:
                raise InputError("value", f"times have the shape {times.shape}, expected {devices.shape}")
            object.__setattr__(self, "times", times)

    def __len__(self) -> int:
        return len(self.devices)

    def some(self, which: Any) -> Events:
        """Return some of the events: a slice, a mask or places.

        Parameters
        ----------
        which : slice, array of integers or array of booleans
            As an index of numpy.

        Returns
        -------
        Events
            In the order of `which`.
        """
        columns = {
            each.name: None if getattr(self, each.name) is None else getattr(self, each.name)[which]
            for each in fields(self)
            if each.name != "version"
        }
        return Events(**columns, version=self.version)


@dataclass(frozen=True, eq=False)
class Decided:
    """What monitors said, in the order in which events were released to them.

    Parameters
    ----------
    version : str
        Name of the parameters.
    devices : array of n texts
        Whose step each row is.
    boots : array of n integers
        How often the device had started.
    seqs : array of n integers
        Place of the step since that start, from 0.
    times : array of n numbers
        Seconds since 1970 (UTC); NaN where an event had none.
    steps : Steps
        One row an event.
    probs, features : int8 arrays, optional
        What the monitors saw, where the fleet keeps it.
    labels : array of n integers, optional
        True classes that devices told, -1 where they did not, where the fleet keeps them.
    resets : array of n booleans, optional
        Before which steps the monitor forgot its past, where the fleet keeps what it saw.
    signals : array, optional
        As `Monitor.run` gives them, where the fleet keeps what monitors saw; they are not in its folder.
    slots : array of n integers, optional
        Places of the devices in the list of their version.

    Examples
    --------
    >>> from tcuq import Params
    >>> from tcuq_watch.fleet import Events, ModelVersion
    >>> events = Events(["a", "b"], [0, 0], [0, 0], [[0.9, 0.1]] * 2)
    >>> decided = ModelVersion("v1", Params(classes=2)).take(events)
    >>> decided.version, decided.devices.tolist(), decided.steps["prediction"].tolist()
    ('v1', ['a', 'b'], [0, 0])
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

    def __len__(self) -> int:
        return len(self.devices)


def _integers(name: str, values: Any, count: int) -> npt.NDArray[np.int64]:
    found = np.asarray(values)
    if found.shape != (count,) or (found.size and found.dtype.kind not in "iu"):
        raise InputError("value", f"{name} are {found.dtype} {found.shape}, expected {count} integers")
    return np.ascontiguousarray(found, dtype=np.int64)


def joined(parts: Sequence[Decided]) -> Decided:
    """Return several answers of one version as one."""
    if not parts:
        raise InputError("value", "nothing to join")
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    columns: dict[str, Any] = {}
    for each in fields(Decided):
        values = [getattr(part, each.name) for part in parts]
        if each.name == "steps":
            columns["steps"] = Steps.of(
                np.concatenate([np.asarray(one) for one in values]), first.steps.class_names
            )
        elif each.name != "version":
            columns[each.name] = None if values[0] is None else np.concatenate(values)
    return Decided(first.version, **columns)


KINDS = (
    "unknown version",
    "bad number",
    "wrong width",
    "bad posterior",
    "bad features",
    "bad name",
    "unknown device",
    "bad time",
    "bad state",
    "old state",
    "too many devices",
    "bad decision",
    "decisions among posteriors",
    "posteriors among decisions",
)
"""What is refused, by kind, in the order in which a fleet keeps their numbers (new ones come last);
 an event of a bad time is taken, as one without a time."""

EARLIEST, LATEST = 978_307_200.0, 2.0**33
"""Seconds since 1970 between which a time is one. Clocks that were never set say 1970, 1980 or 2000; what is
after 2242 is in milliseconds."""

HEAD = np.dtype([("time", "<f8"), ("label", "<i2"), ("begins", "u1")])
"""What stands before the posterior and the features of a row, or before a decision."""


def read_features(params: Params) -> int:
    """Return how many features a step are read; 0 where no signal needs them."""
    return params.features if any(name in FEATURE_BASED for name in params.signals) else 0


def row_bytes(params: Params, by_device: bool = False) -> int:
    """Return the bytes of a row that holds what a monitor reads, or what one on a device decided."""
    content = STEP_DTYPE.itemsize if by_device else params.classes + read_features(params)
    return HEAD.itemsize + content


def checked(
    params: Params, events: Events, latest: float = LATEST
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8], Counter[str]]:
    """Return which events can be taken, their rows, and how many are refused by kind.

    Each event is judged alone; a time after `latest` is none. Posteriors become int8 as a runtime would leave
    them, and features as the parameters say.
    """
    refused: Counter[str] = Counter()
    numbers = (events.boots >= -1) & (events.seqs >= -1)
    numbers &= (events.boots < MAX_NUMBER) & (events.seqs < MAX_NUMBER)
    good = np.flatnonzero(numbers)
    refused["bad number"] = len(events) - len(good)
    if events.steps is None:
        good, content = _readings(params, events, good, refused)
    else:
        good, content = _decisions(params, events, good, refused)
    head = np.zeros(len(good), dtype=HEAD)
    times = np.full(len(good), np.nan) if events.times is None else events.times[good]
    head["time"], refused["bad time"] = _times(times, min(latest, LATEST))
    head["label"] = -1
    if events.labels is not None:
        labels = events.labels[good]
        head["label"] = np.where((labels < -1) | (labels >= params.classes), -1, labels)
    if events.begins is not None:
        head["begins"] = events.begins[good]
    rows = np.concatenate([head.view(np.uint8).reshape(-1, HEAD.itemsize), content], axis=1)
    return good, rows, +refused


def _readings(
    params: Params, events: Events, good: npt.NDArray[np.int64], refused: Counter[str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return which events have a posterior, and features where they are needed, and both as bytes."""
    width = read_features(params)
    wide = events.probs.shape[1] == params.classes
    wide = wide and (not width or events.features is None or events.features.shape[1] == width)
    if not wide or (width and events.features is None):
        refused["bad features" if wide else "wrong width"] = len(good)
        good = good[:0]
    probs, keep = _posteriors(params, events.probs[good] if wide else events.probs[:0])
    refused["bad posterior"] = len(good) - int(keep.sum())
    good, content = good[keep], probs[keep].view(np.uint8)
    if width:
        if not len(good):
            return good, np.zeros((0, params.classes + width), dtype=np.uint8)
        features, keep = _features(params, events.features[good])
        refused["bad features"] += len(good) - int(keep.sum())
        good, content = good[keep], np.concatenate([content, features.view(np.uint8)], axis=1)[keep]
    return good, content


def _decisions(
    params: Params, events: Events, good: npt.NDArray[np.int64], refused: Counter[str]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Return which events have a decision that can be, and these as bytes without gaps."""
    steps = np.zeros(len(good), dtype=STEP_DTYPE)
    for name in STEP_DTYPE.names or ():
        steps[name] = events.steps[name][good]
    for name in ("risk", "threshold", "uncertainty", "persistence", "look", "expected_accuracy"):
        steps[name] = np.round(steps[name] * 65536) / 65536
    for name in ("risk", "expected_accuracy"):  # the largest numbers that a monitor knows
        steps[name] = np.where(steps[name] <= 1, np.minimum(steps[name], 1 - 2**-16), steps[name])
    keep = (steps["alarm"] <= 3) & ~(steps["expected_accuracy"] >= 1)
    for name in ("prediction", "answer"):
        keep &= (steps[name] >= 0) & (steps[name] < params.classes)
    keep &= (steps["risk"] >= 0) & (steps["risk"] < 1) & (np.abs(steps["severity"]) < 2**15)
    refused["bad decision"] = len(good) - int(keep.sum())
    return good[keep], steps[keep].view(np.uint8).reshape(-1, STEP_DTYPE.itemsize)


def _posteriors(params: Params, probs: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], Any]:
    keep = np.ones(len(probs), dtype=bool)
    if not len(probs):
        return np.zeros((0, params.classes), dtype=np.int8), keep
    try:
        return quantize_probs(probs), keep
    except ValueError:
        keep = ~odd_sums(probs)
    found = np.zeros(probs.shape, dtype=np.int8)
    try:
        found[keep] = quantize_probs(probs[keep])
    except ValueError:  # a sum within a rounding of the tolerance: the core has the last word
        for row in np.flatnonzero(keep).tolist():
            try:
                found[row] = quantize_probs(probs[row : row + 1])[0]
            except ValueError:
                keep[row] = False
    return found, keep


def _features(params: Params, features: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int8], Any]:
    if features.dtype == np.int8:
        return features, np.ones(len(features), dtype=bool)
    found = np.zeros(features.shape, dtype=np.int8)
    if features.dtype == np.uint8:  # as the core has it: nobody knows their zero point
        return found, np.zeros(len(features), dtype=bool)
    with np.errstate(over="ignore"):
        keep = np.isfinite(features.astype(np.float32)).all(axis=1)
    found[keep] = quantize_features(features[keep], params.feature_scale, params.feature_zero_point)
    return found, keep


def _times(times: npt.NDArray[np.float64], latest: float) -> tuple[npt.NDArray[np.float64], int]:
    """Return times with NaN for those that cannot be; NaN itself says that there is none."""
    with np.errstate(invalid="ignore"):
        odd = ~np.isnan(times) & ~((times >= EARLIEST) & (times < latest))
    return (np.where(odd, np.nan, times), int(odd.sum())) if odd.any() else (times, 0)


def heads_of(rows: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Return what stands before the content of rows: time, label, whether the input begins again."""
    return np.ascontiguousarray(rows[:, : HEAD.itemsize]).view(HEAD)[:, 0]


def name_problem(name: Any) -> str | None:
    """Return what is wrong with a device's name, None if nothing is.

    Examples
    --------
    >>> name_problem("door-1"), name_problem(7)
    (None, '7 is int, expected a text of 1 to 128 characters')
    """
    expected = f"expected a text of 1 to {MAX_NAME} characters"
    if not isinstance(name, str):
        return f"{str(name)[:40]} is {type(name).__name__}, {expected}"
    if not 1 <= len(name) <= MAX_NAME:
        return f"{name[:20]!r} has {len(name)} characters, {expected}"
    try:
        name.encode()
    except UnicodeEncodeError:
        return f"{name!r} cannot be written as UTF-8, {expected}"
    return None
