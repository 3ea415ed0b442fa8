# SPDX-License-Identifier: MIT
"""Bounds of a step: every loop has one, what has none is refused, and no emulated step exceeds them."""

from __future__ import annotations

import bounds
import pytest
import step_loops
from tiers import first_quick

from tcuq_device.boards import board
from tcuq_device.cost.stock import monitors
from tcuq_device.tools import missing

needs_boards = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def test_every_loop_of_a_step_has_a_bound() -> None:
    assert len(step_loops.bounds_by_line()) >= 30


@needs_boards
@pytest.mark.parametrize("core", first_quick(["Cortex-M0", "Cortex-M4", "Cortex-M7"]))
@pytest.mark.parametrize("name", first_quick(["standard", "paper"]))
def test_no_step_exceeds_its_bounds(core: str, name: str) -> None:
    found = bounds.measured(monitors()[name], board(bounds.CORES[core]), "-O2", steps=200)
    assert 2000 < found.most <= found.bound < 6 * found.most
    assert 200 < found.step_stack < found.stack <= found.stack_bound <= found.stack + 40


@needs_boards
def test_no_division_exceeds_its_bound() -> None:
    bound, most = bounds.divisions()
    assert 200 < most <= bound < 500
