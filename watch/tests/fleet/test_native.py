"""What the compiled part refuses, and the numbers at the edges of what it takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import extensions
import numpy as np
import pytest
from native_calls import columns_call, order_call, tally_call

from tcuq import Params
from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch import _native
from tcuq_watch.engine.order import Order
from tcuq_watch.engine.tallies import Tallies

CALLS = {"order": (order_call, 6), "tally": (tally_call, 5)}
"""Arguments of each function, and which of them are the slots."""


@pytest.mark.parametrize("name", CALLS)
def test_arrays_are_checked(name: str) -> None:
    call: Callable[[], list[Any]] = CALLS[name][0]
    act: Any = getattr(_native, name)
    act(*call())
    for place in range(len(call())):
        for wrong, kind in ((np.zeros(5, np.uint8), ValueError), ("text", TypeError)):
            arrays = call()
            arrays[place] = wrong
            with pytest.raises((kind, IndexError)):
                act(*arrays)
    for slot in (-1, 3):
        arrays = call()
        arrays[CALLS[name][1]].flat[1] = slot
        with pytest.raises(IndexError, match=r"slots\[1\] is -?\d, expected 0 to 2"):
            act(*arrays)
    with pytest.raises(TypeError, match="0 arrays were given, expected 8"):
        act()


def test_columns_and_names_are_checked() -> None:
    _native.columns(*columns_call())
    for place in range(5):
        arrays = columns_call()
        arrays[place] = np.zeros(5, np.uint8)
        with pytest.raises(ValueError, match="do not belong together"):
            _native.columns(*arrays)
    with pytest.raises(TypeError):
        _native.columns()
    slots, names = np.zeros(4, np.int64), np.array(["b", "x", 7, "a"], dtype=object)
    _native.slots(slots, names, {"a": 0, "b": 1})
    assert slots.tolist() == [1, -1, -1, 0]
    wrong: list[tuple[Any, ...]] = [(slots, names[:3], {}), (slots, slots, {}), (slots, names, {"a": "x"})]
    for arguments in [*wrong, (slots, "text", {}), ("text", names, {}), (slots, names, [])]:
        with pytest.raises((ValueError, TypeError, BufferError)):
            _native.slots(*arguments)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("answer", (-1, 3)),
        ("risk", (-0.1, 1.0, np.nan)),
        ("degradation", (-32768.0, 32768.0)),
    ],
)
def test_steps_of_no_monitor_are_not_counted(name: str, values: tuple[float, ...]) -> None:
    tallies, steps = Tallies(Params(classes=3)), np.zeros(3, STEP_DTYPE)
    tallies.grow(1)
    for value in values:
        steps[name][2] = value
        with pytest.raises(ValueError, match=r"steps\[2\] is not a step of a monitor of 3 classes"):
            tallies.update(np.zeros(3, np.int64), np.zeros(3), steps)
    assert tallies.devices["steps"][0] == 0 and not len(tallies.over_time()["time"])


@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1])
def test_means_that_somebody_wrote_do_not_overflow(value: int) -> None:
    tallies = Tallies(Params(classes=3))
    tallies.grow(1)
    for name in ("recent_risk", "recent_alarm", "degradation", "bucket", "alarm_bucket"):
        tallies.devices[name] = value
    tallies.devices["steps"] = 1
    tallies.update(np.zeros(1, np.int64), np.zeros(1), np.zeros(1, STEP_DTYPE))
    assert abs(int(tallies.devices["recent_risk"][0])) < abs(value)


def test_counts_of_an_order_stop_at_their_end() -> None:
    order = Order(1, 1, 2**31)
    order.grow(1)
    row = np.zeros((1, 1), np.uint8)
    order.take([0], [0], [0], row)
    order.places["reboots"], order.places["missing"] = 2**32 - 1, 2**64 - 2
    order.take([0], [0], [100], row)
    assert int(order.places["missing"][0]) == 2**64 - 1
    order.take([0], [1], [0], row)
    assert int(order.places["reboots"][0]) == 2**32 - 1


def test_cells_are_used_again() -> None:
    order = Order(1, 4, 0)
    order.grow(200)
    slots, zeros = np.repeat(np.arange(200), 2), np.zeros(400, np.int64)
    for start in range(0, 40, 4):
        held = order.take(slots, zeros, np.tile([2, 1], 200) + start, np.tile([[2], [1]], (200, 1)))
        assert len(held.seqs) == 0 and int(order.places["held"].sum()) == 400
        more = np.full(200, start)
        free = order.take(np.arange(200), zeros[:200], more, np.zeros((200, 1)))
        assert free.seqs.tolist() == [start, start + 1, start + 2] * 200
        assert free.rows.ravel().tolist() == [0, 1, 2] * 200
        order.take(np.arange(200), zeros[:200], more + 3, np.zeros((200, 1)))
    assert len(order._cells) < 2000


def test_each_request_for_memory_fails_once_without_harm(tmp_path: Path) -> None:
    counts = extensions.requests(extensions.ROOT / "watch/tests/support/memory_cases_native.py", tmp_path)
    # The program itself checks; a case with few requests would have checked nothing.
    assert set(counts) == set(CALLS) and min(map(min, counts.values())) >= 8
