# SPDX-License-Identifier: MIT
"""The oracle against real numbers, and its state against what the contract says of it."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

import gen_learned
import pytest
from gen_base import STANDARD, STANDARD_POSTERIORS, Dice, dwell, make
from oracle import Evidence, Instant, Monitor, Params
from oracle_math import natural_logarithm
from oracle_mixture import corrected_likelihood, plain_likelihood


def params(mask: int = STANDARD) -> Params:
    dice = Dice("numbers")
    head = replace(gen_learned.evidence(4, dice, 60000, 9000), spread=5000)
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


def test_a_class_seen_too_often_counts_less() -> None:
    share = 16384
    for seen, factor in ((share, 1.0), (2 * share, 0.5), (share // 2, 2.0), (1, 2.0)):
        q = corrected_likelihood([200] * 4, [256 * seen] * 4, [share] * 4)[0]
        assert q / plain_likelihood([200] * 4)[0] == pytest.approx(0.5 * math.sqrt(factor), rel=0.001)


def test_repeated_evidence_counts_less_and_relief_in_full() -> None:
    head = Evidence(2**18, 0, (0,) * 9, (256, -256), spread=2**14)
    p = make(0x10, 2, 0, (), evidence=head, rise_limit=2**24, rise_cap=2**30, fall_limit=0, fall_cap=0)
    monitor, novelty, total = Monitor(p), 0.25, 0.0
    for _ in range(60):
        monitor.step([100, -100], [])
        total += min(1.0, max(1 / 16, novelty / 0.25))
        novelty -= novelty / 32
        assert monitor.rise / 65536 == pytest.approx(total, rel=0.01)
    before = monitor.rise
    monitor.step([-100, 100], [])
    assert monitor.rise == before - 65536
    assert monitor.severity == pytest.approx(65536 * (1 - (63 / 64) ** 60 - 1 / 32), rel=0.05)


def test_reset_keeps_what_was_learned() -> None:
    p = params()
    monitor = Monitor(p)
    for probs, x in dwell(Dice("reset"), p, 30):
        monitor.step(probs, x)
    names = ("class_mix", "deficits", "seen", "accuracy", "severity", "last", "novelty")
    before = [getattr(monitor, name) for name in names]
    assert any(monitor.deficits)
    assert monitor.novelty > 0 != monitor.last
    monitor.reset()
    assert [getattr(monitor, name) for name in names] == before
    state = monitor.save()
    assert state[58] == 2
    loaded = Monitor.load(p, state)
    assert [getattr(loaded, name) for name in names] == before


def test_layout_of_a_state() -> None:
    p = params()
    monitor = Monitor(p)
    assert monitor.save()[58] == 0
    out = [monitor.step(probs, x) for probs, x in dwell(Dice("layout"), p, 25)]
    state = monitor.save()
    assert state[:4] == b"TCUQ"
    assert struct.unpack_from("<2HI2H", state, 4) == (4, 0, STANDARD, 4, 3)
    means = (out[-1].severity, monitor.accuracy, monitor.last, monitor.novelty)
    assert struct.unpack_from("<iIiI", state, 40) == means
    assert (monitor.accuracy + 128) >> 8 == out[-1].expected_accuracy
    assert tuple(state[57:60]) == (0, 3, 0)
    # mean_odds, last; seen of four classes; differ, apart; four experts, the class mix; deficits; checksum
    assert len(state) == 60 + 4 * 2 + 4 * 4 + 4 * 2 + 2 * 4 * 5 + 2 * 6 + 4
    assert list(struct.unpack_from("<6H", state, len(state) - 16)) == monitor.deficits
    # Working memory holds the corrected likelihoods as well, and is a whole number of words.
    assert p.ring_size == 4 * (1 + 1 + 4 + 2) + 2 * (4 * 5 + 6 + 4)


def test_fingerprint_tells_each_new_field() -> None:
    p = params()
    head, instant, centers = p.evidence, p.instant, p.centers
    assert isinstance(head, Evidence)
    assert isinstance(instant, Instant)
    assert instant.class_mix is not None
    assert centers is not None
    moved = [
        replace(p, about=0),
        replace(p, horizon=7),
        replace(p, expected_start=1),
        replace(p, evidence=replace(head, bet_base=60001)),
        replace(p, evidence=replace(head, bet_slope=9001)),
        replace(p, evidence=replace(head, spread=5001)),
        replace(p, instant=replace(instant, bias=instant.bias + 1)),
        replace(p, instant=replace(instant, coef=(*instant.coef[:8], 1))),
        replace(p, instant=replace(instant, class_mix=(1, *instant.class_mix[1:]))),
        replace(p, instant=replace(instant, class_mix=None)),
        replace(p, instant=replace(instant, spread=instant.spread + 1)),
        replace(p, centers=(*centers[:-1], centers[-1] + 1)),
        replace(p, instant=None, signals=0xF0, anchor=0, about=0),
    ]
    assert len({each.fingerprint() for each in (p, *moved)}) == len(moved) + 1


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"instant": None, "about": 0, "anchor": 0}, "signal 8"),
        ({"instant": None, "signals": 0x30, "anchor": 0, "centers": None}, "about"),
        ({"instant": None, "signals": 0x30, "about": 0, "centers": None}, "anchor"),
        ({"horizon": 3}, "horizon"),
        ({"horizon": 13}, "horizon"),
        ({"horizon": 0}, "expected_start"),
        ({"centers": None}, "centers"),
        ({"signals": STANDARD_POSTERIORS}, "centers"),
        ({"evidence": Evidence(65536, 0, (0,) * 9, (0,) * 4, 0, 1)}, "bet"),
        ({"evidence": Evidence(65536, 0, (0,) * 9, (0,) * 4, 300, 0)}, "bet_base"),
        ({"evidence": Evidence(65536, 0, (0,) * 9, (0,) * 4, 2**20 - 1, 1)}, "bet"),
        ({"evidence": Evidence(65536, 0, (0,) * 9, (0,) * 4, spread=15)}, "spread"),
        ({"evidence": Evidence(65536, 0, (0,) * 9, (0,) * 4, spread=2**24 + 1)}, "spread"),
        ({"instant": Instant(0, (0,) * 9, (0, 1, 1, 1))}, "class_mix"),
        ({"instant": Instant(2**24 + 1, (0,) * 9)}, "instant bias"),
    ],
)
def test_parameters_out_of_range(changes: dict[str, object], rule: str) -> None:
    with pytest.raises(ValueError, match=rf"out of range: .*\b{rule}\b"):
        replace(params(), **changes)  # type: ignore[arg-type]
