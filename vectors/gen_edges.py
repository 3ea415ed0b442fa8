# SPDX-License-Identifier: MIT
"""Cases that take branches of the core which no other case takes: see tools/coverage_c.py."""

from __future__ import annotations

from collections.abc import Iterable

from gen_base import STANDARD_POSTERIORS, Case, Dice, Marks, from_u, one_hot
from gen_learned import INSTANT, learned
from oracle import Instant


def _seen() -> Iterable[Case]:
    """Yield classes that are seen less than half as often as in development, down to the least shares.

    What is seen of them takes 178 steps to halve. A share of 1 has no half; one of 3 is odd, so that the
    ratio goes above its limit of 2.
    """
    name, shares = "edges_seen_half", (30001, 35000, 3, 2, 1)
    dice, classes = Dice(name), len(shares)
    head = Instant(-2 * 65536, INSTANT, shares)
    params = learned(STANDARD_POSTERIORS, classes, 0, dice, instant=head, about=1, anchor=1, warmup=0)
    # One class for long; at the end the others, whose likelihood is raised by now.
    rows = [one_hot(classes, 0, 250 - dice.below(3)) for _ in range(182)]
    rows += [one_hot(classes, c % classes, 120, 40) for c in range(6)]
    marks: Marks = {180: ("save", "load"), 183: ("reset",), 186: ("save", "load")}
    yield Case(name, "classes that are no longer seen", params, from_u(dice, params, rows), marks)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    yield from _seen()
