# SPDX-License-Identifier: MIT
"""Every request for memory that the binding makes fails once: an exception, nothing changed, nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import extensions
import pytest

CASES = extensions.ROOT / "tests/support/memory_cases.py"


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    return extensions.requests(CASES, tmp_path_factory.mktemp("failing"))


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("Core", 40),
        ("Bank", 40),
        ("Core.step", 20),
        ("Bank.run", 3),
        ("module", 100),
    ],
)
def test_each_request_fails_once_without_harm(counts: dict[str, list[int]], name: str, least: int) -> None:
    if name == "module" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("a free-threaded Python crashes by itself where it has no memory for a type")
    # The program itself checks; a case with few requests would have checked nothing.
    assert min(counts[name]) >= least


def ran(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that makes requests for memory fail."""
    extensions.build(
        sys.executable, [extensions.ROOT / "tests/c/failing_memory.c"], folder / "failing_memory"
    )
    path = os.pathsep.join([str(folder), str(CASES.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


def test_a_head_is_never_lost_for_lack_of_memory(tmp_path: Path) -> None:
    """Looking it up took memory; without any, the monitor was made without the head."""
    program = """
import failing_memory
from functools import partial
from memory_cases_params import FULL
from tcuq._core import Core
make, found = partial(Core, FULL.integers()), set()
for n in range(1, 200):
    try:
        found.add(failing_memory.call(make, n, False).fingerprint())
    except MemoryError:
        pass
print(found == {FULL.core().fingerprint()})
"""
    done = ran(program, tmp_path)
    assert done.stdout == "True\n", done.stderr


def test_runs_are_whole_or_not_at_all(tmp_path: Path) -> None:
    """What a run returns was asked for after the steps were taken, and could then be missing."""
    program = """
import failing_memory
from functools import partial
from memory_cases_params import FULL
import numpy as np
from tcuq import Bank, Monitor
monitor, bank = Monitor(FULL), Bank(FULL, 1000)
probs, features = np.full((4, 3), -42, np.int8), np.zeros((4, 2), np.int8)
run = partial(monitor.run, probs, features)
grow, failed = partial(bank.grow, 300), [0, 0]
for n in range(1, 150):
    before = monitor.steps, len(bank)
    for which, call in enumerate((run, grow)):
        try:
            failing_memory.call(call, n, False)
        except MemoryError:
            failed[which] += 1
            assert (monitor.steps, len(bank))[which] == before[which], (which, n)
print(failed[0] > 5 and failed[1] > 2, failed)
"""
    done = ran(program, tmp_path)
    assert done.stdout.startswith("True"), done.stdout + done.stderr
