"""What a step computes with: tables, rounding, logarithms, norms (sections 1, 4 to 6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

BRANCHES: set[str] = set()
"""Names of the rare branches that were taken: the writer of the vectors asks for all of them."""

note = BRANCHES.add


def _tables() -> tuple[list[int], list[int]]:
    """Return the tables X and S of section 4, by decimals: they round correctly on every machine."""
    with localcontext() as context:
        context.prec = 50
        ln2 = Decimal(2).ln()
        plogp = [0] * 513
        for x in range(1, 513):
            if x % 2:
                exact = 192 * x * (9 - Decimal(x).ln() / ln2)
                plogp[x] = int(exact.to_integral_value(ROUND_HALF_EVEN))
            else:
                plogp[x] = 2 * plogp[x // 2] - 192 * x
        logistic = []
        for i in range(97):
            exact = 65536 / (1 + (-Decimal(i) / 8).exp())
            logistic.append(min(65535, int(exact.to_integral_value(ROUND_HALF_EVEN))))
    return plogp, logistic


X, S = _tables()


def word(x: int) -> int:
    """Return `x`; fail where section 1 promises 32 bits and the number needs more."""
    if not -(2**31) <= x < 2**32:
        raise OverflowError(f"{x} does not fit 32 bits")
    return x


def signed(x: int) -> int:
    """Return the low 32 bits of `x` as two's complement."""
    return (x + 2**31) % 2**32 - 2**31


def sat(x: int) -> int:
    """Return min(x, 65535)."""
    return min(x, 65535)


def clip(x: int, low: int, high: int) -> int:
    """Return the number of low..high that is nearest to `x`."""
    return min(max(x, low), high)


def mix(a: int, b: int, share: int) -> int:
    """Return `share` of a and the remainder of b, rounded."""
    return word(a * share + b * (65536 - share) + 32768) >> 16


def least(holds: Callable[[int], bool]) -> int:
    """Return the least n >= 0 where a monotone predicate holds."""
    high = 1
    while not holds(high):
        high *= 2
    low = 0
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def logarithm(x: int) -> int:
    """Return lg(x), section 6."""
    e = max(0, 17 - x.bit_length())
    f = (x << e) - 65536
    g = word(f * (65536 - f)) >> 16
    h = 28752 - (word(f * (15667 - (5383 * f >> 16))) >> 16)
    return f + (word(g * h) >> 16) - 65536 * e


def log_odds(d: int) -> int:
    """Return O(D), section 6."""
    return clip((524288 + logarithm(d + 128) - logarithm(65664 - d) + 8) >> 4, 0, 65535)


def shift_to_16_bits(x: int) -> int:
    """Return the least t >= 0 with x >> t <= 65535."""
    return max(0, x.bit_length() - 16)


def wide_logarithm(x: int) -> int:
    """Return LG(x), section 6: lg beyond 16 bits."""
    t = shift_to_16_bits(word(x))
    return logarithm(x >> t) + 65536 * t


def natural_logarithm(f: int) -> int:
    """Return the natural logarithm of a bet, Q16.16, section 11: never above the true one."""
    return word(((wide_logarithm(f) - 12) >> 4) * 45426) >> 12


def power(f: int) -> int:
    """Return P(f), section 6: 16384 * 2^(-f / 2048) for f in 0..2047."""
    inner = 3804 - (word(f * 661) >> 11)
    middle = 11337 - (word(f * inner) >> 11)
    return 16384 - (word(f * middle) >> 11)


def norm(n: int) -> tuple[int, int]:
    """Return the norm of a sum of squares as mantissa and exponent, section 5."""
    if n == 0:
        return 0, 0
    e = 0
    while n < 2**30:
        n, e = n * 4, e - 1
    return math.isqrt(word(n)), e


def logistic(z: int) -> int:
    """Return the logistic of z, Q16.16, as Q0.16: section 7."""
    a = abs(word(z))
    if a >= 12 * 65536:
        note("logistic clipped high" if z >= 0 else "logistic clipped low")
        v = 65535
    else:
        i = a >> 13
        v = S[i] + ((S[i + 1] - S[i]) * (a % 8192) >> 13)
    return v if z >= 0 else 65536 - v
