"""What the compiled part refuses, and the numbers at the edges of what it takes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import extensions
import numpy as np
import pytest
from memory_cases_params import FULL

from tcuq.monitor.steps import STEP_DTYPE
from tcuq_watch import _native
from tcuq_watch.engine.order import Order
from tcuq_watch.engine.tallies import Tallies


def odd(array: Any, shift: int = 1) -> Any:
    """Return the same values where no number may lie."""
    room = np.zeros(array.nbytes + 8, np.uint8)
    found = room[shift : shift + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def order_call() -> list[Any]:
    calls: list[list[Any]] = []

    def stop(*given: Any) -> None:
        calls.append(list(given))
        raise StopIteration

    order = Order(1, 4, 0)
    order.grow(2)
    with patch("tcuq_watch.engine.order._native", SimpleNamespace(order=stop)), pytest.raises(StopIteration):
        order.take([0, 1], [0, 0], [0, 0], np.zeros((2, 1), np.uint8))
    return calls[0]


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (0, 1),
        (1, 1),
        (2, -1),
        (2, 65),
        (3, 0),
        (3, 65),
        (4, -1),
        (5, 0),
        (5, 4097),
        (6, -1),
        (6, 2**41),
    ],
)
def test_numbers_of_an_order_are_checked(number: int, value: int) -> None:
    arrays = order_call()
    arrays[0][number] = value
    with pytest.raises(ValueError):
        _native.order(*arrays)


def test_arrays_of_an_order_are_checked() -> None:
    for at in range(16):
        arrays = order_call()
        arrays[at] = np.zeros(3, np.uint8)
        with pytest.raises(ValueError):
            _native.order(*arrays)
        arrays[at] = "text"
        with pytest.raises(TypeError):
            _native.order(*arrays)
        arrays = order_call()
        numbers = at not in (5, 10, 14, 15)
        arrays[at] = odd(arrays[at])
        if numbers:
            with pytest.raises(ValueError):
                _native.order(*arrays)
        else:
            _native.order(*arrays)
    for slot in (-1, 2):
        arrays = order_call()
        arrays[7][1] = slot
        with pytest.raises(IndexError):
            _native.order(*arrays)
    with pytest.raises(TypeError, match="order takes 16 arrays"):
        _native.order()


@pytest.mark.parametrize(("at", "value"), [(8, -2), (8, 2**62), (9, -2), (9, 2**62), (9, 2**63 - 1)])
def test_boots_and_numbers_of_events_are_checked(at: int, value: int) -> None:
    arrays = order_call()
    arrays[at][1] = value
    with pytest.raises(ValueError, match="boot and seq of event 1, or of its device, are out of range"):
        _native.order(*arrays)


@pytest.mark.parametrize(("name", "value"), [("boot", -2), ("boot", 2**62), ("seq", -2), ("seq", 2**63 - 1)])
def test_places_of_an_order_are_checked(name: str, value: int) -> None:
    arrays = order_call()
    arrays[1][name][1] = value
    with pytest.raises(ValueError, match="boot and seq of event 1, or of its device, are out of range"):
        _native.order(*arrays)


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


def test_an_order_asks_for_more_reorder_slots() -> None:
    order = Order(1, 4, 0)
    order.grow(200)
    slots = np.repeat(np.arange(200), 2)
    seqs = np.tile([2, 1], 200)
    held = order.take(slots, np.zeros(400, int), seqs, np.zeros((400, 1), np.uint8))
    assert len(held.seqs) == 0 and int(order.places["held"].sum()) == 400
    assert (
        len(order.take(slots[::2], np.zeros(200, int), np.full(200, 3), np.zeros((200, 1), np.uint8)).seqs)
        == 0
    )


def tally_call() -> list[Any]:
    tallies = Tallies(FULL)
    tallies.grow(2)
    counted = [each.view(np.uint8) for each in (tallies.devices, tallies.classes, tallies._buckets)]
    last = [tallies._seen.reshape(-1).view(np.uint8), tallies._clock.view(np.uint8)]
    return [*counted, *last, np.zeros(1, np.int64), np.zeros(1), np.zeros(1, STEP_DTYPE).view(np.uint8)]


def test_arrays_of_tallies_are_checked() -> None:
    _native.tally(*tally_call())
    for at in range(8):
        arrays = tally_call()
        arrays[at] = np.zeros(3, np.uint8)
        with pytest.raises(ValueError):
            _native.tally(*arrays)
        arrays[at] = "text"
        with pytest.raises(TypeError):
            _native.tally(*arrays)
        arrays = tally_call()
        arrays[at] = odd(arrays[at])
        with pytest.raises(ValueError, match="aligned"):
            _native.tally(*arrays)
        arrays = tally_call()
        arrays[at] = np.concatenate([arrays[at], arrays[at]])
        if at > 1:
            with pytest.raises(ValueError, match="do not belong together"):
                _native.tally(*arrays)
    with pytest.raises(TypeError):
        _native.tally()  # type: ignore[call-arg]
    for slot in (-1, 2):
        arrays = tally_call()
        arrays[5][0] = slot
        with pytest.raises(IndexError):
            _native.tally(*arrays)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("answer", -1),
        ("answer", 3),
        ("prediction", -1),
        ("prediction", 3),
        ("risk", -0.1),
        ("risk", 1.0),
        ("severity", -32768.0),
        ("severity", 32768.0),
        ("expected_accuracy", 1.0),
    ],
)
def test_steps_of_no_monitor_are_not_counted(name: str, value: float) -> None:
    arrays = tally_call()
    steps = np.zeros(1, STEP_DTYPE)
    steps[name] = value
    arrays[7] = steps.view(np.uint8)
    with pytest.raises(ValueError, match="no step of a monitor"):
        _native.tally(*arrays)


@pytest.mark.parametrize("value", [-(2**31), 2**31 - 1])
def test_means_that_somebody_wrote_do_not_overflow(value: int) -> None:
    tallies, zeros = Tallies(FULL), np.zeros(1, np.int64)
    tallies.grow(1)
    for name in ("recent_risk", "recent_alarm", "bucket", "alarm_bucket"):
        tallies.devices[name] = value
    tallies.devices["steps"] = 1
    tallies.update(zeros, np.zeros(1), np.zeros(1, STEP_DTYPE))
    assert abs(int(tallies.devices["recent_risk"][0])) < abs(value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("recent_risk", -5, "devices[1] of the tallies has recent_risk -5, expected 0 to 16777215"),
        ("recent_alarm", 2**24 + 1, "expected 0 to 16777216"),
        ("bucket", -2, "expected -1 to 2386092"),
        ("alarm_bucket", 2**30, "expected -1 to 2386092"),
        ("alarm", 4, "expected 0 to 3"),
        ("flagged", 1, "flagged 1, expected at most 0, its steps"),
        ("onsets", 1, "onsets 1, expected at most 0, its steps"),
        ("last_time", -1.0, "last_time -1.0, expected a time"),
        ("alarm_since", np.inf, "alarm_since inf, expected a time"),
    ],
)
def test_restored_devices_are_checked(name: str, value: float, said: str) -> None:
    tallies = Tallies(FULL)
    tallies.grow(2)
    arrays = tallies.arrays()
    assert len(Tallies.restored(FULL, arrays).devices) == 2
    arrays["devices"] = arrays["devices"].copy()
    arrays["devices"][name][1] = value
    with pytest.raises(ValueError) as refused:
        Tallies.restored(FULL, arrays)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_each_request_for_memory_fails_once_without_harm(tmp_path: Path) -> None:
    counts = extensions.requests(extensions.ROOT / "watch/tests/support/memory_cases_native.py", tmp_path)
    # The program itself checks; a case with few requests would have checked nothing.
    assert min(counts["tally"]) >= 8 and min(counts["order"]) >= 16
    assert {name for name in vars(_native) if callable(getattr(_native, name)) and "__" not in name} == set(
        counts
    )
