# SPDX-License-Identifier: MIT
"""Write the shared test vectors, `vectors/*.vec` (SPEC.md, section 15).

`python vectors/gen.py` rewrites them all; `python vectors/gen.py --check` compares and changes nothing.
"""

from __future__ import annotations

import argparse
import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import gen_edges
import gen_heads
import gen_learned
import gen_looks
import gen_mutants
from gen_base import (
    ALL,
    COEF,
    ENDS,
    EVERY,
    MIXED,
    NEGATIVE,
    PAPER,
    SEVERITY,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    MakeU,
    MakeX,
    Marks,
    by_signal,
    clip8,
    dwell,
    from_u,
    make,
    one_hot,
    posterior,
    weights,
)
from gen_learned import learned
from oracle import NAMES, NO_REASON, SIGNAL_COUNT, Evidence, Monitor, Params, Step

FOLDER = Path(__file__).resolve().parent
MAX_BYTES = 3_500_000


def _grid() -> Iterable[Case]:
    """Yield the paper's profile, with and without features, over the shapes."""
    shapes = [
        (2, 16, (1,), 0),
        (2, 32, (1, 2, 4), 5),
        (2, 64, (1, 4, 16, 64), -128),
        (10, 16, (2, 7, 16), 127),
        (10, 32, tuple(range(1, 9)), -128),
        (10, 64, (1, 2, 3, 5, 8), 0),
        (35, 16, (1, 2, 4), 5),
        (35, 32, (1, 2, 3, 5, 8), 0),
        (200, 32, (1, 2, 3, 5, 8), 127),
        (200, 64, (1, 2, 4), -128),
    ]
    for classes, features, lags, zero_point in shapes:
        name = f"paper_L{classes}_d{features}_lag{lags[-1]}"
        steps = 10 if classes >= 200 else 70 if lags[-1] == 64 else 32
        params = make(PAPER, classes, features, lags, zero_point=zero_point)
        yield Case(name, "dwell, a corrupted part, dwell again", params, dwell(Dice(name), params, steps))
    for classes, lags, mask in (
        (2, (1, 2, 4), 13),
        (10, (1, 4, 16, 64), 0x1D),
        (10, (2, 7, 16), 13),
        (35, (1, 2, 3, 5, 8), 0x1D),
        (200, tuple(range(1, 9)), 13),
        (200, (1, 2, 4), 0x18),
        (1000, (1,), 13),
        (1000, (1, 2), 0x1D),
    ):
        name = f"posterior_only_{mask}_L{classes}"
        steps = 4 if classes == 1000 else 10 if classes == 200 else 66 if lags[-1] == 64 else 40
        params = make(mask, classes, 0, lags)
        yield Case(name, "no features at all", params, dwell(Dice(name), params, steps))
    name = "features_present_but_unread"
    params = make(13, 10, 16, (1, 2, 4))
    yield Case(name, "features of 16 values that no signal reads", params, dwell(Dice(name), params, 40))
    for mask in (PAPER, EVERY):
        name = f"widest_features_mask{mask}"
        params = make(mask, 10, 256, (1, 2, 4), zero_point=-128)
        yield Case(name, "256 features", params, dwell(Dice(name), params, 7))


def _masks() -> Iterable[Case]:
    """Yield each signal alone, and masks that leave parts of the memory out."""
    lags: tuple[int, ...]
    for n in (0, 1, 2, 3, 4, 6):
        name = f"only_{NAMES[n]}"
        coef = tuple(4500 if i == n else 777 for i in range(SIGNAL_COUNT))
        lags = (1, 2, 4) if n <= 2 else ()
        params = make(1 << n, 10, 16 if n in (1, 6) else 0, lags, coef=coef, bias=-3 * 65536)
        yield Case(name, f"signal {n} alone", params, dwell(Dice(name), params, 28))
    for name, mask, classes, features, lags in (
        ("mask_no_divergence", EVERY & ~1, 35, 32, (1, 2, 4)),
        ("mask_no_instability", EVERY & ~2, 35, 32, (1, 2, 3, 5, 8)),
        ("mask_no_divergence_no_instability", EVERY & ~3, 10, 16, (2, 7, 16)),
        ("mask_no_ring", EVERY & ~7, 10, 16, ()),
        ("mask_no_ring_lags_given", EVERY & ~7, 10, 16, (1, 2, 4)),
        ("mask_paper_no_divergence", 14, 200, 16, (1, 4, 16, 64)),
        ("mask_paper_no_instability_with_features", 13, 10, 32, (1, 2, 3, 5, 8)),
        ("mask_flips_magnitude", 0x44, 7, 5, (1, 3)),
    ):
        params = make(mask, classes, features, lags, bias=-2 * 65536)
        yield Case(
            name, f"signals 0x{mask:03X}", params, dwell(Dice(name), params, 14 if classes == 200 else 28)
        )


def _posteriors() -> Iterable[Case]:
    """Yield posteriors that no softmax gives, or that it gives at its limits."""

    def case(name: str, why: str, mask: int, classes: int, make_u: MakeU, steps: int = 28) -> Case:
        features = 5 if mask & 0x42 else 0
        params = make(mask, classes, features, (1, 2, 4), coef=COEF)
        dice = Dice(name)
        return Case(name, why, params, from_u(dice, params, [make_u(dice, t) for t in range(steps)]))

    def tied(dice: Dice, t: int) -> list[int]:
        u = [dice.below(10) for _ in range(10)]
        for c in dice.shuffled(10)[: 2 + t % 4]:
            u[c] = 60
        return u

    def boundary(dice: Dice, t: int) -> list[int]:
        mass = (126, 127, 128, 129, 254, 255, 256, 257, 258)[t % 9]
        top = 63 + dice.below(30)
        return [top - 40, 40, mass - top - 30, 30, 0, 0, 0, 0, 0, 0]

    def halves(classes: int) -> MakeU:
        return lambda dice, t: [255 if (c < classes // 2) == (t // 3 % 2 == 0) else 0 for c in range(classes)]

    yield case("post_saturated", "255 at one class", EVERY, 10, lambda dice, t: one_hot(10, t // 6 * 3 % 10))
    yield case("post_saturated_L2", "255 at one of two", EVERY, 2, lambda dice, t: one_hot(2, t // 5 % 2))
    yield case("post_tied", "two to five classes share the top", EVERY, 10, tied)
    yield case("post_equal", "all classes equal", EVERY, 10, lambda dice, t: [25 + t % 2] * 10)
    yield case("post_equal_L2", "128 and 128", EVERY, 2, lambda dice, t: [128, 128])
    yield case("post_all_255", "every class at 255", EVERY, 35, lambda dice, t: [255] * 35, 24)
    yield case(
        "post_all_255_L1000",
        "every class at 255, the largest sums",
        0x1D,
        1000,
        lambda dice, t: [255] * 1000,
        4,
    )
    yield case("post_all_0", "no mass at all", EVERY, 10, lambda dice, t: [0] * 10)
    yield case(
        "post_none_or_all",
        "every class at 0 or at 255",
        EVERY,
        10,
        lambda dice, t: [255 * dice.below(2)] * 10 if t % 3 else [0, 255] * 5,
    )
    yield case("post_heavy", "random bytes", EVERY, 35, lambda dice, t: [dice.below(256) for _ in range(35)])
    yield case(
        "post_heavy_L200",
        "a heavy posterior",
        0x1D,
        200,
        lambda dice, t: [94 + dice.below(3)] * 200,
        20,
    )
    yield case("post_disjoint_heavy", "divergence is exactly 1", 0x1D, 10, halves(10))
    yield case("post_disjoint_heavy_L200", "divergence is exactly 1", 13, 200, halves(200), 20)
    yield case(
        "post_nearly_same",
        "steps of one unit: the table error is larger than the divergence",
        0x1D,
        10,
        lambda dice, t: [190 + 5 * c + dice.below(2) for c in range(10)],
    )
    yield case(
        "post_low_mass",
        "most is lost",
        EVERY,
        35,
        lambda dice, t: [dice.below(1 + t // 4) for _ in range(35)],
    )
    yield case(
        "post_low_mass_L200",
        "near-equal classes round to nothing",
        0x1D,
        200,
        lambda dice, t: posterior(dice, 200, t // 7, 1 + 3 * (t % 5)),
        24,
    )
    yield case(
        "post_mass_boundaries",
        "around a half and around the whole",
        EVERY,
        10,
        boundary,
    )
    yield case(
        "post_white_noise", "no dwell", EVERY, 10, lambda dice, t: posterior(dice, 10, dice.below(10), 150)
    )


def _features() -> Iterable[Case]:
    """Yield feature vectors at the corners of the cosine."""

    def case(name: str, why: str, zero_point: int, make_x: MakeX, features: int = 16) -> Case:
        params = make(EVERY, 10, features, (1, 2, 4), zero_point=zero_point)
        dice = Dice(name)
        rows = [
            (probs, [clip8(zero_point + make_x(dice, t, j)) for j in range(features)])
            for t, (probs, _) in enumerate(dwell(dice, params, 26))
        ]
        return Case(name, why, params, rows)

    yield case("feat_zero", "always the zero vector", 5, lambda dice, t, j: 0)
    yield case(
        "feat_sometimes_zero",
        "zero vectors now and then",
        0,
        lambda dice, t, j: 0 if t % 5 < 2 else 9 * j - 40,
    )
    yield case(
        "feat_opposite", "the sign turns", 0, lambda dice, t, j: (7 * j + 3) * (-1 if t // 4 % 2 else 1)
    )
    yield case("feat_tiny", "components of -1, 0, 1", -128, lambda dice, t, j: dice.below(3) - 1)
    yield case(
        "feat_one_component", "orthogonal axes", 127, lambda dice, t, j: -255 if j == t // 6 % 16 else 0
    )
    yield case(
        "feat_largest", "all at the end of the range", -128, lambda dice, t, j: 255 - dice.below(2), 256
    )
    yield case(
        "feat_largest_negative", "all at the other end", 127, lambda dice, t, j: dice.below(2) - 255, 64
    )
    yield case("feat_noise", "white noise", 5, lambda dice, t, j: dice.between(-128, 127), 32)

    name = "feat_magnitude"
    params = make(0x40, 2, 7, (), zero_point=127)
    rows = [
        (one_hot(2, 0, 72, -128), [127 - v, *[127 - w] * 6]) for v in (0, 1, 255, 254, 7) for w in (0, 1, 255)
    ]
    yield Case(name, "from the zero vector to the largest", params, rows)


def _streams() -> Iterable[Case]:
    """Yield constant and pinned streams, extreme and negative coefficients, permuted classes."""
    name = "stream_constant"
    params = make(EVERY, 10, 16, (1, 2, 3, 5, 8))
    yield Case(name, "the same inference again and again", params, dwell(Dice(name), params, 1) * 60)

    silent: dict[str, Any] = {"coef": (0,) * SIGNAL_COUNT, "blend": 65536}
    for name, bias, reference in (("stream_risk_max", 256, 60000), ("stream_risk_min", -256, 3000)):
        params = make(13, 10, 0, (1, 2, 4), bias=bias * 65536, reference=reference, **silent)
        yield Case(name, "risk is pinned: the debt meets its bound", params, dwell(Dice(name), params, 50))
    name = "stream_risk_jumps"
    params = make(
        8,
        2,
        0,
        (),
        coef=by_signal(0, 0, 0, 32767, 0, 0, 0, 0, 0),
        bias=-32 * 65536,
        blend=65536,
        doubt_mix=65536,
    )
    rows = from_u(Dice(name), params, [one_hot(2, 0, 255 if t // 20 % 2 else 128, 120) for t in range(120)])
    yield Case(name, "from the least risk to the largest and back", params, rows)

    for name, coef, bias in (
        ("coef_largest", 32767, 256),
        ("coef_least", -32768, -256),
        ("coef_largest_against_bias", 32767, -256),
    ):
        params = make(
            EVERY,
            10,
            16,
            (1, 2, 4),
            coef=(coef,) * SIGNAL_COUNT,
            bias=bias * 65536,
            clean_mean=ENDS,
        )
        yield Case(name, "coefficients at the end of their range", params, dwell(Dice(name), params, 40))
    for name, mask, classes in (("coef_negative_paper", PAPER, 10), ("coef_negative_mixed", MIXED, 35)):
        params = make(mask, classes, 6, (1, 2, 4), coef=NEGATIVE, bias=-65536)
        yield Case(name, "negative coefficients", params, dwell(Dice(name), params, 50))

    for name, mask, classes, lags in (
        ("permuted_paper", PAPER, 10, (1, 2, 4)),
        ("permuted_mixed", MIXED, 35, (1, 2, 3, 5, 8)),
    ):
        params = make(mask, classes, 4, lags)
        dice = Dice(name)
        rows = [(untied(probs), x) for probs, x in dwell(dice, params, 36)]
        order = dice.shuffled(classes)
        yield Case(f"{name}_a", "with its twin: only predictions may differ", params, rows)
        twin = [([probs[order[c]] for c in range(classes)], x) for probs, x in rows]
        yield Case(f"{name}_b", "the same stream, classes permuted", params, twin)


def untied(probs: list[int]) -> list[int]:
    """Return `probs` with a single largest value, by lowering the others that share it."""
    top = max(probs)
    at = probs.index(top)
    return [value if c == at else min(value, top - 1) for c, value in enumerate(probs)]


def _states() -> Iterable[Case]:
    """Yield resets, saves and loads at all kinds of moments."""
    every: Marks = {0: ("save",), 1: ("save",), 5: ("save", "load"), 30: ("save",), 36: ("load", "save")}

    def case(
        name: str, why: str, shape: tuple[int, int, int], lags: tuple[int, ...], steps: int, marks: Marks
    ) -> Case:
        mask, classes, features = shape
        params = make(mask, classes, features, lags, zero_point=5, warmup=10)
        return Case(name, why, params, dwell(Dice(name), params, steps), marks)

    small, near, far, deep = (EVERY, 10, 6), (1, 2, 4), (2, 7, 16), (1, 4, 16, 64)
    third: Marks = dict.fromkeys(range(0, 24, 3), ("save", "load"))
    ninth: Marks = dict.fromkeys(range(5, 60, 9), ("reset",))
    yield case("reset_midway", "reset", small, near, 60, {20: ("reset",), 41: ("reset",)})
    yield case("reset_at_once", "reset before the first step", small, near, 20, {0: ("reset", "save")})
    yield case("reset_often", "reset before the lags fill", small, far, 60, ninth)
    after: Marks = {25: ("reset", "save"), 26: ("save",)}
    yield case("reset_then_save", "save right after reset", (EVERY, 35, 16), near, 50, after)
    empty: Marks = {70: ("reset", "save", "load")}
    yield case("reset_save_load", "load an emptied state", (PAPER, 10, 16), deep, 78, empty)
    yield case("save_first", "save before the first step, load it", small, far, 40, {0: ("save", "load")})
    yield case("save_midway", "save", (PAPER, 35, 32), (1, 2, 3, 5, 8), 60, {3: ("save",), 31: ("save",)})
    yield case("save_load", "save, load, go on", small, near, 60, every)
    yield case("save_load_paper", "save, load, go on", (PAPER, 10, 32), far, 60, every)
    yield case("save_load_no_ring", "save, load, go on", (EVERY & ~7, 10, 16), (), 60, every)
    yield case("save_load_posterior_only", "save, load, go on", (0x1D, 35, 0), (1, 2, 3, 5, 8), 60, every)
    wrapped: Marks = {100: ("save", "load")}
    yield case("save_load_wrapped", "a ring of 64 that has wrapped", (EVERY, 2, 16), deep, 104, wrapped)
    yield case("save_load_often", "load after each third step", (EVERY & 0x1F, 10, 16), (1, 2, 3), 24, third)


def _damage() -> Iterable[Case]:
    """Counters after a memory error, and states that contradict themselves (section 12)."""

    def case(name: str, why: str, mask: int, marks: Marks, steps: int = 80, **changes: Any) -> Case:
        lags = (1, 2, 4) if mask & 7 else ()
        params = make(mask, 4, 4, lags, warmup=5, **changes)
        return Case(name, why, params, dwell(Dice(name), params, steps), marks)

    both = ("save", "load")
    high, top = 2**31 - 1, 2**32 - 1
    for name, mask, changes in (
        ("paper", PAPER, {}),
        ("every", EVERY, {"level_num": 3, "level_den": 7, "reference": 0}),
        ("flat", PAPER, {"slope": 0, "knee": 300, "steep_slope": 1677721}),
        ("gentle", PAPER, {"slope": 1, "knee": 2**24, "steep_slope": 1, "reference": 65535}),
    ):
        debts = (high, -high - 1, 1 << 30, -(1 << 24), 1 << 20, -4097, 400, -90)
        marks = {10 + 8 * n: (f"damage debt {debt}",) for n, debt in enumerate(debts)}
        marks |= {14 + 8 * n: (f"damage debt {debt}", *both) for n, debt in enumerate(debts)}
        yield case(f"damage_debt_{name}", "a debt that no input can cause", mask, marks, **changes)
    credits: Marks = {10: ("damage credit -1",), 20: (f"damage credit {high}", *both)}
    credits |= {30: (f"damage credit {-high - 1}", *both), 41: ("damage credit 61",)}
    credits |= {50: ("damage credit 59", *both), 60: (f"damage credit {high}",)}
    yield case("damage_credit", "a credit below 0 or above a full one", PAPER, credits)
    sums: Marks = {10: (f"damage rise {top}",), 20: (f"damage rise {high}", *both), 25: ("damage alarm 255",)}
    sums |= {
        30: (f"damage fall {1 << 31}", *both),
        40: (f"damage fall {high}",),
        41: ("damage alarm 0", *both),
    }
    sums |= {
        50: ("damage alarm 3", *both),
        55: ("damage rise 1", "damage alarm 1", *both),
        60: ("damage alarm 4",),
    }
    yield case("damage_alarm", "sums of the alarm out of range, and its bits", PAPER, sums)
    off: Marks = {10: ("damage fall 77", "damage alarm 2", *both), 30: ("damage rise 5", "damage alarm 3")}
    changes = {"rise_limit": 0, "rise_cap": 0, "fall_limit": 0, "fall_cap": 0}
    yield case("damage_alarm_off", "sums of an alarm that is off", PAPER, off, 40, **changes)
    counts: Marks = {10: ("damage steps 0", *both), 20: (f"damage steps {top}", *both), 24: both}
    counts |= {30: ("damage steps 2", *both), 40: (f"damage steps {1 << 31}", *both)}
    yield case("damage_steps", "a count of steps that contradicts the others", PAPER, counts)
    yield case("damage_steps_no_ring", "the same where nothing looks back", 0x18, counts, 50)

    wrong = [
        (24, 4, 1 << 31),
        (24, 4, 4000),
        (24, 4, -4000),
        (28, 4, 1000),
        (28, 4, 1 << 31),
        (32, 4, 1 << 31),
        (36, 4, 1 << 31),
        (48, 1, 4),
    ]
    wrong += [(40, 4, 1), (40, 4, -1), (44, 4, 1), (6, 2, 1), (6, 2, 256), (50, 1, 2)]
    wrong += [(49, 1, 9), (49, 1, 1), (50, 1, 1), (50, 1, -1), (51, 1, 1), (52, 2, 1), (52, 2, 1000)]
    wrong += [(0, 1, 1), (4, 2, -1), (8, 4, 16), (12, 2, 1), (14, 2, 1), (16, 4, 1), (-1, 1, 1), (-2, 0, 1)]
    wrong += [(-2, 0, -1), (-2, 0, -10000)]
    refused = tuple(" ".join(map(str, ("refuse", *each))) for each in wrong)
    early = ("refuse 49 1 1", "refuse 50 1 1", "refuse 48 1 1", "refuse 48 1 2", "refuse 52 1 1")
    yield case("refused_paper", "states of other numbers", PAPER, {0: early, 2: refused[:3], 40: refused}, 42)
    yield case("refused_every", "states of other numbers", EVERY, {40: refused}, 42)
    none = ("refuse 49 1 1", "refuse 50 1 1")
    yield case("refused_no_ring", "something held before there is any", 0x18, {0: none}, 12)
    rates = {"budget_num": 0, "level_num": 999, "level_den": 1000, "steep_slope": 16000, "slope": 9}
    zero = ("refuse 28 4 61", "refuse 24 4 2000000", "refuse 24 4 -2000000")
    yield case("refused_rates", "extreme rates", PAPER, {0: zero, 30: zero}, 32, **rates)

    name = "load_goes_back"
    params = make(EVERY, 10, 16, (1, 2, 3, 5, 8))
    rows = dwell(Dice(name), params, 40)
    back: Marks = {20: ("save",), 40: ("load",)}
    yield Case(name, "the same steps twice from one state", params, rows + rows[20:], back)


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


def cases() -> list[Case]:
    """Return all cases, with a save at the end of each and one midway where states are small."""
    out = []
    for group in (
        _grid,
        _masks,
        _posteriors,
        _features,
        _streams,
        _states,
        _damage,
        _thresholds,
        _anchors,
        _evidence,
        _fuzz,
        _edges,
        gen_learned.cases,
        gen_heads.cases,
        gen_looks.cases,
        gen_edges.cases,
        gen_mutants.cases,
    ):
        for case in group():
            end = len(case.rows)
            marks = {end: ("save",), **case.marks}
            if not case.marks and case.params.state_size < 2000:
                marks[end // 2] = ("save",)
            out.append(replace(case, marks=marks))
    names = Counter(case.name for case in out)
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        raise ValueError(f"names used twice: {repeated}")
    return out


def hexed(values: list[int]) -> str:
    """Return int8 values in hexadecimal, `-` when there is none."""
    return struct.pack(f"{len(values)}b", *values).hex() or "-"


def _head_lines(params: Params) -> list[str]:
    """Return the lines of the heads and centers, none without them."""
    evidence, instant, lines = params.evidence, params.instant, []
    if evidence is not None:
        names = ("clip", "reach", "bias", "allowance", "bet_base", "bet_slope")
        numbers = [getattr(evidence, name) for name in names]
        lines.append(" ".join(map(str, ("evidence", *numbers, *evidence.coef, *evidence.offset))))
    if instant is not None:
        lines.append(" ".join(map(str, ("instant", instant.bias, *instant.coef))))
        if instant.class_mix is not None:
            lines.append(" ".join(map(str, ("class_mix", *instant.class_mix))))
    if params.centers is not None:
        lines.append(f"centers {hexed(list(params.centers))}")
    return lines


def forged(state: bytes, offset: int, size: int, change: str) -> bytes:
    """Return a state in which one number was changed, with a checksum that says nothing of it.

    `offset` -1 changes the checksum itself, -2 the length. `change` is what to add; `full` sets every bit
    of the number, `nonzero` makes 1 of every 0 in a list of `size` bytes with two a number.
    """
    number = 0 if change in ("full", "nonzero") else int(change)
    if offset == -1:
        return state[:-1] + bytes([state[-1] ^ number])
    if offset == -2:
        body = state[:-4][:number] if number < 0 else state[:-4] + bytes(number)
    else:
        old = state[offset : offset + size]
        new = ((int.from_bytes(old, "little") + number) % 256**size).to_bytes(size, "little")
        if change == "full":
            new = b"\xff" * size
        elif change == "nonzero":
            values = struct.unpack(f"<{size // 2}H", old)
            new = struct.pack(f"<{size // 2}H", *(max(1, value) for value in values))
        body = state[:offset] + new + state[offset + size : -4]
    return body + struct.pack("<I", zlib.crc32(body))


def render(case: Case) -> tuple[str, list[Step], set[str]]:
    """Run one case.

    Parameters
    ----------
    case : Case
        What to run.

    Returns
    -------
    text : str
        Content of the file.
    steps : list of Step
        Result of each row.
    seen : set of str
        Rare branches that were taken.
    """
    p = case.params
    bounds = p.bounds()
    room = p.idle() if any("damage" in mark for marks in case.marks.values() for mark in marks) else 0
    lines = [
        f"# {case.why}",
        f"case {case.name}",
        "params " + " ".join(f"{key}={value}" for key, value in p.scalars().items()),
        "lags " + (" ".join(map(str, p.lags)) or "-"),
        "lag_weights " + (" ".join(map(str, p.lag_weights)) or "-"),
        "coef " + " ".join(map(str, p.coef)),
        "clean_mean " + " ".join(map(str, p.clean_mean)),
        *_head_lines(p),
        f"sizes {p.ring_size} {p.state_size}",
        f"bounds {bounds[0]} {bounds[1]}",
    ]
    monitor, state, steps, seen = Monitor(p), b"", [], set()
    for t in range(len(case.rows) + 1):
        for mark in case.marks.get(t, ()):
            if mark == "save":
                saved = monitor.save()
                if saved is None:
                    seen.add("save refused")
                state = saved or state
                lines.append(f"save {'refused' if saved is None else saved.hex()}")
            elif mark.startswith("damage "):
                _, counter, value = mark.split(" ")
                monitor.damage(counter, int(value))
                lines.append(mark)
            elif mark.startswith("refuse "):
                _, offset, size, change = mark.split(" ")
                wrong = forged(monitor.save() or b"", int(offset), int(size), change)
                code = Monitor.refusal(p, wrong)
                if code == 0:
                    raise AssertionError(f"{case.name}: {mark} gives a valid state")
                seen.add(f"refused {code}")
                lines.append(f"refuse {code} {wrong.hex()}")
            elif mark == "load" and lines[-1] == "save refused":
                continue  # there is no state of now to go on from
            elif mark == "load":
                seen |= monitor.branches
                monitor = Monitor.load(p, state)
                if monitor.save() != state:
                    raise AssertionError(f"{case.name}: a loaded state is saved otherwise")
                lines.append("load")
            else:
                monitor.reset()
                lines.append("reset")
        if t == len(case.rows):
            break
        probs, features = case.rows[t]
        out = monitor.step(probs, features)
        if not bounds[0] - room <= monitor.debt <= bounds[1]:
            raise AssertionError(f"{case.name}: the debt left its bounds")
        steps.append(out)
        numbers = [getattr(out, column.name) for column in fields(Step) if column.name != "signals"]
        numbers += out.signals
        lines.append(f"step {hexed(probs)} {hexed(features)} " + " ".join(map(str, numbers)))
    lines.append("end")
    return "\n".join(lines) + "\n", steps, seen | monitor.branches


REQUIRED = (
    "abstain",
    "about the answer",
    "accuracy at both ends",
    "alarm fall",
    "alarm fall cleared",
    "alarm from evidence",
    "alarm rise",
    "alarm rise cleared",
    "answer is not the prediction",
    "belief is the anchor",
    "bet loses",
    "bet near its largest",
    "bet near its least",
    "bet pays",
    "both alarms",
    "both vectors zero",
    "budget spent",
    "cosine clipped at 1",
    "disbelief high",
    "disbelief low",
    "divergence clipped at 0",
    "divergence saturated",
    "evidence clipped above",
    "evidence clipped below",
    "drift clipped",
    "drift 0",
    "heavy mass",
    "held below the clear sum",
    "look at its least",
    "look at the first step",
    "look in full",
    "look in part",
    "logistic clipped high",
    "logistic clipped low",
    "low_mass",
    "obtuse angle",
    "one vector zero",
    "opposite vectors",
    "save refused",
    "risk == threshold",
    "threshold <= 0",
    "threshold > 65535",
    "unflagged at threshold > 65535",
    "warming up and flagged",
    "debt started anew",
    "deficit saturated",
    "distance 0",
    "distance largest",
    "no persistence",
    "persistence largest",
    "severity least",
    "severity negative",
    "severity positive",
    "severity largest",
    "starts again at 0",
    "sum clipped above",
    "sum clipped below",
    "weight 1",
    *(f"refused {code}" for code in (-3, -4, -5, -6)),
    *(f"reason {n}" for n in (*range(SIGNAL_COUNT), NO_REASON)),
)


def coverage(case: Case, steps: list[Step], seen: set[str]) -> set[str]:
    """Return which items of `REQUIRED` (and others) a case hits."""
    hit = set(seen)
    for (probs, _), step in zip(case.rows, steps, strict=True):
        mass = sum(probs) + 128 * len(probs)
        for name, holds in (
            ("abstain", step.abstain),
            ("belief is the anchor", case.params.anchor),
            ("both alarms", step.alarm == 3),
            ("about the answer", case.params.about and step.answer != step.prediction),
            (
                "accuracy at both ends",
                case.params.horizon and min(step.expected_accuracy, 65535 - step.expected_accuracy) < 3,
            ),
            ("distance 0", case.params.uses(7) and step.signals[7] == 0),
            ("distance largest", step.signals[7] >= 65500),
            ("heavy mass", mass > 384),
            ("no persistence", case.params.instant and step.persistence < 50),
            ("persistence largest", step.persistence > 60000),
            ("severity negative", step.severity < 0),
            ("severity least", case.params.uses(5) and step.signals[5] == 0),
            ("severity largest", step.signals[5] == 65535),
            ("drift 0", case.params.uses(9) and step.signals[9] == 0),
            ("severity positive", step.severity > 0),
            ("low_mass", step.low_mass),
            ("risk == threshold", step.risk == step.threshold),
            ("threshold <= 0", step.threshold <= 0),
            ("threshold > 65535", step.threshold > 65535),
            ("unflagged at threshold > 65535", step.threshold > 65535 and not step.flagged),
            ("warming up and flagged", step.warming_up and step.flagged),
            (f"reason {step.reason}", True),
        ):
            if holds:
                hit.add(name)
    return hit


def check_twins(results: dict[str, list[Step]]) -> None:
    """Fail when permuting the classes changed more than predictions and answers."""
    for name in [name for name in results if name.startswith("permuted_") and name.endswith("_a")]:
        first, second = results[name], results[name[:-1] + "b"]
        bare = [[replace(step, prediction=0, answer=0) for step in steps] for steps in (first, second)]
        if bare[0] != bare[1]:
            raise AssertionError(f"{name}: a permutation of the classes changes the result")
        if [step.prediction for step in first] == [step.prediction for step in second]:
            raise AssertionError(f"{name}: the permutation does nothing")


def generate() -> tuple[dict[str, str], Counter[str]]:
    """Return the content of every file, and in how many cases each item of `coverage` occurs."""
    files: dict[str, str] = {}
    count: Counter[str] = Counter()
    results: dict[str, list[Step]] = {}
    for case in cases():
        text, steps, seen = render(case)
        files[f"{case.name}.vec"] = text
        results[case.name] = steps
        count.update(coverage(case, steps, seen))
    check_twins(results)
    return files, count


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare with the files; exit 1 where one differs"
    )
    check = parser.parse_args(arguments).check

    files, count = generate()
    total = sum(map(len, files.values()))
    print(f"{len(files)} cases, {total} bytes", file=sys.stderr)
    for name in REQUIRED:
        print(f"{count[name]:4d} cases: {name}", file=sys.stderr)
    missing = [name for name in REQUIRED if not count[name]]
    if missing:
        print(f"never hit: {', '.join(missing)}", file=sys.stderr)
        return 1
    if total > MAX_BYTES:
        print(f"more than {MAX_BYTES} bytes", file=sys.stderr)
        return 1

    extra = [path for path in sorted(FOLDER.glob("*.vec")) if path.name not in files]
    if not check:
        for path in extra:
            path.unlink()
        for name, text in files.items():
            (FOLDER / name).write_bytes(text.encode("ascii"))
        return 0
    wrong = [f"{path.name}: not written by gen.py" for path in extra]
    for name, text in files.items():
        path = FOLDER / name
        if not path.exists():
            wrong.append(f"{name}: missing")
        elif path.read_bytes() != text.encode("ascii"):
            wrong.append(f"{name}: differs")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
