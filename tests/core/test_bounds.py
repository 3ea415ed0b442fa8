# SPDX-License-Identifier: MIT
"""Bounds of a step: every loop has one, what has none is refused, and no emulated step exceeds them."""

from __future__ import annotations

import shutil
from pathlib import Path

import bounds
import listings
import numpy as np
import pytest
import step_loops
from places import CORE
from tiers import first_quick

from tcuq.monitor.params import Params
from tcuq_device.boards import board
from tcuq_device.cost.stock import monitors
from tcuq_device.tools import missing

needs_boards = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def test_every_loop_of_a_step_has_a_bound() -> None:
    assert len(step_loops.bounds_by_line()) >= 30


def test_a_loop_without_a_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(CORE, tmp_path / "core")
    with (tmp_path / "core" / "tcuq.c").open("a", encoding="utf-8") as file:
        file.write("static void f(int n)\n{\n    while (n > 0) {\n        n--;\n    }\n}\n")
    monkeypatch.setattr(step_loops, "CORE", tmp_path / "core")
    with pytest.raises(ValueError, match=r"^tcuq\.c:\d+ is a loop without a bound, expected one"):
        step_loops.bounds_by_line()


def test_loops_of_a_listing() -> None:
    assert listings.natural_loops([[1], [2, 4], [3], [2, 1], []]) == {1: {1, 2, 3}, 2: {2, 3}}
    with pytest.raises(ValueError, match="two entries"):
        listings.natural_loops([[1, 2], [2], [1, 3], []])


def function(*lines: str, name: str = "f", line: int | None = None) -> listings.Function:
    """Return a function of instructions of two bytes; `>4` at the end jumps to address 4."""
    found = listings.Function(name)
    for number, text in enumerate(lines):
        words, _, goal = text.partition(">")
        kind, _, operands = words.strip().partition(" ")
        place = None if line is None else ("tcuq.c", line)
        found.lines.append((2 * number, place, kind, operands, int(goal) if goal else None))
    return found


def test_what_follows_an_instruction() -> None:
    # Constants behind a return are reached by no way; a return with a condition also goes on.
    body = function("cbz r0 >6", "popne {r4, pc}", "b.n >0", "bx lr", ".word 1")
    assert listings.followers(body) == [[1, 3], [2], [0], [], []]
    assert listings.reached(listings.followers(body)) == {0, 1, 2, 3}
    for text in ("tbb [pc, r0]", "mov pc, r3", "ldr pc, [r3]", "bx r3", "blx r3"):
        with pytest.raises(ValueError, match="expected no"):
            listings.followers(function(text))


def test_two_loops_that_begin_at_one_instruction_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    body = function("nop", "bne.n >0", "bne.n >0", "bx lr", line=1)
    body.lines[2] = (*body.lines[2][:1], ("tcuq.c", 2), *body.lines[2][2:])
    monkeypatch.setattr(step_loops, "bounds_by_line", lambda: {("tcuq.c", 1): "4", ("tcuq.c", 2): "9"})
    assert step_loops.turns(body, {}) == [50, 50, 50, 1]


def test_functions_of_a_library_are_known_or_refused() -> None:
    with pytest.raises(ValueError, match="__divsi3 is called"):
        step_loops.turns(function("bx lr", name="__divsi3"), {})
    with pytest.raises(ValueError, match="__udivsi3 takes 1 bits a turn, expected 8"):
        step_loops.turns(function("adcs r2, r2", "bcs.n >0", "bx lr", name="__udivsi3"), {})
    with pytest.raises(ValueError, match="__aeabi_uidivmod has 1 jumps back, expected 0"):
        step_loops.turns(function("bne.n >0", "bx lr", name="__aeabi_uidivmod"), {})
    with pytest.raises(ValueError, match="memcpy stores 0 bytes"):
        step_loops.copy_bound(function("bne.n >0", "bx lr", name="memcpy"), 4)
    copy = function("ldrb.w r3, [r1], #1", "strb.w r3, [r0], #1", "bne.n >0", "bx lr", name="memcpy")
    assert step_loops.copy_bound(copy, 5) == 3 * 6 + 1


def test_hostile_rows_reach_the_ends() -> None:
    rows = bounds.hostile(10, 32)
    assert (rows[:, :10] == -128).all(1).any() and (rows[:, :10] == 127).all(1).any()
    assert rows.max() == 127 and len(np.unique(rows, axis=0)) > 400


@needs_boards
@pytest.mark.parametrize("core", first_quick(["Cortex-M0", "Cortex-M4", "Cortex-M7"]))
@pytest.mark.parametrize("name", first_quick(["standard, class mix", "paper", "standard"]))
def test_no_step_exceeds_its_bounds(core: str, name: str) -> None:
    found = bounds.measured(monitors()[name], board(bounds.CORES[core]), "-O2", steps=200)
    assert 2000 < found.most <= found.bound < 6 * found.most
    assert 200 < found.step_stack < found.stack <= found.stack_bound <= found.stack + 40


@needs_boards
def test_the_bound_grows_with_the_sizes() -> None:
    shapes = [Params(classes=classes, features=4, lags=(1,)) for classes in (2, 20)]
    small, large = (bounds.measured(params, board("stm32l432kc"), "-Os", steps=20) for params in shapes)
    assert 500 < small.bound < large.bound and small.kept and large.kept


@needs_boards
def test_no_division_exceeds_its_bound() -> None:
    bound, most = bounds.divisions()
    assert 200 < most <= bound < 500
