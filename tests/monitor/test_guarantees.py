"""The rates, for every input sequence that we could think of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import direct_params, posterior_of
from tiers import first_quick

from tcuq import Monitor, Params

STEPS = 100_000
LEVELS = [posterior_of(u) for u in range(256)]

# An adversary sees the threshold of the step to come and answers with a confidence, 0 to 255.
Adversary = Callable[[int, float, np.random.Generator], int]

ADVERSARIES: dict[str, Adversary] = {
    "risk at its maximum": lambda t, q, rng: 0,
    "risk at its minimum": lambda t, q, rng: 255,
    "constant in the middle": lambda t, q, rng: 128,
    "random": lambda t, q, rng: int(rng.integers(256)),
    "two saturated values": lambda t, q, rng: 255 * int(rng.random() < 0.9),
    "step change": lambda t, q, rng: (
        int(rng.integers(200, 256)) if t < STEPS // 2 else int(rng.integers(0, 40))
    ),
    "slow ramp": lambda t, q, rng: 255 - 255 * t // STEPS,
    "square wave": lambda t, q, rng: 255 if t // 500 % 2 else 0,
    "always just above": lambda t, q, rng: int(np.clip(256 - np.ceil(q * 256), 0, 255)),
    "always just below": lambda t, q, rng: int(np.clip(257 - np.ceil(q * 256), 0, 255)),
    "above, then below": lambda t, q, rng: int(
        np.clip((256 if t < STEPS // 2 else 257) - np.ceil(q * 256), 0, 255)
    ),
}

PARAMS = {
    "defaults": direct_params(warmup=64),
    "quantile tracking": direct_params(level=0.1, slope=0.02, steep_slope=0.02, knee=0, warmup=0),
    "rare flags": direct_params(level=0.001, reference=0.99, budget=0.01, burst=1, warmup=7),
    "nearly all flagged": direct_params(level=0.999, reference=0.0, budget=1.0, burst=3, warmup=0),
    "odd fraction": direct_params(level=0.037, slope=0.0, steep_slope=0.3, knee=3, budget=0.037, burst=20),
}


def drive(params: Params, adversary: Adversary, seed: int, resets: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return flags and abstentions of a long run."""
    monitor, rng = Monitor(params), np.random.default_rng(seed)
    flags, abstentions = np.zeros(STEPS, dtype=np.int64), np.zeros(STEPS, dtype=np.int64)
    threshold = params.reference
    step = monitor._core.step
    for t in range(STEPS):
        result = step(LEVELS[adversary(t, threshold, rng)], None, False)
        flags[t], abstentions[t] = result[4], result[5]
        # The next threshold is known to anyone who knows the debt: give the adversary nearly that.
        threshold = result[2]
        if resets and t % 997 == 0:
            monitor.reset()
    return flags, abstentions


def check_rates(params: Params, flags: np.ndarray, abstentions: np.ndarray) -> None:
    fields = params.integers()
    t = np.arange(1, len(flags) + 1)
    num, den = fields["level_num"], fields["level_den"]
    _, _, low, high = params.core().sizes()
    debt = den * np.cumsum(flags) - num * t
    assert debt.min() >= low and debt.max() <= high
    assert (np.abs(np.cumsum(flags) / t - num / den) <= params.flag_bound(1) / t + 1e-12).all()
    spent = np.concatenate([[0], fields["budget_den"] * np.cumsum(abstentions) - fields["budget_num"] * t])
    worst_window = (spent - np.minimum.accumulate(spent)).max()
    assert worst_window <= fields["burst"] * fields["budget_den"]
    assert spent.max() <= 0, "from the start, abstentions stay within budget * t"
    assert not abstentions[: params.warmup].any()
    assert not (abstentions & ~flags.astype(bool)).any()


@pytest.mark.parametrize("which", first_quick(PARAMS, 2))
@pytest.mark.parametrize("how", ADVERSARIES)
def test_rates_hold_for_100_000_steps(which: str, how: str) -> None:
    params = PARAMS[which]
    check_rates(params, *drive(params, ADVERSARIES[how], 1, resets=how == "random"))


def test_threshold_passes_one_while_risk_sits_at_its_maximum() -> None:
    monitor = Monitor(direct_params(warmup=0))
    steps = monitor.run(np.tile(LEVELS[0], (1000, 1)))
    assert steps["threshold"].max() > 1 - 1 / 65536
    assert abs(steps["flagged"].mean() - 0.1) <= monitor.params.flag_bound(1000)


def test_a_clamped_threshold_would_fail_this_very_check() -> None:
    """The check can fail: clamping the threshold to the range of the risk flags everything."""
    flags = np.ones(1000, dtype=np.int64)
    with pytest.raises(AssertionError):
        check_rates(direct_params(warmup=0), flags, np.zeros(1000, dtype=np.int64))


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "level": st.floats(0.001, 0.999),
            "reference": st.floats(0, 0.999),
            "steep_slope": st.floats(0.001, 1),
            "knee": st.floats(0, 50),
            "budget": st.floats(0, 1),
            "burst": st.integers(1, 50),
            "warmup": st.integers(0, 100),
        }
    ),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_rates_hold_for_random_params(options: dict[str, Any], share: float, seed: int) -> None:
    params = direct_params(slope=options["steep_slope"] * share, **options)
    rng = np.random.default_rng(seed)
    # Blocks of constant risk are worse for a tracker than white noise.
    levels = np.repeat(rng.integers(0, 256, 200), rng.integers(1, 60, 200))
    steps = Monitor(params).run(np.array([LEVELS[u] for u in levels]))
    check_rates(params, steps["flagged"].astype(np.int64), steps["abstain"].astype(np.int64))
