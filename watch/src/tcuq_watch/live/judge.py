"""The monitor of a session: takes blocks of steps, forgets the past where a stream begins anew."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.monitor.monitor import Monitor
from tcuq.monitor.signals import SIGNALS
from tcuq.monitor.steps import STEP_DTYPE

from ..fleet.order import BRIDGE
from .blocks import Block
from .order import DUPLICATE, LATE, REBOOT, Order

GAP = 60.0
"""Seconds after which a stream that was interrupted, and does not number its steps, begins anew."""


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
