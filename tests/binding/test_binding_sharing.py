# SPDX-License-Identifier: MIT
"""Threads, fork, pickle, copy, and objects that run code while the binding reads them."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from forks import forked, needs_fork

from tcuq import Bank, Log, Monitor, Params

PARAMS = Params(classes=3, warmup=0, reference=0.3, names=("a", "b", "c"))
RNG = np.random.default_rng(3)
PROBS = RNG.dirichlet(np.ones(3), 200)
COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_copies_go_on_alone(copied: Callable[[Any], Any]) -> None:
    assert copied(PARAMS).to_json() == PARAMS.to_json()
    monitor, bank = Monitor(PARAMS), Bank(PARAMS, 2)
    monitor.run(PROBS[:100])
    bank.run(np.arange(100) % 2, PROBS[:100])
    again, other = copied(monitor), copied(bank)
    expected = monitor.run(PROBS[100:])
    assert again.run(PROBS[100:]).tobytes() == expected.tobytes() and again.save() == monitor.save()
    slots = np.arange(100) % 2
    assert other.run(slots, PROBS[100:]).tobytes() == bank.run(slots, PROBS[100:]).tobytes()
    found = copied(expected)
    # Not the bytes: numpy leaves those between the fields of a row behind.
    for name in found.dtype.names or ():
        np.testing.assert_array_equal(found[name], expected[name])
    assert found.class_names == expected.class_names
    step = monitor.step(PROBS[0], signals=True)
    assert copied(step) == step and copied(step).reason == step.reason
    log = Log(
        PROBS, labels=np.zeros(200, int), shifted=np.arange(200) % 3, notes=("n",), names=("x", "y", "z")
    )
    twin = copied(log)
    assert np.array_equal(twin.probs, log.probs) and twin.kinds.tolist() == (np.arange(200) % 3).tolist()
    assert (twin.notes, twin.names) == (log.notes, log.names)


@pytest.mark.parametrize("copied", COPIES, ids=["copy", "deepcopy", "pickle"])
def test_the_core_refuses_copies(copied: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        copied(PARAMS.core())
    with pytest.raises(TypeError, match="cannot pickle"):
        copied(PARAMS.bank())


def together(work: Callable[[], Any], count: int = 4) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_share_a_monitor() -> None:
    """Each step is whole; all are taken, in some order."""
    monitor, wrong = Monitor(PARAMS), []
    row = np.full(3, 1 / 3)

    def work() -> None:
        for _ in range(300):
            step = monitor.step(row)
            monitor.verify()
            if step.prediction != 0:
                wrong.append(step)

    together(work)
    alone = Monitor(PARAMS)
    alone.run(np.tile(row, (1200, 1)))
    assert not wrong and monitor.save() == alone.save()


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_monitors_of_its_own() -> None:
    monitor, bank = Monitor(PARAMS), Bank(PARAMS, 2)
    monitor.run(PROBS[:100])
    twin = copy.copy(monitor)

    def child() -> str:
        bank.run([1], PROBS[:1])
        monitor.run(PROBS[100:])
        return monitor.save().hex()

    before = bank.save_many([0, 1]).tobytes()
    told = forked(child)
    assert monitor.save() == twin.save() and bank.save_many([0, 1]).tobytes() == before
    twin.run(PROBS[100:])
    assert told == twin.save().hex()


WRITTEN = """
import sys, threading
import numpy as np
from tcuq import Bank, Params
bank, probs, done = Bank(Params(classes=10, reference=0.3), 1), np.full((20000, 10), -100, np.int8), []
def write():
    rng = np.random.default_rng(0)
    while not done:
        probs[...] = rng.integers(-128, 128, (1, 10))
thread = threading.Thread(target=write)
thread.start()
for _ in range(10):
    steps = bank.run(np.zeros(20000, int), probs)
    assert steps["prediction"].min() >= 0 and steps["prediction"].max() < 10
done.append(1)
thread.join()
print("fine")
"""


def test_rows_that_another_thread_writes_to() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", WRITTEN], capture_output=True, text=True
    )
    assert done.stdout == "fine\n", done.stderr


def test_arrays_that_are_not_aligned() -> None:
    """Bytes that were read from a file may begin anywhere."""

    def odd(values: Any) -> Any:
        found = np.frombuffer(b"x" + np.asarray(values).tobytes(), np.asarray(values).dtype, offset=1)
        assert not found.flags.aligned
        return found

    zeros = np.zeros(2, np.int64)
    assert len(Bank(PARAMS, 1).run(odd(zeros), odd(PROBS[:2]).reshape(2, 3))) == 2
    assert Monitor(PARAMS).step(odd(PROBS[0])).prediction == PROBS[0].argmax()


NUMBER = """
import sys
from tcuq import Params
from tcuq._core import Core

fields = Params(classes=3, reference=0.3).integers()

class Taker:
    def __init__(self, value, work):
        self.value, self.work = value, work
    def __index__(self):
        self.work()
        return self.value

lags = list(fields["lags"])
lags[0] = Taker(lags[0], lambda: lags.clear())
try:
    Core({**fields, "lags": lags})
except IndexError as error:
    print(error)
changed = dict(fields)
changed["classes"] = Taker(3, changed.clear)
try:
    Core(changed)
except KeyError as error:
    print("missing")
class Mean:
    def __index__(self):
        raise RuntimeError("no")
    def __str__(self):
        raise RuntimeError("no text")
for value in (Mean(), 10**30):
    try:
        Core({**fields, "classes": value})
    except (RuntimeError, ValueError) as error:
        print(error)
"""


def test_numbers_that_change_the_dict_or_list_they_are_in() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", NUMBER], capture_output=True, text=True
    )
    expected = ["list index out of range", "missing", "no", f"classes is {10**30}, expected 2 to 1000"]
    assert done.stdout.splitlines() == expected, done.stderr


BUFFER = """
import threading
import numpy as np
from tcuq import Params
params = Params(classes=3, reference=0.3)
core, bank = params.core(), params.bank()
bank.grow(2)
probs, slots = np.array([0.2, 0.3, 0.5]), np.array([0, 1])

class Busy:
    def __init__(self, array, work):
        self.array, self.work = array, work
    def __buffer__(self, flags):
        self.work()
        return memoryview(self.array)
    def __release_buffer__(self, view):
        self.work()

core.step(Busy(probs, lambda: core.step(probs, None, False)), None, False)
print(core.counters()[0])
said = []
def meddle():
    for call in (lambda: bank.grow(100000), lambda: bank.reset(slots, True)):
        try:
            call()
        except RuntimeError as error:
            said.append(str(error)[:18])
bank.reset(Busy(slots, meddle), True)
states = np.empty((2, bank.sizes()[2]), np.uint8)
bank.save_many(Busy(slots, meddle), states)
bank.load_many(Busy(slots, meddle), states)
print(set(said), len(said), bank.sizes()[0])
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have __buffer__ from Python 3.12 on")
def test_buffers_that_use_the_object_that_reads_them() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", BUFFER], capture_output=True, text=True
    )
    assert done.stdout == "3\n{'the bank is in use'} 12 2\n", done.stderr


SUBINTERPRETER = """
try:
    import _interpreters as interpreters
    make = lambda: interpreters.create("legacy")
    run = lambda which, text: interpreters.exec(which, text)
except ImportError:
    import _xxsubinterpreters as interpreters
    make = lambda: interpreters.create(isolated=False)
    run = lambda which, text: interpreters.run_string(which, text)
import tcuq._core
text = '''
import tcuq._core as core
print(core.SIGNAL_NAMES[0], len(core.SIGNAL_NAMES) > 5)
'''
for _ in range(2):
    which = make()
    run(which, text)
    interpreters.destroy(which)
print(tcuq._core.Step.__name__)
"""


def test_each_interpreter_has_objects_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", SUBINTERPRETER], capture_output=True, text=True
    )
    if "No module named '_xxsubinterpreters'" in done.stderr:
        pytest.skip("this Python has no module for interpreters")
    assert done.stdout == "divergence True\ndivergence True\nStep\n", done.stderr
