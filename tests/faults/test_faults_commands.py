# SPDX-License-Identifier: MIT
"""Everything that writes, with a fault at any file operation: the old output or the new one, never a mix.

A sample of the points; `make fuzz` tries all of them.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_cases import Case, Kept, all_cases, folder_cases, kept_cases
from fault_checks import Going, Tried, sampled
from fleet_runs import folder_in_memory

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="faults are tried in forked processes")

CASES = [pytest.param(case, id=case.name) for case in all_cases()]
SYSTEMS = {"all": {}, "no exchange": {"exchange": False}, "no links": {"links": False}}
FOLDERS = [
    pytest.param(
        case,
        system,
        id=f"{name}-{case.name}",
        marks=pytest.mark.slow if system and case.name == "a new folder" else (),
    )
    for name, system in SYSTEMS.items()
    for case in folder_cases()
]
KEPT = [pytest.param(case, id=case.name) for case in kept_cases()]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with folder_in_memory(tmp_path) as folder:
        yield folder / "case"


def tried(each: Tried | Going, faults: int, losses: int) -> None:
    """Try a sample that is another one for each case, and the same in each run."""
    start = zlib.crc32(each.case.name.encode())
    for fault in sampled(each.faults(), faults, start):
        each.fault(fault)
    for loss in sampled(each.losses(2), losses, start):
        each.loss(*loss)
    each.loss(len(each.record.changes), "none", "none")  # what is done stays done


@pytest.mark.parametrize("case", CASES)
def test_a_fault_leaves_the_old_output_or_the_new_one(case: Case, place: Path) -> None:
    tried(Tried(case, place), 10, 6)


@pytest.mark.parametrize(("case", "system"), FOLDERS)
def test_a_folder_is_the_old_one_or_the_new_one(case: Case, system: dict[str, bool], place: Path) -> None:
    tried(Tried(case, place, **system), 10, 8)


@pytest.mark.parametrize("case", KEPT)
def test_what_is_kept_goes_on(case: Kept, place: Path) -> None:
    tried(Going(case, place), 6, 3)
