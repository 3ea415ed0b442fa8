# SPDX-License-Identifier: MIT
"""Cases with an `instant` head: learned persistence, answers, centers, bets, expected accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gen_base import (
    ALL,
    MIXED,
    PAPER,
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
    posterior,
)

from tcuq.reference import Evidence, Instant, Params

OFF: dict[str, Any] = {"fall_limit": 0, "fall_cap": 0}
INSTANT = by_signal(900, -400, 300, 2500, 2800, 700, -900, 1600, 600)
HEAD = by_signal(0, 500, 0, 0, 1500, 8192, -800, 700, 1300, 1500)
FLAT: dict[str, Any] = {"slope": 0, "steep_slope": 1, "knee": 2**24}
MIDWAY: Marks = {20: ("reset",), 33: ("save", "load")}


def evidence(mask: int, classes: int, dice: Dice, base: int = 0, slope: int = 0) -> Evidence:
    """Return an evidence head with random offsets and a reach that suits what the mask compares."""
    offset = tuple(dice.between(-900, 100) for _ in range(classes))
    reach, bias = 2**15 if mask >> 7 & 1 else 2**26, -(8 + (mask >> 9 & 1)) * 65536
    return Evidence(4 * 65536, 0, HEAD, offset, base, slope, reach, bias)


def learned(mask: int, classes: int, features: int, dice: Dice, **changes: Any) -> Params:
    """Return parameters with an `instant` head, centers with signal 7, evidence with signals 5 and 9."""
    base: dict[str, Any] = {"instant": Instant(-3 * 65536, INSTANT)}
    if mask & 0x220 and "evidence" not in changes:
        base |= {"evidence": evidence(mask, classes, dice), **OFF}
    if mask >> 7 & 1:
        base["centers"] = tuple(dice.between(-60, 60) for _ in range(classes * features))
    lags = (1, 2, 4) if mask & 7 else ()
    return make(mask, classes, features, lags, **(base | changes))


def shown(
    dice: Dice, classes: int, sequence: Iterable[int], low: int = 200, high: int = 4000
) -> list[list[int]]:
    """Return posteriors that show these classes, more or less surely."""
    return [posterior(dice, classes, c, dice.between(low, high)) for c in sequence]


def _profiles() -> Iterable[Case]:
    """Yield the standard profile over shapes, subjects, anchors, heads and horizons."""
    number = 0
    for classes, features, steps in (
        (2, 16, 38),
        (3, 4, 38),
        (10, 8, 38),
        (10, 0, 38),
        (35, 6, 36),
        (35, 0, 36),
        (200, 4, 9),
        (200, 0, 9),
        (1000, 2, 3),
    ):
        for about, anchor in ((0, 0), (1, 1), (0, 1), (1, 0)):
            if classes >= 35 and about != anchor:
                continue
            number += 1
            name = f"standard_L{classes}_d{features}_about{about}_anchor{anchor}"
            dice = Dice(name)
            horizon = (0, 4, 7, 12)[number % 4]
            changes: dict[str, Any] = {
                "about": about,
                "anchor": anchor,
                "horizon": horizon,
                "expected_start": 58000 if horizon else 0,
            }
            mask = STANDARD if features else STANDARD_POSTERIORS
            if number % 3:
                bet = (52000, 9000) if number % 3 == 1 else (0, 0)
                changes |= {"evidence": evidence(mask, classes, dice, *bet), **OFF}
                changes |= {"rise_limit": 4 * 65536, "rise_cap": 8 * 65536}
                changes |= {"rise_clear": 65536, "hold": number}
            params = learned(mask, classes, features, dice, **changes)
            marks: Marks = MIDWAY if steps > 30 else {2: ("reset",)}
            yield Case(name, "standard profile", params, dwell(dice, params, steps), marks)
    for name, mask, features, changes in (
        ("learned_only_distance", 0x80, 16, {}),
        ("learned_only_disbelief", 0x100, 0, {"anchor": 1}),
        ("learned_paper", PAPER, 8, {"anchor": 1}),
        ("learned_mixed", MIXED, 8, {"anchor": 1}),
        ("learned_mixed_about", MIXED, 8, {"about": 1, "horizon": 6, "expected_start": 40000}),
        ("learned_all", ALL, 7, {"about": 1, "anchor": 1}),
        ("learned_all_label", ALL, 5, {"horizon": 5, "expected_start": 1}),
    ):
        dice = Dice(name)
        params = learned(mask, 10, features, dice, **changes)
        yield Case(name, f"signals 0x{mask:03X}", params, dwell(dice, params, 38), MIDWAY)
    name = "distance_without_instant"
    dice = Dice(name)
    centers = tuple(dice.between(-90, 90) for _ in range(60))
    params = make(0xDF, 10, 6, (1, 2, 4), centers=centers, horizon=4, expected_start=65535)
    yield Case(name, "centers and no instant head: answer is the prediction", params, dwell(dice, params, 36))
    name = "horizon_paper"
    params = make(PAPER, 4, 4, (1, 2, 4), horizon=12, expected_start=30000)
    yield Case(name, "expected accuracy in the paper's profile", params, dwell(Dice(name), params, 36))


def _mixtures() -> Iterable[Case]:
    """Yield streams that drive the weights of the experts to their ends."""

    def case(name: str, why: str, classes: int, posteriors: list[list[int]]) -> Case:
        dice = Dice(name)
        about = len(name) % 2
        params = learned(STANDARD_POSTERIORS, classes, 0, dice, about=about, anchor=1, warmup=0)
        end = len(posteriors)
        marks: Marks = {end // 3: ("save", "load"), end // 2: ("reset", "save", "load"), end: ("save",)}
        if classes >= 200:
            marks = {end // 2: ("reset",)}
        return Case(name, why, params, from_u(dice, params, posteriors), marks)

    for classes in (2, 3, 10, 35):
        dice = Dice(f"mixture {classes}")
        long = [t // 24 % classes for t in range(125 if classes == 10 else 60)]
        yield case(f"mixture_runs_L{classes}", "long runs of a class", classes, shown(dice, classes, long))
        turn = [t * (classes // 2 + 1) % classes for t in range(40)]
        alternating = shown(dice, classes, turn)
        yield case(f"mixture_alternating_L{classes}", "each step another class", classes, alternating)
        slips = [t // 15 % classes if dice.chance(75) else dice.below(classes) for t in range(50)]
        weak = shown(dice, classes, slips, 60, 400)
        yield case(f"mixture_slips_L{classes}", "answers that are not the prediction", classes, weak)
    ten = 10
    yield case(
        "mixture_sharp", "one hot, each step another class", 10, [one_hot(10, t % 10) for t in range(60)]
    )
    sharp_runs = [one_hot(10, t // 20 % 10) for t in range(90)]
    yield case("mixture_sharp_runs", "one hot, runs of twenty", 10, sharp_runs)
    regimes = [one_hot(ten, t // 12 % 10 if t // 40 % 2 else 7 * t % 10) for t in range(130)]
    yield case("mixture_regimes", "persistence comes and goes", 10, regimes)
    collapsed = shown(Dice("none"), ten, [4] * 60)
    yield case("mixture_collapsed_none", "always one class", 10, collapsed)
    yield case("mixture_one_hot_forever", "255 at one class, always", 5, [one_hot(5, 3)] * 70)
    yield case("mixture_uniform", "all classes equal", 7, [[36 + t % 2] * 7 for t in range(30)])
    yield case("mixture_zeros", "no mass at all", 10, [[0] * 10] * 24)
    yield case("mixture_full", "every class at 255", 10, [[255] * 10] * 24)
    yield case("mixture_full_L1000", "every class at 255, the largest sums", 1000, [[255] * 1000] * 3)
    blocks = [[255 * (t % 3 > 0)] * 10 if t % 2 else one_hot(10, t % 10) for t in range(40)]
    yield case("mixture_blocks", "none, all or one", 10, blocks)
    halves = [one_hot(200, 150 if t % 5 else t) for t in range(9)]
    yield case("mixture_sharp_L200", "one class, and others now and then", 200, halves)
    name, classes = "permuted_learned", 10
    dice = Dice(name)
    params = learned(STANDARD_POSTERIORS, classes, 0, dice, about=1, anchor=1)
    order = dice.shuffled(classes)
    rows = dwell(dice, params, 36)
    rows = [([v + (c == probs.index(max(probs))) for c, v in enumerate(probs)], x) for probs, x in rows]
    yield Case(f"{name}_a", "with its twin: only prediction and answer may differ", params, rows)
    twin = [([probs[order[c]] for c in range(classes)], x) for probs, x in rows]
    head = params.evidence
    assert head is not None
    turned = replace(params, evidence=replace(head, offset=tuple(head.offset[c] for c in order)))
    yield Case(f"{name}_b", "the same stream, classes permuted", turned, twin)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_profiles, _mixtures):
        yield from group()
