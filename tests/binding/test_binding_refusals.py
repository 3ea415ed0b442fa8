# SPDX-License-Identifier: MIT
"""What the binding refuses, call by call, and the numbers at the edges of what it takes."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from memory_cases_params import FULL

from tcuq import Params, _core
from tcuq.monitor.steps import STEP_DTYPE

CORE_TYPE: Any = _core.Core
BANK_TYPE: Any = _core.Bank
PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
FEATURES = np.array([[1.0, -1.0], [0.5, 2.0], [300.0, -300.0]])
OUT = np.empty(3, STEP_DTYPE).view(np.uint8)
SIGNALS = np.empty((3, len(_core.SIGNAL_NAMES)), np.uint16)
SLOTS = np.array([0, 2, 0])
STATE = np.zeros((3, FULL.state_bytes), np.uint8)


class Torn:
    """No truth value."""

    def __bool__(self) -> bool:
        raise ZeroDivisionError


def odd(array: Any, shift: int = 1) -> Any:
    """Return the same values where no number may lie."""
    room = np.zeros(array.nbytes + 8, np.uint8)
    found = room[shift : shift + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def bank() -> _core.Bank:
    found = FULL.bank()
    assert found.grow(3) == 0
    return found


CORE: list[tuple[type[Exception], Callable[[Any], Any]]] = [
    (TypeError, lambda core: core.step(PROBS[0])),
    (TypeError, lambda core: core.step(PROBS[0], FEATURES[0], False, None, None, None)),
    (TypeError, lambda core: core.step(PROBS[0], FEATURES[0], False, ["a", "b", "c"])),
    (ZeroDivisionError, lambda core: core.step(PROBS[0], FEATURES[0], Torn())),
    (BufferError, lambda core: core.step([0.7, 0.2, 0.1], FEATURES[0], False)),
    (BufferError, lambda core: core.step(PROBS[0], [1.0, 2.0], False)),
    (TypeError, lambda core: core.step(PROBS[0].astype(np.int64), FEATURES[0], False)),
    (TypeError, lambda core: core.step(PROBS[0].astype(">f8"), FEATURES[0], False)),
    (TypeError, lambda core: core.step(PROBS[0].astype(np.complex128), FEATURES[0], False)),
    (TypeError, lambda core: core.step(PROBS[0], np.ones(2, np.uint8), False)),
    (ValueError, lambda core: core.step(PROBS, FEATURES[0], False)),
    (ValueError, lambda core: core.step(PROBS[0][:2].copy(), FEATURES[0], False)),
    (ValueError, lambda core: core.step(np.array([9.0, -9.0, 1.0]), FEATURES[0], False)),
    (ValueError, lambda core: core.step(np.array([0.5, np.nan, 0.5]), FEATURES[0], False)),
    (ValueError, lambda core: core.step(np.array([0.1, 0.1, 0.1]), FEATURES[0], False)),
    (ValueError, lambda core: core.step(PROBS[0], np.array([1.0, np.inf]), False)),
    (ValueError, lambda core: core.step(PROBS[0], None, False)),
    (TypeError, lambda core: core.run(PROBS)),
    (ValueError, lambda core: core.run(PROBS[0], FEATURES, OUT, None)),
    (ValueError, lambda core: core.run(PROBS, FEATURES[:2], OUT, None)),
    (ValueError, lambda core: core.run(PROBS * 2, FEATURES, OUT, None)),
    (ValueError, lambda core: core.run(PROBS / 2, FEATURES, OUT, None)),
    (ValueError, lambda core: core.run(PROBS, FEATURES * np.nan, OUT, None)),
    (ValueError, lambda core: core.run(PROBS, FEATURES, OUT[1:], None)),
    (ValueError, lambda core: core.run(PROBS, FEATURES, odd(OUT), None)),
    (ValueError, lambda core: core.run(PROBS, FEATURES, OUT, SIGNALS[1:])),
    (BufferError, lambda core: core.run(PROBS, FEATURES, bytes(216), None)),
    (TypeError, lambda core: core.load(bytearray(10))),
    (TypeError, lambda core: core.feedback()),
    (TypeError, lambda core: CORE_TYPE(FULL.integers(), feature_scale=1.0)),
    (TypeError, lambda core: CORE_TYPE([])),
    (ValueError, lambda core: _core.Core(FULL.integers(), 0.0)),
    (ValueError, lambda core: _core.Core(FULL.integers(), 1e60)),
]


@pytest.mark.parametrize("at", range(len(CORE)))
def test_a_monitor_refuses_and_stays_as_it_was(at: int) -> None:
    error, call = CORE[at]
    core = FULL.core()
    core.step(PROBS[0], FEATURES[0], False)
    before = core.save()
    with pytest.raises((error, ValueError) if error is BufferError else error) as refused:
        call(core)
    assert core.save() == before and "\n" not in str(refused.value)


BANK: list[tuple[type[Exception], Callable[[Any], Any]]] = [
    (TypeError, lambda each: each.run(SLOTS)),
    (TypeError, lambda each: each.run([0, 2, 0], PROBS, FEATURES, OUT, None)),
    (TypeError, lambda each: each.run(SLOTS.astype(np.int32), PROBS, FEATURES, OUT, None)),
    (TypeError, lambda each: each.run(SLOTS[:, None], PROBS, FEATURES, OUT, None)),
    (IndexError, lambda each: each.run(SLOTS + 1, PROBS, FEATURES, OUT, None)),
    (IndexError, lambda each: each.run(SLOTS - 1, PROBS, FEATURES, OUT, None)),
    (ValueError, lambda each: each.run(SLOTS[:2], PROBS, FEATURES, OUT, None)),
    (ValueError, lambda each: each.run(SLOTS, PROBS * 2, FEATURES, OUT, None)),
    (ValueError, lambda each: each.run(SLOTS, PROBS, FEATURES, OUT[1:], None)),
    (ValueError, lambda each: each.run(SLOTS, PROBS, FEATURES, OUT, SIGNALS[1:])),
    (ValueError, lambda each: each.run(SLOTS, PROBS, FEATURES, OUT, None, 0)),
    (TypeError, lambda each: each.run(SLOTS, PROBS, FEATURES, OUT, None, "2")),
    (TypeError, lambda each: each.save_many(SLOTS)),
    (TypeError, lambda each: each.save_many([0], STATE)),
    (ValueError, lambda each: each.save_many(SLOTS, STATE[1:])),
    (TypeError, lambda each: each.load_many(SLOTS)),
    (TypeError, lambda each: each.load_many([0], STATE)),
    (TypeError, lambda each: each.load_many(SLOTS, [0])),
    (ValueError, lambda each: each.load_many(SLOTS, STATE[1:])),
    (TypeError, lambda each: each.feedback(SLOTS)),
    (TypeError, lambda each: each.reset(SLOTS)),
    (ZeroDivisionError, lambda each: each.reset(SLOTS, Torn())),
    (TypeError, lambda each: each.reset([0], True)),
    (TypeError, lambda each: each.grow("1")),
    (OverflowError, lambda each: each.grow(-1)),
    (ValueError, lambda each: each.grow(2**64 - 1)),
    (ValueError, lambda each: each.grow(2**32)),
    (ValueError, lambda each: each.grow(2**32 - 1)),
    (TypeError, lambda each: BANK_TYPE(FULL.integers(), feature_scale=1.0)),
    (TypeError, lambda each: BANK_TYPE([])),
    (ValueError, lambda each: _core.Bank(FULL.integers(), -1.0)),
    (KeyError, lambda each: _core.Bank({})),
]


@pytest.mark.parametrize("at", range(len(BANK)))
def test_a_bank_refuses_and_stays_as_it_was(at: int) -> None:
    error, call = BANK[at]
    found, before, after = bank(), np.empty_like(STATE), np.empty_like(STATE)
    found.save_many(np.arange(3), before)
    with pytest.raises(error) as refused:
        call(found)
    found.save_many(np.arange(3), after)
    assert (before == after).all() and found.sizes()[0] == 3 and "\n" not in str(refused.value)


def test_a_bank_in_use_turns_every_call_away() -> None:
    """As in a fork in the middle of a call: nobody will ever be done."""
    import threading

    found, said, done = bank(), [], threading.Event()
    many = np.zeros(300_000, np.int64)
    probs, features = np.tile(PROBS[0], (300_000, 1)), np.tile(FEATURES[0], (300_000, 1))
    out = np.empty(300_000, STEP_DTYPE).view(np.uint8)

    def work() -> None:
        found.run(many, probs, features, out, None)
        done.set()

    calls: list[Callable[[], Any]] = [
        lambda: found.run(SLOTS, PROBS, FEATURES, OUT, None),
        lambda: found.save_many(np.arange(3), STATE),
        lambda: found.load_many(np.arange(3), STATE),
        lambda: found.reset(SLOTS, False),
        lambda: found.feedback(SLOTS, SLOTS, SLOTS, np.empty(3, np.int8)),
        lambda: found.grow(1),
    ]
    for _ in range(20):
        done.clear()
        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            for at, call in enumerate(calls):
                try:
                    call()
                except RuntimeError as error:
                    said.append((at, str(error)))
        thread.join()
        if {at for at, _ in said} == set(range(len(calls))):
            break
        found = bank()
    assert {at for at, _ in said} == set(range(len(calls)))
    assert all("in use by another thread" in text and "\n" not in text for _, text in said)


TABLES: list[tuple[type[Exception], Callable[[], Any]]] = [
    (TypeError, lambda: _core.quantize_probs(PROBS)),  # type: ignore[call-arg]
    (ValueError, lambda: _core.quantize_probs(PROBS, np.empty((3, 3), np.int8), 2)),
    (ValueError, lambda: _core.quantize_probs(PROBS * 2, np.empty((3, 3), np.int8), 3)),
    (ValueError, lambda: _core.quantize_probs(PROBS, np.empty((2, 3), np.int8), 3)),
    (TypeError, lambda: _core.quantize_features(FEATURES)),  # type: ignore[call-arg]
    (ValueError, lambda: _core.quantize_features(FEATURES, np.empty((3, 2), np.int8), 2, 0.0, 0)),
    (ValueError, lambda: _core.quantize_features(FEATURES, np.empty((3, 2), np.int8), 3, 1.0, 0)),
    (TypeError, lambda: _core.quantize_features(np.ones((1, 2), np.int8), np.empty(2, np.int8), 2, 1.0, 0)),
    (TypeError, lambda: _core.quantize_features(np.ones((1, 2), np.uint8), np.empty(2, np.int8), 2, 1.0, 0)),
    (ValueError, lambda: _core.quantize_features(FEATURES * np.nan, np.empty((3, 2), np.int8), 2, 1.0, 0)),
    (ValueError, lambda: _core.quantize_features(FEATURES, np.empty((2, 2), np.int8), 2, 1.0, 0)),
    (TypeError, lambda: _core.decision_rows("", 3, 0)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("at", range(len(TABLES)))
def test_tables_that_are_refused(at: int) -> None:
    error, call = TABLES[at]
    with pytest.raises(error):
        call()


def test_tables_of_integers_and_floats() -> None:
    target = np.empty((1, 2), np.int8)
    _core.quantize_probs(np.array([[5, -5]], np.int8), target, 2)
    assert target.tolist() == [[5, -5]]
    _core.quantize_features(np.array([[-1e9, 1e9]]), target, 2, 0.5, 3)
    assert target.tolist() == [[-128, 127]]


def test_every_way_to_write_a_posterior_is_read_alike() -> None:
    units = np.array([200, 30, 26], np.uint8)
    expected = FULL.core().step((units.astype(int) - 128).astype(np.int8), FEATURES[0], False)
    floats = (ctypes.c_double * 3)(*(units / 256))
    for probs in (units, memoryview(units).cast("@B"), floats, units / np.float32(256)):
        assert FULL.core().step(probs, FEATURES[0], False) == expected  # type: ignore[arg-type]
    plain = Params(classes=3)
    assert plain.core().step(units, FEATURES[0], False) == plain.core().step(units, None, False)


def test_labels_of_no_step_and_no_class_are_answered() -> None:
    out = np.zeros(4, np.int8)
    many = np.array([-1, 2**40, 0, 0]), np.array([0, 0, -(2**40), 2**40])
    bank().feedback(np.zeros(4, np.int64), *many, out)
    assert (out < 0).all()


@pytest.mark.parametrize(("classes", "horizon"), [(1, 0), (1001, 0), (3, -1), (3, 3), (3, 13)])
def test_frames_of_no_monitor(classes: int, horizon: int) -> None:
    assert _core.decision_rows(bytes(100), classes, horizon) is None


def bits(*parts: tuple[int, int]) -> bytes:
    """Return (value, width) one after the other, then zeros up to a whole byte."""
    text = "".join(f"{value:0{width}b}" for value, width in parts if width)
    return int(text + "0" * (-len(text) % 8), 2).to_bytes((len(text) + 7) // 8, "big")


FIRST = [(0, 8), (0, 16), (0, 16), (0, 32), (0, 32), (0, 16), (0, 16), (0, 16)]
"""A first decision: quiet, class 0, every number 0."""

ORDERS = (12, 12, 1, 11, 8, 1, 1)


def number(value: int, order: int) -> list[tuple[int, int]]:
    """Return a number as SPEC.md section 18 writes it."""
    if value < 1 << order:
        return [(1, 1), (value, order)]
    width = value.bit_length() - order
    return [(1, width + 1), (value - (1 << (value.bit_length() - 1)), value.bit_length() - 1)]


@pytest.mark.parametrize("which", range(7))
def test_a_number_that_is_too_large_is_no_frame(which: int) -> None:
    for value, fits in ((0, True), (2 * 65535, which in (1, 2, 3, 4, 5, 6)), (2 * 65536, which in (2, 3))):
        values = [0] * 7
        values[which] = value
        parts = [*FIRST, (0, 8)]
        for each, order in zip(values, ORDERS, strict=True):
            parts += number(each, order)
        rows = _core.decision_rows(bits(*parts), 3, 0)
        assert (rows is not None and len(rows) == 2 * STEP_DTYPE.itemsize) == fits, (which, value)


def test_frames_that_end_too_early_or_go_too_far() -> None:
    assert len(_core.decision_rows(bits(*FIRST), 3, 0) or b"") == STEP_DTYPE.itemsize
    assert _core.decision_rows(bits(*FIRST, (0, 8), (0, 40)), 3, 0) is None  # a number without an end
    assert _core.decision_rows(bits(*FIRST, (0, 8), (1, 30), (0, 60)), 3, 0) is None  # too wide
    assert _core.decision_rows(bits(*FIRST, (0, 8), (0, 7)), 3, 0) is None
    assert _core.decision_rows(bits(*FIRST)[:-1], 3, 0) is None
    assert _core.decision_rows(bits((0, 6), (1, 1), (3, 2), (0, 1), *FIRST[1:]), 3, 0) is None  # class 3 of 3
    assert _core.decision_rows(bits((0, 7), (1, 1), (3, 2), *FIRST[1:]), 3, 0) is None  # answer
    assert _core.decision_rows(bits((1, 1), (0, 5), (20, 5), (0, 2), *FIRST[1:]), 3, 0) is None  # reason
    assert _core.decision_rows(b"", 3, 0) is None
    flagged = [(1, 1), (0, 5), (0, 5), (0, 2), *FIRST[1:]]
    assert len(_core.decision_rows(bits(*flagged, (0, 3)), 3, 0) or b"") == STEP_DTYPE.itemsize
    assert _core.decision_rows(bits(*flagged, (1, 3)), 3, 0) is None  # something behind the last one


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"centers": 5}, TypeError),
        ({"centers": bytes(3)}, ValueError),
        ({"evidence": 5}, TypeError),
        ({"instant": {}}, KeyError),
        ({"lags": 5}, TypeError),
    ],
)
def test_params_that_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        _core.Core({**FULL.integers(), **change})


class Strange(dict[str, Any]):
    """Says no in its own way where an entry may be missing."""

    def __getitem__(self, key: str) -> Any:
        if key in ("evidence", "slope_"):
            raise ZeroDivisionError
        return super().__getitem__(key)


def test_a_dict_that_fails_is_heard() -> None:
    with pytest.raises(ZeroDivisionError):
        _core.Core(Strange(FULL.integers()))


def test_modules_of_others_are_collected() -> None:
    spec = importlib.util.spec_from_file_location("tcuq._core", _core.__file__)
    assert spec is not None and spec.loader is not None
    empty = importlib.util.module_from_spec(spec)
    gc.collect()  # with a state that nothing was put into
    full = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(full)
    assert full.Step is not _core.Step
    for each in (full.Step, full.SIGNAL_NAMES):
        assert any(found is full for found in gc.get_referrers(each))
    core = full.Core(FULL.integers(), FULL.feature_scale)
    kind = full.Step
    del full, empty, each
    gc.collect()
    assert type(core.step(PROBS[0], FEATURES[0], True)) is kind


def test_a_class_beyond_the_names_has_none() -> None:
    step = CORE_TYPE(FULL.integers()).step(PROBS[1], FEATURES[1], False, ("a",))
    assert (step.prediction, step.prediction_name) == (1, None)
