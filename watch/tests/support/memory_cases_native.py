# SPDX-License-Identifier: MIT
"""Calls of the fleet's compiled part with each request for memory failing in turn; run as a program."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from memory_cases import SLOTS, Case, tried
from memory_cases_params import FULL

from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch import _native
from tcuq_watch.engine.order import Order
from tcuq_watch.engine.tallies import Tallies


def fleet_cases() -> list[Case]:
    """Return what a fleet asks for."""
    tallies, order = Tallies(FULL), Order(1, 4, 0)
    tallies.grow(3)
    order.grow(3)
    steps = np.zeros(3, STEP_DTYPE)
    times, rows = np.zeros(3), np.zeros((3, 1), np.uint8)
    counted = (tallies.devices, tallies.classes, tallies._buckets)
    arrays = [each.view(np.uint8) for each in counted]
    clock = tallies._clock.view(np.uint8)

    call: Any = _native.tally

    def tally() -> None:
        call(*arrays, tallies._seen, clock, SLOTS, times, steps.view(np.uint8))

    def held() -> Any:
        return [each.tobytes() for each in counted]

    def uncount() -> None:
        for each in counted:
            each.view(np.uint8)[:] = 0

    calls: list[tuple[Any, ...]] = []

    def stop(*given: Any) -> None:
        calls.append(given)
        raise StopIteration

    with (
        patch("tcuq_watch.engine.order._native", SimpleNamespace(order=stop)),
        contextlib.suppress(StopIteration),
    ):
        order.take(SLOTS, [0, 0, 0], [0, 1, 2], rows)
    kept = [each.copy() for each in calls[0]]

    def unorder() -> None:
        for each, old in zip(calls[0], kept, strict=True):
            each[...] = old

    def ordered() -> Any:
        return [each.tobytes() for each in calls[0]]

    return [
        Case("tally", tally, held, uncount),
        Case("order", partial(_native.order, *calls[0]), ordered, unorder),
    ]


if __name__ == "__main__":
    sys.exit(tried(fleet_cases()))
