# SPDX-License-Identifier: MIT
"""Cases of evidence that counts by looks: how new a step is, severity, drift, clearing and holding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gen_base import (
    MIXED,
    PAPER,
    SEVERITY,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Marks,
    Row,
    clip8,
    dwell,
    make,
    one_hot,
    posterior,
)
from gen_learned import OFF, evidence, learned

from tcuq.reference import SIGNAL_COUNT, Evidence, Params

ODDS, DRIFT = 0x30, 0x2B0
SILENT = (0,) * SIGNAL_COUNT
BOTH = ("save", "load")
LARGEST = 2**19
ALARM: dict[str, Any] = {"rise_limit": 2 * 65536, "rise_cap": 5 * 65536, "rise_clear": 30000, "hold": 4}


def looking(mask: int, classes: int, features: int, dice: Dice, **changes: Any) -> Params:
    """Return parameters with evidence, with centers where signal 7 is used."""
    base: dict[str, Any] = {"evidence": evidence(mask, classes, dice), **OFF, **ALARM}
    if mask >> 7 & 1:
        base["centers"] = tuple(dice.between(-60, 60) for _ in range(classes * features))
    return make(mask, classes, features, (1, 2, 4) if mask & 7 else (), **(base | changes))


def held(dice: Dice, params: Params, steps: int) -> list[Row]:
    """Return objects that are held for some steps, with a little noise, and then others."""
    rows: list[Row] = []
    left = shown = 0
    base: list[int] = []
    for _ in range(steps):
        if left == 0:
            left, shown = dice.between(1, 7), dice.below(params.classes)
            base = [dice.between(-70, 70) for _ in range(params.features)]
        left -= 1
        u = posterior(dice, params.classes, shown, dice.between(90, 900))
        rows.append(([c - 128 for c in u], [v + dice.between(-2, 2) for v in base]))
    return rows


def _predicted(classes: int, predictions: Iterable[int]) -> list[Row]:
    """Return posteriors that differ in the prediction alone."""
    return [([v - 128 for v in one_hot(classes, c, 250, 1)], []) for c in predictions]


def _blocks() -> Iterable[Case]:
    """Yield features of every kind of number, compared in eight sums."""
    for features in (1, 2, 3, 7, 8, 9, 12, 17, 63, 64, 255, 256):
        name = f"look_d{features}"
        dice = Dice(name)
        params = looking(DRIFT, 3, features, dice, zero_point=dice.between(-128, 127))
        steps = 12 if features > 200 else 30
        yield Case(name, "objects that are held, then others", params, held(dice, params, steps))
    # One feature a block: squared distances on either side of the least and of the full look.
    moves = ([5, 2, 1, 1], [4, 4], [5, 2, 2], [15, 5, 2, 1], [16], [16, 1], [0], [1], [10, 5])
    for reach in (256, 511, 512, 2**12 + 255):
        name = f"look_reach_{reach}"
        scale = 1 if reach < 512 else 2 if reach < 2**12 else 4
        dice = Dice(name)
        params = looking(DRIFT, 2, 8, dice)
        head = params.evidence
        assert head is not None
        x, rows = [0] * 8, []
        for move in moves:
            for sign in (1, -1):
                x = [v + sign * scale * (move[j] if j < len(move) else 0) for j, v in enumerate(x)]
                rows.append(([60, -60], x))
        params = replace(params, evidence=replace(head, reach=reach))
        yield Case(name, "distances about the least and the full look", params, rows)
    ends: list[Row] = [([80, -80], [(127, -128)[t % 2]] * 256) for t in range(8)]
    for name, reach in (("look_far_apart", 256), ("look_reach_largest", 2**32 - 1)):
        dice = Dice(name)
        params = looking(DRIFT, 2, 256, dice, zero_point=-128)
        params = replace(params, evidence=replace(evidence(DRIFT, 2, dice), reach=reach))
        yield Case(name, "from one end of every feature to the other", params, ends)


def _odds() -> Iterable[Case]:
    """Yield looks without centers: by the odds of the subject."""
    stays = [0] * 9 + [1] * 9 + [0, 1] * 6
    for name, reach in (("least", 256), ("usual", 2**26), ("largest", 2**32 - 1)):
        name = f"look_odds_{name}"
        dice = Dice(name)
        head = replace(evidence(ODDS, 2, dice), reach=reach)
        params = looking(ODDS, 2, 0, dice, evidence=head)
        levels = (250, 250, 249, 180, 181, 255, 0, 1, 255, 128, 127, 2, 0, 0, 255)
        rows = [([u - 128, -128], []) for u in levels * 2] + _predicted(2, stays)
        marks: Marks = {9: ("reset",), 20: BOTH, 31: ("reset", *BOTH)}
        yield Case(name, "posteriors that stay and that move", params, rows, marks)
    for name, mask, about in (
        ("look_odds_answer", STANDARD_POSTERIORS, 1),
        ("look_mixed", MIXED | SEVERITY, 0),
    ):
        dice = Dice(name)
        with_answer: dict[str, Any] = {"about": 1, "anchor": 1, **ALARM}
        params = learned(mask, 4, 0, dice, **with_answer) if about else looking(mask, 4, 5, dice)
        rows = held(dice, params, 40)
        yield Case(name, "odds of the subject", params, rows, {17: ("reset",), 30: BOTH})
    for name, mask in (("look_flips_severity", 0x34), ("look_paper", PAPER | 0x10)):
        dice = Dice(name)
        params = looking(mask, 5, 3, dice)
        yield Case(name, f"signals 0x{mask:03X}", params, held(dice, params, 34), {20: ("reset", *BOTH)})


def _starts() -> Iterable[Case]:
    """Yield first steps: from the start, after a reset, after a load."""
    for name, mask in (("look_first", DRIFT), ("look_first_odds", ODDS), ("look_first_distance", 0x80)):
        dice = Dice(name)
        params = looking(mask, 3, 6, dice)
        rows = held(dice, params, 30)
        marks: Marks = {0: ("reset", *BOTH), 1: BOTH, 2: ("reset",), 3: ("reset", *BOTH), 4: BOTH}
        marks |= {12: ("save", "reset", "load"), 20: ("reset", "reset"), 21: BOTH, 26: BOTH}
        yield Case(name, "the first step is new, whatever came before", params, [rows[0]] * 6 + rows, marks)


def _means() -> Iterable[Case]:
    """Yield severity and drift at their ends."""
    for name, offset, bias, clip in (
        ("severity_ends", (32767, -32768), 0, LARGEST),
        ("severity_ends_biased", (32767, -32768), 2**24, LARGEST),
        ("severity_ends_against", (32767, -32768), -(2**24), 70001),
        ("severity_clip_1", (1, -1), 1, 1),
    ):
        dice = Dice(name)
        coef = tuple({5: 8192, 9: -700}.get(n, 0) for n in range(SIGNAL_COUNT))
        head = Evidence(clip, 3 if clip > 1 else 0, coef, offset, reach=256, bias=bias)
        changes = {"evidence": head, "rise_limit": 1, "rise_cap": 2**30, "rise_clear": 0, "hold": 0}
        params = looking(ODDS, 2, 0, dice, **changes)
        # Turns between neighbors keep the look at its full.
        up, down = [([u - 128, -128], []) for u in (250, 120)], [([-128, u - 128], []) for u in (250, 120)]
        rows = [*up * 45, *down * 85, *up[:1] * 12] if clip > 1 else [*up * 9, *down * 9]
        yield Case(name, "evidence at either end for long", params, rows)
    for name, center, value in (("drift_far", -128, 127), ("drift_far_negative", 127, -128)):
        head = Evidence(2**17, 0, SILENT, (0, 0), reach=256)
        params = make(DRIFT, 2, 256, (), centers=(center,) * 512, evidence=head, **OFF)
        rows = [([90, -90], [value - (t % 2 if value > 0 else -(t % 2))] * 256) for t in range(14)]
        yield Case(
            name, "as far from the centers as can be", params, [*rows, *[([90, -90], [center] * 256)] * 2]
        )
    name = "drift_near"
    dice = Dice(name)
    centers = tuple(dice.between(-100, 100) for _ in range(3 * 11))
    head = Evidence(2**17, 0, SILENT, (10, -10, 0), reach=2**14)
    params = make(DRIFT, 3, 11, (), centers=centers, evidence=head, **OFF)
    rows = []
    for t in range(48):
        at, off = t // 3 % 3, (0, 0, 0, 1, -1, 0)[t // 8]
        x = [clip8(v + (off if j % 4 == t % 2 else 0)) for j, v in enumerate(centers[11 * at : 11 * at + 11])]
        rows.append(([100 if c == at else -110 for c in range(3)], x))
    yield Case(name, "on the centers and a unit off", params, rows, {20: BOTH, 30: ("reset",)})
    name = "drift_answer"
    dice = Dice(name)
    params = learned(STANDARD, 4, 9, dice, about=1, anchor=1, **ALARM)
    weak = [
        (
            [
                v - 128
                for v in posterior(
                    dice, 4, t // 14 % 4 if dice.chance(75) else dice.below(4), dice.between(60, 400)
                )
            ],
            [dice.between(-90, 90) for _ in range(9)],
        )
        for t in range(50)
    ]
    yield Case(name, "gaps to the center of the answer", params, weak, {25: ("reset",), 40: BOTH})


def _bets() -> Iterable[Case]:
    """Yield bets that count by looks where they win."""
    for name, mask, features in (("look_bet", DRIFT, 6), ("look_bet_odds", ODDS, 0)):
        dice = Dice(name)
        head = replace(evidence(mask, 3, dice, 60000, 20000), clip=2 * 65536, allowance=1000)
        head = replace(head, offset=(300, -200, 450))
        params = looking(mask, 3, features, dice, evidence=head)
        yield Case(name, "a bet counts by the look where it wins", params, held(dice, params, 50), {25: BOTH})
    name = "look_side_off"
    dice = Dice(name)
    params = looking(DRIFT, 3, 6, dice, rise_limit=0, rise_cap=0, rise_clear=0, hold=63)
    yield Case(name, "looks and means, no alarm", params, held(dice, params, 24), {10: BOTH})
    base: dict[str, Any] = {"about": 1, "anchor": 1, "horizon": 6, "expected_start": 50000, "warmup": 5}
    marks: Marks
    for name, mask, bet, marks in (
        ("look_standard", STANDARD, (0, 0), {20: ("reset",), 30: BOTH}),
        ("look_standard_bet", STANDARD, (52000, 9000), {12: BOTH, 25: ("reset", *BOTH)}),
        ("look_posteriors", STANDARD_POSTERIORS, (60000, 12000), dict.fromkeys(range(9), BOTH)),
    ):
        dice = Dice(name)
        given = replace(evidence(mask, 4, dice, *bet), allowance=300)
        features = 4 if mask == STANDARD else 0
        params = learned(mask, 4, features, dice, evidence=given, **OFF, **ALARM, **base)
        yield Case(name, "standard profile, evidence by looks", params, dwell(dice, params, 40), marks)


def _holds() -> Iterable[Case]:
    """Yield alarms that are held and cleared, of risk and of evidence."""

    def case(name: str, why: str, shown: Iterable[int], marks: Marks | None = None, **changes: Any) -> Case:
        # The sum grows by the severity in nats: up while class 0 is shown, down while class 1 is.
        coef = tuple(8192 if n == 5 else 0 for n in range(SIGNAL_COUNT))
        head = Evidence(LARGEST, 0, coef, (1000, -1000), reach=256, bias=-8 * 65536)
        base: dict[str, Any] = {"rise_limit": 6 * 65536, "rise_cap": 8 * 65536, "evidence": head, **OFF}
        params = make(ODDS, 2, 0, (), **(base | changes))
        rows: list[Row] = [
            ([(u if c == at else 0) - 128 for c in range(2)], [])
            for t, at in enumerate(shown)
            for u in ((250, 120)[t % 2],)
        ]
        return Case(name, why, params, rows, marks or {})

    waves = [int(t % 21 > 8) for t in range(76)]
    near = 6 * 65536 - 1
    for hold, clear in ((0, 0), (0, 100000), (1, 0), (1, near), (5, 100000), (20, near), (63, 0), (63, near)):
        yield case(
            f"hold_{hold}_clear_{clear}",
            "raised, held, cleared, raised again",
            waves,
            hold=hold,
            rise_clear=clear,
        )
    every: Marks = dict.fromkeys(range(4, 40), BOTH)
    yield case(
        "hold_saved",
        "save and load within a hold",
        waves[:44],
        every,
        hold=16,
        rise_clear=150000,
    )
    resets: Marks = dict.fromkeys(range(5, 40, 6), ("reset",))
    yield case("hold_reset", "a reset leaves a hold alone", waves[:44], resets, hold=12, rise_clear=150000)
    limits: dict[str, Any] = {"rise_limit": 1, "rise_cap": 1}
    yield case("hold_least", "a limit of 1", waves[:40], hold=2, **limits)
    for name, changes in (
        ("hold_risk", {"hold": 6, "rise_clear": 20000}),
        ("hold_risk_long", {"hold": 63, "rise_clear": 59999, "rise_reference": 12000}),
        ("clear_risk", {"rise_clear": 59999, "rise_reference": 15000}),
        ("hold_both_sides", {"hold": 9, "rise_clear": 500, "fall_limit": 9000, "fall_reference": 12000}),
    ):
        params = make(PAPER, 10, 4, (1, 2, 4), **changes)
        yield Case(name, "an alarm of risk that is held", params, dwell(Dice(name), params, 60), {40: BOTH})

    # What a memory error may leave in the byte of the alarm, while quiet, raised and held.
    bits = (255, 252, 4, 5, 1, 2, 3, 7, 0, 1 + 4 * 12, 1 + 4 * 13, 3 + 4 * 12, 2 + 4 * 12)
    broken: Marks = {2 + 3 * n: (f"damage alarm {value}", *BOTH) for n, value in enumerate(bits)}
    long = waves[:46]
    yield case("damage_hold", "bits of the alarm", long, broken, hold=12, rise_clear=150000)
    bare: Marks = {2 + 3 * n: (f"damage alarm {value}",) for n, value in enumerate(bits)}
    yield case(
        "damage_hold_taken", "bits of the alarm that a step takes", long, bare, hold=12, rise_clear=150000
    )
    yield case("damage_hold_none", "no hold: bits of the alarm", long, bare, rise_clear=150000)
    sums: Marks = {
        2 + 4 * n: (f"damage rise {value}", *BOTH)
        for n, value in enumerate(
            (0, 150000, 150001, near, near + 1, 8 * 65536, 8 * 65536 + 1, 2**31, 2**32 - 1)
        )
    }
    yield case("damage_hold_rise", "sums under a hold", long, sums, hold=2, rise_clear=150000)
    yield case("damage_clear_rise", "sums about the clear one", long, sums, rise_clear=150000)
    off: Marks = {3: ("damage alarm 255", *BOTH), 6: ("damage alarm 1", *BOTH), 9: ("damage rise 5",)}
    off |= {11: ("damage alarm 253", *BOTH), 12: BOTH}
    none = {"rise_limit": 0, "rise_cap": 0, "hold": 63}
    yield case("damage_hold_off", "a hold of a side that is off", long[:14], off, **none)


def _states() -> Iterable[Case]:
    """Yield states that are refused and counters after a memory error."""

    def refused(changes: Iterable[tuple[int, int, int]]) -> tuple[str, ...]:
        return tuple(" ".join(map(str, ("refuse", *change))) for change in changes)

    # 64 last, eight words; 96 slow, eight words.
    name = "refused_looks"
    dice = Dice(name)
    params = looking(DRIFT, 3, 5, dice)
    wide = [(at, 4, sign << 17) for at in (64, 92) for sign in (1, -1)]
    wide += [(at, 4, sign << 23) for at in (96, 124) for sign in (1, -1)]
    wide += [(60, 1, 4), (60, 1, 16), (60, 1, 64), (40, 4, 1 << 20), (40, 4, -(1 << 20))]
    fresh = [(at, 4, sign) for at in (64, 92, 96, 124) for sign in (1, -1)] + [(62, 1, 1), (62, 1, 2)]
    emptied = [(at, 4, sign) for at in (64, 92) for sign in (1, -1)] + wide[4:]
    marks: Marks = {0: refused(fresh), 1: refused(wide), 20: (*refused(wide), "reset", *refused(emptied))}
    yield Case(name, "last and slow out of their ranges", params, held(dice, params, 24), marks)
    name = "refused_looks_odds"
    dice = Dice(name)
    params = looking(ODDS, 3, 0, dice)
    marks = {0: refused([(64, 4, 1)]), 9: refused([(64, 4, 65536), (64, 4, -65536), (64, 4, 1 << 31)])}
    yield Case(name, "last out of its range", params, held(dice, params, 12), marks)

    name = "damage_severity"
    dice = Dice(name)
    clip, top, high = 4 * 65536, 2**32 - 1, 2**31 - 1
    params = looking(DRIFT, 3, 5, dice, horizon=5, expected_start=30000)
    counters: Marks = {
        4: (f"damage severity {high}", *BOTH),
        6: (f"damage severity {-high - 1}",),
        8: (f"damage severity {clip + 1}", *BOTH),
        9: (f"damage severity {clip}", *BOTH),
        12: (f"damage severity {-clip - 1}", *BOTH),
        13: (f"damage severity {-clip}", *BOTH),
        24: (f"damage accuracy {top}", *BOTH),
        26: (f"damage accuracy {1 << 24}",),
        28: (f"damage accuracy {(1 << 31) + 70000}", "reset"),
        30: ("damage steps 0", *BOTH),
        33: ("damage steps 0",),
        35: ("reset", "damage steps 0", "damage accuracy 5", *BOTH),
    }
    yield Case(name, "severity, accuracy, steps", params, held(dice, params, 40), counters)
    unread: Marks = {5: ("damage severity 77", *BOTH), 8: ("damage severity -5", "damage accuracy 9")}
    unread |= {9: BOTH, 10: ("damage accuracy 9", *BOTH)}
    params = make(0x10, 3, 0, ())
    rows = dwell(Dice("damage_unread"), params, 14)
    yield Case("damage_unread", "no evidence, no horizon: neither is read", params, rows, unread)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_blocks, _odds, _starts, _means, _bets, _holds, _states):
        yield from group()
