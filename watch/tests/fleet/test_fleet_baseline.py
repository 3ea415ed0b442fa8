"""The baseline of healthy devices, and tests that hold at every look."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tcuq import Params
from tcuq.monitor.alarm import Alarm, AlarmSide
from tcuq_watch.engine.tallies import ALARM_WINDOW
from tcuq_watch.verdicts import baseline
from tcuq_watch.verdicts.baseline import (
    LENGTH,
    SPENT,
    Baseline,
    adjusted,
    binomial_tail,
    count_bounds,
    device_p,
    fleet_p,
    from_fit,
    from_period,
    share_interval,
    spending,
)

ALARM = Alarm(0.1, AlarmSide(0.05, 2.0))


@pytest.mark.parametrize("mean", [3, 40])
def test_bounds_hold_for_random_alarms(mean: int) -> None:
    rng = np.random.default_rng(0)
    rate, length, steps, missed = 1 / 500, 20.0, mean * 500, np.zeros(3)
    for _ in range(400):
        onsets = rng.poisson(rate * steps)
        inside = int(rng.exponential(length, onsets).sum())
        found = Baseline.counted(steps, onsets, inside, "")
        missed += [found.share < rate * length, found.onsets < rate, found.length < length]
    # Each is missed with a chance of 0.025 / 3, so 3.3 times in 400.
    assert (missed <= 12).all(), missed


def test_where_the_baseline_comes_from() -> None:
    assert isinstance(from_fit(Params(classes=2, alarm=ALARM)), str)
    aimed = from_fit(Params(classes=2, alarm=ALARM, notes={"fit": {"run_length": 1000}}))
    assert isinstance(aimed, Baseline) and aimed.share > LENGTH / 1000 and "not measured" in aimed.source
    counts = {"false_alarms": 3, "steps": 20_000, "alarm_steps": 60}
    notes = {"fit": {"run_length": 1000, "run_length_elsewhere": counts}}
    held_out = from_fit(Params(classes=2, alarm=ALARM, notes=notes))
    assert isinstance(held_out, Baseline) and 60 / 20_000 < held_out.share < 0.04
    for junk in ("x", {"steps": "many"}, {"steps": True}):
        notes = {"fit": {"run_length": 0.5, "run_length_elsewhere": junk}}
        assert isinstance(from_fit(Params(classes=2, alarm=ALARM, notes=notes)), str)
    series = {
        "time": np.array([0, 3600, 7200]),
        "steps": np.array([10, 1000, 1000]),
        "onsets": np.array([9, 1, 0]),
        "alarm_steps": np.array([9, 5, 0]),
    }
    own = from_period(series, 3600, (3600, 10800))
    assert isinstance(own, Baseline) and "1 alarm in 2,000 steps" in own.source
    assert isinstance(from_period(series, 3600, (1.0, 3000.0)), str)


def test_all_shares_of_the_level_add_up_to_less_than_one() -> None:
    # Every window of every size: of each, one step stands for all.
    total = 0.0
    for octave in range(40):
        for size in range(octave + 1):
            total += 2.0 ** (octave - size) * float(spending(2.0**octave, 2.0**size))
    assert 0.4 < total <= 1
    assert spending(5000, 3, 32) == pytest.approx(spending(5000, 2) / 32)


def alarms(rng: np.random.Generator, devices: int, steps: int, found: Baseline) -> np.ndarray:
    """Return who is in alarm at each step, of devices that are as bad as a baseline allows."""
    state = rng.random(devices) < found.share
    out = np.empty((steps, devices), dtype=bool)
    for step in range(steps):
        out[step] = state
        chances = rng.random(devices)
        state = np.where(state, chances >= 1 / found.length, chances < found.onsets)
    return out


@pytest.mark.slow
def test_a_healthy_fleet_at_its_baseline_is_hardly_ever_called_unhealthy() -> None:
    rng = np.random.default_rng(3)
    found = Baseline(10 / 210, 1 / 200, 10.0, 0.0, "")
    called = worse = 0
    fleets = 60
    for _ in range(fleets):
        states = alarms(rng, 300, 600, found)
        recent, unhealthy, any_worse = np.zeros(300), False, False
        for step in range(600):
            recent += (states[step] - recent) / ALARM_WINDOW
            unhealthy |= fleet_p(int(states[step].sum()), 300, 300 * (step + 1), found) <= SPENT
            if step % 10 == 0:
                p = device_p(recent, np.full(300, step + 1), found)
                any_worse |= bool((adjusted(p) <= SPENT).any())
        called, worse = called + unhealthy, worse + any_worse
    assert called <= 3 and worse <= 3, (called, worse)


def test_the_gamma_tail_bounds_how_long_a_healthy_device_is_in_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    found = Baseline(20 / 420, 1 / 400, 20.0, 0.0, "")
    states = alarms(rng, 400, 3 * ALARM_WINDOW, found)
    recent = np.zeros(400)
    for state in states:
        recent += (state - recent) / ALARM_WINDOW
    monkeypatch.setattr(baseline, "spending", lambda *_: 1.0)  # so that it holds for this look alone
    p = device_p(recent, np.full(400, len(states)), found)
    for level in (0.5, 0.2, 0.05):
        assert (p <= level).mean() < level + 3 * np.sqrt(level / 400)
    assert (p <= 0.2).any()


def test_what_is_far_off_is_found() -> None:
    found = Baseline(0.001, 1 / 10_000, 10.0, 0.0, "")
    assert fleet_p(0, 1000, 10**6, found) == fleet_p(0, 0, 0, found) == 1
    assert fleet_p(50, 1000, 10**6, found) < 1e-20
    p = device_p(np.array([0.0, 500, 10]) / ALARM_WINDOW, np.full(3, 10_000), found)
    assert p[1] < 1e-8 and p[[0, 2]].min() == 1


@pytest.mark.parametrize("any_dependence", [True, False])
def test_adjusted_values_against_the_plain_definition(any_dependence: bool) -> None:
    p = np.random.default_rng(0).random(50) ** 3
    found, harmonic = adjusted(p, any_dependence), sum(1 / k for k in range(1, 51)) if any_dependence else 1
    for level in (0.01, 0.05, 0.2, 0.5):
        ordered = np.sort(p)
        passing = [k for k in range(1, 51) if ordered[k - 1] <= k * level / 50 / harmonic]
        expected = p <= ordered[passing[-1] - 1] if passing else np.zeros(50, dtype=bool)
        assert (found <= level).tolist() == expected.tolist()


def chance(x: int, n: int, p: float) -> float:
    return math.comb(n, x) * p**x * (1 - p) ** (n - x)


@pytest.mark.parametrize("n", [1, 60, 400])
@pytest.mark.parametrize("p", [1e-4, 0.3, 0.97])
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
