"""What comes in from devices, and what goes out: `Events` and `Decided`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.quantize import as_rows
from tcuq.monitor.steps import Steps

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
        How often the device had started; a device that does not count its starts always says 0.
    seqs : array of n integers
        Place of the inference since that start, from 0.
    probs : array of shape (n, L)
        Posteriors, one row an event, as `Monitor.run` takes them.
    features : array of shape (n, d), optional
        Features, one row an event; left out where the parameters use none.
    times : array of n numbers, optional
        Seconds since 1970 (UTC): when the device made it, or when it was received.
    version : str, optional
        Name of the parameters that all of these belong to; not needed where a fleet has only one set.

    Examples
    --------
    >>> events = Events(["door-1", "door-2"], [0, 0], [0, 0], [[0.9, 0.1], [0.5, 0.5]])
    >>> len(events), len(events.some(slice(1)))
    (2, 1)
    """

    devices: Any
    boots: Any
    seqs: Any
    probs: Any
    features: Any = None
    times: Any = None
    version: str | None = None

    def __post_init__(self) -> None:
        devices = np.asarray(self.devices, dtype=object)
        if devices.ndim != 1:
            raise InputError("value", f"devices have {devices.ndim} dimensions, expected a list of names")
        object.__setattr__(self, "devices", devices)
        for name in ("boots", "seqs"):
            object.__setattr__(self, name, _integers(name, getattr(self, name), len(devices)))
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
        return Events(
            self.devices[which],
            self.boots[which],
            self.seqs[which],
            self.probs[which],
            None if self.features is None else self.features[which],
            None if self.times is None else self.times[which],
            self.version,
        )


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

    Examples
    --------
    >>> from tcuq import Params
    >>> from tcuq_watch.fleet import Events, Lane
    >>> decided = Lane("v1", Params(classes=2)).take(Events(["a", "b"], [0, 0], [0, 0], [[0.9, 0.1]] * 2))
    >>> decided.version, decided.devices.tolist(), decided.steps["prediction"].tolist()
    ('v1', ['a', 'b'], [0, 0])
    """

    version: str
    devices: npt.NDArray[Any]
    boots: npt.NDArray[np.int64]
    seqs: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    steps: Steps

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
    first, together = parts[0], np.concatenate
    return Decided(
        first.version,
        together([part.devices for part in parts]),
        together([part.boots for part in parts]),
        together([part.seqs for part in parts]),
        together([part.times for part in parts]),
        Steps.of(together([np.asarray(part.steps) for part in parts]), first.steps.class_names),
    )
