"""The monitor of a session: takes blocks of steps, forgets the past where a stream begins again."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.monitor.monitor import Monitor
from tcuq.monitor.signals import SIGNALS
from tcuq.monitor.steps import STEP_DTYPE

from ..engine.order import BRIDGE
from ..sources.blocks import Block

WINDOW = 256
"""Steps that are remembered. A number that goes back further means that the device has started again."""

TAKE, DUPLICATE, LATE, REBOOT = "take", "duplicate", "late", "reboot"


class Order:
    """The place of one device in its own stream.

    A device numbers its steps (`seq`) from 0 and counts its boots. Either may be left out. A
    number that goes back to 0, or goes back and does not repeat a step that came before, means a boot, with
    and without a count of boots: a count may stay as it is. A boot that is smaller than the last is late.
    """

    def __init__(self) -> None:
        self.boot: int | None = None
        self.seq: int | None = None
        self.gap = 0
        self._recent: dict[int, int] = {}

    def judge(self, boot: int | None, seq: int | None, content: bytes, again: bool = False) -> str:
        """Return ``"take"``, ``"reboot"`` (take it too), ``"duplicate"`` or ``"late"`` for one step.

        With `again`, whoever brought the step says that it may have brought it before: a step that is
        remembered is then a duplicate at number 0 too, and one further back, in a boot that is told, is late.
        """
        self.gap = 0
        found = self._compare(boot, seq, content, again)
        if found in (TAKE, REBOOT):
            self.note(boot, seq, content, found == REBOOT)
        return found

    def note(self, boot: int | None, seq: int | None, content: bytes, reboot: bool = False) -> None:
        """Remember a step that was taken."""
        if reboot:
            self._recent.clear()
        self.boot = self.boot if boot is None else boot
        self.seq = seq
        if seq is not None:
            self._recent[seq] = zlib.crc32(content)
            if len(self._recent) > WINDOW:
                del self._recent[next(iter(self._recent))]

    def run_on(self, boot: int | None, seqs: Sequence[int | None], contents: Sequence[bytes]) -> bool:
        """Take steps that follow the last one without a gap, as nearly all do; False where they do not."""
        if boot is None or boot != self.boot or self.seq is None:
            return False
        if list(seqs) != list(range(self.seq + 1, self.seq + 1 + len(seqs))):
            return False
        self.gap = 0
        for seq, content in zip(seqs[-WINDOW:], contents[-WINDOW:], strict=True):
            self.note(boot, seq, content)
        return True

    def _compare(self, boot: int | None, seq: int | None, content: bytes, again: bool) -> str:
        if boot is not None and self.boot is not None and boot != self.boot:
            if boot < self.boot:
                return LATE
            self.gap = seq or 0
            return REBOOT
        if seq is None or self.seq is None:
            return TAKE
        if seq > self.seq:
            self.gap = seq - self.seq - 1
            return TAKE
        known = self._recent.get(seq)
        same = known is not None and known == zlib.crc32(content)
        if seq == 0 and self.seq > 0 and not (again and (same or (known is None and boot is not None))):
            return REBOOT  # the same content too: a device without a counter of boots may repeat itself
        if same:
            return DUPLICATE
        if known is None and (seq > self.seq - WINDOW or (again and boot is not None)):
            return LATE
        return REBOOT

    def saved(self) -> list[object]:
        """Return everything, as JSON has it."""
        return [self.boot, self.seq, [[seq, crc] for seq, crc in self._recent.items()]]

    @classmethod
    def restored(cls, saved: Sequence[object]) -> Order:
        """Return what `saved` gave."""
        found = cls()
        found.boot, found.seq, recent = saved  # type: ignore[assignment]
        found._recent = {int(seq): int(crc) for seq, crc in recent}  # type: ignore[attr-defined]
        return found


GAP = 60.0
"""Seconds after which a stream that was interrupted, and does not number its steps, begins again."""


class Sorted:
    """What came of the places of a block's steps.

    `resets` are the places in `taken` before which the monitor forgets the past.
    """

    def __init__(self) -> None:
        self.taken: list[int] = []
        self.resets: set[int] = set()
        self.missing = self.duplicates = self.late = 0
        self.reboots: list[tuple[int, str]] = []


def sort_out(order: Order, block: Block) -> Sorted:
    """Find the steps of a block that are new, and note them in `order`."""
    found, keys = Sorted(), block.keys()
    boots = set(block.boots)
    if len(boots) == 1 and order.run_on(block.boots[0], block.seqs, keys):
        found.taken = list(range(len(block)))
        return found
    for row, (boot, seq, key) in enumerate(zip(block.boots, block.seqs, keys, strict=True)):
        before = order.boot, order.seq
        verdict = order.judge(boot, seq, key, block.again)
        if verdict == DUPLICATE:
            found.duplicates += 1
            continue
        if verdict == LATE:
            found.late += 1
            continue
        if verdict == REBOOT:
            found.resets.add(len(found.taken))
            found.reboots.append((len(found.taken), _reboot_text(before, boot, seq)))
        elif order.gap > BRIDGE:
            found.resets.add(len(found.taken))
        found.missing += order.gap
        found.taken.append(row)
    return found


def _reboot_text(before: tuple[int | None, int | None], boot: int | None, seq: int | None) -> str:
    if boot is not None and boot != before[0]:
        return f"the device has started again: boot {before[0]} is now {boot}"
    return f"the device has started again: step number {before[1]} is now {seq}"


class Judge:
    """A monitor and the segments of its stream."""

    def __init__(
        self, monitor: Monitor, segment: int = 0, given: int | None = None, fresh: bool = True
    ) -> None:
        self.monitor, self.segment, self.given, self.fresh = monitor, segment, given, fresh

    def segments(self, block: Block, resets: set[int]) -> list[int]:
        """Return the number of the segment of each step: it grows where the past is to be forgotten."""
        found = []
        for row, given in enumerate(block.segments):
            changed = given is not None and self.given is not None and given != self.given
            if (row in resets or changed) and not (self.fresh and not row):
                self.segment += 1
            self.given = self.given if given is None else given
            found.append(self.segment)
        return found

    def run(
        self, block: Block, before: int, segments: list[int]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Judge the steps of a block.

        `before` is the segment of the step before the block, `segments` are those of its steps.
        """
        assert block.probs is not None
        steps = np.empty(len(block), dtype=STEP_DTYPE)
        signals = np.empty((len(block), len(SIGNALS)))
        numbers = np.array(segments)
        borders = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(block)]
        for start, stop in pairwise(borders):
            if not self.fresh and segments[start] != (segments[start - 1] if start else before):
                self.monitor.reset()
            self.fresh = False
            part = None if block.features is None else block.features[start:stop]
            steps[start:stop], signals[start:stop] = self.monitor.run(
                block.probs[start:stop], part, signals=True
            )
        return steps, signals
