"""`Order`: each device's events by (boot, seq), with a bounded number of them held back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError

from .. import _native
from .events import MAX_NUMBER
from .packing import row_dtype

PLACE_DTYPE = row_dtype(
    "boot:i8 seq:i8 seen:u8 received:u8 missing:u8 late:u8 duplicates:u8 reboots:u4 held:u2 run:u2"
)
"""Where a device stands: the last released event (-1 before the first), a bit for each of the 64 events up
to it that says whether it was released, and counts; `run` are the events since the last missing one.
native/order.c has the same as a struct."""

HOLD, BRIDGE = 8, 16  # events that are held a device, and missing ones that a monitor passes over

Integers = npt.NDArray[np.int64]


class Released(NamedTuple):
    """Events in the order of release; `resets` marks those before which the monitor forgets its past."""

    slots: Integers
    boots: Integers
    seqs: Integers
    rows: npt.NDArray[np.uint8]
    resets: npt.NDArray[np.bool_]


class Order:
    """Put events of many devices in order. What is said of one depends on that device's events alone.

    With a boot, events are ordered by (boot, seq), and one at or before the last released is a duplicate or
    late. Without a boot (-1), a seq that goes back to 0, or by 64 or more, is a new start. Without a seq
    (-1), events follow each other as they arrive.

    At most `hold` events of a device are held, 1 to 64: the one that fills the hold releases the smallest.
    After more than `bridge` missing events a monitor forgets its past.
    """

    def __init__(self, width: int, hold: int, bridge: int) -> None:
        self.width = width
        self.hold = integer("hold", hold, 1, 64)
        self.bridge = integer("bridge", bridge, 0, 2**31)
        self._count = 0
        self._places = np.zeros(0, dtype=PLACE_DTYPE)
        self._last = np.zeros(0, dtype=np.int32)
        self._touched = np.zeros(0, dtype=bool)
        # Held events: rings, as native/order.c keeps them.
        cell = [("boot", "i8"), ("seq", "i8"), ("next", "i8"), ("row", "u1", (width,))]
        self._cells = np.zeros(0, dtype=np.dtype(cell, align=True))
        self._held, self._vacant, self._top = 0, -1, 0

    @property
    def places(self) -> npt.NDArray[Any]:
        """Rows of `PLACE_DTYPE`, one a device."""
        return self._places[: self._count]

    def grow(self, count: int) -> None:
        """Add devices that nothing was heard of yet."""
        total = self._count + count
        self._places = with_room(self._places, total)
        self._last = with_room(self._last, total)
        self._touched = with_room(self._touched, total)
        fresh = slice(self._count, total)
        self._places["boot"][fresh] = self._places["seq"][fresh] = self._last[fresh] = -1
        self._count = total

    def take(self, slots: Any, boots: Any, seqs: Any, rows: npt.NDArray[np.uint8]) -> Released:
        """Take events in the order of arrival; return those that are released."""
        return self._run(slots, boots, seqs, np.ascontiguousarray(rows, dtype=np.uint8), releasing=False)

    def release(self, slots: Any, boots: Any, seqs: Any) -> Released:
        """Release what is held of some devices, each up to (boot, seq)."""
        return self._run(slots, boots, seqs, np.zeros(0, dtype=np.uint8), releasing=True)

    def release_all(self) -> Released:
        """Release all that is held, device by device."""
        slots = np.flatnonzero(self._last[: self._count] >= 0)
        ends = np.full(len(slots), MAX_NUMBER)
        return self.release(slots, ends, ends)

    def _run(self, slots: Any, boots: Any, seqs: Any, rows: Any, releasing: bool) -> Released:
        # A copy: another thread may write to the caller's arrays while they are read.
        events = np.array([slots, boots, seqs], dtype=np.int64)
        self.touch(events[0])
        # Room for the worst case; what is not used is never touched.
        room = events.shape[1] + self._held
        self._cells = with_room(self._cells, self._top + events.shape[1])
        state = (0, self._held, self._vacant, self._top)
        numbers = np.array([*state, self.hold, self.bridge, self.width, releasing], dtype=np.int64)
        out, out_rows = np.empty((4, room), np.int64), np.empty((room, self.width), np.uint8)
        standing = (self.places, self._last[: self._count], self._cells.view(np.uint8))
        _native.order(numbers, *standing, out, out_rows, events, rows)
        released, self._held, self._vacant, self._top = numbers[:4].tolist()
        slots, boots, seqs, resets = out[:, :released]
        return Released(slots, boots, seqs, out_rows[:released], resets.astype(bool))

    def move(self, slot: int, boot: int, seq: int) -> None:
        """Go to a place that is not before the last released event; what lies between is missing."""
        place = self.places[slot]
        begun = int(place["boot"]) >= 0
        if begun and int(place["boot"]) == boot:
            gap = seq - int(place["seq"])
            place["seen"] = (int(place["seen"]) << gap) % 2**64 if gap < 64 else 0
            place["run"] *= gap == 0
        else:
            gap = seq + 1 if begun else 0
            place["reboots"] = min(int(place["reboots"]) + begun, 2**32 - 1)
            place["seen"] = place["run"] = 0
        place["missing"] = min(int(place["missing"]) + gap, 2**64 - 1)
        place["boot"], place["seq"] = boot, seq
        self.touch([slot])

    def touch(self, slots: Any) -> None:
        """Note that something of these devices has changed."""
        self._touched[: self._count][slots] = True

    def touched(self) -> Integers:
        """Return the devices of which something has changed since `settle`."""
        return np.flatnonzero(self._touched[: self._count])

    def settle(self) -> None:
        """Forget what has changed: it is kept elsewhere now."""
        self._touched[:] = False

    def held(self, slots: Integers | None = None) -> tuple[Integers, npt.NDArray[Any]]:
        """Return whose events are held, and their cells: of all devices, or of some."""
        slots = np.arange(self._count) if slots is None else slots
        slots = slots[self._last[slots] >= 0]
        numbers, owners, cells = self._cells["next"][self._last[slots]], [slots[:0]], [slots[:0]]
        while len(slots):
            owners.append(slots)
            cells.append(numbers)
            more = numbers != self._last[slots]
            slots, numbers = slots[more], self._cells["next"][numbers[more]]
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        return owner[order], self._cells[np.concatenate(cells)[order]]

    def rows(self, slots: Integers) -> dict[str, npt.NDArray[Any]]:
        """Return what must be kept of these devices."""
        owners, cells = self.held(slots)
        keys = np.stack([cells["boot"], cells["seq"]], axis=1)
        return {
            "places": self.places[slots],
            "held_slots": owners,
            "held_keys": keys,
            "held_rows": np.ascontiguousarray(cells["row"]),
        }

    def load(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `rows` gave of all devices; what does not fit raises `InputError`."""
        places, owners, keys = arrays["places"], arrays["held_slots"], arrays["held_keys"]
        for numbers, least in ((places["boot"], -1), (places["seq"], -1), (keys, 0)):
            if numbers.min(initial=least) < least or numbers.max(initial=least) >= MAX_NUMBER:
                raise InputError("damaged", f"boot or seq is out of range, expected {least} to 2^62 - 1")
        inside = not len(owners) or (owners.min() >= 0 and owners.max() < self._count)
        counts = np.bincount(owners if inside else [], minlength=self._count)
        if not np.array_equal(counts, places["held"]) or counts.max(initial=0) > self.hold:
            raise InputError("damaged", "events that are held do not fit the devices")
        order = np.lexsort((keys[:, 1], keys[:, 0], owners))
        owners, keys = owners[order], keys[order]
        self.places[:] = places
        self._cells = np.zeros(len(order), dtype=self._cells.dtype)
        self._cells["boot"], self._cells["seq"] = keys.T
        self._cells["row"] = arrays["held_rows"][order]
        self._cells["next"] = np.arange(1, len(order) + 1)
        ends = np.cumsum(counts)
        holds = counts > 0
        self._cells["next"][ends[holds] - 1] = (ends - counts)[holds]
        self._last[: self._count] = np.where(holds, ends - 1, -1)
        self._held, self._vacant, self._top = len(order), -1, len(order)


def with_room(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """Return an array of at least so many rows, with zeros at its end."""
    if count <= len(array):
        return array
    longer = np.zeros((max(count, len(array) * 5 // 4 + 16), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer
