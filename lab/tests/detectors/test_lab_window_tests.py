"""Two-sample statistics on windows, and bets: known values, made shifts, and no look ahead."""

import numpy as np
import pytest

from tcuq_lab.detectors.bets import e_values, jumper
from tcuq_lab.detectors.windows import (
    EVERY,
    discrepancy,
    kernel_of,
    kolmogorov_smirnov,
    principal_of,
    told_apart,
)

RNG = np.random.default_rng(0)
CLEAN = RNG.normal(size=(600, 5))


def vectors() -> np.ndarray:
    """Two runs whose mean moves at step 300."""
    x = np.random.default_rng(1).normal(size=(2, 500, 5))
    x[:, 300:] += 1.5
    return x


def test_ks_is_the_largest_gap_between_the_distributions() -> None:
    rank = np.random.default_rng(2).uniform(size=(1, 60))
    found = kolmogorov_smirnov(rank, 20, two_sided=True)[0]
    values = np.sort(rank[0, 21:41])
    grid = np.concatenate([values, values - 1e-12])
    gaps = [abs((values <= at).mean() - at) for at in grid]
    assert found[40] == pytest.approx(max(gaps), abs=1e-9)


@pytest.mark.parametrize("which", ["kernel", "classifier"])
def test_tests_on_vectors_rise_after_a_shift_and_are_held_between_looks(which: str) -> None:
    if which == "kernel":
        found = discrepancy(vectors(), kernel_of(CLEAN), 64)
    else:
        found = told_apart(vectors(), principal_of(CLEAN), 64)
    assert found[:, 380:].min() > found[:, :300].max()
    moves = np.flatnonzero(np.diff(found[0])) + 1
    assert ((moves + 1) % EVERY == 0).all()
    assert EVERY <= 5  # a look adds half of that to every delay


@pytest.mark.parametrize("bets", ["linear", "power"])
def test_bets_do_not_win_on_uniform_p_values(bets: str) -> None:
    p = (np.arange(100_000) + 0.5) / 100_000
    factors = np.exp(jumper(p[:, None], 0.1, bets))  # one step of every p-value
    assert factors.mean() == pytest.approx(1.0, abs=0.01)
    assert jumper(np.full((1, 200), 0.02), 0.01, bets).sum() > 20


def test_an_e_value_is_fair_at_its_level() -> None:
    score = np.array([0.1, 0.9, 0.4, 0.6])
    assert np.exp(e_values(score, 0.4, 0.1, 0.9)).mean() == pytest.approx(1.0)
    assert np.exp(e_values(score, 0.6, 0.1, 0.9)).mean() < 1
