"""What is counted of each device and of the whole fleet while steps go by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.errors import InputError
from tcuq.monitor.made import WAS
from tcuq.monitor.params import Params

from .. import _native
from .order import with_room
from .packing import row_dtype

HOUR = 3600
BUCKETS, DOUBLINGS = 512, 14  # buckets of time, and how often they may double in width, as in native/tally.c
MOST_HOUR = 2**33 // HOUR  # since 1970; steps after it are in no bucket
RISK_ONE, MEAN_ONE = 2**16, 2**24  # units of sums of risk and accuracy, and of slow means
ALARM_WINDOW, DEGRADATION_WINDOW = 4096, 128  # steps that `recent_alarm` and `degradation` look back

DEVICE_DTYPE = row_dtype(
    "steps:u8 flagged:u8 abstained:u8 alarm_steps:u8 risk:u8 last_time:f8 alarm_since:f8 onsets:u4 gap:u4 "
    "recent_risk:i4 recent_alarm:i4 degradation:i4 bucket:i4 alarm_bucket:i4 accuracy:u2 alarm:u1 cause:u1"
)
"""Of one device: `risk` is a sum in 1/65536; `recent_risk` and `recent_alarm` are slow means over about 256
and 4096 steps in 2**-24, `degradation` one over 128 in 1/65536; `onsets` counts how often an alarm began;
`gap` is the usual pause between two steps in milliseconds; `bucket` and `alarm_bucket` the last hours that
counted it; `cause` is 255 less what moved last in an alarm that is on, 0 where nothing has."""

_OLD = {**{new: old for old, new in WAS.items()}, "cause": "unused"}
_OLD_DTYPE = np.dtype([(_OLD.get(name, name), DEVICE_DTYPE[name]) for name in DEVICE_DTYPE.names or ()])
"""The same of version 0.3."""

CLASS_DTYPE = row_dtype("steps:u8 flagged:u8 abstained:u8 risk:u8 predictions:u8")
"""Of the steps with one answer; `predictions` counts the steps that predicted it."""

SUMS = ("steps", "flagged", "abstained", "alarm_steps", "onsets", "risk", "accuracy")
"""Of all steps in a bucket of time."""


class Tallies:
    """Counts of one set of parameters. They do not depend on how steps are batched.

    Over time they are kept in buckets of an hour; after 512 of those in buckets of two, and so on. A step
    without a time (NaN, before 1970, after 2242), or from so long ago that all buckets would have to grow,
    counts everywhere but there, and in `untimed`. A device counts once in a bucket; one whose clock goes back
    by less than a day is not counted again.
    """

    def __init__(self, params: Params) -> None:
        self.params = params
        self._room = np.zeros(0, dtype=DEVICE_DTYPE)
        self.devices = self._room
        self.classes = np.zeros(params.classes, dtype=CLASS_DTYPE)
        self._buckets = np.zeros((BUCKETS, len(SUMS)), dtype=np.uint64)
        self._seen = np.zeros((2, DOUBLINGS, BUCKETS), dtype=np.uint32)
        # First and last hour since 1970 (last before first: none yet), how often the width has doubled.
        self._clock = np.array([0, -1, 0])

    def grow(self, count: int) -> None:
        """Add new devices."""
        first, total = len(self.devices), len(self.devices) + count
        self._room = with_room(self._room, total)
        fresh = self._room[first:total]
        fresh["last_time"] = fresh["alarm_since"] = np.nan
        fresh["bucket"] = fresh["alarm_bucket"] = -1
        self.devices = self._room[:total]

    def update(
        self, slots: npt.NDArray[np.int64], times: npt.NDArray[np.float64], steps: npt.NDArray[Any]
    ) -> None:
        """Take in steps in the order of their release; all of them, or none where one is refused."""
        rows = np.ascontiguousarray(np.asarray(steps)).view(np.uint8)  # numpy copies fields much more slowly
        counts = (self.devices, self.classes, self._buckets, self._seen, self._clock)
        _native.tally(*(array.view(np.uint8) for array in counts), slots, times, rows)

    @property
    def width(self) -> int:
        """Seconds of a bucket of time."""
        return int(HOUR << self._clock[2])

    @property
    def untimed(self) -> int:
        """Steps that are in no bucket of time."""
        return int(self.classes["steps"].sum()) - int(self._buckets[:, 0].sum())

    def over_time(self) -> dict[str, npt.NDArray[Any]]:
        """Return `time` (when each bucket begins), `devices`, `in_alarm` and the sums of `SUMS`.

        `devices` and `in_alarm` count devices that made at least one step in a bucket, at least one in alarm.
        """
        doublings = int(self._clock[2])
        sums = self._buckets[self._places(doublings) % BUCKETS].astype(np.int64).T
        names = ("time", "devices", "in_alarm", *SUMS)
        return dict(zip(names, (*self.heard_of(doublings), *sums), strict=True))

    def heard_of(self, doublings: int) -> tuple[npt.NDArray[np.int64], ...]:
        """Return `time`, `devices` and `in_alarm` in buckets of 2**doublings hours, or wider ones."""
        places = self._places(doublings)
        seen = self._seen[:, doublings, places % BUCKETS].astype(np.int64)
        # A device whose clock goes back and forth is counted again: there are no more than all.
        devices, in_alarm = np.minimum(seen, len(self.devices) or seen.max(initial=0))
        return places * (HOUR << doublings), devices, in_alarm

    def _places(self, doublings: int) -> npt.NDArray[np.int64]:
        """Return the numbers of all buckets between the first and the last, at some width."""
        first, last, _ = self._clock.tolist()
        return np.arange(first >> doublings, (last >> doublings) + 1 if last >= first else first >> doublings)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept; of the buckets, those in use."""
        doublings = int(self._clock[2])
        seen = [self._seen[:, k, self._places(k) % BUCKETS] for k in range(doublings, DOUBLINGS)]
        return {
            "devices": self.devices,
            "classes": self.classes.copy(),
            "buckets": self._buckets[self._places(doublings) % BUCKETS],
            "seen": np.concatenate(seen, axis=1),
            "clock": self._clock.copy(),
        }

    @classmethod
    def restored(cls, params: Params, arrays: Mapping[str, npt.NDArray[Any]]) -> Tallies:
        """Return what `arrays` gave, as it was."""
        found = cls(params)
        if arrays["devices"].dtype == _OLD_DTYPE:
            arrays = {**arrays, "devices": arrays["devices"].view(DEVICE_DTYPE)}
        kept = {"devices": found.devices, "classes": found.classes, "clock": found._clock}
        for name, empty in kept.items():
            shape = arrays[name].shape if name == "devices" else empty.shape
            if arrays[name].dtype != empty.dtype or arrays[name].shape != shape:
                problem = f"{name} of the tallies are {arrays[name].dtype} {arrays[name].shape}"
                raise InputError("damaged", f"{problem}, expected {empty.dtype} {shape}")
        found._room = found.devices = np.array(arrays["devices"])
        found.classes, found._clock = np.array(arrays["classes"]), np.array(arrays["clock"])
        first, last, doublings = found._clock.tolist()
        wide = (last >> max(doublings, 0)) - (first >> max(doublings, 0)) >= BUCKETS
        if not 0 <= doublings < DOUBLINGS or (last >= first and (first < 0 or last > MOST_HOUR or wide)):
            problem = f"clock of the tallies is at hours {first} to {last} and doublings {doublings}"
            raise InputError("damaged", f"{problem}, expected {BUCKETS} buckets up to hour {MOST_HOUR}")
        found._buckets[found._places(doublings) % BUCKETS] = arrays["buckets"]
        start = 0
        for k in range(doublings, DOUBLINGS):
            places = found._places(k)
            found._seen[:, k, places % BUCKETS] = arrays["seen"][:, start : start + len(places)]
            start += len(places)
        return found

    @classmethod
    def merged(cls, parts: Sequence[Tallies]) -> Tallies:
        """Return the counts over disjoint sets of devices: classes and time, without devices."""
        found = cls(parts[0].params)
        for part in parts:
            for name in CLASS_DTYPE.names or ():
                found.classes[name] += part.classes[name]
        used = [part for part in parts if part._clock[1] >= part._clock[0]]
        if not used:
            return found
        clocks = np.stack([part._clock for part in used])
        first, last, doublings = int(clocks[:, 0].min()), int(clocks[:, 1].max()), int(clocks[:, 2].max())
        while (last >> doublings) - (first >> doublings) >= BUCKETS:
            doublings += 1
        found._clock[:] = first, last, doublings
        for part in used:
            own = int(part._clock[2])
            places = part._places(own)
            wider = (places >> (doublings - own)) % BUCKETS
            np.add.at(found._buckets, wider, part._buckets[places % BUCKETS])
            for k in range(doublings, DOUBLINGS):
                places = part._places(k) % BUCKETS
                found._seen[:, k, places] += part._seen[:, k, places]
        return found
