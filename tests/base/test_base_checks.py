# SPDX-License-Identifier: MIT
"""Numbers that are checked and drawn."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from refusals import refused

from tcuq.base.checks import number
from tcuq.recording.rand import BLOCK, Numbers, waits


def test_what_is_no_number_is_refused_with_what_is_expected() -> None:
    odd: list[Any] = [[], {}, object, "1", None, True]
    for value in odd:
        with refused("value", "blend"):
            number("blend", value, 0, 1)
    with refused("value", "blend"):
        number("blend", 10**400, 0, 1)


def test_each_bound_is_drawn_as_alone() -> None:
    bounds = [1, 2, 10, 2**31]
    one, each = Numbers(3, "x"), Numbers(3, "x")
    assert each.below(len(bounds), bounds).tolist() == [int(one.below(1, bound)[0]) for bound in bounds]


def test_waits_go_on_over_blocks_without_a_hit() -> None:
    mean = 3 * BLOCK
    drawn = np.array(list(islice(waits(Numbers(1, "long"), Fraction(mean)), 200)))
    assert drawn.max() > 2 * BLOCK and 0.8 < drawn.mean() / mean < 1.2
