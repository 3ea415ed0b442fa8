# SPDX-License-Identifier: MIT
"""The injector itself: it finds what careless code does wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_cases import Case, as_command
from fault_checks import Tried
from fleet_runs import folder_in_memory

from tcuq.base.atomic_files import write_whole

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="faults are tried in forked processes")

NEW = "new content\n" * 4


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with folder_in_memory(tmp_path) as folder:
        yield folder / "case"


def prepare(place: Path) -> None:
    (place / "out").mkdir(parents=True)
    (place / "out" / "a.txt").write_text("old")


def in_place(target: Path) -> None:
    target.write_text(NEW)


def without_sync(target: Path) -> None:
    part = target.with_name(".tcuq.part")
    part.write_text(NEW)
    os.replace(part, target)


def without_the_name(target: Path) -> None:
    part = target.with_name(".tcuq.part")
    with open(part, "w") as file:
        file.write(NEW)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, target)


def with_litter(target: Path) -> None:
    part = target.with_name(f".tcuq.{time.monotonic_ns()}")
    write_whole(part, NEW)
    os.replace(part, target)


def unnamed(target: Path) -> None:
    try:
        write_whole(target, NEW)
    except OSError as error:
        raise OSError(error.errno, error.strerror) from None


def tried(write: Callable[[Path], None], place: Path) -> set[str]:
    """Return in which ways a writer is found wanting, by the last words of the complaints."""
    case = Case("a", prepare, lambda place: as_command(lambda: write(place / "out" / "a.txt")))
    each, found = Tried(case, place), set()

    def look(check: Callable[[], None], what: str) -> None:
        try:
            check()
        except AssertionError:
            found.add(what)

    for fault in each.faults():
        look(lambda fault=fault: each.fault(fault), "killed" if isinstance(fault.how, str) else "failed")  # type: ignore[misc]
    for loss in each.losses(2):
        done = loss[0] == len(each.record.changes)
        look(lambda loss=loss: each.loss(*loss), "forgotten" if done else "lost")  # type: ignore[misc]
    return found


@pytest.mark.parametrize(
    ("write", "wrong"),
    [
        pytest.param(lambda target: write_whole(target, NEW), set(), marks=pytest.mark.slow),
        (in_place, {"killed", "failed", "lost", "forgotten"}),
        pytest.param(without_sync, {"failed", "forgotten"}, marks=pytest.mark.slow),
        (without_the_name, {"failed", "forgotten"}),
        (with_litter, {"killed", "failed", "lost", "forgotten"}),
        pytest.param(unnamed, {"failed"}, marks=pytest.mark.slow),
    ],
    ids=["whole", "in place", "not synced", "folder not synced", "litter", "unnamed"],
)
def test_careless_writers_are_found(write: Callable[[Path], None], wrong: set[str], place: Path) -> None:
    assert tried(write, place) == wrong
