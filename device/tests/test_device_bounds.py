# SPDX-License-Identifier: MIT
"""Bounds of a step: every loop has one, what has none is refused, and no emulated step exceeds them."""

from __future__ import annotations

import bounds
import numpy as np
import pytest
import step_loops
from tiers import first_quick

from tcuq.monitor.params import Params
from tcuq_device.boards import board
from tcuq_device.cost.stock import monitors
from tcuq_device.tools import missing

needs_boards = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def test_every_loop_of_a_step_has_a_bound() -> None:
    assert len(step_loops.bounds_by_line()) >= 30


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
