# SPDX-License-Identifier: MIT
"""The binding in a Python without its lock: built, imported without turning it on, shared by threads."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from pathlib import Path

import extensions
import pytest

from tcuq import Params

VARIABLE = "TCUQ_FREE_THREADED_PYTHON"
PROGRAM = """
import array, importlib.util, pickle, sys, threading
spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
_core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(_core)
print("lock", sys._is_gil_enabled())
fields = pickle.load(open(sys.argv[2], "rb"))
row = array.array("d", [0.25, 0.25, 0.5])
table = memoryview(bytearray(bytes([64, 64, 128]) * 500)).cast("B", (500, 3))
slots = memoryview(array.array("q", [0] * 500))

def together(*works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

core, odd = _core.Core(fields), []
def step():
    for _ in range(3000):
        core.step(row, None, True)
def run():
    out = bytearray(500 * 80)
    for _ in range(6):
        core.run(table, None, out, None)
def look():
    other = _core.Core(fields)
    for _ in range(2000):
        odd.append(core.verify() or other.load(core.save()) or core.counters()[0] > 15000)
together(step, step, step, run, run, look, look)
alone = _core.Core(fields)
for _ in range(15000):
    alone.step(row, None, False)
print("monitor", core.save() == alone.save(), any(odd))

bank, taken, refused = _core.Bank(fields), [0] * 4, []
bank.grow(1)
def use(which):
    out = bytearray(500 * 80)
    for _ in range(200):
        try:
            bank.run(slots, table, None, out, None)
            taken[which] += 1
            bank.grow(1)
        except RuntimeError as error:
            refused.append(str(error))
        assert bank.sizes()[0] >= 1
together(*(lambda which=which: use(which) for which in range(4)))
state = bytearray(bank.sizes()[2])
bank.save_many(memoryview(array.array("q", [0])), state)
alone = _core.Core(fields)
out = bytearray(500 * 80)
for _ in range(sum(taken)):
    alone.run(table, None, out, None)
turned = {"in use by another thread" in each for each in refused}
print("bank", alone.save() == bytes(state), turned <= {True})
"""


def free_threaded() -> str:
    named = os.environ.get(VARIABLE)
    found = named or shutil.which("python3.14t") or shutil.which("python3.13t")
    if not found:
        pytest.skip(f"no free-threaded Python: put python3.13t on the path, or name one in {VARIABLE}")
    return found


def test_threads_without_a_lock(tmp_path: Path) -> None:
    python = free_threaded()
    assert extensions.facts(python)[2], f"{python} is not a free-threaded Python"
    library = extensions.build(python, extensions.SOURCES, tmp_path / "_core", "-std=c99", "-O1")
    (tmp_path / "fields").write_bytes(pickle.dumps(Params(classes=3, reference=0.3).integers()))
    done = subprocess.run(
        [python, "-X", "faulthandler", "-c", PROGRAM, str(library), str(tmp_path / "fields")],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    expected = ["lock False", "monitor True False", "bank True True"]
    assert done.stdout.splitlines() == expected, done.stderr
