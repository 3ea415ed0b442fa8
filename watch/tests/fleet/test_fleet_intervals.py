"""Tails and bounds against sums over all cases, and their coverage over all outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcuq_watch.fleet.intervals import (
    at_most,
    binomial_tail,
    count_bounds,
    errors_interval,
    gamma_tail,
    share_interval,
    strata_interval,
)


def chance(x: int, n: int, p: float) -> float:
    return math.comb(n, x) * p**x * (1 - p) ** (n - x)


def drawn(x: int, sample: int, errors: int, population: int) -> float:
    ways = math.comb(errors, x) * math.comb(population - errors, sample - x)
    return ways / math.comb(population, sample)


@pytest.mark.parametrize("n", [1, 2, 7, 60, 400])
@pytest.mark.parametrize("p", [1e-4, 0.01, 0.3, 0.5, 0.97])
def test_binomial_tails_equal_their_sums(n: int, p: float) -> None:
    for x in {0, 1, n // 3, n // 2, n, n + 1}:
        expected = math.fsum(chance(k, n, p) for k in range(x, n + 1))
        assert binomial_tail(x, n, p) == pytest.approx(expected, rel=1e-9, abs=1e-250)


def test_far_tails_of_many_devices() -> None:
    logs = [
        math.lgamma(1e6 + 1)
        - math.lgamma(k + 1)
        - math.lgamma(1e6 - k + 1)
        + k * math.log(1e-3)
        + (1e6 - k) * math.log1p(-1e-3)
        for k in range(1500, 3000)
    ]
    assert binomial_tail(1500, 10**6, 1e-3) == pytest.approx(math.fsum(map(math.exp, logs)), rel=1e-6)


def test_gamma_tails_of_whole_shapes_are_poisson_sums() -> None:
    for shape in (1, 2, 5, 30):
        x = np.array([0.0, 0.1, 1.0, 4.0, 29.0, 31.0, 90.0])
        expected = [math.exp(-v) * math.fsum(v**k / math.factorial(k) for k in range(shape)) for v in x]
        np.testing.assert_allclose(gamma_tail(shape, x), expected, rtol=1e-9)
    assert gamma_tail(0.5, 2.0) == pytest.approx(math.erfc(math.sqrt(2.0)), rel=1e-12)


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


@pytest.mark.parametrize(("population", "sample"), [(9, 4), (30, 30), (30, 0), (40, 33), (200, 5)])
def test_samples_without_replacement_equal_their_sums(population: int, sample: int) -> None:
    for errors in range(population + 1):
        for found in range(-1, sample + 1):
            expected = math.fsum(drawn(x, sample, errors, population) for x in range(found + 1))
            assert at_most(found, sample, errors, population) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("population", "sample"), [(9, 4), (30, 30), (30, 0), (40, 33), (200, 20)])
def test_errors_of_a_population_are_covered(population: int, sample: int) -> None:
    ends = [errors_interval(population, sample, x, x, 0.9) for x in range(sample + 1)]
    for errors in range(population + 1):
        inside = [
            drawn(x, sample, errors, population)
            for x, (low, high) in enumerate(ends)
            if low <= errors <= high
        ]
        assert math.fsum(inside) >= 0.9 - 1e-9, errors
    # What never came back may be right or wrong.
    if sample:
        low, high = errors_interval(population, sample, 0, sample)
        assert (low, high) == (0, population)


@pytest.mark.parametrize(
    ("populations", "samples"),
    [
        ((40, 40), (8, 8)),
        ((40, 400), (8, 8)),
        ((30, 31, 32), (6, 6, 6)),
        ((20, 200, 90), (4, 4, 5)),
        ((60, 5), (6, 0)),
    ],
)
def test_strata_are_covered_however_errors_are_spread(
    populations: tuple[int, ...], samples: tuple[int, ...]
) -> None:
    level, rng = 0.9, np.random.default_rng(1)
    outcomes = list(np.ndindex(*(n + 1 for n in samples)))
    ends = {x: strata_interval(populations, samples, x, x, level) for x in outcomes}
    for _ in range(40):
        errors = [int(rng.integers(0, n + 1) * rng.choice([0, 0.1, 1])) for n in populations]
        covered = math.fsum(
            math.prod(drawn(k, n, e, p) for k, n, e, p in zip(x, samples, errors, populations, strict=True))
            for x in outcomes
            if ends[x][0] - 1e-9 <= sum(errors) <= ends[x][1] + 1e-9
        )
        assert covered >= level - 1e-9, errors


def test_strata_alike_are_as_sharp_as_one_sample_and_others_not_much_wider() -> None:
    days = 30
    exact = share_interval(60, 20 * days)
    low, high = strata_interval([5000] * days, [20] * days, [2] * days, [2] * days)
    assert (high - low) / (5000 * days) == pytest.approx(exact[1] - exact[0], rel=1e-6)
    sizes = [4000, 6000] * (days // 2)
    low, high = strata_interval(sizes, [20] * days, [2] * days, [2] * days)
    assert 1 < (high - low) / (5000 * days) / (exact[1] - exact[0]) < 1.5
