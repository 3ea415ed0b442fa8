# SPDX-License-Identifier: MIT
"""Cases with an `instant` head: learned persistence, answers, centers, bets, anchors, states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from gen_base import (
    ALL,
    COEF,
    ENDS,
    FLAT,
    HEAD,
    MIXED,
    NEGATIVE,
    PAPER,
    SILENT,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    by_signal,
    case,
    dwell,
    from_u,
    one_hot,
    params_of,
    posterior,
    refusing,
)

from tcuq.reference import SIGNAL_COUNT, Evidence, Instant

MIDWAY = "20 reset; 33 both"
LEANS = {"about": 1, "anchor": 1}
TOP = 2**32 - 1


def profiles() -> Iterator[Case]:
    """Yield the standard profile over shapes, subjects, anchors, heads and horizons, and other masks."""
    number = 0
    for classes, features, steps in (
        *((2, 16, 38), (3, 4, 38), (10, 8, 38), (10, 0, 38), (35, 6, 36), (35, 0, 36)),
        *((200, 4, 9), (200, 0, 9), (1000, 2, 3)),
    ):
        for about, anchor in ((0, 0), (1, 1), (0, 1), (1, 0)):
            if classes >= 35 and about != anchor:
                continue
            number += 1
            horizon = (0, 4, 7, 12)[number % 4]
            changes = {"about": about, "anchor": anchor, "horizon": horizon}
            changes |= {"expected_start": 58000 if horizon else 0}
            if number % 3:
                base, slope = (52000, 9000) if number % 3 == 1 else (0, 0)
                changes |= {"evidence": {"bet_base": base, "bet_slope": slope}, "least_raised": number}
                changes |= {"rise_limit": 4 * 65536, "rise_cap": 8 * 65536, "rise_clear": 65536}
            name = f"standard_L{classes}_d{features}_about{about}_anchor{anchor}"
            mask, marks = STANDARD if features else STANDARD_POSTERIORS, MIDWAY if steps > 30 else "2 reset"
            changes |= {"instant": True}
            yield case(name, "standard profile", mask, classes, features, steps, marks, **changes)
    for name, mask, features, changes in (
        ("only_distance", 0x80, 16, {}),
        ("only_disbelief", 0x100, 0, {"anchor": 1}),
        ("paper", PAPER, 8, {"anchor": 1}),
        ("mixed", MIXED, 8, {"anchor": 1}),
        ("mixed_about", MIXED, 8, {"about": 1, "horizon": 6, "expected_start": 40000}),
        ("all", ALL, 7, LEANS),
        ("all_label", ALL, 5, {"horizon": 5, "expected_start": 1}),
    ):
        why = f"signals 0x{mask:03X}"
        yield case(f"learned_{name}", why, mask, 10, features, 38, MIDWAY, instant=True, **changes)
    dice, name = Dice("distance_without_instant"), "distance_without_instant"
    centers = tuple(dice.between(-90, 90) for _ in range(60))
    changes = {"centers": centers, "horizon": 4, "expected_start": 65535}
    rows = dwell(dice, params_of(dice, 0xDF, 10, 6, **changes), 36)
    yield case(name, "centers and no instant head: answer is the prediction", 0xDF, 10, 6, rows, **changes)
    changes = {"horizon": 12, "expected_start": 30000}
    yield case("horizon_paper", "expected accuracy in the paper's profile", PAPER, 4, 4, 36, **changes)


def shown(dice: Dice, classes: int, sequence: list[int], low: int = 200, high: int = 4000) -> list[list[int]]:
    """Return posteriors that show these classes, more or less surely."""
    return [posterior(dice, classes, c, dice.between(low, high)) for c in sequence]


def mixtures() -> Iterator[Case]:
    """Yield streams that drive the weights of the experts to their ends."""
    streams = []
    for classes in (2, 3, 10, 35):
        dice = Dice(f"mixture {classes}")
        long = [t // 24 % classes for t in range(125 if classes == 10 else 60)]
        streams.append((f"runs_L{classes}", "long runs of a class", shown(dice, classes, long)))
        turn = [t * (classes // 2 + 1) % classes for t in range(40)]
        streams.append((f"alternating_L{classes}", "each step another class", shown(dice, classes, turn)))
        slips = [t // 15 % classes if dice.chance(75) else dice.below(classes) for t in range(50)]
        weak = shown(dice, classes, slips, 60, 400)
        streams.append((f"slips_L{classes}", "answers that are not the prediction", weak))
    streams += [
        ("sharp", "one hot, each step another class", [one_hot(10, t % 10) for t in range(60)]),
        ("sharp_runs", "one hot, runs of twenty", [one_hot(10, t // 20 % 10) for t in range(90)]),
        ("regimes", "persistence comes and goes",
         [one_hot(10, t // 12 % 10 if t // 40 % 2 else 7 * t % 10) for t in range(130)]),
        ("collapsed_none", "always one class", shown(Dice("none"), 10, [4] * 60)),
        ("one_hot_forever", "255 at one class, always", [one_hot(5, 3)] * 70),
        ("uniform", "all classes equal", [[36 + t % 2] * 7 for t in range(30)]),
        ("zeros", "no mass at all", [[0] * 10] * 24),
        ("full", "every class at 255", [[255] * 10] * 24),
        ("full_L1000", "every class at 255, the largest sums", [[255] * 1000] * 3),
        ("blocks", "none, all or one",
         [[255 * (t % 3 > 0)] * 10 if t % 2 else one_hot(10, t % 10) for t in range(40)]),
        ("sharp_L200", "one class, and others now and then",
         [one_hot(200, 150 if t % 5 else t) for t in range(9)]),
    ]  # fmt: skip
    for name, why, posteriors in streams:
        name, classes, end = f"mixture_{name}", len(posteriors[0]), len(posteriors)
        marks = f"{end // 3} both; {end // 2} reset, both; {end} save"
        marks = f"{end // 2} reset" if classes >= 200 else marks
        changes = {"about": len(name) % 2, "anchor": 1, "warmup": 0, "instant": True}
        yield case(name, why, STANDARD_POSTERIORS, classes, 0, (from_u, posteriors), marks, **changes)
    dice = Dice("permuted_learned")
    params = params_of(dice, STANDARD_POSTERIORS, 10, 0, instant=True)
    order, head = dice.shuffled(10), params.evidence
    rows = dwell(dice, params, 36)
    rows = [([v + (c == probs.index(max(probs))) for c, v in enumerate(probs)], x) for probs, x in rows]
    twin = [([probs[order[c]] for c in range(10)], x) for probs, x in rows]
    turned = replace(head, offset=tuple(head.offset[c] for c in order))
    for name, why, given, stream in (
        ("permuted_learned_a", "with its twin: only prediction and answer may differ", head, rows),
        ("permuted_learned_b", "the same stream, classes permuted", turned, twin),
    ):
        yield case(name, why, STANDARD_POSTERIORS, 10, 0, stream, instant=True, evidence=given, **LEANS)


def anchors() -> Iterator[Case]:
    """Yield risk that leans on the belief, over shapes, posteriors of any sum, resets and loads."""
    for name, mask, classes, features, mass, marks in (
        ("L2", STANDARD, 2, 16, 256, ""),
        ("L10", STANDARD, 10, 16, 256, "20 reset; 40 both"),
        ("L200", STANDARD_POSTERIORS, 200, 0, 256, ""),
        ("L1000", 0x100, 1000, 0, 256, ""),
        ("heavy", 0x100, 35, 0, 3000, "9 both; 25 reset"),
        ("light", ALL, 10, 8, 60, ""),
        ("alone", 0x100, 10, 0, 256, "7 reset, both"),
    ):
        rows = (dwell, 6 if classes == 1000 else 16 if classes == 200 else 45, mass)
        changes = {"instant": True, "anchor": 1, "blend": 20000, "warmup": 0}
        why = "risk leans on the belief"
        yield case(f"anchor_belief_{name}", why, mask, classes, features, rows, marks, **changes)
    at = [t // 9 % 3 if t % 4 else 2 - t // 9 % 3 for t in range(60)]
    mistakes = [one_hot(3, c, 255 - 13 * (t % 7), t % 5) for t, c in enumerate(at)]
    frozen = [one_hot(1000, 7)] * 4 + [[0] * 1000] * 2 + [one_hot(1000, 999)] * 4
    for name, why, mask, classes, features, rows, changes in (
        ("anchor_belief_pure", "risk is the belief alone, against mistakes", 0x108, 3, 0, (from_u, mistakes),
         {"anchor": 1, "blend": 0}),
        ("anchor_confidence_L10", "beliefs in use, risk leans on confidence", STANDARD, 10, 16, 50,
         {"blend": 20000}),
        ("belief_frozen", "sure of one class, nothing, sure of another", 0x110, 1000, 0,
         (from_u, frozen), {}),
    ):  # fmt: skip
        yield case(name, why, mask, classes, features, rows, instant=True, **changes)


def heads() -> Iterator[Case]:
    """Yield both heads at the ends of their ranges."""
    for name, coef, bias, other, instant_bias in (
        ("high_low", 32767, 256, -32768, -256),
        ("low_high", -32768, -256, 32767, 256),
        ("high", 32767, 256, 32767, 256),
        ("low", -32768, -256, -32768, -256),
        ("against", 32767, -256, 32767, 256),
        ("silent_high", 0, 256, 0, 256),
        ("silent_low", 0, -256, 0, -256),
    ):
        changes = {"coef": (coef,) * SIGNAL_COUNT, "bias": bias * 65536, "clean_mean": ENDS, "about": 1}
        changes |= {"instant": Instant(instant_bias * 65536, (other,) * SIGNAL_COUNT)}
        changes |= {"horizon": 4, "expected_start": 65535 if bias > 0 else 0}
        why = "both heads at the ends of their ranges"
        yield case(f"heads_{name}", why, ALL, 5, 3, 70 if coef == 0 else 22, **changes)
    ends = tuple((32767, -32768)[n % 2] for n in range(SIGNAL_COUNT))
    crossed = {"instant": Instant(7, ends), "coef": ends[1:] + ends[:1]}
    yield case("heads_mixed_signs", "coefficients that cross", ALL, 5, 3, 22, **crossed)
    other = Instant(99999, by_signal(-1300, 450, -350, 600, 550, 750, -450, 1300, -1550))
    negative = {"coef": NEGATIVE, "instant": other, "bias": -65537}
    yield case("heads_negative", "negative coefficients", STANDARD, 6, 4, 22, **negative)
    flat = {"clean_mean": SILENT, "coef": COEF, "reference": 0, **FLAT}
    yield case("heads_reason", "each step is flagged", ALL, 5, 3, 22, instant=True, **flat)
    for n in (7, 8):
        only = tuple(3000 if i == n else 0 for i in range(SIGNAL_COUNT))
        changes = {"coef": only, "instant": Instant(0, only), "clean_mean": SILENT}
        yield case(f"heads_reason_{n}", f"signal {n} is the reason", STANDARD, 4, 3, 22, **changes)


def bets() -> Iterator[Case]:
    """Yield bets whose factor is just below 2^20 at its largest, and 256 or less at its least."""
    small = 3 * 65536 + 77
    for name, clip, base, slope in (
        ("widest", 2**19, 2**19, 32767),
        ("least_base", small, 258 + (777 * (small >> 8) >> 8), 777),
        ("largest_base", small, 2**20 - 1 - (25000 * (small >> 8) >> 8), 25000),
        ("steepest", 12 * 256 + 255, 258 + (32767 * 12 >> 8), 32767),
        ("steepest_high", 12 * 256 + 255, 2**20 - 1 - (32767 * 12 >> 8), 32767),
        ("flattest", 1, 257, 1),
        ("top", 255, 2**20 - 1, 32767),
        ("even", 4 * 65536, 65536, 16000),
    ):
        offset = (-500, -1500, -900, -1200) if name == "even" else (-32768, 32767) * 2
        coef, allowance = HEAD if name == "even" else SILENT, 5 if "base" in name else 0
        head = Evidence(clip, allowance, coef, offset, base, slope, 2**26)
        changes = {"evidence": head, "instant": True, "about": 1, "rise_limit": 3 * 65536, "rise_cap": 2**30}
        why, marks = "the alarm sums the logarithm of a bet", "16 reset, both"
        yield case(f"bet_{name}", why, STANDARD_POSTERIORS, 4, 0, 36, marks, **changes)
    changes = {"evidence": {"bet_base": 60000, "bet_slope": 12000}, "rise_limit": 0, "rise_cap": 0}
    why = "a bet and no alarm: degradation goes on"
    yield case("bet_side_off", why, STANDARD_POSTERIORS, 10, 0, 30, instant=True, **changes)


def states() -> Iterator[Case]:
    """Yield saves, loads and resets at all kinds of moments, damaged counts, and states to be refused."""
    base = {"instant": True, "horizon": 6, "expected_start": 50000, "warmup": 5, **LEANS}
    bet, resets = {"bet_base": 60000, "bet_slope": 9000}, "0-39/4 reset, both"
    mixed = "0-1 both; 2 reset; 3 both, reset; 20 save; 30 load; 31 reset, reset, save"
    for name, why, mask, marks in (
        ("save_often", "load after each third step", STANDARD, "0-39/3 both"),
        ("reset_often", "what is learned outlives a reset", STANDARD, resets),
        ("reset_plain", "class mix and deficits outlive a reset", STANDARD_POSTERIORS, resets),
        ("first_step", "before and after the first step", ALL, mixed),
    ):
        yield case(f"learned_{name}", why, mask, 4, 4, 36, marks, evidence=bet, **base)
    counts = f"10 damage steps 0, both; 20 damage steps {TOP}, both; 24 both; 30 damage steps 1, both"
    counts += "; 34 reset, damage steps 0, both"
    for name, mask in (("", STANDARD), ("_ring", ALL)):
        why = "a count of steps that contradicts the others"
        yield case(f"damage_steps_learned{name}", why, mask, 4, 4, 45, counts, **base)

    # 64 last, 68 experts 1 to 4, 100 class mix, 108 deficits.
    clip = 2 * 4 * 65536 + 1
    always = [(6, 2, 1), (6, 2, 32768), (62, 1, 4), (62, 1, 128), (40, 4, clip), (40, 4, -clip)]
    always += [(40, 4, 1 << 31), (56, 4, 1 << 24), (56, 4, 1 << 31)]
    before = [(62, 1, n) for n in (1, 2, 3)] + [(at, 2, 1) for at in (64, 68, 98, 100, 106, 108, 118)]
    after = [(62, 1, -1), (62, 1, -2), (62, 1, -3), (64, 4, 1 << 30), (64, 4, 1 << 31)]
    after += [(at, 2, "full") for at in (68, 76, 84, 92, 100)] + [(108, 12, "nonzero")]
    emptied = [(62, 1, -1), (62, 1, -2), (64, 2, 1), (68, 2, 1), (98, 2, 1), (108, 12, "nonzero")]
    marks = f"0 {refusing(always + before)}; 30 {refusing(always + after)}; 34 reset, {refusing(emptied)}"
    yield case("refused_learned", "states of other numbers", STANDARD_POSTERIORS, 4, 0, 40, marks, **base)
    none = [(62, 1, 2), (62, 1, 1), (40, 4, 1), (40, 4, -1), *((at, 4, 1) for at in (44, 48, 52, 56))]
    why = "no head, no evidence, no horizon: nothing of theirs"
    marks = f"0 {refusing(none[2:])}; 10 {refusing(none)}"
    yield case("refused_learned_plain", why, 0x10, 4, 0, 12, marks)
    held = [(62, 1, -1), (62, 1, -2), (62, 1, -3), (62, 1, 1)]
    why, marks = "what is held, with a ring", f"0 {refusing(held[3:])}; 20 {refusing(held)}"
    yield case("refused_learned_ring", why, 0x107, 4, 3, 30, marks, instant=True, anchor=1)


def anywhere() -> Iterator[Case]:
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
        low, high, largest = (-32768, 32767, 2**24) if wide else (-1500, 3500, 2**18)
        changes = {
            "about": number % 2,
            "anchor": number // 2 % 2,
            "horizon": dice.between(4, 12),
            "expected_start": dice.below(65536),
            "coef": tuple(dice.between(low, high) for _ in range(SIGNAL_COUNT)),
            "bias": dice.between(-largest, largest),
            "blend": dice.below(65537),
            "reference": dice.below(65536),
            "clean_mean": tuple(dice.below(65536) for _ in range(SIGNAL_COUNT)),
        }
        if number % 3:
            clip = dice.between(1, 2**19)
            slope = dice.below(min(32767, 2**27 // max(1, clip >> 8) - 1)) if number % 3 == 1 else 0
            span = (slope * (clip >> 8) >> 8) + 257
            bet = dice.between(span, 2**20 - span) if slope else 0
            reach = max(256, dice.between(256, TOP) >> dice.below(16))
            bias, allowance = dice.between(-(2**24), 2**24) >> 4 * (1 - wide), dice.below(3000)
            coef, offset = (tuple(dice.between(low, high) for _ in range(n)) for n in (SIGNAL_COUNT, classes))
            late = Dice(f"{name} late")
            frozen = late.below(2**21) >> late.below(8)
            head = Evidence(clip, allowance, coef, offset, bet, slope, reach, bias, frozen)
            if not slope:
                mean, most = late.between(-(2**19), 2**19), late.below(2**19)
                head = replace(
                    head, baseline_inputs=late.between(1, 20), baseline_mean=mean, baseline_most=most
                )
            changes |= {"evidence": head, "rise_limit": 70000, "rise_cap": 10**6}
            changes |= {"rise_clear": dice.below(70000), "least_raised": dice.below(64) >> dice.below(6)}
        bias = dice.between(-largest, largest)
        changes["instant"] = Instant(bias, tuple(dice.between(low, high) for _ in range(SIGNAL_COUNT)))
        params = params_of(dice, signals, classes, features, **changes)
        if params.centers is not None:
            changes["centers"] = params.centers
        rows = dwell(dice, params, 38, (256, 256, 700, 90)[number % 4])
        marks = f"{dice.between(5, 20)} both; {dice.between(21, 35)} reset; 38 save"
        changes["evidence"] = params.evidence
        yield case(name, "parameters from all over", signals, classes, features, rows, marks, **changes)


def cases() -> Iterator[Case]:
    """Yield all cases of this file."""
    groups = (profiles, mixtures, anchors, heads, bets, states, anywhere)
    yield from chain.from_iterable(group() for group in groups)
