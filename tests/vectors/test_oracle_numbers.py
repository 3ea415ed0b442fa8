# SPDX-License-Identifier: MIT
"""The oracle against real numbers, and its state against what the contract says of it."""

from __future__ import annotations

import math
from dataclasses import replace

import gen_learned
import pytest
from gen_base import STANDARD, Dice, dwell, make
from oracle import SIGNAL_COUNT, Evidence, Monitor, Params
from oracle_math import natural_logarithm
from oracle_mixture import corrected_likelihood, plain_likelihood

NONE = (0,) * SIGNAL_COUNT


def params(mask: int = STANDARD) -> Params:
    dice = Dice("numbers")
    head = gen_learned.evidence(mask, 4, dice, 60000, 9000)
    extra = {"evidence": head, "about": 1, "anchor": 1, "horizon": 6, "expected_start": 50000}
    return gen_learned.learned(mask, 4, 3, dice, "uneven", **gen_learned.OFF, **extra)


def test_a_bet_never_pays_more_than_its_logarithm() -> None:
    for f in (*range(128, 3000), *range(3000, 2**20, 13), 2**20 - 1):
        true = 65536 * math.log(f / 65536)
        assert true - 30 < natural_logarithm(f) <= true


def test_distance_is_a_logarithm() -> None:
    p = make(0x80, 2, 256, (), centers=(-128,) * 512)
    for away in (0, 1, 2, 17, 128, 254, 255):
        signal = Monitor(p).step([100, -100], [away - 128] * 256).signals[7]
        assert signal / 65536 == pytest.approx(math.log2(256 * away**2 + 1) / 24, abs=0.0005)


def test_magnitude_is_a_logarithm() -> None:
    p = make(0x40, 2, 256, (), zero_point=-128)
    for size in (0, 1, 2, 17, 128, 254, 255):
        signal = Monitor(p).step([100, -100], [size - 128] * 256).signals[6]
        assert signal / 65536 == pytest.approx(math.log2(256 * size**2 + 1) / 24, abs=0.0005)


def test_input_that_stands_still_speaks_as_loud_as_a_step_can() -> None:
    head = Evidence(2**18, 0, NONE, (0, 0), reach=2**20, still=10 * 65536)
    p = make(0x30, 2, 0, (), evidence=head, blend=65536, fall_limit=0, fall_cap=0)
    monitor, mean, severity, stood = Monitor(p), 0.0, 0.0, []
    for t in range(60):
        step = monitor.step([120, -120] if t < 40 or t % 2 else [20, -20], [])
        new = t == 0 or t >= 40
        mean += ((0 if new else 21) - mean) / 16
        stood.append(mean > 10)
        look = 1 if new or stood[-1] else 1 / 8
        severity += ((4 if stood[-1] else 0) - severity) * look / 8
        assert monitor.stillness / 65536 == pytest.approx(mean, abs=0.0002)
        assert step.look == min(65535, 65536 * look)
        assert step.severity / 65536 == pytest.approx(severity, abs=0.001)
        assert (step.uncertainty >= 32768) == stood[-1]
    assert stood == [10 < t < 50 for t in range(60)]


def test_an_own_reference_takes_off_what_the_first_looks_had_more() -> None:
    """Half looks of constant evidence: 2 nats where the clean log has 0.5."""
    for most, taken in ((2**19, 1.5), (65536, 1.0)):
        own = {"own_looks": 5, "own_mean": 32768, "own_most": most}
        head = Evidence(2**19, 0, NONE, (0, 0), reach=2 * 1600**2, bias=2 * 65536, **own)
        p = make(0x10, 2, 0, (), evidence=head, rise_limit=1, rise_cap=2**30, fall_limit=0, fall_cap=0)
        monitor, total, seen = Monitor(p), 0.0, 0.0
        for t in range(30):
            step = monitor.step([(72, 56)[t % 2], -128], [])
            look = step.look / 65536
            seen += look
            total += (2 - taken if seen >= 5 else 2) * look
            assert monitor.rise / 65536 == pytest.approx(total, rel=0.002)
        assert 0.3 < look < 0.9
        assert monitor.own / 65536 == pytest.approx(taken, abs=0.01)
        assert monitor.own_seen == 5 * 256


def test_a_class_seen_too_often_counts_less() -> None:
    share = 16384
    for seen, factor in ((share, 1.0), (2 * share, 0.5), (share // 2, 2.0), (1, 2.0)):
        q = corrected_likelihood([200] * 4, [256 * seen] * 4, [share] * 4)[0]
        assert q / plain_likelihood([200] * 4)[0] == pytest.approx(0.5 * math.sqrt(factor), rel=0.001)


def test_held_steps_count_an_eighth_of_new_ones() -> None:
    coef = tuple(8192 if n == 5 else 0 for n in range(SIGNAL_COUNT))  # one nat a nat of severity
    head = Evidence(2**19, 0, coef, (512,), reach=2**16, bias=-8 * 65536)
    alarm = {"rise_limit": 2**24, "rise_cap": 2**30, "fall_limit": 0, "fall_cap": 0}
    p = make(0x30, 2, 0, (), evidence=replace(head, offset=(512, 512)), **alarm)
    for shown, look in (([100, 100], 1 / 8), ([100, 20], 1.0)):
        monitor, severity, total = Monitor(p), 0.0, 0.0
        for t in range(40):
            w = look if t else 1.0
            severity += (2 - severity) * w / 8
            total += severity * w
            step = monitor.step([shown[t % 2], -100], [])
            assert step.look == min(65535, 65536 * w)
            assert step.severity / 65536 == pytest.approx(severity, abs=0.001)
            assert step.signals[5] / 65536 == pytest.approx(0.5 + severity / 16, abs=0.0001)
        assert monitor.rise / 65536 == pytest.approx(total, rel=0.001)


def test_drift_is_the_logarithm_of_a_mean_gap() -> None:
    head = Evidence(2**18, 0, NONE, (0, 0), reach=256)
    none = {"fall_limit": 0, "fall_cap": 0}
    p = make(0x280, 2, 16, (), centers=(-20,) * 32, evidence=head, **none)
    monitor, mean = Monitor(p), 0.0
    for t in range(30):
        apart = 100 if t % 2 else 20
        step = monitor.step([100, -100], [apart - 20] * 16)
        mean += (2 * apart - mean) / 8  # two features a block
        # A mean of a block counts in whole quarters of a unit.
        assert step.signals[9] / 65536 == pytest.approx(math.log2(1 + 8 * (4 * mean) ** 2) / 24, abs=0.006)


def test_a_raised_side_is_held_then_cleared_and_starts_again() -> None:
    p = make(
        8, 2, 0, (), blend=0, rise_reference=30000, rise_limit=30000, rise_cap=90000, rise_clear=20000, hold=3
    )
    monitor = Monitor(p)
    seen = []
    for u in (0, 250, 250, 250, 250, 250, 250, 0, 0):  # risk just below 1, or near 0
        step = monitor.step([u - 128, -128], [])
        seen.append((step.alarm & 1, monitor.alarm >> 2, monitor.rise))
    assert seen[0] == (1, 3, 35535)
    assert [each[:2] for each in seen[1:4]] == [(1, 2), (1, 1), (1, 0)]
    assert seen[3][2] <= 20000
    assert seen[4] == (0, 0, 0)
    assert seen[7] == (1, 3, 35535)


def test_reset_keeps_what_was_learned() -> None:
    p = params()
    assert p.evidence is not None
    own = {"own_looks": 1000, "own_mean": 99, "own_most": 9}
    p = replace(p, evidence=replace(p.evidence, bet_base=0, bet_slope=0, **own))
    monitor = Monitor(p)
    for probs, x in dwell(Dice("reset"), p, 30):
        monitor.step(probs, x)
    names = ("class_mix", "deficits", "seen", "accuracy", "severity", "own", "own_seen", "slow")
    before = [getattr(monitor, name) for name in names]
    assert any(monitor.deficits)
    assert any(monitor.slow)
    assert any(monitor.last)
    assert monitor.stillness and monitor.own and monitor.own_seen
    monitor.reset()
    assert [getattr(monitor, name) for name in names] == before
    assert not any(monitor.last) and not monitor.stillness
    state = monitor.save()
    assert state[62] == 2
    loaded = Monitor.load(p, state)
    assert [getattr(loaded, name) for name in names] == before
