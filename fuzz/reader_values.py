# SPDX-License-Identifier: MIT
"""Odd values for JSON and CSV."""

from __future__ import annotations

import copy
import random
from typing import Any

NUMBERS = (
    "0", "-0", "-1", "1", "127", "128", "-129", "1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity",
    "9" * 19, "9" * 400, "9" * 5000, "0.1", "1.5", "1e9", str(2**31), str(2**32), str(2**53 + 1), str(2**63),
    str(2**64), "1_0", "0x10", " 1", "1 ", "+1", ".5", "5.", "1e5", "\u0664",
)  # fmt: skip
"""As they are written."""

TEXTS = (
    "", " ", "a", "\ud800", "\x00", "a\nb", "\x1b[2J", "\u202e", "\ufeff", "x" * 70, "x" * 9000, "é",
    "\u2028", "'", '"', "\\", "../../etc/passwd", "/dev/zero", "nan", "null", "%s%n", "{}", "=1+1",
)  # fmt: skip

WORDS = ("probs", "label", "segment", "step", "p0", "p1", "f0", "true", "false", "names", "risk", "device")

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 255, 256, 1000, 1001, 2**31, 2**53, 2**63, 2**64, 10**30, 10**310, 0.5,
    -0.0, 1.5, 1e308, float("nan"),
    float("inf"), -float("inf"), 5e-324, [], {}, [[]], [1], [None], ["a"], {"a": 1},
    [0.5, 0.5], [1, 2, 3], [True, False], [1e308, 1e308], {"": {}}, [[1, 2], [3]], "tcuq-params",
)  # fmt: skip


def odd_value(draw: random.Random) -> Any:
    """Return a value that nobody expects."""
    kind = draw.random()
    if kind < 0.6:
        return copy.deepcopy(draw.choice(VALUES))
    if kind < 0.8:
        return draw.choice((*TEXTS, *WORDS))
    if kind < 0.9:
        return [copy.deepcopy(draw.choice(VALUES)) for _ in range(draw.choice((2, 5, 300, 2000)))]
    deep: Any = copy.deepcopy(draw.choice(VALUES))
    for _ in range(draw.choice((5, 70, 400))):
        deep = [deep] if draw.random() < 0.5 else {"a": deep}
    return deep


def changed_value(found: Any, draw: random.Random) -> Any:
    """Return a JSON value with one of its parts changed, removed, added or put in another's place."""
    paths = list(_paths(found, ()))
    path = draw.choice(paths[:4000])
    kind = draw.random()
    if not path:
        return odd_value(draw) if kind < 0.3 else found
    holder = found
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    if kind < 0.45:
        holder[key] = odd_value(draw)
    elif kind < 0.6 and type(holder[key]) in (int, float) and abs(holder[key]) < 1e18:
        holder[key] = draw.choice(
            (-holder[key], holder[key] + 1, holder[key] * 2, float(holder[key]), 0, 1e-9)
        )
    elif kind < 0.7:
        del holder[key]
    elif kind < 0.8:
        other: Any = found
        for step in draw.choice(paths[:4000]):
            other = other[step]
        holder[key] = copy.deepcopy(other)
    elif isinstance(holder, dict):
        holder[draw.choice((*TEXTS, *WORDS))] = odd_value(draw)
    elif kind < 0.9:
        holder.insert(key, odd_value(draw))
    else:
        holder[:] = copy.deepcopy(holder) + [copy.deepcopy(holder[key])] * draw.choice((1, 30))
    return found


def _paths(value: Any, before: tuple[Any, ...]) -> Any:
    yield before
    if len(before) > 30:
        return
    if isinstance(value, dict):
        for key in value:
            yield from _paths(value[key], (*before, key))
    elif isinstance(value, list):
        for place in range(min(len(value), 200)):
            yield from _paths(value[place], (*before, place))
