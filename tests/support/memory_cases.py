# SPDX-License-Identifier: MIT
"""Every call of the binding with each of its requests for memory failing in turn; run as a program.

It needs the module of tests/c/failing_memory.c on its path. One line a case says how many requests there are.
"""

from __future__ import annotations

import _imp
import contextlib
import gc
import importlib.util
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import failing_memory  # type: ignore[import-not-found]
import numpy as np
from memory_cases_params import FULL

from tcuq import _core
from tcuq.monitor.steps import STEP_DTYPE

COUNT = len(_core.SIGNAL_NAMES)

MOST = 5000
"""Requests of one call; a case that has more does not end."""

KEPT = 300
"""More calls than Python keeps of what was freed, per kind."""

PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
FEATURES = np.array([[1.0, -1.0], [0.5, 2.0], [3.0, 0.0]])
SLOTS = np.array([0, 2, 0])


def nothing() -> None:
    """Stand for a state that a call does not have."""


REFUSED = (ValueError, TypeError, BufferError, KeyError)
"""What a call may say that is refused anyway; text that there is no memory for is left out of it."""


class Case(NamedTuple):
    """A call, what its object holds, and how to go back to before it."""

    name: str
    run: Callable[[], Any]
    state: Callable[[], Any] = nothing
    undo: Callable[[], Any] = nothing


def core_cases() -> list[Case]:
    core = FULL.core()
    start = core.save()
    out, signals = np.empty(3, STEP_DTYPE).view(np.uint8), np.empty((3, COUNT), np.uint16)

    def back() -> None:
        assert core.load(start) == 0

    def case(name: str, run: Callable[[], Any]) -> Case:
        return Case(f"Core.{name}", run, core.save, back)

    return [
        Case("Core", FULL.core),
        # A step counts, also where there is no memory for what it says.
        Case("Core.step", partial(core.step, PROBS[0], FEATURES[0], True), undo=back),
        Case("Core.step plain", partial(core.step, PROBS[0], FEATURES[0], False), undo=back),
        case("run", partial(core.run, PROBS, FEATURES, out, signals)),
        case("reset", core.reset),
        case("save", core.save),
        case("load", partial(core.load, start)),
        case("load refused", partial(core.load, b"")),
        case("verify", core.verify),
        # None was taken yet; a label that counts asks for no memory either.
        case("feedback", partial(core.feedback, 0, 1)),
        case("fingerprint", core.fingerprint),
        case("sizes", core.sizes),
        case("counters", core.counters),
    ]


def bank_cases() -> list[Case]:
    held = [FULL.bank()]
    held[0].grow(3)
    every, zeros = np.arange(3), np.zeros(3, np.int64)

    def states() -> bytes:
        bank = held[0]
        found = np.empty((bank.sizes()[0], bank.sizes()[2]), np.uint8)
        bank.save_many(np.arange(len(found)), found)
        return found.tobytes()

    start = np.frombuffer(states(), np.uint8).copy()
    out, signals = np.empty(3, STEP_DTYPE).view(np.uint8), np.empty((3, COUNT), np.uint16)
    saved, broken = np.empty_like(start), np.zeros_like(start)

    def back() -> None:
        held[0] = FULL.bank()
        held[0].grow(3)

    def case(name: str, run: Callable[[_core.Bank], Any]) -> Case:
        return Case(f"Bank.{name}", lambda: run(held[0])(), states, back)

    many = FULL.bank()
    many.grow(300)  # more than the numbers that Python holds in store

    return [
        Case("Bank", FULL.bank),
        Case("Bank.grow many", partial(many.grow, 0), many.sizes),
        case("run", lambda bank: partial(bank.run, SLOTS, PROBS, FEATURES, out, signals)),
        case("save_many", lambda bank: partial(bank.save_many, every, saved)),
        case("load_many", lambda bank: partial(bank.load_many, every, start)),
        case("load_many refused", lambda bank: partial(bank.load_many, every, broken)),
        case("feedback", lambda bank: partial(bank.feedback, SLOTS, zeros, zeros, np.empty(3, np.int8))),
        case("reset", lambda bank: partial(bank.reset, SLOTS, False)),
        case("reset everything", lambda bank: partial(bank.reset, SLOTS, True)),
        case("grow", lambda bank: partial(bank.grow, 1000)),
        case("sizes", lambda bank: partial(bank.sizes)),
    ]


def table_cases() -> list[Case]:
    """Return functions without a state, refusals and the module itself."""
    target, features = np.empty((3, 3), np.int8), np.empty((3, 2), np.int8)
    core, fields = FULL.core(), FULL.integers()
    wrong = {**fields, "slope": 90, "steep_slope": 70}
    spec = importlib.util.spec_from_file_location("tcuq._core", _core.__file__)
    assert spec is not None

    def module() -> None:
        _imp.exec_dynamic(_imp.create_dynamic(spec))

    frame = bytes(40)
    return [
        Case("quantize_probs", partial(_core.quantize_probs, PROBS, target, 3)),
        Case("quantize_features", partial(_core.quantize_features, FEATURES, features, 2, 0.25, 0)),
        Case("decision_rows", partial(_core.decision_rows, frame, 3, 4)),
        Case("rule", partial(_core.Core, wrong)),
        Case("range", partial(_core.Core, {**fields, "classes": 0})),
        Case("missing", partial(_core.Core, {})),
        Case("strided", partial(core.step, PROBS[:, 0], None, False)),
        Case("logits", partial(core.step, PROBS[0] * 9, FEATURES[0], False)),
        Case("module", module, undo=gc.collect),  # types lie in cycles
    ]


def drained() -> list[Any]:
    """Return numbers and tuples; while they are held, Python has none in store and must ask for memory."""
    return [[0.5 + each for each in range(KEPT)], [(each,) * 17 for each in range(KEPT)]]


def failing(case: Case, lasting: bool) -> int:
    """Fail each request in turn; return how many there were."""
    before = case.state()
    for n in range(1, MOST):
        seen = np.zeros(3, np.int64)  # a list would hold numbers, which are blocks as well
        for turn in range(3):
            held = drained()
            try:
                failing_memory.call(case.run, n, lasting)
            except MemoryError:
                assert failing_memory.failed()
                assert case.state() == before, f"{case.name}: request {n} left something behind"
            except REFUSED:
                pass
            del held
            case.undo()
            seen[turn] = failing_memory.blocks()
        if not failing_memory.failed():
            return n - 1
        # Python keeps some freed numbers and tuples for later; a leak goes on for ever.
        before_all, rising = int(seen[1]), int(seen[2] > seen[1])
        while rising:
            held = drained()
            with contextlib.suppress(MemoryError, *REFUSED):
                failing_memory.call(case.run, n, lasting)
            del held
            case.undo()
            now = failing_memory.blocks()
            rising = rising + 1 if now > before_all else 0
            before_all = now
            assert rising < KEPT, f"{case.name}: request {n} loses memory each time"
    raise AssertionError(f"{case.name}: more than {MOST} requests")


def tried(cases: list[Case]) -> int:
    """Run all cases, or those that are named."""
    wanted = sys.argv[1:]
    for case in cases:
        if wanted and case.name not in wanted:
            continue
        with contextlib.suppress(*REFUSED):
            case.run()
        case.undo()
        gc.freeze()  # makes the collections of "module" quick
        print(case.name, failing(case, False), failing(case, True), flush=True)
    return 0


def main() -> int:
    cases = [*core_cases(), *bank_cases(), *table_cases()]
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        cases.pop()  # "module": such a Python crashes by itself where it has no memory for a type
    return tried(cases)


if __name__ == "__main__":
    sys.exit(main())
