# SPDX-License-Identifier: MIT
"""Cases without a second head: shapes, posteriors, features, streams, rules, edges, states."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from gen_base import (
    COEF,
    DEGRADATION,
    ENDS,
    EVERY,
    FLAT,
    MIXED,
    NEGATIVE,
    PAPER,
    SILENT,
    Case,
    Dice,
    Row,
    by_signal,
    case,
    clip8,
    dwell,
    from_u,
    one_hot,
    posterior,
    refusing,
    weights,
)

from tcuq.reference import NAMES, SIGNAL_COUNT, Evidence, Params

NEAR, FAR, DEEP, FIVE = (1, 2, 4), (2, 7, 16), (1, 4, 16, 64), (1, 2, 3, 5, 8)
TOP, HIGH = 2**32 - 1, 2**31 - 1


def shapes() -> Iterator[Case]:
    """Yield shapes, lags and masks that leave parts of the memory out."""
    for classes, features, lags, zero in (
        *((2, 16, (1,), 0), (2, 32, NEAR, 5), (2, 64, DEEP, -128), (10, 16, FAR, 127)),
        *((10, 32, tuple(range(1, 9)), -128), (10, 64, FIVE, 0), (35, 16, NEAR, 5), (35, 32, FIVE, 0)),
        *((200, 32, FIVE, 127), (200, 64, NEAR, -128)),
    ):
        steps = 10 if classes >= 200 else 70 if lags == DEEP else 32
        name = f"paper_L{classes}_d{features}_lag{lags[-1]}"
        why = "dwell, a corrupted part, dwell again"
        yield case(name, why, PAPER, classes, features, steps, lags=lags, zero_point=zero)
    for classes, lags, mask, steps in (
        *((2, NEAR, 13, 40), (10, DEEP, 0x1D, 66), (10, FAR, 13, 40), (35, FIVE, 0x1D, 40)),
        *((200, tuple(range(1, 9)), 13, 10), (200, NEAR, 24, 10), (1000, (1,), 13, 4), (1000, (1, 2), 29, 4)),
    ):
        name, why = f"posterior_only_{mask}_L{classes}", "no features at all"
        yield case(name, why, mask, classes, 0, steps, lags=lags)
    yield case("features_present_but_unread", "features of 16 values that no signal reads", 13, 10, 16, 40)
    for mask in (PAPER, EVERY):
        name = f"widest_features_mask{mask}"
        yield case(name, "256 features", mask, 10, 256, 7, lags=NEAR, zero_point=-128)
    for n in (0, 1, 2, 3, 4, 6):
        coef = tuple(4500 if i == n else 777 for i in range(SIGNAL_COUNT))
        why, features = f"signal {n} alone", 16 if n in (1, 6) else 0
        yield case(f"only_{NAMES[n]}", why, 1 << n, 10, features, 28, coef=coef, bias=-3 * 65536)
    for name, mask, classes, features, lags in (
        ("no_divergence", EVERY & ~1, 35, 32, NEAR),
        ("no_instability", EVERY & ~2, 35, 32, FIVE),
        ("no_divergence_no_instability", EVERY & ~3, 10, 16, FAR),
        ("no_ring", EVERY & ~7, 10, 16, ()),
        ("no_ring_lags_given", EVERY & ~7, 10, 16, NEAR),
        ("paper_no_divergence", 14, 200, 16, DEEP),
        ("paper_no_instability_with_features", 13, 10, 32, FIVE),
        ("flips_magnitude", 0x44, 7, 5, (1, 3)),
    ):
        steps, why = 14 if classes == 200 else 28, f"signals 0x{mask:03X}"
        yield case(f"mask_{name}", why, mask, classes, features, steps, lags=lags, bias=-2 * 65536)
    sizes = [(2, 7, (1,)), (3, 3, (1,)), (7, 2, (1, 3)), (5, 1, (2,)), (9, 15, (3, 5))]
    for classes, features, lags in sizes:
        name, why = f"odd_sizes_L{classes}_d{features}", "sizes that are no multiples of four"
        yield case(name, why, EVERY, classes, features, 30, lags=lags)
    why, gaps = "some lags weigh nothing", weights(5, "gap")
    yield case("weights_with_gaps", why, PAPER, 10, 16, 40, lags=FIVE, lag_weights=gaps)


def posteriors() -> Iterator[Case]:
    """Yield posteriors that no softmax gives, or that it gives at its limits."""

    def tied(dice: Dice, t: int) -> list[int]:
        u = [dice.below(10) for _ in range(10)]
        for c in dice.shuffled(10)[: 2 + t % 4]:
            u[c] = 60
        return u

    def boundary(dice: Dice, t: int) -> list[int]:
        mass = (126, 127, 128, 129, 254, 255, 256, 257, 258)[t % 9]
        top = 63 + dice.below(30)
        return [top - 40, 40, mass - top - 30, 30, 0, 0, 0, 0, 0, 0]

    def halves(classes: int) -> list[list[int]]:
        return [[255 * ((c < classes // 2) == (t // 3 % 2 == 0)) for c in range(classes)] for t in range(28)]

    def drawn(dice: Dice, params: Params, make, steps: int) -> list[Row]:
        return from_u(dice, params, [make(dice, t) for t in range(steps)])

    for name, why, mask, classes, make, steps in (
        ("saturated", "255 at one class", EVERY, 10, lambda _, t: one_hot(10, t // 6 * 3 % 10), 28),
        ("saturated_L2", "255 at one of two", EVERY, 2, lambda _, t: one_hot(2, t // 5 % 2), 28),
        ("tied", "two to five classes share the top", EVERY, 10, tied, 28),
        ("equal", "all classes equal", EVERY, 10, lambda _, t: [25 + t % 2] * 10, 28),
        ("equal_L2", "128 and 128", EVERY, 2, lambda _, t: [128, 128], 28),
        ("all_255", "every class at 255", EVERY, 35, lambda _, t: [255] * 35, 24),
        ("all_255_L1000", "every class at 255, the largest sums", 0x1D, 1000, lambda _, t: [255] * 1000, 4),
        ("all_0", "no mass at all", EVERY, 10, lambda _, t: [0] * 10, 28),
        ("none_or_all", "every class at 0 or at 255", EVERY, 10,
         lambda dice, t: [255 * dice.below(2)] * 10 if t % 3 else [0, 255] * 5, 28),
        ("heavy", "random bytes", EVERY, 35, lambda dice, t: [dice.below(256) for _ in range(35)], 28),
        ("heavy_L200", "a heavy posterior", 0x1D, 200, lambda dice, t: [94 + dice.below(3)] * 200, 20),
        ("disjoint_heavy", "divergence is exactly 1", 0x1D, 10, lambda _, t: halves(10)[t], 28),
        ("disjoint_heavy_L200", "divergence is exactly 1", 13, 200, lambda _, t: halves(200)[t], 20),
        ("nearly_same", "steps of one unit: the table error is larger than the divergence", 0x1D, 10,
         lambda dice, t: [190 + 5 * c + dice.below(2) for c in range(10)], 28),
        ("low_mass", "most is lost", EVERY, 35,
         lambda dice, t: [dice.below(1 + t // 4) for _ in range(35)], 28),
        ("low_mass_L200", "near-equal classes round to nothing", 0x1D, 200,
         lambda dice, t: posterior(dice, 200, t // 7, 1 + 3 * (t % 5)), 24),
        ("mass_boundaries", "around a half and around the whole", EVERY, 10, boundary, 28),
        ("white_noise", "no dwell", EVERY, 10, lambda dice, t: posterior(dice, 10, dice.below(10), 150), 28),
    ):  # fmt: skip
        features = 5 if mask & 0x42 else 0
        yield case(f"post_{name}", why, mask, classes, features, (drawn, make, steps), lags=NEAR)


def vectors() -> Iterator[Case]:
    """Yield feature vectors at the corners of the cosine."""

    def drawn(dice: Dice, params: Params, make) -> list[Row]:
        z, width = params.zero_point, params.features
        shown = enumerate(dwell(dice, params, 26))
        return [(probs, [clip8(z + make(dice, t, j)) for j in range(width)]) for t, (probs, _) in shown]

    def sometimes(_: Dice, t: int, j: int) -> int:
        return 0 if t % 5 < 2 else 9 * j - 40

    for name, why, zero, make, features in (
        ("zero", "always the zero vector", 5, lambda _, t, j: 0, 16),
        ("sometimes_zero", "zero vectors now and then", 0, sometimes, 16),
        ("opposite", "the sign turns", 0, lambda _, t, j: (7 * j + 3) * (-1 if t // 4 % 2 else 1), 16),
        ("tiny", "components of -1, 0, 1", -128, lambda dice, t, j: dice.below(3) - 1, 16),
        ("one_component", "orthogonal axes", 127, lambda _, t, j: -255 if j == t // 6 % 16 else 0, 16),
        ("largest", "all at the end of the range", -128, lambda dice, t, j: 255 - dice.below(2), 256),
        ("largest_negative", "all at the other end", 127, lambda dice, t, j: dice.below(2) - 255, 64),
        ("noise", "white noise", 5, lambda dice, t, j: dice.between(-128, 127), 32),
    ):
        yield case(f"feat_{name}", why, EVERY, 10, features, (drawn, make), zero_point=zero)
    pairs = [(v, w) for v in (0, 1, 255, 254, 7) for w in (0, 1, 255)]
    rows = [(one_hot(2, 0, 72, -128), [127 - v, *[127 - w] * 6]) for v, w in pairs]
    yield case("feat_magnitude", "from the zero vector to the largest", 0x40, 2, 7, rows, zero_point=127)
    for name, center, value in (("", -128, 127), ("_negative", 127, -128)):
        spans = (0, 1, 3, 255, 256)
        rows = [(one_hot(2, t % 2, 72, -128), [value] * (256 - t) + [center] * t) for t in spans]
        changes = {"centers": (center,) * 512, "zero_point": center}
        yield case(f"distance_largest{name}", "256 features at the other end", 0xC0, 2, 256, rows, **changes)
    dice, rows = Dice("distance_on_center"), []
    centers = tuple(dice.between(-128, 127) for _ in range(3 * 5))
    for t in range(40):
        at = t % 3
        x = [clip8(v + (t // 3 if j == t % 5 else 0)) for j, v in enumerate(centers[5 * at : 5 * at + 5])]
        rows.append((one_hot(3, at if t % 4 else 0, 90, -100), x))
    why = "on a center and a few units off"
    yield case("distance_on_center", why, 0x90, 3, 5, rows, centers=centers, zero_point=-128)
    for features in (1, 7, 256):
        for zero in (-128, 0, 127):
            for mask in (0x40, 0xC0):
                name = f"magnitude_d{features}_z{zero}_{mask:x}".replace("-", "m")
                dice = Dice(name)
                centers = tuple(dice.between(-128, 127) for _ in range(2 * features)) if mask & 0x80 else None
                off = [zero + (1 if zero < 127 else -1), *[zero] * (features - 1)]
                mixed = [dice.between(-128, 127) for _ in range(features)]
                shown = [*([v] * features for v in (zero, 127, -128)), off, mixed, [zero] * features]
                rows = [([72, -72] if t % 2 else [-72, 72], x) for t, x in enumerate(shown)]
                why = "from the zero vector to the largest"
                yield case(name, why, mask, 2, features, rows, zero_point=zero, centers=centers)


def streams() -> Iterator[Case]:
    """Yield constant and pinned streams, extreme and negative coefficients, permuted classes."""
    rows = dwell(Dice("stream_constant"), params_like(EVERY, 10, 16), 1) * 60
    yield case("stream_constant", "the same inference again and again", EVERY, 10, 16, rows, lags=FIVE)
    for name, bias, reference in (("max", 256, 60000), ("min", -256, 3000)):
        changes = {"coef": SILENT, "blend": 65536, "bias": bias * 65536, "reference": reference}
        why = "risk is pinned: the debt meets its bound"
        yield case(f"stream_risk_{name}", why, 13, 10, 0, 50, **changes)
    coef = by_signal(0, 0, 0, 32767, 0, 0, 0, 0, 0)
    shown = [one_hot(2, 0, 255 if t // 20 % 2 else 128, 120) for t in range(120)]
    changes = {"coef": coef, "bias": -32 * 65536, "blend": 65536, "doubt_mix": 65536}
    why = "from the least risk to the largest and back"
    yield case("stream_risk_jumps", why, 8, 2, 0, (from_u, shown), **changes)
    ends = [("largest", 32767, 256), ("least", -32768, -256), ("largest_against_bias", 32767, -256)]
    for name, n, bias in ends:
        changes = {"coef": (n,) * SIGNAL_COUNT, "bias": bias * 65536, "clean_mean": ENDS}
        yield case(f"coef_{name}", "coefficients at the end of their range", EVERY, 10, 16, 40, **changes)
    for name, mask, classes in (("paper", PAPER, 10), ("mixed", MIXED, 35)):
        changes = {"coef": NEGATIVE, "bias": -65536}
        yield case(f"coef_negative_{name}", "negative coefficients", mask, classes, 6, 50, **changes)
    for name, mask, classes, lags in (("paper", PAPER, 10, NEAR), ("mixed", MIXED, 35, FIVE)):
        dice = Dice(f"permuted_{name}")
        rows = [(untied(probs), x) for probs, x in dwell(dice, params_like(mask, classes, 4), 36)]
        order = dice.shuffled(classes)
        why = "with its twin: only predictions may differ"
        yield case(f"permuted_{name}_a", why, mask, classes, 4, rows, lags=lags)
        twin = [([probs[order[c]] for c in range(classes)], x) for probs, x in rows]
        why = "the same stream, classes permuted"
        yield case(f"permuted_{name}_b", why, mask, classes, 4, twin, lags=lags)


def params_like(mask: int, classes: int, features: int) -> Params:
    """Return any parameters of a shape."""
    return case("", "", mask, classes, features, []).params


def untied(probs: list[int]) -> list[int]:
    """Return `probs` with a single largest value, by lowering the others that share it."""
    top = max(probs)
    at = probs.index(top)
    return [value if c == at else min(value, top - 1) for c, value in enumerate(probs)]


def rules() -> Iterator[Case]:
    """Yield the corners of the debt map, the budget and the alarm."""
    off = {"rise_limit": 0, "rise_cap": 0, "fall_limit": 0, "fall_cap": 0}
    for name, why, changes in (
        ("map_one_slope", "slope equals steep_slope", {"slope": 90000, "steep_slope": 90000}),
        ("map_flat_near_zero", "slope 0", {"slope": 0, "knee": 25}),
        ("map_no_knee", "knee 0", {"knee": 0, "steep_slope": 50000}),
        ("map_flattest", "the widest bounds", FLAT),
        ("map_long_knee", "slope * knee at its limit", {"slope": 1, "steep_slope": 1677721, "knee": 2**24}),
        ("map_steepest", "level 1/2", {"level_den": 2, "slope": 2**23, "steep_slope": 2**23, "knee": 2}),
        ("map_reference_0", "open is 0", {"reference": 0}),
        ("map_reference_1", "open is 1", {"reference": 1}),
        ("map_reference_65535", "shut is near", {"reference": 65535}),
        ("level_1_1000", "level 1/1000",
         {"level_den": 1000, "slope": 300, "steep_slope": 16777, "knee": 900}),
        ("level_999_1000", "level 999/1000",
         {"level_num": 999, "level_den": 1000, "slope": 500, "steep_slope": 16777, "knee": 1000}),
        ("level_1_2", "level 1/2", {"level_den": 2, "slope": 200000, "steep_slope": 900000, "knee": 9}),
        ("level_37_100", "level 37/100",
         {"level_num": 37, "level_den": 100, "slope": 3000, "steep_slope": 20000, "knee": 200}),
        ("budget_0", "never abstains", {"budget_num": 0, "budget_den": 1, "burst": 1, "warmup": 0}),
        ("budget_1", "abstains at each flag", {"budget_num": 1, "budget_den": 1, "burst": 1, "warmup": 0}),
        ("budget_burst_1", "one at a time", {"burst": 1, "warmup": 0}),
        ("budget_burst_large", "the largest burst",
         {"burst": 10000, "budget_num": 1000, "budget_den": 1000, "warmup": 0}),
        ("budget_warm_start", "no warm-up", {"budget_num": 1, "budget_den": 2, "warmup": 0}),
        ("budget_endless_warmup", "the longest warm-up", {"warmup": TOP}),
        ("alarm_off", "both sides off", off),
        ("alarm_rise_only", "fall is off", {"fall_limit": 0, "fall_cap": 0}),
        ("alarm_fall_only", "rise is off", {**off, "fall_limit": 9000, "fall_cap": 30000}),
        ("alarm_cap_is_limit", "limit equals cap", {"rise_cap": 60000, "fall_cap": 20000}),
        ("alarm_limit_1", "least limit", dict.fromkeys(off, 1)),
        ("alarm_far_cap", "cap 2^30",
         {"rise_cap": 2**30, "fall_cap": 2**30, "rise_reference": 0, "fall_reference": 65535}),
    ):  # fmt: skip
        yield case(name, why, PAPER, 10, 4, 50, **changes)
    for name, changes in (
        ("hold_risk", {"least_raised": 6, "rise_clear": 20000}),
        ("hold_risk_long", {"least_raised": 63, "rise_clear": 59999, "rise_reference": 12000}),
        ("clear_risk", {"rise_clear": 59999, "rise_reference": 15000}),
        (
            "hold_both_sides",
            {"least_raised": 9, "rise_clear": 500, "fall_limit": 9000, "fall_reference": 12000},
        ),
    ):
        yield case(name, "an alarm of risk that is held", PAPER, 10, 4, 60, "40 both", **changes)


def evidence() -> Iterator[Case]:
    """Yield alarms that sum evidence, over shapes, clips, signs of offsets, resets and loads."""
    coef = by_signal(0, 1500, 0, 0, 1800, 8192, -1200, 700, 1300)
    every, bias = EVERY | DEGRADATION, -8 * 65536
    for name, mask, classes, features, clip, allowance, marks in (
        ("L10", MIXED | DEGRADATION, 10, 6, 4 * 65536, 0, "20 reset; 40 both"),
        ("L2", MIXED | DEGRADATION, 2, 6, 4 * 65536, 3000, ""),
        ("L35_every", every, 35, 8, 90000, 20000, "33 both"),
        ("L200_posteriors", 0x38, 200, 0, 2 * 65536, 0, ""),
        ("L1000", 0x30, 1000, 0, 4 * 65536, 0, ""),
        ("paper", PAPER | 0x10, 10, 16, 4 * 65536, 500, "11 both; 50 both"),
        ("clip_least", MIXED | DEGRADATION, 10, 16, 1, 0, ""),
        ("clip_largest", every, 10, 16, 2**19, 2**24, ""),
    ):
        offset = {"clip_largest": (32767, -32768) * 5}.get(name)
        changes = {"clip": clip, "allowance": allowance, "bias": bias, "reach": 2**26}
        changes |= {"coef": coef if mask & DEGRADATION else COEF}
        if name == "clip_largest":
            changes |= {"coef": tuple(32767 - m for m in ENDS)}
        dice = Dice(f"evidence_{name}")
        drawn = tuple(dice.between(-900, 300) for _ in range(classes))
        head, limit = Evidence(offset=offset or drawn, **changes), 1 if clip == 1 else 4 * 65536
        params = {"evidence": head, "rise_limit": limit, "rise_cap": 2 * limit, "lags": NEAR}
        steps = 6 if classes == 1000 else 16 if classes == 200 else 45
        rows = dwell(dice, params_like(mask & ~DEGRADATION, classes, features), steps)
        why = "the alarm sums evidence"
        yield case(f"evidence_{name}", why, mask, classes, features, rows, marks, **params)
    # Twins: risk is pinned by a silent first head, so that only the second one can raise the alarm.
    silent = {"coef": SILENT, "blend": 65536, "rise_reference": 60000, "fall_limit": 0, "fall_cap": 0}
    head = Evidence(4 * 65536, 0, coef, (-700,) * 10, reach=2**26, bias=bias)
    rows = dwell(Dice("evidence_risk_flat"), params_like(MIXED, 10, 16), 60)
    for name, given in (("evidence_risk_flat", head), ("evidence_off_risk_flat", None)):
        changes = silent | {"evidence": given, "rise_limit": 200000, "rise_cap": 300000}
        yield case(name, "risk never moves", MIXED, 10, 16, rows, **changes)
    changes = {"evidence": head, "rise_limit": 0, "rise_cap": 0}
    yield case("evidence_side_off", "a head and no alarm", MIXED, 10, 6, 30, **changes)


def edges() -> Iterator[Case]:
    """Yield numbers that lie exactly on an edge: rounding, comparison."""
    # Tied tops make b = 65535, so that the weighted sum of `doubt` is just under a half.
    share = 32767 * pow(1 - 256 * 100, -1, 65536) % 65536
    tied = (from_u, [[u, u] for u in (100, 60, 100, 40, 100)])
    yield case("edge_mix", "doubt is just under a half unit", 8, 2, 0, tied, doubt_mix=share)
    rows = [(one_hot(2, 0, 72, -128), x) for x in ([8, 7], [81, 27], [16, 14], [27, 81], [32, 28]) * 2]
    why = "the product of two norms is just under a half unit"
    yield case("edge_cosine", why, PAPER, 2, 2, rows, lags=(1,))
    # A reason is given on flagged steps alone: here, all of them.
    flag = {"reference": 0, **FLAT}
    shown = (from_u, [[256 - u, u] for u in (155, 156, 157, 156, 156, 255)])
    changes = {"coef": (1,) * SIGNAL_COUNT, "clean_mean": (25599,) * SIGNAL_COUNT, "doubt_mix": 65536}
    yield case("edge_reason", "a signal that is one unit above its mean", 8, 2, 0, shown, **changes, **flag)
    halves = (from_u, [[255, 255, 0, 0], [0, 0, 255, 255]] * 4)
    changes = {"coef": (1000,) * SIGNAL_COUNT, "clean_mean": (100,) * SIGNAL_COUNT, "lags": (1,)}
    yield case("edge_reason_tie", "two signals that pull alike", 5, 4, 0, halves, **changes, **flag)
    shown = (from_u, [[20, u] for u in (156, 157, 156, 155, 160, 156, 140, 156)])
    changes = {"reference": 65536 - 256 * 156, "slope": 25600, "steep_slope": 25600, "knee": 0}
    yield case("edge_threshold", "risk equals the threshold", 8, 2, 0, shown, blend=0, **changes)


def anywhere() -> Iterator[Case]:
    """Yield parameters drawn from all over their ranges."""
    for number in range(10):
        dice = Dice(f"fuzz_{number}")
        signals = dice.between(1, 0x7F) & EVERY or PAPER
        classes, features = dice.between(2, 40), dice.between(1, 40)
        lags = tuple(sorted(1 + lag for lag in dice.shuffled((8, 20, 64)[number % 3])[: dice.between(1, 7)]))
        den = dice.between(2, 1000)
        steep = dice.between(1, 2**24 // den)
        slope = dice.below(steep + 1)
        budget_den = dice.between(1, 1000)
        coef, bias = ((-32768, 32767), 2**24) if number % 2 else ((-2000, 4500), 2**18)
        changes = {
            "lags": lags,
            "lag_weights": weights(len(lags), ("falling", "equal", "gap")[dice.below(3)]),
            "zero_point": dice.between(-128, 127),
            "coef": tuple(dice.between(*coef) for _ in range(SIGNAL_COUNT)),
            "clean_mean": tuple(dice.below(65536) for _ in range(SIGNAL_COUNT)),
            "bias": dice.between(-bias, bias),
            "doubt_mix": dice.below(65537),
            "blend": dice.below(65537),
            "level_num": dice.between(1, den - 1),
            "level_den": den,
            "reference": dice.below(65536),
            "slope": slope,
            "steep_slope": steep,
            "knee": dice.below(min(2000, 2**24 // max(1, slope)) + 1),
            "budget_num": dice.below(budget_den + 1),
            "budget_den": budget_den,
            "burst": dice.between(1, 50),
            "warmup": dice.below(30),
            "rise_reference": dice.below(65536),
            "fall_reference": dice.below(65536),
        }
        for side in ("rise", "fall"):
            changes |= {f"{side}_limit": dice.between(1, 200000), f"{side}_cap": dice.between(200000, 300000)}
        shape = case("", "", signals, classes, features, [], **changes).params
        rows = dwell(dice, shape, 52, (256, 256, 700, 90)[number % 4])
        marks = f"{dice.between(10, 30)} both; {dice.between(31, 50)} reset; 51 save"
        why = "parameters from all over"
        yield case(f"fuzz_{number}", why, signals, classes, features, rows, marks, **changes)


def states() -> Iterator[Case]:
    """Yield resets, saves and loads at all kinds of moments."""
    some, every = (EVERY, 10, 6), "0-1 save; 5 both; 30 save; 36 load, save"
    for name, why, shape, lags, steps, marks in (
        ("reset_midway", "reset", some, NEAR, 60, "20 reset; 41 reset"),
        ("reset_at_once", "reset before the first step", some, NEAR, 20, "0 reset, save"),
        ("reset_often", "reset before the lags fill", some, FAR, 60, "5-59/9 reset"),
        ("reset_then_save", "save right after reset", (EVERY, 35, 16), NEAR, 50, "25 reset, save; 26 save"),
        ("reset_save_load", "load an emptied state", (PAPER, 10, 16), DEEP, 78, "70 reset, both"),
        ("save_first", "save before the first step, load it", some, FAR, 40, "0 both"),
        ("save_midway", "save", (PAPER, 35, 32), FIVE, 60, "3 save; 31 save"),
        ("save_load", "save, load, go on", some, NEAR, 60, every),
        ("save_load_paper", "save, load, go on", (PAPER, 10, 32), FAR, 60, every),
        ("save_load_no_ring", "save, load, go on", (EVERY & ~7, 10, 16), (), 60, every),
        ("save_load_posterior_only", "save, load, go on", (0x1D, 35, 0), FIVE, 60, every),
        ("save_load_wrapped", "a ring of 64 that has wrapped", (EVERY, 2, 16), DEEP, 104, "100 both"),
        ("save_load_often", "load after each third step", (0x1F, 10, 16), (1, 2, 3), 24, "0-23/3 both"),
    ):
        yield case(name, why, *shape, steps, marks, lags=lags, zero_point=5, warmup=10)
    rows = dwell(Dice("load_goes_back"), params_like(EVERY, 10, 16), 40)
    why = "the same steps twice from one state"
    yield case("load_goes_back", why, EVERY, 10, 16, rows + rows[20:], "20 save; 40 load", lags=FIVE)


def damage() -> Iterator[Case]:
    """Yield counters after a memory error, and states that contradict themselves (section 12)."""
    debts = (HIGH, -HIGH - 1, 1 << 30, -(1 << 24), 1 << 20, -4097, 400, -90)
    marks = "; ".join(
        f"{10 + 8 * n} damage debt {d}; {14 + 8 * n} damage debt {d}, both" for n, d in enumerate(debts)
    )
    for name, mask, changes in (
        ("paper", PAPER, {}),
        ("every", EVERY, {"level_num": 3, "level_den": 7, "reference": 0}),
        ("flat", PAPER, {"slope": 0, "knee": 300, "steep_slope": 1677721}),
        ("gentle", PAPER, {"slope": 1, "knee": 2**24, "steep_slope": 1, "reference": 65535}),
    ):
        why = "a debt that no input can cause"
        yield case(f"damage_debt_{name}", why, mask, 4, 4, 80, marks, warmup=5, **changes)
    credit = f"10 damage credit -1; 20 damage credit {HIGH}, both; 30 damage credit {-HIGH - 1}, both"
    credit += f"; 41 damage credit 61; 50 damage credit 59, both; 60 damage credit {HIGH}"
    sums = f"10 damage rise {TOP}; 20 damage rise {HIGH}, both; 25 damage alarm 255"
    sums += f"; 30 damage fall {1 << 31}, both; 40 damage fall {HIGH}; 41 damage alarm 0, both"
    sums += "; 50 damage alarm 3, both; 55 damage rise 1, damage alarm 1, both; 60 damage alarm 4"
    off = {"rise_limit": 0, "rise_cap": 0, "fall_limit": 0, "fall_cap": 0}
    sums_off = "10 damage fall 77, damage alarm 2, both; 30 damage rise 5, damage alarm 3"
    counts = f"10 damage steps 0, both; 20 damage steps {TOP}, both; 24 both; 30 damage steps 2, both"
    counts += f"; 40 damage steps {1 << 31}, both"
    wrong = [
        (24, 4, 1 << 31),
        (24, 4, 4000),
        (24, 4, -4000),
        (28, 4, 1000),
        (28, 4, 1 << 31),
        (32, 4, 1 << 31),
    ]
    wrong += [(36, 4, 1 << 31), (60, 1, 4), (40, 4, 1), (40, 4, -1), *((at, 4, 1) for at in (44, 48, 52, 56))]
    wrong += [(6, 2, 1), (6, 2, 256), (62, 1, 2), (61, 1, 9), (61, 1, 1), (62, 1, 1), (62, 1, -1), (63, 1, 1)]
    wrong += [
        (64, 2, 1),
        (64, 2, 1000),
        (0, 1, 1),
        (4, 2, -1),
        (8, 4, 16),
        (12, 2, 1),
        (14, 2, 1),
        (16, 4, 1),
    ]
    wrong += [(-1, 1, 1), (-2, 0, 1), (-2, 0, -1), (-2, 0, -10000)]
    late = f"40 {refusing(wrong)}"
    early = [(61, 1, 1), (62, 1, 1), (60, 1, 1), (60, 1, 2), (64, 1, 1)]
    rates = {"budget_num": 0, "level_num": 999, "level_den": 1000, "steep_slope": 16000, "slope": 9}
    zero = refusing([(28, 4, 61), (24, 4, 2000000), (24, 4, -2000000)])
    for name, why, mask, steps, marks, changes in (
        ("damage_credit", "a credit below 0 or above a full one", PAPER, 80, credit, {}),
        ("damage_alarm", "sums of the alarm out of range, and its bits", PAPER, 80, sums, {}),
        ("damage_alarm_off", "sums of an alarm that is off", PAPER, 40, sums_off, off),
        ("damage_steps", "a count of steps that contradicts the others", PAPER, 80, counts, {}),
        ("damage_steps_no_ring", "the same where nothing looks back", 0x18, 50, counts, {}),
        ("refused_paper", "states of other numbers", PAPER, 42,
         f"0 {refusing(early)}; 2 {refusing(wrong[:3])}; {late}", {}),
        ("refused_every", "states of other numbers", EVERY, 42, late, {}),
        ("refused_no_ring", "something held before there is any", 0x18, 12, f"0 {refusing(early[:2])}", {}),
        ("refused_rates", "extreme rates", PAPER, 32, f"0 {zero}; 30 {zero}", rates),
    ):  # fmt: skip
        yield case(name, why, mask, 4, 4, steps, marks, warmup=5, **changes)


def cases() -> Iterator[Case]:
    """Yield all cases of this file."""
    groups = (shapes, posteriors, vectors, streams, rules, evidence, edges, anywhere, states, damage)
    yield from chain.from_iterable(group() for group in groups)
