# SPDX-License-Identifier: MIT
"""Damaged files for every reader, a few of each with fixed seeds; and every file that one once failed on.

`make fuzz` does the same for longer, and in processes of their own.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

FUZZ = ROOT / "fuzz"
FOUND = FUZZ / "corpus" / "found"
CASES = 12
"""Of each reader."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the watch over a case needs POSIX timers")


def module(name: str) -> Any:
    if str(FUZZ) not in sys.path:
        sys.path.append(str(FUZZ))
    return importlib.import_module(name)


def needed(name: str) -> None:
    """Skip a reader whose package is not installed."""
    package = module("reader_targets").missing(name)
    if package is not None:
        pytest.skip(f"{package} is not installed")


NAMES = sorted(path.name for path in (FUZZ / "corpus" / "readers").iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_accepted_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    needed(name)
    worker = module("reader_watch").Worker(name, 17, tmp_path, tmp_path / "out")
    for content in worker.seeds:
        assert worker.judge(content) == ""
    assert worker.counts["accepted"] >= 1  # the seeds are files that can be read
    for number in range(CASES):
        worker.case(number)
    assert not worker.said


@pytest.mark.parametrize(
    "path", sorted(FOUND.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_files_that_a_reader_once_failed_on(path: Path, tmp_path: Path) -> None:
    name = path.parent.name
    needed(name)
    assert module("reader_watch").Worker(name, 0, tmp_path, tmp_path / "out").judge(path.read_bytes()) == ""
