"""Tails and bounds against sums over all cases, and their coverage over all outcomes."""

from __future__ import annotations

import math

import pytest

from tcuq_watch.verdicts.baseline import (
    binomial_tail,
    count_bounds,
    share_interval,
)


def chance(x: int, n: int, p: float) -> float:
    return math.comb(n, x) * p**x * (1 - p) ** (n - x)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 400])
@pytest.mark.parametrize("p", [1e-4, 0.01, 0.3, 0.5, 0.97])
def test_binomial_tails_equal_their_sums(n: int, p: float) -> None:
    for x in {0, 1, n // 3, n // 2, n, n + 1}:
        expected = math.fsum(chance(k, n, p) for k in range(x, n + 1))
        assert binomial_tail(x, n, p) == pytest.approx(expected, rel=1e-9, abs=1e-250)


def test_bounds_of_a_count_hold_their_chance() -> None:
    for count in (0, 1, 4, 50):
        low, high = count_bounds(count, 0.01)
        below = math.exp(-high) * math.fsum(high**k / math.factorial(k) for k in range(count + 1))
        assert below == pytest.approx(0.01, rel=1e-6)
        if count:
            above = 1 - math.exp(-low) * math.fsum(low**k / math.factorial(k) for k in range(count))
            assert above == pytest.approx(0.01, rel=1e-6)
        else:
            assert low == 0


def test_shares_are_covered_at_least_at_the_level() -> None:
    for p in (0.003, 0.1, 0.5, 0.77):
        inside = [low <= p <= high for low, high in (share_interval(x, 40, 0.9) for x in range(41))]
        assert math.fsum(chance(x, 40, p) for x in range(41) if inside[x]) >= 0.9
    assert share_interval(0, 0) == (0.0, 1.0)
