# SPDX-License-Identifier: MIT
"""Cases of evidence that counts by novelty: degradation, drift, holds, still input, a device's baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from gen_base import (
    DEGRADATION,
    MIXED,
    PAPER,
    SILENT,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Row,
    case,
    clip8,
    drawn_evidence,
    one_hot,
    posterior,
    refusing,
)

from tcuq.reference import SIGNAL_COUNT, Evidence, Monitor, Params

ODDS, DRIFT = 0x30, 0x2B0
LARGEST, MOST = 2**19, 2**21
TOP, HIGH = 2**32 - 1, 2**31 - 1
ALARM = {"rise_limit": 2 * 65536, "rise_cap": 5 * 65536, "rise_clear": 30000, "least_raised": 4}
LOOKING = {"evidence": {}, **ALARM}
NO_ALARM = {"rise_limit": 0, "rise_cap": 0, "rise_clear": 0}
LEARNED = {"instant": True, "about": 1, "anchor": 1, **ALARM}
STILL = 6 * 65536
BASE = {"horizon": 5, "expected_start": 60000, "warmup": 0}


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


def frozen(dice: Dice, params: Params, kind: str) -> list[Row]:
    """Return a stream that is held at its tenth row for thirty steps: all of it, nearly, or a part."""
    rows = held(dice, params, 22)
    probs, x = rows[10]
    shown: list[Row] = []
    for t in range(30):
        near = [v + dice.between(-1, 1) for v in x]
        kinds = {"exactly": (probs, x), "nearly": (probs, near)}
        kinds |= {"features": (rows[t % 12][0], x), "posteriors": (probs, rows[t % 12][1])}
        shown.append(kinds[kind])
    return [*rows[:10], *shown, *rows[10:22]]


def two(*tops: int) -> list[Row]:
    """Return posteriors of two classes: how sure of the first, or of the second where below 0."""
    return [([u - 128, -128] if u >= 0 else [-128, -u - 128], []) for u in tops]


def novelties() -> Iterator[Case]:
    """Yield features of every kind of number, compared in eight sums."""
    for features in (1, 2, 3, 7, 8, 9, 12, 17, 63, 64, 255, 256):
        rows, zero = (held, 12 if features > 200 else 30), lambda dice: dice.between(-128, 127)
        why = "objects that are held, then others"
        yield case(f"look_d{features}", why, DRIFT, 3, features, rows, zero_point=zero, **LOOKING)
    # One feature a block: squared distances on either side of the least and of the full novelty.
    moves = ([5, 2, 1, 1], [4, 4], [5, 2, 2], [15, 5, 2, 1], [16], [16, 1], [0], [1], [10, 5])
    for reach, scale in ((256, 1), (511, 1), (512, 2), (2**12 + 255, 4)):
        x, rows = [0] * 8, []
        for move in moves:
            for sign in (1, -1):
                x = [v + sign * scale * (move[j] if j < len(move) else 0) for j, v in enumerate(x)]
                rows.append(([60, -60], x))
        changes, why = {**ALARM, "evidence": {"reach": reach}}, "distances about the least and full novelty"
        yield case(f"look_reach_{reach}", why, DRIFT, 2, 8, rows, **changes)
    ends = [([80, -80], [(127, -128)[t % 2]] * 256) for t in range(8)]
    for name, reach in (("far_apart", 256), ("reach_largest", TOP)):
        dice = Dice(f"look_{name}")
        drawn_evidence(DRIFT, 2, dice)
        centers = tuple(dice.between(-60, 60) for _ in range(512))
        head = replace(drawn_evidence(DRIFT, 2, dice), reach=reach)
        changes = {**ALARM, "evidence": head, "centers": centers, "zero_point": -128}
        why = "from one end of every feature to the other"
        yield case(f"look_{name}", why, DRIFT, 2, 256, ends, **changes)


def odds() -> Iterator[Case]:
    """Yield novelty without centers, by the odds of the subject; and first steps of all kinds."""
    levels = (250, 250, 249, 180, 181, 255, 0, 1, 255, 128, 127, 2, 0, 0, 255) * 2
    stays = [one_hot(2, c, 122, -127) for c in [0] * 9 + [1] * 9 + [0, 1] * 6]
    rows = two(*levels) + [(probs, []) for probs in stays]
    for name, reach in (("least", 256), ("usual", 2**26), ("largest", TOP)):
        changes, marks = {**ALARM, "evidence": {"reach": reach}}, "9 reset; 20 both; 31 reset, both"
        why = "posteriors that stay and that move"
        yield case(f"look_odds_{name}", why, ODDS, 2, 0, rows, marks, **changes)
    first = "0 reset, both; 1 both; 2 reset; 3 reset, both; 4 both; 12 save, reset, load; 20 reset, reset"
    first += "; 21 both; 26 both"

    def repeated(dice: Dice, params: Params) -> list[Row]:
        rows = held(dice, params, 30)
        return [rows[0]] * 6 + rows

    subject, new, reset = (
        "odds of the subject",
        "the first step is new, whatever came before",
        "20 reset, both",
    )
    for name, why, mask, classes, features, rows, marks, changes in (
        ("odds_answer", subject, STANDARD_POSTERIORS, 4, 0, (held, 40), "17 reset; 30 both", LEARNED),
        ("mixed", subject, MIXED | DEGRADATION, 4, 5, (held, 40), "17 reset; 30 both", LOOKING),
        ("flips_severity", "signals 0x034", 0x34, 5, 3, (held, 34), reset, LOOKING),
        ("paper", "signals 0x01F", PAPER | 0x10, 5, 3, (held, 34), reset, LOOKING),
        ("first", new, DRIFT, 3, 6, (repeated,), first, LOOKING),
        ("first_odds", new, ODDS, 3, 6, (repeated,), first, LOOKING),
        ("first_distance", new, 0x80, 3, 6, (repeated,), first, LOOKING),
    ):
        yield case(f"look_{name}", why, mask, classes, features, rows, marks, **changes)


def means() -> Iterator[Case]:
    """Yield degradation and drift at their ends."""
    # Turns between neighbors keep novelty at its full.
    long = two(*(250, 120) * 45, *(-250, -120) * 85, *(250,) * 12)
    short = two(*(250, 120) * 9, *(-250, -120) * 9)
    coef = tuple({5: 8192, 9: -700}.get(n, 0) for n in range(SIGNAL_COUNT))
    for name, offset, bias, clip in (
        ("ends", (32767, -32768), 0, LARGEST),
        ("ends_biased", (32767, -32768), 2**24, LARGEST),
        ("ends_against", (32767, -32768), -(2**24), 70001),
        ("clip_1", (1, -1), 1, 1),
    ):
        head = Evidence(clip, 3 if clip > 1 else 0, coef, offset, reach=256, bias=bias)
        changes = {"evidence": head, "rise_limit": 1, "rise_cap": 2**30, "least_raised": 0}
        why = "evidence at either end for long"
        yield case(f"severity_{name}", why, ODDS, 2, 0, long if clip > 1 else short, **changes)
    for name, center, value in (("", -128, 127), ("_negative", 127, -128)):
        changes = {"centers": (center,) * 512, "evidence": Evidence(2**17, 0, SILENT, (0, 0), reach=256)}
        rows = [([90, -90], [value - (t % 2 if value > 0 else -(t % 2))] * 256) for t in range(14)]
        rows += [([90, -90], [center] * 256)] * 2
        yield case(f"drift_far{name}", "as far from the centers as can be", DRIFT, 2, 256, rows, **changes)
    dice, rows = Dice("drift_near"), []
    centers = tuple(dice.between(-100, 100) for _ in range(3 * 11))
    for t in range(48):
        at, off = t // 3 % 3, (0, 0, 0, 1, -1, 0)[t // 8]
        x = [clip8(v + (off if j % 4 == t % 2 else 0)) for j, v in enumerate(centers[11 * at : 11 * at + 11])]
        rows.append(([100 if c == at else -110 for c in range(3)], x))
    changes = {"centers": centers, "evidence": Evidence(2**17, 0, SILENT, (10, -10, 0), reach=2**14)}
    why, marks = "on the centers and a unit off", "20 both; 30 reset"
    yield case("drift_near", why, DRIFT, 3, 11, rows, marks, **changes)

    def weak(dice: Dice, params: Params) -> list[Row]:
        rows = []
        for t in range(50):
            shown = t // 14 % 4 if dice.chance(75) else dice.below(4)
            probs = [v - 128 for v in posterior(dice, 4, shown, dice.between(60, 400))]
            rows.append((probs, [dice.between(-90, 90) for _ in range(9)]))
        return rows

    why, marks = "gaps to the center of the answer", "25 reset; 40 both"
    yield case("drift_answer", why, STANDARD, 4, 9, (weak,), marks, **LEARNED)


def second(mask: int, classes: int, changes: dict[str, Any]) -> Callable[[Dice], Evidence]:
    """Return what draws a head, and another one that is not used."""

    def drawn(dice: Dice) -> Evidence:
        head, _ = drawn_evidence(mask, classes, dice), drawn_evidence(mask, classes, dice)
        return replace(head, **changes)

    return drawn


def bets() -> Iterator[Case]:
    """Yield bets that count by novelty where they win, and evidence of the standard profile."""
    head = {"bet_base": 60000, "bet_slope": 20000, "clip": 2 * 65536, "allowance": 1000}
    offset = {"offset": (300, -200, 450)}
    for name, mask, features in (("look_bet", DRIFT, 6), ("look_bet_odds", ODDS, 0)):
        changes = {**ALARM, "evidence": second(mask, 3, head | offset)}
        why = "a bet counts by the novelty where it wins"
        yield case(name, why, mask, 3, features, (held, 50), "25 both", **changes)
    off = {**LOOKING, **NO_ALARM, "least_raised": 63}
    yield case("look_side_off", "novelty and means, no alarm", DRIFT, 3, 6, (held, 24), "10 both", **off)
    base = {**LEARNED, "horizon": 6, "expected_start": 50000, "warmup": 5}
    for name, mask, features, bet, marks in (
        ("standard", STANDARD, 4, (0, 0), "20 reset; 30 both"),
        ("standard_bet", STANDARD, 4, (52000, 9000), "12 both; 25 reset, both"),
        ("posteriors", STANDARD_POSTERIORS, 0, (60000, 12000), "0-8 both"),
    ):
        given = {"bet_base": bet[0], "bet_slope": bet[1], "allowance": 300}
        why = "standard profile, evidence by novelty"
        yield case(f"look_{name}", why, mask, 4, features, 40, marks, evidence=given, **base)
    for name, mask in (("still_bet", DRIFT), ("still_bet_odds", ODDS)):
        given, why = second(mask, 4, head | {"frozen": STILL}), "a bet on input that stands still"
        changes = {**ALARM, **BASE, "evidence": given}
        yield case(name, why, mask, 4, 6, (frozen, "exactly"), "25 both", **changes)


def holds() -> Iterator[Case]:
    """Yield alarms that are held and cleared: up while class 0 is shown, down while class 1 is."""
    waves = [(1 if t % 21 <= 8 else -1) * (250, 120)[t % 2] for t in range(76)]
    near = 6 * 65536 - 1
    # What a memory error may leave in the byte of the alarm, while quiet, raised and held; and in its sum.
    bits = (255, 252, 4, 5, 1, 2, 3, 7, 0, 1 + 4 * 12, 1 + 4 * 13, 3 + 4 * 12, 2 + 4 * 12)
    taken = "; ".join(f"{2 + 3 * n} damage alarm {value}" for n, value in enumerate(bits))
    broken = taken.replace(";", ", both;") + ", both"
    levels = (0, 150000, 150001, near, near + 1, 8 * 65536, 8 * 65536 + 1, 2**31, TOP)
    sums = "; ".join(f"{2 + 4 * n} damage rise {value}, both" for n, value in enumerate(levels))
    off = "3 damage alarm 255, both; 6 damage alarm 1, both; 9 damage rise 5"
    off += "; 11 damage alarm 253, both; 12 both"
    ends = [(0, 0), (0, 100000), (1, 0), (1, near), (5, 100000), (20, near), (63, 0), (63, near)]
    raised = "raised, held, cleared, raised again"
    for name, why, steps, marks, hold, clear, changes in (
        *((f"hold_{hold}_clear_{clear}", raised, 76, "", hold, clear, {}) for hold, clear in ends),
        ("hold_saved", "save and load within least steps", 44, "4-39 both", 16, 150000, {}),
        ("hold_reset", "a reset leaves the least steps alone", 44, "5-39/6 reset", 12, 150000, {}),
        ("hold_least", "a limit of 1", 40, "", 2, 0, {"rise_limit": 1, "rise_cap": 1}),
        ("damage_hold", "bits of the alarm", 46, broken, 12, 150000, {}),
        ("damage_hold_taken", "bits of the alarm that a step takes", 46, taken, 12, 150000, {}),
        ("damage_hold_none", "no least steps: bits of the alarm", 46, taken, 0, 150000, {}),
        ("damage_hold_rise", "sums under least steps", 46, sums, 2, 150000, {}),
        ("damage_clear_rise", "sums about the clear one", 46, sums, 0, 150000, {}),
        (
            "damage_hold_off",
            "least steps of a side that is off",
            14,
            off,
            63,
            0,
            {"rise_limit": 0, "rise_cap": 0},
        ),
    ):
        coef = tuple(8192 if n == 5 else 0 for n in range(SIGNAL_COUNT))
        head = Evidence(LARGEST, 0, coef, (1000, -1000), reach=256, bias=-8 * 65536)
        base = {"rise_limit": 6 * 65536, "rise_cap": 8 * 65536, "evidence": head}
        base |= {"least_raised": hold, "rise_clear": clear, **changes}
        yield case(name, why, ODDS, 2, 0, two(*waves[:steps]), marks, **base)


def states() -> Iterator[Case]:
    """Yield states that are refused and counters after a memory error."""
    # 64 last, eight words; 96 slow, eight words.
    wide = [(at, 4, sign << 17) for at in (64, 92) for sign in (1, -1)]
    wide += [(at, 4, sign << 23) for at in (96, 124) for sign in (1, -1)]
    wide += [(60, 1, 4), (60, 1, 16), (60, 1, 64), (40, 4, 1 << 20), (40, 4, -(1 << 20))]
    fresh = [(at, 4, sign) for at in (64, 92, 96, 124) for sign in (1, -1)] + [(62, 1, 1), (62, 1, 2)]
    emptied = [(at, 4, sign) for at in (64, 92) for sign in (1, -1)] + wide[4:]
    marks = f"0 {refusing(fresh)}; 1 {refusing(wide)}; 20 {refusing(wide)}, reset, {refusing(emptied)}"
    why = "last and slow out of their ranges"
    yield case("refused_looks", why, DRIFT, 3, 5, (held, 24), marks, **LOOKING)
    marks = f"0 {refusing([(64, 4, 1)])}; 9 {refusing((64, 4, n) for n in (65536, -65536, 1 << 31))}"
    yield case("refused_looks_odds", "last out of its range", ODDS, 3, 0, (held, 12), marks, **LOOKING)
    clip = 4 * 65536
    marks = f"4 damage degradation {HIGH}, both; 6 damage degradation {-HIGH - 1}"
    marks += f"; 8 damage degradation {clip + 1}, both; 9 damage degradation {clip}, both"
    marks += f"; 12 damage degradation {-clip - 1}, both; 13 damage degradation {-clip}, both"
    marks += f"; 24 damage accuracy {TOP}, both; 26 damage accuracy {1 << 24}"
    marks += f"; 28 damage accuracy {(1 << 31) + 70000}, reset; 30 damage steps 0, both; 33 damage steps 0"
    marks += "; 35 reset, damage steps 0, damage accuracy 5, both"
    changes = {**LOOKING, "horizon": 5, "expected_start": 30000}
    yield case("damage_severity", "degradation, accuracy, steps", DRIFT, 3, 5, (held, 40), marks, **changes)
    marks = "5 damage degradation 77, both; 8 damage degradation -5, damage accuracy 9; 9 both"
    marks += "; 10 damage accuracy 9, both"
    yield case("damage_unread", "no evidence, no horizon: neither is read", 0x10, 3, 0, 14, marks)
    wrong = (HIGH, -HIGH - 1, -1, -7, -8, -MOST, -MOST - 1, MOST, MOST + 1, STILL, STILL + 1, TOP)
    taken = (f"{3 * n + 2} damage stillness {value}; {3 * n + 3} both" for n, value in enumerate(wrong))
    marks = "; ".join(taken)
    rows = [([120 - 9 * (t % 2), -120], []) for t in range(40)]
    for name, reach in (("", 2**26), ("_moving", 256)):
        changes = {**ALARM, **BASE, "evidence": {"frozen": STILL, "reach": reach}}
        why = "a stillness that no input can cause"
        yield case(f"damage_stillness{name}", why, ODDS, 2, 0, rows, marks, **changes)
    marks = f"2 damage baseline {HIGH}, both; 3 both; 5 damage baseline 0, damage baseline_seen 0, both"
    marks += f"; 7 damage baseline {-HIGH - 1}, both; 9 damage baseline_seen 1, both"
    marks += "; 12 damage baseline_seen 2559; 13 both"
    marks += f"; 15 damage baseline -1, both; 16 both; 18 damage baseline {2**17 + 1}, both; 19 both"
    marks += f"; 21 damage baseline_seen {TOP}, both; 22 both; 24 damage baseline_seen 2561, both; 25 both"
    marks += f"; 27 damage baseline_seen 2559, damage baseline {HIGH}; 28 both"
    marks += f"; 30 damage baseline_seen {1 << 31}, damage baseline {1 << 31}, reset; 31 both"
    head = {"baseline_inputs": 10, "baseline_mean": -(2**18), "baseline_most": 2**17}
    changes, why = {**ALARM, "evidence": head}, "the baseline after a memory error"
    yield case("damage_own", why, DRIFT, 3, 5, (held, 36), marks, **changes)
    unread = "5 damage baseline 77, damage baseline_seen 9, both; 8 damage baseline -5, both"
    unread += "; 9 damage stillness 7, both; 11 damage stillness -9; 13 both"
    for name, mask, features, changes in (("unread", DRIFT, 5, LOOKING), ("plain", 0x10, 0, {})):
        why, dice = "no baseline: not read", Dice(f"damage_own_{name}")
        rows = held(dice, case("", "", mask, 3, features, [], **changes).params, 16)
        yield case(f"damage_own_{name}", why, mask, 3, features, rows, unread, **changes)


def stands() -> Iterator[Case]:
    """Yield input that freezes and comes back, at all kinds of moments; limits; guesses."""
    still = {"evidence": {"frozen": STILL}, **BASE}
    why = "input that freezes, then moves again"
    for name, mask, kind, marks in (
        ("exactly", DRIFT, "exactly", ""),
        ("nearly", DRIFT, "nearly", ""),
        ("features", DRIFT, "features", ""),
        ("posteriors", DRIFT, "posteriors", ""),
        ("odds", ODDS, "exactly", ""),
        ("odds_noise", ODDS, "features", ""),
        ("reset", DRIFT, "exactly", "16 reset; 30 reset; 31 reset"),
        ("reset_odds", ODDS, "exactly", "30 reset, both"),
        ("saved", DRIFT, "exactly", "8-59/3 both"),
        ("learned", STANDARD, "exactly", "20 both; 34 reset"),
        ("learned_odds", STANDARD_POSTERIORS, "exactly", "30 both"),
    ):
        changes, features = LEARNED if "learned" in name else ALARM, 9 if mask & 0x80 else 0
        yield case(f"still_{name}", why, mask, 4, features, (frozen, kind), marks, **{**changes, **still})
    off, why = {"evidence": {"frozen": STILL}, **NO_ALARM, "least_raised": 0}, "stillness and no alarm"
    yield case("still_side_off", why, DRIFT, 4, 6, (frozen, "exactly"), **off)
    same = [([120, -120], [])] * 214
    why = "frozen from the first step on"
    for name, reach, limit, steps in (
        ("0", 2**26, 0, 60),
        ("1", 256, 1, 12),
        ("largest", TOP, MOST, 60),
        ("largest_reached", TOP, MOST - 8, 214),
    ):
        changes = {**ALARM, **BASE, "evidence": {"reach": reach, "frozen": limit}}
        yield case(f"still_{name}", why, ODDS, 2, 0, same[:steps], **changes)
    head = {"reach": 2**26 + 5}
    given = {**ALARM, **BASE, "evidence": head}
    monitor = Monitor(case("still_at_limit", "", ODDS, 2, 0, [], **given).params)
    for _ in range(20):
        monitor.step(*same[0])
    given["evidence"] = head | {"frozen": monitor.stillness}
    yield case("still_at_limit", "the limit is met exactly, then passed", ODDS, 2, 0, same[:26], **given)
    # A guess: uncertainty below and above that of one.
    coef = tuple(32767 if n == 4 else 0 for n in range(SIGNAL_COUNT))
    for classes, steps in ((2, 30), (3, 30), (1000, 8)):
        shown = ([255, 255, 255, 40, 0, 0, 0, 255] * 4)[:steps]
        rows = [([v - 128 for v in one_hot(classes, 0, u)], []) for u in shown]
        changes = {**ALARM, **BASE, "evidence": {"frozen": 1, "reach": TOP}, "coef": coef, "bias": -(2**20)}
        why = "as uncertain as a guess at the least"
        yield case(f"still_guess_L{classes}", why, ODDS, classes, 0, rows, **changes)


def references() -> Iterator[Case]:
    """Yield inputs over which a device sets its baseline."""
    for name, mask, inputs, mean, most, marks in (
        ("over", DRIFT, 6, -(2**18), 3 * 65536, ""),
        ("over_odds", ODDS, 5, -(2**18), LARGEST, ""),
        ("never", DRIFT, 1000, -(2**18), LARGEST, ""),
        ("one_look", DRIFT, 1, -LARGEST, LARGEST, ""),
        ("negative", DRIFT, 6, 2**18, LARGEST, ""),
        ("bound", DRIFT, 6, -LARGEST, 20001, ""),
        ("bound_0", DRIFT, 6, -LARGEST, 0, ""),
        ("reset", DRIFT, 6, -(2**18), LARGEST, "5 reset; 11 reset; 30 reset"),
        ("saved", DRIFT, 8, -(2**18), LARGEST, "0-39 both"),
        ("still", DRIFT, 14, -(2**18), LARGEST, ""),
    ):
        head = {"baseline_inputs": inputs, "baseline_mean": mean, "baseline_most": most}
        head["frozen"] = STILL * (name == "still")
        rows, features = (long_frozen,) if name == "still" else (held, 40), 9 if mask & 0x80 else 0
        why = "a baseline from the first inputs"
        yield case(f"own_{name}", why, mask, 4, features, rows, marks, **{**ALARM, "evidence": head})
    head = {"baseline_inputs": 4, "baseline_mean": -(2**18), "baseline_most": LARGEST}
    changes = {**NO_ALARM, "evidence": head, "least_raised": 0}
    yield case("own_side_off", "a reference and no alarm", DRIFT, 3, 6, (held, 24), "10 both", **changes)

    # Whole inputs only, so that the sum is known: at its ends, one unit about 0, rounded down.
    turns = [([(120, -20)[t % 2], -120], []) for t in range(24)]
    far = f"8 damage baseline_seen 254976, damage baseline {4096 * 254976}, both; 12 both"
    for name, inputs, bias, mean, most, marks in (
        ("largest", 1000, 2**24, -LARGEST, LARGEST, far),
        ("least", 1000, -(2**24), LARGEST, LARGEST, far.replace("baseline 1", "baseline -1")),
        ("exact", 8, 4000, 3000, LARGEST, "7-9 both"),
        ("unit", 8, 256, 0, LARGEST, ""),
        ("less", 8, 255, 0, LARGEST, ""),
        ("even", 8, 70000, 70000, LARGEST, ""),
        ("below", 8, 70000, 70001, LARGEST, ""),
        ("most_met", 8, 512, 0, 512, ""),
    ):
        more = {"baseline_inputs": inputs, "baseline_mean": mean, "baseline_most": most}
        head = Evidence(LARGEST, 0, SILENT, (0, 0), reach=256, bias=bias, **more)
        why = "the same excess at every whole input"
        yield case(f"own_{name}", why, ODDS, 2, 0, turns, marks, **{**ALARM, "evidence": head})


def long_frozen(dice: Dice, params: Params) -> list[Row]:
    """Return the first of forty steps of held objects, of which the tenth is held for thirty."""
    rows = held(dice, params, 40)
    return [*rows[:10], *[rows[10]] * 30, *rows[10:22]]


def cases() -> Iterator[Case]:
    """Yield all cases of this file."""
    groups = (novelties, odds, means, bets, holds, states, stands, references)
    yield from chain.from_iterable(group() for group in groups)
