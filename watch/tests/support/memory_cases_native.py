# SPDX-License-Identifier: MIT
"""Calls of the fleet's compiled part with each request for memory failing in turn; run as a program."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from memory_cases import Case, tried
from native_calls import order_call, tally_call

from tcuq_watch import _native


def case(name: str, arrays: list[Any]) -> Case:
    """Return a call, what its arrays hold, and how to go back to before it."""
    before = [array.copy() for array in arrays]

    def undo() -> None:
        for array, old in zip(arrays, before, strict=True):
            array[...] = old

    return Case(name, partial(getattr(_native, name), *arrays), lambda: [a.tobytes() for a in arrays], undo)


if __name__ == "__main__":
    sys.exit(tried([case("tally", tally_call()), case("order", order_call())]))
