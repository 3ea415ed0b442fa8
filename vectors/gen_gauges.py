# SPDX-License-Identifier: MIT
"""The lines of `vectors/gauges.txt`: inputs and their gauges, by the reference."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tcuq.reference.gauges import gauges

SHAPES = {
    "picture": (
        *(
            (1, 1, 1),
            (1, 1, 2),
            (1, 2, 3),
            (2, 1, 4),
            (2, 2, 1),
            (3, 3, 1),
            (1, 17, 1),
            (17, 1, 1),
            (5, 7, 2),
        ),
        *((8, 8, 3), (20, 20, 1), (49, 10, 1), (32, 32, 3), (9, 6, 9), (2, 3, 99), (0, 5, 1), (5, 0, 1)),
    ),
    "signal": (
        *((1, 1, 1), (1, 1, 7), (1, 2, 1), (1, 3, 1), (1, 2, 6), (1, 128, 1), (1, 128, 3), (1, 64, 6)),
        *((1, 40, 9), (1, 5, 300), (1, 0, 1), (1, 1, 0)),
    ),
    "table": ((1, 1, 1), (1, 2, 1), (1, 3, 1), (1, 13, 1), (1, 640, 1), (1, 0, 1)),
}
LARGE = (("picture", 2, 65535, 1, "80"), ("picture", 65535, 1, 2, "7f80"), ("picture", 1, 1, 65535, "807f"))
LARGE += (("signal", 1, 65535, 1, "807f"), ("signal", 1, 2, 65535, "7f"), ("table", 1, 65535, 1, "80"))
TOO_LARGE = (("picture", 128, 65535, 2), ("picture", 65535, 65535, 65535), ("signal", 1, 65535, 129))
EXTREMES = ("80", "7f", "807f", "7f80", "00", "ff", "8080807f7f7f", "80000000", "7f01")


def drawn(dice: random.Random, size: int) -> bytes:
    """Return values of a narrow or a wide range, at times a walk."""
    low = dice.randrange(-128, 127)
    high = dice.randrange(low, 128)
    values, now = [], low
    walk = dice.random() < 0.5
    for _ in range(size):
        now = min(high, max(low, now + dice.randint(-3, 3))) if walk else dice.randint(low, high)
        values.append(now & 255)
    return bytes(values)


def lines() -> Iterator[str]:
    """Yield the file."""
    yield "# Gauges (SPEC.md section 20), written by vectors/gen_gauges.py."
    yield "# kind height width channels bytes, repeated until they fill the input, then gauges or refused"
    dice = random.Random(20)
    cases = [(kind, *shape) for kind, shapes in SHAPES.items() for shape in shapes]
    filled: list[tuple[Any, str]] = [(case, text) for case in cases for text in (*EXTREMES, *["drawn"] * 3)]
    filled += [(case, text) for *case, text in LARGE]
    filled += [(case, "00") for case in TOO_LARGE]
    for (kind, h, w, c), text in filled:
        size = h * w * c
        unit = drawn(dice, max(1, min(size, 600))) if text == "drawn" else bytes.fromhex(text)
        whole = unit * (min(size, 2**18) // len(unit) + 1)
        values = [byte - 256 if byte > 127 else byte for byte in whole[:size]]
        found = gauges(kind, (h, w, c), values)
        shown = "refused" if found is None else " ".join(map(str, found))
        yield f"{kind} {h} {w} {c} {unit.hex()}: {shown}"
