# SPDX-License-Identifier: MIT
"""Cases with an `instant` head at the ends of ranges: heads, bets, distances, states, drawn parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gen_base import (
    ALL,
    COEF,
    ENDS,
    NEGATIVE,
    PAPER,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Marks,
    Row,
    by_signal,
    clip8,
    dwell,
    make,
    one_hot,
)
from gen_learned import FLAT, HEAD, OFF, evidence, learned

from tcuq.reference import SIGNAL_COUNT, Evidence, Instant


def _heads() -> Iterable[Case]:
    """Yield both heads and the bet at the ends of their ranges."""
    ends = (32767, -32768)
    for name, coef, bias, other, instant_bias in (
        ("heads_high_low", 32767, 256, -32768, -256),
        ("heads_low_high", -32768, -256, 32767, 256),
        ("heads_high", 32767, 256, 32767, 256),
        ("heads_low", -32768, -256, -32768, -256),
        ("heads_against", 32767, -256, 32767, 256),
        ("heads_silent_high", 0, 256, 0, 256),
        ("heads_silent_low", 0, -256, 0, -256),
    ):
        dice = Dice(name)
        params = learned(
            ALL,
            5,
            3,
            dice,
            coef=(coef,) * SIGNAL_COUNT,
            bias=bias * 65536,
            instant=Instant(instant_bias * 65536, (other,) * SIGNAL_COUNT),
            clean_mean=ENDS,
            horizon=4,
            expected_start=65535 if bias > 0 else 0,
            about=1,
        )
        rows = dwell(dice, params, 70 if coef == 0 else 22)
        yield Case(name, "both heads at the ends of their ranges", params, rows)
    name = "heads_mixed_signs"
    dice = Dice(name)
    head = Instant(7, tuple(ends[n % 2] for n in range(SIGNAL_COUNT)))
    params = learned(
        ALL, 5, 3, dice, instant=head, coef=tuple(ends[(n + 1) % 2] for n in range(SIGNAL_COUNT))
    )
    yield Case(name, "coefficients that cross", params, dwell(dice, params, 22))
    name = "heads_negative"
    dice = Dice(name)
    other = by_signal(-1300, 450, -350, 600, 550, 750, -450, 1300, -1550)
    params = learned(STANDARD, 6, 4, dice, coef=NEGATIVE, instant=Instant(99999, other), bias=-65537)
    yield Case(name, "negative coefficients", params, dwell(dice, params, 22))
    name = "heads_reason"
    dice = Dice(name)
    params = learned(ALL, 5, 3, dice, clean_mean=(0,) * SIGNAL_COUNT, coef=COEF, reference=0, **FLAT)
    yield Case(name, "each step is flagged", params, dwell(dice, params, 22))
    for n in (7, 8):
        name = f"heads_reason_{n}"
        dice = Dice(name)
        only = tuple(3000 if i == n else 0 for i in range(SIGNAL_COUNT))
        params = learned(
            STANDARD, 4, 3, dice, coef=only, instant=Instant(0, only), clean_mean=(0,) * SIGNAL_COUNT
        )
        yield Case(name, f"signal {n} is the reason", params, dwell(dice, params, 22))

    # f is just below 2^20 at its largest; at its least 256, or less where 256 does not divide the clip.
    large, small = 2**19, 3 * 65536 + 77
    for name, clip, base, slope in (
        ("bet_widest", large, 2**19, 32767),
        ("bet_least_base", small, 258 + (777 * (small >> 8) >> 8), 777),
        ("bet_largest_base", small, 2**20 - 1 - (25000 * (small >> 8) >> 8), 25000),
        ("bet_steepest", 12 * 256 + 255, 258 + (32767 * 12 >> 8), 32767),
        ("bet_steepest_high", 12 * 256 + 255, 2**20 - 1 - (32767 * 12 >> 8), 32767),
        ("bet_flattest", 1, 257, 1),
        ("bet_top", 255, 2**20 - 1, 32767),
        ("bet_even", 4 * 65536, 65536, 16000),
    ):
        dice = Dice(name)
        offset = tuple(32767 if c % 2 else -32768 for c in range(4))
        pulls = HEAD if name == "bet_even" else (0,) * SIGNAL_COUNT
        offset = (-500, -1500, -900, -1200) if name == "bet_even" else offset
        given = Evidence(clip, 5 if "base" in name else 0, pulls, offset, base, slope, 2**26)
        limits: dict[str, Any] = {"rise_limit": 3 * 65536, "rise_cap": 2**30}
        params = learned(STANDARD_POSTERIORS, 4, 0, dice, evidence=given, about=1, **limits, **OFF)
        marks: Marks = {16: ("reset", "save", "load")}
        yield Case(name, "the alarm sums the logarithm of a bet", params, dwell(dice, params, 36), marks)
    name = "bet_side_off"
    dice = Dice(name)
    given = evidence(STANDARD_POSTERIORS, 10, dice, 60000, 12000)
    params = learned(STANDARD_POSTERIORS, 10, 0, dice, evidence=given, rise_limit=0, rise_cap=0, **OFF)
    yield Case(name, "a bet and no alarm: severity goes on", params, dwell(dice, params, 30))


def _distances() -> Iterable[Case]:
    """Yield features on a center and as far from it as can be."""
    for name, center, value in (("distance_largest", -128, 127), ("distance_largest_negative", 127, -128)):
        params = make(0xC0, 2, 256, (), centers=(center,) * 512, zero_point=center)
        rows: list[Row] = [
            (one_hot(2, t % 2, 72, -128), [value] * (256 - t) + [center] * t) for t in (0, 1, 3, 255, 256)
        ]
        yield Case(name, "256 features at the other end", params, rows)
    name = "distance_on_center"
    dice = Dice(name)
    centers = tuple(dice.between(-128, 127) for _ in range(3 * 5))
    params = make(0x90, 3, 5, (), centers=centers, zero_point=-128)
    rows = []
    for t in range(40):
        at = t % 3
        x = [clip8(v + (t // 3 if j == t % 5 else 0)) for j, v in enumerate(centers[5 * at : 5 * at + 5])]
        rows.append((one_hot(3, at if t % 4 else 0, 90, -100), x))
    yield Case(name, "on a center and a few units off", params, rows)


def _states() -> Iterable[Case]:
    """Yield saves, loads and resets at all kinds of moments, damaged counts, and states to be refused."""
    base: dict[str, Any] = {"about": 1, "anchor": 1, "horizon": 6, "expected_start": 50000, "warmup": 5}
    often: Marks = dict.fromkeys(range(0, 40, 3), ("save", "load"))
    resets: Marks = dict.fromkeys(range(0, 40, 4), ("reset", "save", "load"))
    mixed: Marks = {0: ("save", "load"), 1: ("save", "load"), 2: ("reset",), 3: ("save", "load", "reset")}
    mixed |= {20: ("save",), 30: ("load",), 31: ("reset", "reset", "save")}
    for name, why, mask, marks in (
        ("learned_save_often", "load after each third step", STANDARD, often),
        ("learned_reset_often", "what is learned outlives a reset", STANDARD, resets),
        ("learned_reset_plain", "class mix and deficits outlive a reset", STANDARD_POSTERIORS, resets),
        ("learned_first_step", "before and after the first step", ALL, mixed),
    ):
        dice = Dice(name)
        head = evidence(mask, 4, dice, 60000, 9000)
        params = learned(mask, 4, 4, dice, evidence=head, **OFF, **base)
        yield Case(name, why, params, dwell(dice, params, 36), marks)
    both = ("save", "load")
    top = 2**32 - 1
    counts: Marks = {10: ("damage steps 0", *both), 20: (f"damage steps {top}", *both), 24: both}
    counts |= {30: ("damage steps 1", *both), 34: ("reset", "damage steps 0", *both)}
    for name, mask in (("damage_steps_learned", STANDARD), ("damage_steps_learned_ring", ALL)):
        dice = Dice(name)
        params = learned(mask, 4, 4, dice, **base)
        yield Case(
            name, "a count of steps that contradicts the others", params, dwell(dice, params, 45), counts
        )

    # 64 last, 68 experts 1 to 4, 100 class mix, 108 deficits.
    dice = Dice("refused_learned")
    head = evidence(STANDARD_POSTERIORS, 4, dice)
    params = learned(STANDARD_POSTERIORS, 4, 0, dice, evidence=head, **OFF, **base)
    clip = 2 * head.clip + 1
    always = [(6, 2, 1), (6, 2, 32768), (62, 1, 4), (62, 1, 128), (40, 4, clip), (40, 4, -clip)]
    always += [(40, 4, 1 << 31), (56, 4, 1 << 24), (56, 4, 1 << 31)]
    before = [(62, 1, 1), (62, 1, 2), (62, 1, 3)]
    before += [(at, 2, 1) for at in (64, 68, 98, 100, 106, 108, 118)]
    after: list[Any] = [(62, 1, -1), (62, 1, -2), (62, 1, -3)]
    after += [(64, 4, 1 << 30), (64, 4, 1 << 31)]
    after += [(at, 2, "full") for at in (68, 76, 84, 92, 100)] + [(108, 12, "nonzero")]
    emptied: list[Any] = [(62, 1, -1), (62, 1, -2), (64, 2, 1), (68, 2, 1), (98, 2, 1)]
    emptied += [(108, 12, "nonzero")]
    marks = {0: _refused(always + before), 30: _refused(always + after), 34: ("reset", *_refused(emptied))}
    yield Case("refused_learned", "states of other numbers", params, dwell(dice, params, 40), marks)
    dice = Dice("refused_learned_plain")
    plain = make(0x10, 4, 0, (), anchor=0)
    none = [(62, 1, 2), (62, 1, 1), (40, 4, 1), (40, 4, -1), *((at, 4, 1) for at in (44, 48, 52, 56))]
    yield Case(
        "refused_learned_plain",
        "no head, no evidence, no horizon: nothing of theirs",
        plain,
        dwell(dice, plain, 12),
        {0: _refused(none[2:]), 10: _refused(none)},
    )
    dice = Dice("refused_learned_ring")
    params = learned(0x107, 4, 3, dice, anchor=1)
    held = _refused([(62, 1, -1), (62, 1, -2), (62, 1, -3), (62, 1, 1)])
    rows = dwell(dice, params, 30)
    yield Case("refused_learned_ring", "what is held, with a ring", params, rows, {0: held[3:], 20: held})


def _refused(changes: list[Any]) -> tuple[str, ...]:
    """Return marks of states in which one number is changed."""
    return tuple(" ".join(map(str, ("refuse", *change))) for change in changes)


def _fuzz() -> Iterable[Case]:
    """Yield parameters with an `instant` head drawn from all over their ranges."""
    for number in range(12):
        name = f"fuzz_learned_{number}"
        dice = Dice(name)
        signals = dice.between(1, ALL)
        if number % 3:
            signals |= signals >> 2 & 0x80  # drift needs the distance
            signals |= 0 if signals & 0x90 else 0x10
        else:
            signals = signals & ~0x220 or PAPER
        classes, features = dice.between(2, 24), dice.between(1, 12)
        wide = number % 2

        def drawn(count: int, wide: int = wide, dice: Dice = dice) -> tuple[int, ...]:
            low, high = (-32768, 32767) if wide else (-1500, 3500)
            return tuple(dice.between(low, high) for _ in range(count))

        changes: dict[str, Any] = {
            "about": number % 2,
            "anchor": number // 2 % 2,
            "horizon": dice.between(4, 12),
            "expected_start": dice.below(65536),
            "coef": drawn(SIGNAL_COUNT),
            "bias": dice.between(-(2**24), 2**24) if wide else dice.between(-(2**18), 2**18),
            "blend": dice.below(65537),
            "reference": dice.below(65536),
            "clean_mean": tuple(dice.below(65536) for _ in range(SIGNAL_COUNT)),
        }
        if number % 3:
            clip = dice.between(1, 2**19)
            most = 2**19 * 256 // max(1, clip >> 8) - 1
            slope = dice.below(min(32767, most)) if number % 3 == 1 else 0
            span = (slope * (clip >> 8) >> 8) + 257
            bet = dice.between(span, 2**20 - span) if slope else 0
            reach = dice.between(256, 2**32 - 1) >> dice.below(16)
            more = (bet, slope, max(256, reach), dice.between(-(2**24), 2**24) >> 4 * (1 - wide))
            head = Evidence(clip, dice.below(3000), drawn(SIGNAL_COUNT), drawn(classes), *more)
            late = Dice(f"{name} late")
            head = replace(head, still=late.below(2**21) >> late.below(8))
            if not slope:
                mean, most = late.between(-(2**19), 2**19), late.below(2**19)
                head = replace(head, own_looks=late.between(1, 20), own_mean=mean, own_most=most)
            changes |= {"evidence": head, "rise_limit": 70000, "rise_cap": 10**6, **OFF}
            changes |= {"rise_clear": dice.below(70000), "hold": dice.below(64) >> dice.below(6)}
        bias = dice.between(-(2**24), 2**24) if wide else dice.between(-(2**18), 2**18)
        instant = Instant(bias, drawn(SIGNAL_COUNT))
        params = learned(signals, classes, features, dice, instant=instant, **changes)
        rows = dwell(dice, params, 38, mass=(256, 256, 700, 90)[number % 4])
        marks = {dice.between(5, 20): ("save", "load"), dice.between(21, 35): ("reset",), 38: ("save",)}
        yield Case(name, "parameters from all over", params, rows, marks)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_heads, _distances, _states, _fuzz):
        yield from group()
