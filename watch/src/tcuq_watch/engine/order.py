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


class Order:
    """Put events of many devices in order. What is said of one depends on that device's events alone.

    With a boot, events are ordered by (boot, seq), and one at or before the last released is a duplicate or
    late. Without a boot (-1), a seq that goes back to 0, or by 64 or more, is a new start. Without a seq
    (-1), events follow each other as they arrive.

    At most `hold` events of a device are held, 1 to 64: the one that fills the hold releases the smallest.
    After more than `bridge` missing events a monitor forgets its past. A second thread that comes while one
    is at work is turned away.
    """

    def __init__(self, width: int, hold: int, bridge: int) -> None:
        self.width = width
        self.hold = integer("hold", hold, 1, MOST_HELD)
        self.bridge = integer("bridge", bridge, 0, 2**31)
        self._turn = NonBlockingLock("the order")
        self._count = 0
        self._places = np.zeros(0, dtype=PLACE_DTYPE)
        self._reorder_slot_of = np.zeros(0, dtype=np.int32)
        self._touched = np.zeros(0, dtype=bool)
        self._reorder_slots = np.zeros(0, dtype=REORDER_SLOT_DTYPE)
        self._keys = np.zeros((0, 2), dtype=np.int64)
        self._cells = np.zeros((0, width), dtype=np.uint8)
        self._vacant = np.zeros(0, dtype=np.int32)
        self._vacancies = 0

    def _add_reorder_slots(self, count: int) -> None:
        """Make that many reorder slots out of those that are there."""
        old, cells = len(self._reorder_slots), count * self.hold
        self._reorder_slots = _longer(self._reorder_slots, count)
        self._reorder_slots["slot"][old:] = -1
        self._keys, self._cells = _longer(self._keys, cells), _longer(self._cells, cells)
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
            total = self._count + count
            if total > len(self._places):
                room = max(total, len(self._places) * 5 // 4 + 16)
                self._places = _longer(self._places, room)
                for name in ("boot", "seq"):
                    self._places[name][self._count :] = -1
                self._reorder_slot_of = _longer(self._reorder_slot_of, room)
                self._reorder_slot_of[self._count :] = -1
                self._touched = _longer(self._touched, room)
            self._count = total

    def take(self, slots: Any, boots: Any, seqs: Any, rows: npt.NDArray[np.uint8]) -> Released:
        """Take events in the order of arrival; return those that are released."""
        return self._run(slots, boots, seqs, rows, releasing=False)

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
        self.touch([slot])

    def __copy__(self) -> Order:
        return copy.deepcopy(self)  # two that share arrays would hold events in each other's cells

    def _run(self, slots: Any, boots: Any, seqs: Any, rows: Any, releasing: bool) -> Released:
        # Copies, which are aligned. Another thread may write to the caller's arrays while they are read.
        slots, boots, seqs = (np.array(each, dtype=np.int64, order="C") for each in (slots, boots, seqs))
        rows = np.ascontiguousarray(rows, dtype=np.uint8)
        with self._turn:
            self.touch(slots)
            done = 0
            parts: list[Released] = []
            while done < len(slots) or not parts:
                count, part = self._some(slots[done:], boots[done:], seqs[done:], rows[done:], releasing)
                done += count
                parts.append(part)
        if len(parts) == 1:
            return parts[0]
        together: Any = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Released(*together)

    def _some(self, slots: Any, boots: Any, seqs: Any, rows: Any, releasing: bool) -> tuple[int, Released]:
        if self._vacancies == 0 and not releasing:
            self._add_reorder_slots(max(64, 2 * len(self._reorder_slots)))
        room = len(slots) + len(slots) // 4 + 4 * self.hold
        options = [self.hold, self.bridge, self.width, room, int(releasing)]
        numbers = np.array([0, 0, self._vacancies, *options], dtype=np.int64)
        out = [np.empty(room, dtype=np.int64) for _ in range(3)]
        out_rows, resets = np.empty((room, self.width), dtype=np.uint8), np.empty(room, dtype=bool)
        standing = (self._places[: self._count], self._reorder_slot_of[: self._count])
        waiting = (self._reorder_slots, self._keys, self._cells, self._vacant)
        _native.order(numbers, *standing, *waiting, slots, boots, seqs, rows, *out, out_rows, resets)
        taken, released, self._vacancies = (int(number) for number in numbers[:3])
        slots, boots, seqs = (each[:released] for each in out)
        return taken, Released(slots, boots, seqs, out_rows[:released], resets[:released])

    def touch(self, slots: Any) -> None:
        """Note that something of these devices has changed."""
        self._touched[: self._count][slots] = True

    def touched(self) -> Integers:
        """Return the devices of which something has changed since `settle`."""
        return np.flatnonzero(self._touched[: self._count])

    def settle(self) -> None:
        """Forget what has changed: it is kept elsewhere now."""
        self._touched[:] = False

    def held(self, slots: Integers | None = None) -> tuple[Integers, Integers, npt.NDArray[np.uint8]]:
        """Return whose events are held, their (boot, seq), and their rows: of all devices, or of some."""
        numbers = self._reorder_slot_of[: self._count] if slots is None else self._reorder_slot_of[slots]
        numbers = numbers[numbers >= 0].astype(np.int64)
        bits = np.arange(self.hold, dtype=np.uint64)
        used = (self._reorder_slots["used"][numbers][:, None] >> bits) & np.uint64(1)
        which, cell = np.nonzero(used)
        cells = numbers[which] * self.hold + cell
        return self._reorder_slots["slot"][numbers[which]], self._keys[cells], self._cells[cells]

    def rows(self, slots: Integers) -> dict[str, npt.NDArray[Any]]:
        """Return what must be kept of these devices."""
        owners, keys, rows = self.held(slots)
        return {"places": self.places[slots], "held_slots": owners, "held_keys": keys, "held_rows": rows}

    def load(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `rows` gave of all devices; what does not fit raises `InputError`."""
        places, owners, keys = arrays["places"], arrays["held_slots"], arrays["held_keys"]
        for name, numbers, least in (
            ("places", places["boot"], -1),
            ("places", places["seq"], -1),
            ("held events", keys, 0),
        ):
            if numbers.min(initial=least) < least or numbers.max(initial=least) >= MAX_NUMBER:
                raise InputError(
                    "damaged", f"boot or seq of {name} is out of range, expected {least} to 2^62 - 1"
                )
        inside = not len(owners) or (owners.min() >= 0 and owners.max() < self._count)
        counts = np.bincount(owners if inside else [], minlength=self._count).astype(np.int64)
        if not np.array_equal(counts, places["held"]) or counts.max(initial=0) > self.hold:
            raise InputError("damaged", "events that are held do not fit the devices")
        self.places[:] = places
        holders = np.flatnonzero(counts)
        if len(holders) > len(self._reorder_slots):
            self._add_reorder_slots(len(holders))
        order = np.argsort(owners, kind="stable")
        first = np.concatenate([[0], np.cumsum(counts[holders])[:-1]]) if len(holders) else holders
        numbers = np.repeat(np.arange(len(holders)), counts[holders])
        cells = numbers * self.hold + np.arange(len(order)) - first[numbers]
        self._keys[cells], self._cells[cells] = keys[order], arrays["held_rows"][order]
        self._reorder_slots["slot"][: len(holders)] = holders
        self._reorder_slots["used"][: len(holders)] = _ones(counts[holders])
        self._reorder_slot_of[holders] = np.arange(len(holders))
        self._vacancies = len(self._reorder_slots) - len(holders)
        self._vacant[: self._vacancies] = np.arange(len(self._reorder_slots) - 1, len(holders) - 1, -1)


def _ones(counts: Integers) -> npt.NDArray[np.uint64]:
    """Return numbers with so many of their lowest bits set, 1 to 64."""
    return np.asarray(np.uint64(2**64 - 1) >> (64 - counts).astype(np.uint64), dtype=np.uint64)


def _longer(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    found = np.zeros((rows, *array.shape[1:]), dtype=array.dtype)
    found[: len(array)] = array
    return found
