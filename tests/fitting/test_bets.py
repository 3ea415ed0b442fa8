"""The bet of the alarm: a proof holds."""

from __future__ import annotations

import math

import numpy as np

from tcuq.fitting.alarms import fair_bet
from tcuq.reference.numbers import natural_logarithm


def test_a_bet_does_not_win_on_clean_data() -> None:
    rng = np.random.default_rng(3)
    for mean in (-2.5, -0.5, 0.0, 2.9):
        added = np.clip(rng.normal(mean, 1, 5000), -3, 3)
        (base, slope), found = fair_bet(added, 3.0)
        assert (base + slope * added).mean() <= 1.0
        at_level = base + slope * (2 * found["level"] - 1) * 3.0
        assert 1 - 1e-4 < at_level <= 1.0, "at its level the bet is fair, and never more than that"
        assert base - slope * 3 > 0.04 and found["level"] > found["clean_mean"] - 1e-9
        assert base * 65536 == round(base * 65536), "as the core holds it"


def alarm_times(bet: tuple[float, float], level: float, limit: float, chains: int = 4000) -> np.ndarray:
    """Return when each of some chains is first raised, on scores whose mean given the past is the level."""
    rng, (base, slope) = np.random.default_rng(5), bet
    total, when = np.zeros(chains), np.full(chains, 0)
    swing = np.zeros(chains)
    for step in range(1, 4000):
        # A coin, or hardly any movement: which of the two depends on the past and on what the bet has won.
        wide = (swing < 0.55) | (total > 0.5 * limit)
        swing = 0.8 * swing + 0.2 * rng.random(chains)
        score = np.where(wide, rng.random(chains) < level, level)
        total = np.maximum(0, total + np.log(base + slope * (2 * score - 1) * 3.0))
        # Leave each chain at its first alarm.
        raised = (total >= limit) & (when == 0)
        when[raised] = step
        if (when > 0).all():
            break
    when[when == 0] = 4000
    return when


def test_the_proved_alarm_keeps_its_run_length_on_dependent_scores() -> None:
    bet, found = fair_bet(np.clip(np.random.default_rng(4).normal(-0.5, 1, 4000), -3, 3), 3.0)
    wanted = 50
    assert alarm_times(bet, found["level"], math.log(wanted)).mean() >= wanted
    # A limit that is not proved for it is met sooner, so the simulation can tell.
    assert alarm_times(bet, found["level"], math.log(4)).mean() < wanted
    # And a score above its level wins.
    assert alarm_times(bet, found["level"] + 0.3, math.log(wanted)).mean() < wanted


def test_a_bet_never_pays_more_than_its_logarithm() -> None:
    for f in (*range(128, 3000), *range(3000, 2**20, 13), 2**20 - 1):
        true = 65536 * math.log(f / 65536)
        assert true - 30 < natural_logarithm(f) <= true
