# SPDX-License-Identifier: MIT
"""Numbers that are checked and drawn."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from refusals import refused

from tcuq.base.checks import known, number
from tcuq.base.rand import BLOCK, Numbers, waits


def test_what_is_no_number_is_refused_with_what_is_expected() -> None:
    odd: list[Any] = [[], {}, object, "1", None, True]
    for value in odd:
        with refused("value", "blend"):
            number("blend", value, 0, 1)
    with refused("value", "blend"):
        number("blend", 10**400, 0, 1)


@pytest.mark.parametrize(
    ("name", "names", "message"),
    [
        ("mnst", ["cifar10", "mnist"], "thing 'mnst' is unknown; did you mean mnist? (see)"),
        ("MNIST", ["cifar10", "mnist"], "thing 'MNIST' is unknown; did you mean mnist? (see)"),
        ("room", ["echo", "room_reverb"], "thing 'room' is unknown; did you mean room_reverb? (see)"),
        ("nosuch", ["drop", "postnet"], "thing 'nosuch' is unknown, expected one of drop, postnet (see)"),
        ("foo", ["mnist", "cifar10"], "thing 'foo' is unknown, expected one of mnist, cifar10 (see)"),
        (".", ["windowed_mean"], "thing '.' is unknown, expected one of windowed_mean (see)"),
        ("huge", ["full", "trial"], "thing 'huge' is unknown, expected one of full, trial (see)"),
        ("", ["a"], "thing '' is unknown, expected one of a (see)"),
        ("a", [], "thing 'a' is unknown, and there is none to choose from (see)"),
    ],
)
def test_only_a_close_name_is_offered(name: str, names: list[str], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        known("thing", name, names, " (see)")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("count", "end"), [(13, "n11, n12"), (14, "n11 and 2 more"), (40, "n11 and 28 more")]
)
def test_many_names_are_listed_in_part(count: int, end: str) -> None:
    with refused("unknown"):
        known("thing", "???", [f"n{number_}" for number_ in range(count)])


def test_each_bound_is_drawn_as_alone() -> None:
    bounds = [1, 2, 10, 2**31]
    one, each = Numbers(3, "x"), Numbers(3, "x")
    assert each.below_each(bounds).tolist() == [int(one.below(1, bound)[0]) for bound in bounds]


def test_waits_go_on_over_blocks_without_a_hit() -> None:
    mean = 3 * BLOCK
    drawn = np.array(list(islice(waits(Numbers(1, "long"), Fraction(mean)), 200)))
    assert drawn.max() > 2 * BLOCK and 0.8 < drawn.mean() / mean < 1.2
