"""The alarm: an adapting threshold does not hide a drop, and a collapse is seen too."""

from __future__ import annotations

import numpy as np
import pytest
from streams import direct_params, dwell_stream, posterior_of

from tcuq import Alarm, AlarmSide, Log, Monitor, fit
from tcuq.fitting.alarms import alarms_in, chains_of, choose_alarm, highest_evidence

CLEAN, BAD, COLLAPSED = 230, 90, 255


def risk_stream(*parts: tuple[int, int]) -> np.ndarray:
    """Return posteriors for stretches of (confidence around, steps), with a little noise."""
    rng = np.random.default_rng(0)
    levels = np.concatenate([np.clip(rng.normal(c, 8, n), 0, 255).astype(int) for c, n in parts])
    return np.array([posterior_of(level) for level in levels])


def watched(alarm: Alarm, *parts: tuple[int, int]) -> np.ndarray:
    return Monitor(direct_params(warmup=0, reference=0.15, alarm=alarm)).run(risk_stream(*parts))


ALARM = Alarm(0.1, AlarmSide(0.05, 2.0), AlarmSide(0.02, 1.0))


def test_a_sustained_drop_stays_raised_while_the_threshold_adapts_and_clears_after_recovery() -> None:
    steps = watched(ALARM, (CLEAN, 500), (BAD, 3000), (CLEAN, 1000))
    assert not steps["alarm"][:500].any()
    bad = steps[500:3500]
    first = int(np.argmax(bad["alarm"] == 1))
    assert 0 < first < 20
    assert (bad["alarm"][first:] == 1).all(), "raised to the end of the drop"
    late = bad[-1000:]
    assert abs(late["flagged"].mean() - 0.1) < 0.02, "the adaptive threshold has long adapted"
    assert late["threshold"].mean() > steps["threshold"][:500].mean() + 0.3
    after = steps[3500:]
    cleared = int(np.argmax(after["alarm"] == 0))
    assert 0 < cleared < 200 and not after["alarm"][cleared:].any()


def test_a_collapse_that_lowers_the_risk_is_seen_on_the_low_side() -> None:
    steps = watched(ALARM, (CLEAN, 500), (COLLAPSED, 500), (CLEAN, 500))
    assert not steps["alarm"][:500].any()
    assert (steps["alarm"][600:1000] == 2).all()
    assert steps["alarm"][-1] == 0


def test_reset_does_not_clear_an_alarm() -> None:
    monitor = Monitor(direct_params(warmup=0, alarm=ALARM))
    monitor.run(risk_stream((BAD, 100)))
    monitor.reset()
    assert monitor.alarm == 1
    assert monitor.step(posterior_of(BAD)).alarm == 1


def test_evidence_is_a_reflected_walk() -> None:
    rng = np.random.default_rng(0)
    excess = rng.normal(-0.1, 1, (5, 300))
    for row, highest in zip(excess, highest_evidence(excess), strict=True):
        evidence = best = 0.0
        for value in row:
            evidence = max(0.0, evidence + value)
            best = max(best, evidence)
        assert np.isclose(best, highest)


def test_resampling_keeps_blocks_together_and_leaves_nothing_out() -> None:
    risk = np.arange(300) / 1000
    streams = np.concatenate(list(chains_of(risk, 1000, np.random.default_rng(0))))
    assert streams.shape == (200, 1000)
    assert np.isclose(np.diff(streams, axis=1), 0.001).mean() > 0.98, "only joints and the wrap jump"
    counts = np.bincount(np.round(streams * 1000).astype(int).ravel(), minlength=300)
    assert counts.min() > 0.7 * counts.mean(), "the ends are drawn like the middle"


def test_one_long_quiet_run_does_not_silence_many_short_ones() -> None:
    rng = np.random.default_rng(0)
    noisy = [rng.beta(2, 6, 100) for _ in range(50)]
    before = choose_alarm(noisy, 1000, np.random.default_rng(1))
    after = choose_alarm([*noisy, np.full(129, 0.25)], 1000, np.random.default_rng(1))
    assert before.fall is not None and after.fall is not None
    assert abs(after.fall.limit - before.fall.limit) < 0.3 * before.fall.limit


def test_hardly_any_or_constant_clean_data_does_not_make_a_hair_trigger() -> None:
    rng = np.random.default_rng(0)
    few = choose_alarm([rng.beta(2, 6, 100)], 1000, rng)
    assert few.rise is None and few.fall is None
    constant = choose_alarm([np.full(1000, 0.3)], 1000, rng)
    assert constant.rise is not None and constant.rise.limit >= 0.05 and constant.rise.allowance >= 0.009


@pytest.mark.parametrize(("clean", "wanted"), [(40_000, 1000), (8000, 10_000), (2000, 10_000)])
def test_the_limit_gives_about_the_wanted_run_length(clean: int, wanted: int) -> None:
    """Also where the data cannot show it; on independent risk, where there is no dependence to miss."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        alarm = choose_alarm([rng.beta(2, 6, clean)], wanted, rng)
        assert alarm.rise is not None and alarm.fall is not None
        other = rng.beta(2, 6, 20 * wanted)
        found.append(len(other) / max(1, alarms_in([other], alarm)[0]))
    assert wanted / 2 <= np.median(found) <= 4 * wanted, found


def test_a_fitted_alarm_tells_degraded_from_clean() -> None:
    rng = np.random.default_rng(1)
    # One stream, so that features of a class lie in the same place in both halves.
    probs, features, truth, marks = dwell_stream(24_000, 10, 16, rng, shifted=True)
    half = slice(0, 12_000)
    params = fit(Log(probs[half], features[half], truth[half], shifted=marks[half]), run_length=2000)
    probs, features, marks = probs[12_000:], features[12_000:], marks[12_000:]
    alarm = Monitor(params).run(probs, features)["alarm"] & 1
    assert alarm[marks].mean() > 0.7
    # After a shift the alarm takes a while to clear; the last 100 steps of each clean stretch are past that.
    settled = ~marks & (np.arange(len(marks)) % 250 >= 150)
    assert alarm[settled].mean() < 0.1
