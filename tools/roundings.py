"""How far the integers of the core are from real numbers, function by function.

`python tools/roundings.py` tries every argument where there are few enough, and every cell of a table at its
edges, thirds and middle otherwise. docs/TRUST.md has the table; a test compares. The functions are
those of `tcuq.reference`, which the core equals bit for bit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable

from tcuq.reference.numbers import (
    S,
    X,
    log_odds,
    logarithm,
    mix,
    natural_logarithm,
    norm,
    power,
    wide_logarithm,
)

ONE = 65536


def worst(arguments: Iterable[int], error: Callable[[int], float]) -> tuple[float, float]:
    """Return the least and the largest error over all arguments."""
    found = [error(x) for x in arguments]
    return min(found), max(found)


def plogp(x: int) -> float:
    """Return the error of an entry of X against its share of the mass."""
    return (X[x] - 192 * x * (9 - math.log2(x))) / (192 * x)


def logistic(z: int) -> float:
    """Return the error of section 7's logistic."""
    value = S[z >> 13] + ((S[(z >> 13) + 1] - S[z >> 13]) * (z & 8191) >> 13) if z < 12 * ONE else 65535
    return value / ONE - 1 / (1 + math.exp(-z / ONE))


def odds(d: int) -> float:
    """Return the error of the log-odds, where they are not cut."""
    exact = 0.5 + (math.log2(d + 128) - math.log2(65664 - d)) / 16
    return log_odds(d) / ONE - min(max(exact, 0.0), 65535 / ONE)


def angle_mantissa(n: int) -> float:
    """Return the relative error of a norm."""
    mantissa, exponent = norm(n)
    return mantissa * 2.0**exponent / math.sqrt(n) - 1


def spaced(low: int, high: int, count: int) -> Iterable[int]:
    """Yield whole numbers from low to high in equal ratios."""
    for i in range(count + 1):
        yield round(low * (high / low) ** (i / count))


ROWS: dict[str, tuple[Callable[[], tuple[float, float]], str]] = {
    "entry of X, a unit of mass (bits)": (lambda: worst(range(1, 513), plogp), "every entry"),
    "logistic": (lambda: worst(range(12 * ONE + 2), logistic), "every argument"),
    "lg (bits)": (
        lambda: worst(range(1, 131072), lambda x: logarithm(x) / ONE - math.log2(x / ONE)),
        "every argument",
    ),
    "LG (bits)": (
        lambda: worst(
            spaced(65536, 2**32 - 1, 200_000), lambda x: wide_logarithm(x) / ONE - math.log2(x / ONE)
        ),
        "200,000 arguments in equal ratios",
    ),
    "log-odds": (lambda: worst(range(65537), odds), "every argument"),
    "logarithm of a bet (nats)": (
        lambda: worst(
            spaced(256, 2**20 - 1, 400_000), lambda f: natural_logarithm(f) / ONE - math.log(f / ONE)
        ),
        "400,000 arguments in equal ratios",
    ),
    "power of two in the mixture (relative)": (
        lambda: worst(range(2048), lambda f: power(f) / (16384 * 2 ** (-f / 2048)) - 1),
        "every argument",
    ),
    "norm (relative)": (
        lambda: worst(spaced(1, 256 * 255**2, 200_000), angle_mantissa),
        "200,000 arguments in equal ratios",
    ),
    "mix": (
        lambda: worst(range(65537), lambda s: (mix(65535, 1, s) - (65535 * s + 65536 - s) / ONE) / ONE),
        "every share, of the ends of the range",
    ),
}


def table() -> list[str]:
    """Return the lines of the table."""
    lines = ["| function | least error | largest error | tried |", "| --- | --- | --- | --- |"]
    for name, (measure, tried) in ROWS.items():
        low, high = measure()
        lines.append(f"| {name} | {low:.2g} | {high:.2g} | {tried} |")
    return lines


def main() -> int:
    """Print the table."""
    print("\n".join(table()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
