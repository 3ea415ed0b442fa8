# SPDX-License-Identifier: MIT
"""A monitor whose memory is damaged is not saved: what it would give could not be loaded."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tcuq import Bank, Monitor, Params

PARAMS = Params(classes=3, budget=0.371, level=0.2)
PROBS = np.random.default_rng(1).integers(-128, 128, (40, 3)).astype(np.int8)


@contextmanager
def no_burst(owner: object) -> Iterator[None]:
    """Set the `burst` in the parameters of a core to 0, below the credit that its monitors have saved up."""
    fields = PARAMS.integers()
    mark = struct.pack("3H", *(fields[name] for name in ("budget_num", "budget_den", "burst")))
    held = ctypes.string_at(id(owner), type(owner).__basicsize__)
    assert held.count(mark) == 1
    burst = ctypes.c_uint16.from_address(id(owner) + held.index(mark) + 4)
    burst.value = 0
    yield
    burst.value = fields["burst"]


def test_a_damaged_monitor_is_not_saved() -> None:
    monitor = Monitor(PARAMS)
    monitor.run(PROBS)
    before = monitor.save()
    with no_burst(monitor._core):
        with pytest.raises(ValueError, match=r"^the monitor's memory is damaged, so it is not saved; load"):
            monitor.save()
        with pytest.raises(RuntimeError, match="memory is damaged"):
            monitor.verify()
    assert monitor.save() == before


def test_a_damaged_monitor_of_a_bank_is_named() -> None:
    bank = Bank(PARAMS, 4)
    bank.run(np.full(len(PROBS), 2), PROBS)
    with no_burst(bank._core):
        bank.save_many([0, 1, 3])  # have no credit yet
        with pytest.raises(
            ValueError, match=r"^the memory of monitor 2 is damaged, so it is not saved; load"
        ):
            bank.save_many([0, 2, 3])
