# SPDX-License-Identifier: MIT
"""Cases of what follows the signals: thresholds, budget, anchors, alarms; drawn parameters; exact edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen_base import (
    ALL,
    COEF,
    ENDS,
    EVERY,
    MIXED,
    PAPER,
    SEVERITY,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Marks,
    by_signal,
    dwell,
    from_u,
    make,
    one_hot,
    weights,
)
from gen_learned import learned

from tcuq.reference import SIGNAL_COUNT, Evidence


def _thresholds() -> Iterable[Case]:
    """Yield the corners of the debt map, the budget and the alarm."""
    for name, why, changes in (
        ("map_one_slope", "slope equals steep_slope", {"slope": 90000, "steep_slope": 90000}),
        ("map_flat_near_zero", "slope 0", {"slope": 0, "knee": 25}),
        ("map_no_knee", "knee 0", {"knee": 0, "steep_slope": 50000}),
        ("map_flattest", "the widest bounds", {"slope": 0, "steep_slope": 1, "knee": 2**24}),
        ("map_long_knee", "slope * knee at its limit", {"slope": 1, "steep_slope": 1677721, "knee": 2**24}),
        ("map_steepest", "level 1/2", {"level_den": 2, "slope": 2**23, "steep_slope": 2**23, "knee": 2}),
        ("map_reference_0", "open is 0", {"reference": 0}),
        ("map_reference_1", "open is 1", {"reference": 1}),
        ("map_reference_65535", "shut is near", {"reference": 65535}),
        (
            "level_1_1000",
            "level 1/1000",
            {"level_den": 1000, "slope": 300, "steep_slope": 16777, "knee": 900},
        ),
        (
            "level_999_1000",
            "level 999/1000",
            {"level_num": 999, "level_den": 1000, "slope": 500, "steep_slope": 16777, "knee": 1000},
        ),
        ("level_1_2", "level 1/2", {"level_den": 2, "slope": 200000, "steep_slope": 900000, "knee": 9}),
        (
            "level_37_100",
            "level 37/100",
            {"level_num": 37, "level_den": 100, "slope": 3000, "steep_slope": 20000, "knee": 200},
        ),
        ("budget_0", "never abstains", {"budget_num": 0, "budget_den": 1, "burst": 1, "warmup": 0}),
        ("budget_1", "abstains at each flag", {"budget_num": 1, "budget_den": 1, "burst": 1, "warmup": 0}),
        ("budget_burst_1", "one at a time", {"burst": 1, "warmup": 0}),
        (
            "budget_burst_large",
            "the largest burst",
            {"burst": 10000, "budget_num": 1000, "budget_den": 1000, "warmup": 0},
        ),
        ("budget_warm_start", "no warm-up", {"budget_num": 1, "budget_den": 2, "warmup": 0}),
        ("budget_endless_warmup", "the longest warm-up", {"warmup": 2**32 - 1}),
        ("alarm_off", "both sides off", {"rise_limit": 0, "rise_cap": 0, "fall_limit": 0, "fall_cap": 0}),
        ("alarm_rise_only", "fall is off", {"fall_limit": 0, "fall_cap": 0}),
        (
            "alarm_fall_only",
            "rise is off",
            {"rise_limit": 0, "rise_cap": 0, "fall_limit": 9000, "fall_cap": 30000},
        ),
        ("alarm_cap_is_limit", "limit equals cap", {"rise_cap": 60000, "fall_cap": 20000}),
        ("alarm_limit_1", "least limit", {"rise_limit": 1, "rise_cap": 1, "fall_limit": 1, "fall_cap": 1}),
        (
            "alarm_far_cap",
            "cap 2^30",
            {"rise_cap": 2**30, "fall_cap": 2**30, "rise_reference": 0, "fall_reference": 65535},
        ),
    ):
        params = make(PAPER, 10, 4, (1, 2, 4), **changes)
        yield Case(name, why, params, dwell(Dice(name), params, 50))


def _anchors() -> Iterable[Case]:
    """Yield risk that leans on the belief, over shapes, posteriors of any sum, resets and loads."""
    marks: Marks
    for name, mask, classes, features, mass, marks in (
        ("anchor_belief_L2", STANDARD, 2, 16, 256, {}),
        ("anchor_belief_L10", STANDARD, 10, 16, 256, {20: ("reset",), 40: ("save", "load")}),
        ("anchor_belief_L200", STANDARD_POSTERIORS, 200, 0, 256, {}),
        ("anchor_belief_L1000", 0x100, 1000, 0, 256, {}),
        ("anchor_belief_heavy", 0x100, 35, 0, 3000, {9: ("save", "load"), 25: ("reset",)}),
        ("anchor_belief_light", ALL, 10, 8, 60, {}),
        ("anchor_belief_alone", 0x100, 10, 0, 256, {7: ("reset", "save", "load")}),
    ):
        steps = 6 if classes == 1000 else 16 if classes == 200 else 45
        dice = Dice(name)
        params = learned(mask, classes, features, dice, anchor=1, blend=20000, warmup=0)
        yield Case(name, "risk leans on the belief", params, dwell(dice, params, steps, mass), marks)
    name = "anchor_belief_pure"
    params = learned(0x108, 3, 0, Dice(name), anchor=1, blend=0)
    shown = [
        one_hot(3, t // 9 % 3 if t % 4 else 2 - t // 9 % 3, 255 - 13 * (t % 7), t % 5) for t in range(60)
    ]
    yield Case(name, "risk is the belief alone, against mistakes", params, from_u(Dice(name), params, shown))
    name = "anchor_confidence_L10"
    dice = Dice(name)
    params = learned(STANDARD, 10, 16, dice, blend=20000)
    yield Case(name, "beliefs in use, risk leans on confidence", params, dwell(dice, params, 50))
    name = "belief_frozen"
    params = learned(0x110, 1000, 0, Dice(name))
    shown = [one_hot(1000, 7)] * 4 + [[0] * 1000] * 2 + [one_hot(1000, 999)] * 4
    yield Case(name, "sure of one class, nothing, sure of another", params, from_u(Dice(name), params, shown))


def _evidence() -> Iterable[Case]:
    """Yield alarms that sum evidence, over shapes, clips, signs of offsets, resets and loads."""
    off = {"fall_limit": 0, "fall_cap": 0}
    coef = by_signal(0, 1500, 0, 0, 1800, 8192, -1200, 700, 1300)
    every, bias = EVERY | SEVERITY, -8 * 65536
    marks: Marks
    for name, mask, classes, features, clip, allowance, marks in (
        ("evidence_L10", MIXED | SEVERITY, 10, 6, 4 * 65536, 0, {20: ("reset",), 40: ("save", "load")}),
        ("evidence_L2", MIXED | SEVERITY, 2, 6, 4 * 65536, 3000, {}),
        ("evidence_L35_every", every, 35, 8, 90000, 20000, {33: ("save", "load")}),
        ("evidence_L200_posteriors", 0x38, 200, 0, 2 * 65536, 0, {}),
        ("evidence_L1000", 0x30, 1000, 0, 4 * 65536, 0, {}),
        (
            "evidence_paper",
            PAPER | 0x10,
            10,
            16,
            4 * 65536,
            500,
            {11: ("save", "load"), 50: ("save", "load")},
        ),
        ("evidence_clip_least", MIXED | SEVERITY, 10, 16, 1, 0, {}),
        ("evidence_clip_largest", every, 10, 16, 2**19, 2**24, {}),
    ):
        dice = Dice(name)
        offset = tuple(dice.between(-900, 300) for _ in range(classes))
        weights = coef if mask & SEVERITY else COEF
        if name == "evidence_clip_largest":
            weights, offset = tuple(32767 - m for m in ENDS), (32767, -32768) * 5
        limit = 1 if clip == 1 else 4 * 65536
        params = make(
            mask,
            classes,
            features,
            (1, 2, 4),
            rise_limit=limit,
            rise_cap=2 * limit,
            evidence=Evidence(clip, allowance, weights, offset, reach=2**26, bias=bias),
            **off,
        )
        steps = 6 if classes == 1000 else 16 if classes == 200 else 45
        yield Case(name, "the alarm sums evidence", params, dwell(dice, params, steps), marks)
    # Twins: risk is pinned by a silent first head, so that only the second one can raise the alarm.
    silent: dict[str, Any] = {"coef": (0,) * SIGNAL_COUNT, "blend": 65536, "rise_reference": 60000, **off}
    head = Evidence(4 * 65536, 0, coef, (-700,) * 10, reach=2**26, bias=bias)
    for name, given in (("evidence_risk_flat", head), ("evidence_off_risk_flat", None)):
        params = make(MIXED, 10, 16, (1, 2, 4), evidence=given, rise_limit=200000, rise_cap=300000, **silent)
        rows = dwell(Dice("evidence_risk_flat"), params, 60)
        yield Case(name, "risk never moves", params, rows)
    name = "evidence_side_off"
    params = make(MIXED, 10, 6, (1, 2, 4), evidence=head, rise_limit=0, rise_cap=0, **off)
    yield Case(name, "a head and no alarm", params, dwell(Dice(name), params, 30))


def _fuzz() -> Iterable[Case]:
    """Yield parameters drawn from all over their ranges."""
    for number in range(10):
        name = f"fuzz_{number}"
        dice = Dice(name)
        signals = dice.between(1, 0x7F) & EVERY or PAPER
        classes, features = dice.between(2, 40), dice.between(1, 40)
        lags = tuple(sorted(1 + lag for lag in dice.shuffled((8, 20, 64)[number % 3])[: dice.between(1, 7)]))
        den = dice.between(2, 1000)
        steep = dice.between(1, 2**24 // den)
        slope = dice.below(steep + 1)
        budget_den = dice.between(1, 1000)
        wide = number % 2
        params = make(
            signals,
            classes,
            features,
            lags,
            lag_weights=weights(len(lags), ("falling", "equal", "gap")[dice.below(3)]),
            zero_point=dice.between(-128, 127),
            coef=tuple(
                dice.between(-32768, 32767) if wide else dice.between(-2000, 4500)
                for _ in range(SIGNAL_COUNT)
            ),
            clean_mean=tuple(dice.below(65536) for _ in range(SIGNAL_COUNT)),
            bias=dice.between(-(2**24), 2**24) if wide else dice.between(-(2**18), 2**18),
            doubt_mix=dice.below(65537),
            blend=dice.below(65537),
            level_num=dice.between(1, den - 1),
            level_den=den,
            reference=dice.below(65536),
            slope=slope,
            steep_slope=steep,
            knee=dice.below(min(2000, 2**24 // max(1, slope)) + 1),
            budget_num=dice.below(budget_den + 1),
            budget_den=budget_den,
            burst=dice.between(1, 50),
            warmup=dice.below(30),
            rise_reference=dice.below(65536),
            fall_reference=dice.below(65536),
            rise_limit=dice.between(1, 200000),
            rise_cap=dice.between(200000, 300000),
            fall_limit=dice.between(1, 200000),
            fall_cap=dice.between(200000, 300000),
        )
        rows = dwell(dice, params, 52, mass=(256, 256, 700, 90)[number % 4])
        marks = {dice.between(10, 30): ("save", "load"), dice.between(31, 50): ("reset",), 51: ("save",)}
        yield Case(name, "parameters from all over", params, rows, marks)
    name = "weights_with_gaps"
    params = make(PAPER, 10, 16, (1, 2, 3, 5, 8), lag_weights=weights(5, "gap"))
    yield Case(name, "some lags weigh nothing", params, dwell(Dice(name), params, 40))


def _edges() -> Iterable[Case]:
    """Yield numbers that lie exactly on an edge: rounding, comparison, padding."""
    for classes, features, lags in (
        (2, 7, (1,)),
        (3, 3, (1,)),
        (7, 2, (1, 3)),
        (5, 1, (2,)),
        (9, 15, (3, 5)),
    ):
        name = f"odd_sizes_L{classes}_d{features}"
        params = make(EVERY, classes, features, lags)
        yield Case(name, "sizes that are no multiples of four", params, dwell(Dice(name), params, 30))

    # Tied tops make b = 65535, so that the weighted sum of `doubt` is just under a half.
    name = "edge_mix"
    tops: tuple[int, ...] = (100, 60, 100, 40, 100)
    share = 32767 * pow(1 - 256 * 100, -1, 65536) % 65536
    params = make(8, 2, 0, (), doubt_mix=share)
    yield Case(
        name, "doubt is just under a half unit", params, from_u(Dice(name), params, [[u, u] for u in tops])
    )

    name = "edge_cosine"
    params = make(PAPER, 2, 2, (1,))
    rows = [(one_hot(2, 0, 72, -128), x) for x in ([8, 7], [81, 27], [16, 14], [27, 81], [32, 28]) * 2]
    yield Case(name, "the product of two norms is just under a half unit", params, rows)

    name = "edge_reason"
    ones, means = (1,) * SIGNAL_COUNT, (25599,) * SIGNAL_COUNT
    # A reason is given on flagged steps alone: here, all of them.
    flag: dict[str, Any] = {"reference": 0, "slope": 0, "steep_slope": 1, "knee": 2**24}
    params = make(8, 2, 0, (), coef=ones, clean_mean=means, doubt_mix=65536, **flag)
    tops = (155, 156, 157, 156, 156, 255)
    rows = from_u(Dice(name), params, [[256 - u, u] for u in tops])
    yield Case(name, "a signal that is one unit above its mean", params, rows)
    params = make(0x5, 4, 0, (1,), coef=(1000,) * SIGNAL_COUNT, clean_mean=(100,) * SIGNAL_COUNT, **flag)
    name = "edge_reason_tie"
    halves = [[255, 255, 0, 0], [0, 0, 255, 255]] * 4
    yield Case(name, "two signals that pull alike", params, from_u(Dice(name), params, halves))

    name = "edge_threshold"
    params = make(8, 2, 0, (), blend=0, reference=65536 - 256 * 156, slope=25600, steep_slope=25600, knee=0)
    tops = (156, 157, 156, 155, 160, 156, 140, 156)
    rows = from_u(Dice(name), params, [[20, u] for u in tops])
    yield Case(name, "risk equals the threshold", params, rows)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_thresholds, _anchors, _evidence, _fuzz, _edges):
        yield from group()
