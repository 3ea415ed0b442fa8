# SPDX-License-Identifier: MIT
"""Cases of input that stands still, of a device's own reference, and of the magnitude of the features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gen_base import STANDARD, STANDARD_POSTERIORS, Case, Dice, Marks, Row, make, one_hot
from gen_learned import evidence, learned
from gen_looks import ALARM, BOTH, DRIFT, LARGEST, ODDS, held, looking

from tcuq.reference import SIGNAL_COUNT, Evidence, Monitor, Params

MOST = 2**21
STILL = 6 * 65536
BASE: dict[str, Any] = {"horizon": 5, "expected_start": 60000, "warmup": 0}
STATES: Marks = dict.fromkeys(range(8, 60, 3), BOTH)


def _with(params: Params, **changes: Any) -> Params:
    """Return parameters with another evidence head."""
    assert params.evidence is not None
    return replace(params, evidence=replace(params.evidence, **changes))


def _frozen(rows: list[Row], kind: str, dice: Dice) -> list[Row]:
    """Return a stream that is held at its tenth row for thirty steps: all of it, nearly, or a part."""
    probs, x = rows[10]
    shown: list[Row] = []
    for t in range(30):
        near = [v + dice.between(-1, 1) for v in x]
        shown.append(
            {
                "exactly": (probs, x),
                "nearly": (probs, near),
                "features": (rows[t % 12][0], x),
                "posteriors": (probs, rows[t % 12][1]),
            }[kind]
        )
    return [*rows[:10], *shown, *rows[10:22]]


def _stands() -> Iterable[Case]:
    """Yield input that freezes and comes back, at all kinds of moments."""
    marks: Marks
    for name, mask, kind, marks in (
        ("exactly", DRIFT, "exactly", {}),
        ("nearly", DRIFT, "nearly", {}),
        ("features", DRIFT, "features", {}),
        ("posteriors", DRIFT, "posteriors", {}),
        ("odds", ODDS, "exactly", {}),
        ("odds_noise", ODDS, "features", {}),
        ("reset", DRIFT, "exactly", {16: ("reset",), 30: ("reset",), 31: ("reset",)}),
        ("reset_odds", ODDS, "exactly", {30: ("reset", *BOTH)}),
        ("saved", DRIFT, "exactly", STATES),
        ("learned", STANDARD, "exactly", {20: BOTH, 34: ("reset",)}),
        ("learned_odds", STANDARD_POSTERIORS, "exactly", {30: BOTH}),
    ):
        name = f"still_{name}"
        dice = Dice(name)
        features = 9 if mask & 0x80 else 0
        if "learned" in name:
            params = learned(mask, 4, features, dice, about=1, anchor=1, **ALARM, **BASE)
        else:
            params = looking(mask, 4, features, dice, **BASE)
        rows = _frozen(held(dice, params, 22), kind, dice)
        yield Case(name, "input that freezes, then moves again", _with(params, still=STILL), rows, marks)

    # Limits: never, at once, just reached, at the largest.
    same: list[Row] = [([120, -120], [])]
    for name, reach, still, steps in (
        ("still_0", 2**26, 0, 60),
        ("still_1", 256, 1, 12),
        ("still_largest", 2**32 - 1, MOST, 60),
        ("still_largest_reached", 2**32 - 1, MOST - 8, 214),
    ):
        dice = Dice(name)
        params = _with(looking(ODDS, 2, 0, dice, **BASE), reach=reach, still=still)
        yield Case(name, "frozen from the first step on", params, same * steps)
    name = "still_at_limit"
    dice = Dice(name)
    params = _with(looking(ODDS, 2, 0, dice, **BASE), reach=2**26 + 5)
    monitor = Monitor(params)
    for _ in range(20):
        monitor.step(*same[0])
    params = _with(params, still=monitor.stillness)
    yield Case(name, "the limit is met exactly, then passed", params, same * 26)

    # A guess: uncertainty below and above that of one.
    for classes, steps in ((2, 30), (3, 30), (1000, 8)):
        name = f"still_guess_L{classes}"
        dice = Dice(name)
        coef = tuple(32767 if n == 4 else 0 for n in range(SIGNAL_COUNT))
        params = looking(ODDS, classes, 0, dice, coef=coef, bias=-16 * 65536, **BASE)
        shown = [255, 255, 255, 40, 0, 0, 0, 255] * 4
        rows = [([v - 128 for v in one_hot(classes, 0, u)], []) for u in shown[:steps]]
        yield Case(
            name, "as uncertain as a guess at the least", _with(params, still=1, reach=2**32 - 1), rows
        )

    for name, mask, bet in (("still_bet", DRIFT, (60000, 20000)), ("still_bet_odds", ODDS, (60000, 20000))):
        dice = Dice(name)
        head = replace(evidence(mask, 4, dice, *bet), clip=2 * 65536, allowance=1000, still=STILL)
        params = looking(mask, 4, 6, dice, evidence=head, **BASE)
        rows = _frozen(held(dice, params, 22), "exactly", dice)
        yield Case(name, "a bet on input that stands still", params, rows, {25: BOTH})
    name = "still_side_off"
    dice = Dice(name)
    params = looking(DRIFT, 4, 6, dice, rise_limit=0, rise_cap=0, rise_clear=0, hold=0)
    rows = _frozen(held(dice, params, 22), "exactly", dice)
    yield Case(name, "stillness and no alarm", _with(params, still=STILL), rows)

    top, high = 2**32 - 1, 2**31 - 1
    wrong = (high, -high - 1, -1, -7, -8, -MOST, -MOST - 1, MOST, MOST + 1, STILL, STILL + 1, top)
    for name, reach in (("damage_stillness", 2**26), ("damage_stillness_moving", 256)):
        dice = Dice(name)
        params = _with(looking(ODDS, 2, 0, dice, **BASE), still=STILL, reach=reach)
        rows = [([120 - 9 * (t % 2), -120], []) for t in range(40)]
        marks = {3 * n + 2: (f"damage stillness {value}",) for n, value in enumerate(wrong)}
        marks |= {3 * n + 3: BOTH for n in range(12)}
        yield Case(name, "a stillness that no input can cause", params, rows, marks)


def _references() -> Iterable[Case]:
    """Yield looks over which a device sets a reference of its own."""
    marks: Marks
    for name, mask, looks, mean, most, marks in (
        ("over", DRIFT, 6, -(2**18), 3 * 65536, {}),
        ("over_odds", ODDS, 5, -(2**18), LARGEST, {}),
        ("never", DRIFT, 1000, -(2**18), LARGEST, {}),
        ("one_look", DRIFT, 1, -LARGEST, LARGEST, {}),
        ("negative", DRIFT, 6, 2**18, LARGEST, {}),
        ("bound", DRIFT, 6, -LARGEST, 20001, {}),
        ("bound_0", DRIFT, 6, -LARGEST, 0, {}),
        ("reset", DRIFT, 6, -(2**18), LARGEST, {5: ("reset",), 11: ("reset",), 30: ("reset",)}),
        ("saved", DRIFT, 8, -(2**18), LARGEST, dict.fromkeys(range(40), BOTH)),
        ("still", DRIFT, 14, -(2**18), LARGEST, {}),
    ):
        name = f"own_{name}"
        dice = Dice(name)
        params = looking(mask, 4, 9 if mask & 0x80 else 0, dice)
        params = _with(params, own_looks=looks, own_mean=mean, own_most=most)
        rows = held(dice, params, 40)
        if name == "own_still":
            params, rows = _with(params, still=STILL), _frozen(rows, "exactly", dice)
        yield Case(name, "a reference from the first looks", params, rows, marks)
    name = "own_side_off"
    dice = Dice(name)
    params = looking(DRIFT, 3, 6, dice, rise_limit=0, rise_cap=0, rise_clear=0, hold=0)
    params = _with(params, own_looks=4, own_mean=-(2**18), own_most=LARGEST)
    yield Case(name, "a reference and no alarm", params, held(dice, params, 24), {10: BOTH})

    # Whole looks only, so that the sum is known: at its ends, one unit about 0, rounded down.
    turns: list[Row] = [([(120, -20)[t % 2], -120], []) for t in range(24)]
    coef = (0,) * SIGNAL_COUNT
    for name, looks, bias, mean, most, marks in (
        ("own_largest", 1000, 2**24, -LARGEST, LARGEST, {8: ("damage own_seen 254976",)}),
        ("own_least", 1000, -(2**24), LARGEST, LARGEST, {8: ("damage own_seen 254976",)}),
        ("own_exact", 8, 4000, 3000, LARGEST, {7: BOTH, 8: BOTH, 9: BOTH}),
        ("own_unit", 8, 256, 0, LARGEST, {}),
        ("own_less", 8, 255, 0, LARGEST, {}),
        ("own_even", 8, 70000, 70000, LARGEST, {}),
        ("own_below", 8, 70000, 70001, LARGEST, {}),
        ("own_most_met", 8, 512, 0, 512, {}),
    ):
        dice = Dice(name)
        head = Evidence(LARGEST, 0, coef, (0, 0), reach=256, bias=bias)
        if looks == 1000:
            sign = 1 if bias > 0 else -1
            marks = {8: (*marks[8], f"damage own {sign * 4096 * 254976}", *BOTH), 12: BOTH}
        params = looking(ODDS, 2, 0, dice, evidence=head)
        params = _with(params, own_looks=looks, own_mean=mean, own_most=most)
        yield Case(name, "the same excess at every whole look", params, turns, marks)

    top, high = 2**32 - 1, 2**31 - 1
    name = "damage_own"
    dice = Dice(name)
    params = _with(looking(DRIFT, 3, 5, dice), own_looks=10, own_mean=-(2**18), own_most=2**17)
    marks = {
        2: (f"damage own {high}", *BOTH),
        3: BOTH,
        5: ("damage own 0", "damage own_seen 0", *BOTH),
        7: (f"damage own {-high - 1}", *BOTH),
        9: ("damage own_seen 1", *BOTH),
        12: ("damage own_seen 2559",),
        13: BOTH,
        15: ("damage own -1", *BOTH),
        16: BOTH,
        18: (f"damage own {2**17 + 1}", *BOTH),
        19: BOTH,
        21: (f"damage own_seen {top}", *BOTH),
        22: BOTH,
        24: ("damage own_seen 2561", *BOTH),
        25: BOTH,
        27: ("damage own_seen 2559", f"damage own {high}"),
        28: BOTH,
        30: (f"damage own_seen {1 << 31}", f"damage own {1 << 31}", "reset"),
        31: BOTH,
    }
    yield Case(name, "own and own_seen after a memory error", params, held(dice, params, 36), marks)
    unread: Marks = {5: ("damage own 77", "damage own_seen 9", *BOTH), 8: ("damage own -5", *BOTH)}
    for name, params in (
        ("damage_own_unread", looking(DRIFT, 3, 5, Dice("damage_own_unread"))),
        ("damage_own_plain", make(0x10, 3, 0, ())),
    ):
        unread |= {9: ("damage stillness 7", *BOTH), 11: ("damage stillness -9",), 13: BOTH}
        yield Case(name, "no own reference: not read", params, held(Dice(name), params, 16), unread)


def _magnitudes() -> Iterable[Case]:
    """Yield magnitudes from 0 to the largest, alone and beside a distance, with every kind of zero point."""
    for features in (1, 7, 256):
        for zero_point in (-128, 0, 127):
            for mask in (0x40, 0xC0):
                name = f"magnitude_d{features}_z{zero_point}_{mask:x}".replace("-", "m")
                dice = Dice(name)
                centers = tuple(dice.between(-128, 127) for _ in range(2 * features)) if mask & 0x80 else None
                params = make(mask, 2, features, (), zero_point=zero_point, centers=centers)
                ends = [[v] * features for v in (zero_point, 127, -128)]
                off = [zero_point + (1 if zero_point < 127 else -1), *[zero_point] * (features - 1)]
                mixed = [dice.between(-128, 127) for _ in range(features)]
                shown = [*ends, off, mixed, ends[0]]
                rows: list[Row] = [([72, -72] if t % 2 else [-72, 72], x) for t, x in enumerate(shown)]
                yield Case(name, "from the zero vector to the largest", params, rows)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_stands, _references, _magnitudes):
        yield from group()
