"""`Order`: each device's events by (boot, seq), with a bounded number of them held back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import InputError
from tcuq.base.locks import NonBlockingLock

from .. import _native
from .events import MAX_NUMBER

PLACE_DTYPE = np.dtype(
    [
        ("boot", "i8"),
        ("seq", "i8"),
        ("seen", "u8"),
        ("received", "u8"),
        ("missing", "u8"),
        ("late", "u8"),
        ("duplicates", "u8"),
        ("reboots", "u4"),
        ("held", "u2"),
        ("unused", "u2"),
    ]
)
"""Where a device stands: the last released event (-1 before the first), a bit for each of the 64 events up
to it that says whether it was released, and counts. native/order.c has the same as a struct."""

REORDER_SLOT_DTYPE = np.dtype([("slot", "i8"), ("used", "u8")])
"""Where a device's held events wait: whose they are (-1: nobody's), and which cells are in use."""

HOLD = 8
"""Events that are held a device, unless told otherwise."""

BRIDGE = 16
"""Missing events that a monitor passes over, unless told otherwise (docs/FLEET.md has the measurement)."""

MOST_HELD = 64
"""What a reorder slot's bits can name."""

END = 2**63 - 1

Integers = npt.NDArray[np.int64]


class Released(NamedTuple):
    """Events in the order of release; `resets` marks those before which the monitor forgets its past."""

    slots: Integers
    boots: Integers
    seqs: Integers
    rows: npt.NDArray[np.uint8]
    resets: npt.NDArray[np.bool_]


class Touched(NamedTuple):
    """What has changed: devices, reorder slots and cells, by number."""

    slots: Integers
    reorder_slots: Integers
    cells: Integers


class Order:
    """Put events of many devices in order. What is said of one depends on that device's events alone.

    A second thread that comes while one is at work is turned away.

    At most `hold` events of a device are held, 1 to 64: the one that fills the hold releases the smallest.
    After more than `bridge` missing events a monitor forgets its past.
    """

    def __init__(self, width: int, hold: int, bridge: int) -> None:
        self.width = width
        self.hold = integer("hold", hold, 1, MOST_HELD)
        self.bridge = integer("bridge", bridge, 0, 2**31)
        self._turn = NonBlockingLock("the order")
        self._count = 0
        self._places = np.zeros(0, dtype=PLACE_DTYPE)
        self._reorder_slot_of = np.zeros(0, dtype=np.int32)
        self._slot_touched = np.zeros(0, dtype=bool)
        self._reorder_slots = np.zeros(0, dtype=REORDER_SLOT_DTYPE)
        self._keys = np.zeros((0, 2), dtype=np.int64)
        self._cells = np.zeros((0, width), dtype=np.uint8)
        self._reorder_slot_touched = np.zeros(0, dtype=bool)
        self._cell_touched = np.zeros(0, dtype=bool)
        self._vacant = np.zeros(0, dtype=np.int32)
        self._vacancies = 0

    def _add_reorder_slots(self, count: int) -> None:
        """Make that many reorder slots out of those that are there."""
        old, cells = len(self._reorder_slots), count * self.hold
        self._reorder_slots = _longer(self._reorder_slots, count)
        self._reorder_slots["slot"][old:] = -1
        self._keys, self._cells = _longer(self._keys, cells), _longer(self._cells, cells)
        self._reorder_slot_touched = _longer(self._reorder_slot_touched, count)
        self._cell_touched = _longer(self._cell_touched, cells)
        self._vacant = _longer(self._vacant, count)
        more = count - old
        self._vacant[self._vacancies : self._vacancies + more] = np.arange(count - 1, old - 1, -1)
        self._vacancies += more

    @property
    def places(self) -> npt.NDArray[Any]:
        """Rows of `PLACE_DTYPE`, one a device."""
        return self._places[: self._count]

    def grow(self, count: int) -> None:
        """Add devices that nothing was heard of yet."""
        with self._turn:
            self._grow(count)

    def _grow(self, count: int) -> None:
        total = self._count + count
        if total > len(self._places):
            room = max(total, len(self._places) * 5 // 4 + 16) - self._count
            fresh = np.zeros(room, dtype=PLACE_DTYPE)
            fresh["boot"] = fresh["seq"] = -1
            self._places = np.concatenate([self.places, fresh])
            self._reorder_slot_of = np.concatenate(
                [self._reorder_slot_of[: self._count], np.full(room, -1, np.int32)]
            )
            self._slot_touched = np.concatenate([self._slot_touched[: self._count], np.zeros(room, bool)])
        self._count = total

    def take(self, slots: Any, boots: Any, seqs: Any, rows: npt.NDArray[np.uint8]) -> Released:
        """Take events in the order of arrival; return those that are released."""
        return self._run(slots, boots, seqs, rows, releasing=False)

    def held(self) -> tuple[Integers, npt.NDArray[np.uint8]]:
        """Return whose events are held, and their rows."""
        cells = np.flatnonzero(self._in_use(np.arange(len(self._keys))))
        return self._reorder_slots["slot"][cells // self.hold], self._cells[cells]

    def release(self, slots: Any, boots: Any, seqs: Any) -> Released:
        """Release what is held of some devices, each up to (boot, seq)."""
        return self._run(slots, boots, seqs, np.zeros((0, self.width), dtype=np.uint8), releasing=True)

    def release_all(self) -> Released:
        """Release all that is held, device by device."""
        slots = np.flatnonzero(self._reorder_slot_of[: self._count] >= 0)
        ends = np.full(len(slots), END)
        return self.release(slots, ends, ends)

    def move(self, slot: int, boot: int, seq: int) -> None:
        """Go to a place that is not before the last released event; what lies between is missing."""
        place = self.places[slot]
        begun = int(place["boot"]) >= 0
        if begun and int(place["boot"]) == boot:
            gap = seq - int(place["seq"])
            place["seen"] = (int(place["seen"]) << gap) % 2**64 if gap < 64 else 0
        else:
            gap = seq + 1 if begun else 0
            place["reboots"] = min(int(place["reboots"]) + begun, 2**32 - 1)
            place["seen"] = 0
        place["missing"] = min(int(place["missing"]) + gap, 2**64 - 1)
        place["boot"], place["seq"] = boot, seq
        self._slot_touched[slot] = True

    def __copy__(self) -> Order:
        return copy.deepcopy(self)  # two that share arrays would hold events in each other's cells

    def _run(self, slots: Any, boots: Any, seqs: Any, rows: Any, releasing: bool) -> Released:
        # Copies, which are aligned. Another thread may write to the caller's arrays while they are read.
        slots, boots, seqs = (np.array(each, dtype=np.int64, order="C") for each in (slots, boots, seqs))
        rows = np.ascontiguousarray(rows, dtype=np.uint8)
        with self._turn:
            return self._ordered(slots, boots, seqs, rows, releasing)

    def _ordered(self, slots: Any, boots: Any, seqs: Any, rows: Any, releasing: bool) -> Released:
        self.touch(slots)
        self._touch_reorder_slots(self._reorder_slot_of[slots])
        done = 0
        parts: list[Released] = []
        while done < len(slots) or not parts:
            count, part = self._some(slots[done:], boots[done:], seqs[done:], rows[done:], releasing)
            done += count
            parts.append(part)
        self._touch_reorder_slots(self._reorder_slot_of[slots])
        if len(parts) == 1:
            return parts[0]
        together: Any = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Released(*together)

    def _some(self, slots: Any, boots: Any, seqs: Any, rows: Any, releasing: bool) -> tuple[int, Released]:
        if self._vacancies == 0 and not releasing:
            self._add_reorder_slots(max(64, 2 * len(self._reorder_slots)))
        room = len(slots) + len(slots) // 4 + 4 * self.hold
        numbers = [0, 0, 0, self._vacancies, self.hold, self.bridge, self.width, room, int(releasing)]
        told = np.array(numbers, dtype=np.int64)
        out = [np.empty(room, dtype=np.int64) for _ in range(3)]
        out_rows, resets = np.empty((room, self.width), dtype=np.uint8), np.empty(room, dtype=bool)
        filled = np.empty(len(slots), dtype=np.int64)
        standing = (self._places[: self._count], self._reorder_slot_of[: self._count])
        waiting = (self._reorder_slots, self._keys, self._cells, self._vacant)
        _native.order(told, *standing, *waiting, slots, boots, seqs, rows, *out, out_rows, resets, filled)
        taken, released, put, self._vacancies = (int(number) for number in told[:4])
        self._cell_touched[filled[:put]] = True
        self._touch_reorder_slots(filled[:put] // self.hold)
        slots, boots, seqs = (each[:released] for each in out)
        return taken, Released(slots, boots, seqs, out_rows[:released], resets[:released])

    def _touch_reorder_slots(self, reorder_slots: npt.NDArray[Any]) -> None:
        self._reorder_slot_touched[reorder_slots[reorder_slots >= 0]] = True

    def touch(self, slots: Any) -> None:
        """Note that something else of these devices has changed."""
        self._slot_touched[: self._count][slots] = True

    def touched(self) -> Touched:
        """Return what has changed since `settle`."""
        return Touched(
            np.flatnonzero(self._slot_touched[: self._count]),
            np.flatnonzero(self._reorder_slot_touched),
            np.flatnonzero(self._cell_touched),
        )

    def settle(self, touched: Touched) -> None:
        """Forget that these have changed: they are kept elsewhere now."""
        self._slot_touched[touched.slots] = False
        self._reorder_slot_touched[touched.reorder_slots] = False
        self._cell_touched[touched.cells] = False

    def everything(self) -> Touched:
        """Return all devices, and reorder slots and cells that are in use."""
        reorder_slots = np.flatnonzero(self._reorder_slots["slot"] >= 0)
        cells = np.flatnonzero(self._in_use(np.arange(len(self._keys))))
        return Touched(np.arange(self._count), reorder_slots, cells)

    def _in_use(self, cells: Integers) -> npt.NDArray[np.bool_]:
        reorder_slots, bits = cells // self.hold, (cells % self.hold).astype(np.uint64)
        return np.asarray((self._reorder_slots["used"][reorder_slots] >> bits) & np.uint64(1), dtype=bool)

    def rows(self, which: Touched) -> dict[str, npt.NDArray[Any]]:
        """Return what must be kept of these."""
        cells = which.cells[self._in_use(which.cells)]
        return {
            "places": self.places[which.slots],
            "berths": which.reorder_slots.astype(np.uint32),
            "berth_rows": self._reorder_slots[which.reorder_slots],
            "cells": cells.astype(np.uint32),
            "cell_keys": self._keys[cells],
            "cell_rows": self._cells[cells],
        }

    def load(self, slots: Integers, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `rows` gave; `slots` are there. What does not fit raises `ValueError`."""
        places, keys = arrays["places"], arrays["cell_keys"]
        for name, numbers, least in (
            ("places", places["boot"], -1),
            ("places", places["seq"], -1),
            ("held events", keys, 0),
        ):
            if numbers.min(initial=least) < least or numbers.max(initial=least) >= MAX_NUMBER:
                raise InputError(
                    "damaged", f"boot or seq of {name} is out of range, expected {least} to 2^62 - 1"
                )
        self.places[slots] = arrays["places"]
        reorder_slots, cells = arrays["berths"].astype(np.int64), arrays["cells"].astype(np.int64)
        needed = max(int(reorder_slots.max(initial=-1)) + 1, int(cells.max(initial=-1)) // self.hold + 1)
        if needed > len(self._reorder_slots):
            self._add_reorder_slots(needed)
        self._reorder_slots[reorder_slots] = arrays["berth_rows"]
        self._keys[cells], self._cells[cells] = arrays["cell_keys"], arrays["cell_rows"]
        owners = self._reorder_slots["slot"]
        occupied = np.flatnonzero(owners >= 0)
        bits = np.unpackbits(self._reorder_slots["used"].astype("<u8").view(np.uint8).reshape(-1, 8), axis=1)
        held = np.zeros(self._count, dtype=np.int64)
        if len(occupied) and int(owners.max()) < self._count:
            np.add.at(held, owners[occupied], bits[occupied].sum(axis=1, dtype=np.int64))
        fits = len(np.unique(owners[occupied])) == len(occupied)
        fits &= not (self._reorder_slots["used"] >> np.uint64(self.hold - 1) >> np.uint64(1)).any()
        if not fits or not np.array_equal(held, self.places["held"]):
            raise InputError("damaged", "events that are held do not fit the devices")
        self._reorder_slot_of[:] = -1
        self._reorder_slot_of[owners[occupied]] = occupied
        vacant = np.flatnonzero(owners < 0)[::-1]
        self._vacancies = len(vacant)
        self._vacant[: len(vacant)] = vacant


def _longer(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    found = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    found[: len(array)] = array
    return found
