# SPDX-License-Identifier: MIT
"""Cases of labels that come late: doubtful steps, error debt, correction, alarms that labels move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen_base import (
    PAPER,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Marks,
    Row,
    dwell,
    from_u,
    make,
    one_hot,
)
from gen_learned import evidence, learned
from gen_mutants import edges

from tcuq.reference import Feedback, Params
from tcuq.reference.labels import RIGHT, WRONG

DOUBT = 0x8
BOTH = ("save", "load")
PLAIN: dict[str, Any] = {"coef": (0,) * 10, "bias": -12 * 65536, "blend": 0, "warmup": 0}
"""Risk is the doubt of the posterior alone, and the uncertainty is 1."""
HEAD = Feedback(6, 1, 10, 20000, 25, 0, 9000, 8000)


def label(ago: int, what: int) -> str:
    """Return a mark that gives a label."""
    return f"label {ago} {what}"


def with_marks(*parts: Marks) -> Marks:
    """Return marks in which those of the same row come one after the other."""
    out: Marks = {}
    for part in parts:
        for at, marks in part.items():
            out[at] = (*out.get(at, ()), *marks)
    return out


def late(dice: Dice, params: Params, rows: list[Row], wrong: int, delay: int, kind: str = "mixed") -> Marks:
    """Return labels of most rows, each up to `delay` steps late, in any order.

    `wrong` percent of them are; they come as classes, as right or wrong, or as both in turn. What is right
    is the prediction here, which may not be the answer.
    """
    out: Marks = {}
    for t, (probs, _) in enumerate(rows):
        if dice.chance(15):
            continue
        at = min(len(rows), t + 1 + dice.below(delay + 1))
        top, is_wrong = probs.index(max(probs)), dice.chance(wrong)
        what = WRONG if is_wrong else RIGHT
        if kind == "classes" or (kind == "mixed" and dice.chance(50)):
            what = (top + 1 + dice.below(params.classes - 1)) % params.classes if is_wrong else top
        out = with_marks(out, {at: (label(at - 1 - t, what),)})
    return out


def level(dice: Dice, classes: int, top: int) -> list[int]:
    """Return a posterior with this largest value, of any class."""
    return one_hot(classes, dice.below(classes), top, (255 - top) // max(1, classes - 1) // 2)


def _streams() -> Iterable[Case]:
    """Yield streams with labels at all kinds of delays."""
    lively: dict[str, Any] = {"horizon": 4, "expected_start": 50000, "budget_num": 1, "budget_den": 5}

    def case(name: str, why: str, params: Params, wrong: int, marks: Marks | None = None) -> Case:
        name = f"feedback_{name}"
        dice = Dice(name)
        rows = dwell(dice, params, 56)
        assert params.feedback is not None
        labels = late(dice, params, rows, wrong, params.feedback.memory + 1)
        return Case(name, why, params, rows, with_marks(labels, marks or {30: ("save",), 56: ("save",)}))

    states: Marks = dict.fromkeys(range(0, 57, 4), BOTH)
    resets: Marks = {20: ("reset", *BOTH), 31: ("reset",)}
    for name, first, warmup in (("budget", 0, 8), ("error", 1, 8), ("error_no_budget", 65535, 30)):
        head = Feedback(16, 1, 10, 20000, 25, first, 9000, 8000)
        changes = lively | {"warmup": warmup, "feedback": head, "budget_num": int(first < 2)}
        params = make(PAPER, 4, 4, (1, 2), **changes)
        yield case(name, "doubtful steps, and what the budget says", params, 30)
    params = make(DOUBT, 3, 0, (), feedback=HEAD, **lively)
    yield case("saved", "states with labels in between", params, 20, states)
    yield case("reset", "a reset forgets no label", params, 20, resets)
    for memory in (1, 2, 3, 16):
        head = Feedback(memory, 1, 20, 9000, 30, 1, 7000, 5000)
        params = make(DOUBT, 3, 0, (), feedback=head, **lively)
        yield case(f"memory_{memory}", "how far back labels may go", params, 15, {41: BOTH, 56: ("save",)})
    for name, mask, features in (("learned", STANDARD_POSTERIORS, 0), ("standard", STANDARD, 4)):
        more = lively | {"about": 1, "anchor": 1, "rise_limit": 90000, "rise_cap": 150000, "hold": 3}
        params = learned(mask, 5, features, Dice(name), feedback=HEAD, **more)
        yield case(name, "labels are of the answer", params, 25, {29: BOTH, 56: ("save",)})


def _doubts() -> Iterable[Case]:
    """Yield the error debt at its ends, and risks at the edge of what is doubtful."""

    def case(name: str, why: str, head: Feedback, rows: list[int], marks: Marks, **changes: Any) -> Case:
        name = f"feedback_{name}"
        dice = Dice(name)
        params = make(DOUBT, 3, 0, (), feedback=head, **(PLAIN | changes))
        shown = from_u(dice, params, (level(dice, 3, top) for top in rows))
        return Case(name, why, params, shown, with_marks(marks, {len(rows): ("save",)}))

    def each(what: int, start: int, stop: int) -> Marks:
        return {t: (label(0, what),) for t in range(start, stop)}

    sure = [250] * 24
    for first in (0, 1):
        head = Feedback(4, 1, 4, 30000, 9, first)
        credit = with_marks(each(RIGHT, 1, 14), each(WRONG, 14, 25), {13: BOTH, 20: BOTH})
        why = "credit is cut, then every label is wrong"
        yield case(f"cut_{first}", why, head, sure, credit, budget_num=first)
    # N vouched steps are out when their labels come, all wrong, at the largest debt below `shut`.
    head = Feedback(5, 1, 3, 60000, 5, 1)
    out = {1: (label(0, WRONG),), 2: (label(0, WRONG), "save")}
    out |= {7: tuple(label(ago, WRONG) for ago in (3, 0, 4, 1, 2)), 8: ("save", label(0, RIGHT))}
    yield case("bound", "the bound is reached", head, [254] * 12, with_marks(out, {12: BOTH}))
    # risk * shut = reference * (shut - debt) at risk 65536 - 256 * top: 256 * 10 * 8 = 2560 * (8 - 0).
    head = Feedback(4, 1, 8, 2560, 8, 0)
    edge = {n: (label(0, RIGHT),) for n in range(4, 9)} | {12: (label(1, WRONG),)}
    risks = [245, 246, 247, 246, 245, 244, 243, 242, 241, 240, 246, 247, 245, 246, 250, 255, 248]
    yield case("edge", "risk just doubtful", head, risks, edge, budget_num=1, budget_den=1)
    zero = Feedback(3, 1, 2, 30000, 0, 0)
    yield case("shut_0", "every step is doubtful from the start", zero, [255, 200, 128], each(WRONG, 1, 3))
    largest = Feedback(2, 999, 1000, 65535, 32767, 1)
    many = with_marks(each(RIGHT, 1, 40), each(WRONG, 40, 44), {34: BOTH})
    yield case("largest", "the largest numbers", largest, [255, 1, 128, 77] * 11, many)
    # Silent, then right where it is sure: the certainty of an entry against the reference.
    errors = with_marks(each(WRONG, 1, 5), each(RIGHT, 5, 25), {6: BOTH, 12: BOTH})
    for name, reference, bias, shut in (
        ("sure", 60000, -12, 8),
        ("unsure", 60000, -1, 8),
        ("just_sure", 32, -12, 8),
        ("just_unsure", 31, -12, 8),
        ("cut", 60000, -12, 1),
    ):
        fixed: dict[str, Any] = {"coef": (0,) * 10, "bias": bias * 65536, "blend": 65536}
        head = Feedback(4, 5 if name == "cut" else 1, 8, reference, shut, 1)
        yield case(f"back_{name}", "a way back from silence", head, sure, errors, **fixed)
    # Four steps of the silence are told at once: three bring the debt below three quarters, one is too many.
    late_ones = {12: tuple(label(ago, RIGHT) for ago in (3, 2, 1, 0))}
    told = with_marks(each(WRONG, 1, 3), each(RIGHT, 3, 9), late_ones)
    fixed = {"coef": (0,) * 10, "bias": -12 * 65536, "blend": 65536}
    head = Feedback(4, 1, 8, 60000, 8, 1)
    yield case("back_late", "where the way back ends", head, sure, told, **fixed)
    # Labels that lead back pay for 9 units of debt, then no more until right answers have paid that back.
    head = Feedback(2, 1, 4, 60000, 4, 1)
    spent = {t: (label(0, WRONG if t % 3 == 0 else RIGHT),) for t in range(1, 40)}
    spent = with_marks(spent, each(RIGHT, 40, 48), {30: BOTH, 48: ("save", "damage error_debt -3")})
    spent = with_marks(
        spent, each(RIGHT, 49, 56), {56: BOTH, 60: ("damage error_debt 5",)}, each(RIGHT, 61, 68)
    )
    yield case("back_spent", "where the way back is paid for", head, [250] * 70, spent, **fixed)
    head = Feedback(9, 1, 1000, 60000, 40, 1)
    last = {t: (label(0, RIGHT),) for t in range(3, 9)} | {2: ("damage error_debt 45", "damage level 65504")}
    yield case("back_4095", "the most labels that are counted", head, [250] * 10, last, **fixed)
    none = Feedback(2, 0, 1, 0, 1, 1)
    yield case("any_error", "no share of errors: no debt", none, sure, each(WRONG, 1, 24))


def _labels() -> Iterable[Case]:
    """Yield labels that are refused or count once, and answers of all widths."""
    name = "feedback_refused_labels"
    head = Feedback(3, 1, 10, 40000, 20, 0, 100, 100)
    params = make(DOUBT, 4, 0, (), feedback=head, **PLAIN)
    dice = Dice(name)
    rows = from_u(dice, params, (level(dice, 4, 240) for _ in range(8)))
    marks: Marks = {
        0: (label(0, RIGHT), label(0, 4), "save"),
        1: (label(1, RIGHT), label(0, -3), label(0, 4), label(0, WRONG), label(0, 1), "save"),
        2: (label(1, WRONG), label(2, RIGHT), label(2**32 - 1, 2)),
        6: (label(3, RIGHT), label(2, 0), label(2, 0), label(1, 3), label(0, 2), label(0, 2), "save"),
        8: (label(2, RIGHT), label(1, RIGHT), label(0, RIGHT), label(2**31, 0), label(0, 2**31 - 1), "save"),
    }
    yield Case(name, "which labels are taken", params, rows, marks)
    name = "feedback_absent"
    bare = make(DOUBT, 4, 0, (), **PLAIN)
    yield Case(name, "a label without feedback", bare, rows[:2], {0: (label(0, 1),), 2: (label(0, RIGHT),)})

    for classes, tops in ((64, (63, 62, 0)), (65, (64, 63, 0, 1)), (1000, (999, 64, 0))):
        name = f"feedback_L{classes}"
        head = Feedback(8, 1, 7, 50000, 30, 0, 3000, 3000)
        params = make(DOUBT, classes, 0, (), feedback=head, horizon=4, expected_start=9000, warmup=0)
        dice = Dice(name)
        shown = [one_hot(classes, top, value) for value in (250, 180) for top in tops]
        rows = from_u(dice, params, shown)
        # The class that an answer of six bits, or of ten, would be taken for.
        near = {t + 1: (label(0, tops[t % len(tops)] % 64),) for t in range(len(tops))}
        right = {t + 1: (label(0, tops[t % len(tops)]),) for t in range(len(tops), len(rows))}
        marks = with_marks(near, right, {len(tops): BOTH, len(rows): ("save",)})
        yield Case(name, "bits of an answer", params, rows, marks)

    name = "feedback_memory_1024"
    head = Feedback(1024, 1, 10, 30000, 90, 0, 8000, 8000)
    params = make(DOUBT, 2, 0, (), feedback=head, **PLAIN)
    dice = Dice(name)
    rows = from_u(dice, params, (level(dice, 2, 255 - dice.below(99)) for _ in range(14)))
    # As after a long time: entries all round.
    marks = {
        4: (label(3, WRONG), label(4, WRONG), "damage steps 5000", "damage next 1022", *BOTH),
        9: (label(6, RIGHT), label(8, 1), label(1023, 0), label(1024, 0), label(3, 1), "save"),
    }
    yield Case(name, "the longest memory, wrapped", params, rows, marks)


def _corrections() -> Iterable[Case]:
    """Yield expected accuracies that labels pull up and down, to both ends."""
    for name, top, start, what, horizon in (
        ("up", 90, 30000, RIGHT, 4),
        ("down", 250, 65535, WRONG, 4),
        ("even", 250, 40000, WRONG, 5),
        ("without_horizon", 250, 0, WRONG, 0),
    ):
        name = f"feedback_correction_{name}"
        dice = Dice(name)
        changes: dict[str, Any] = {"horizon": horizon, "expected_start": start, "warmup": 0, "blend": 65536}
        bias = {RIGHT: 2, WRONG: 0 if horizon == 5 else -12}[what] * 65536
        head = Feedback(5)
        params = make(DOUBT, 3, 0, (), feedback=head, coef=(0,) * 10, bias=bias, **changes)
        rows = from_u(dice, params, (level(dice, 3, top) for _ in range(46)))
        marks: Marks = {t: (label(t % 2, what),) for t in range(3, 36)}
        other = RIGHT if what == WRONG else WRONG
        marks |= {t: (label(0, other), label(1, other)) for t in range(36, 46)}
        yield Case(name, "what labels correct", params, rows, with_marks(marks, {23: BOTH, 46: ("save",)}))
    # A step that says almost nothing is right each time, and one that is sure never.
    for name, bias, start, what in (("above", 12, 65535, RIGHT), ("below", -12, 0, WRONG)):
        name = f"feedback_correction_{name}"
        dice = Dice(name)
        params = make(
            DOUBT,
            2,
            0,
            (),
            feedback=Feedback(4),
            coef=(0,) * 10,
            bias=bias * 65536,
            horizon=12,
            expected_start=start,
        )
        rows = from_u(dice, params, (level(dice, 2, 200) for _ in range(24)))
        marks = {t: (label(0, what),) for t in range(1, 20)}
        yield Case(name, "an accuracy beyond its end", params, rows, with_marks(marks, {24: ("save",)}))


def _alarms() -> Iterable[Case]:
    """Yield labels that withdraw alarms and move the limit, to both of its ends."""
    low, high = 250, 60
    sides: dict[str, Any] = {"rise_reference": 10000, "rise_limit": 40003, "rise_cap": 90000}
    sides |= {"fall_limit": 0, "fall_cap": 0, **PLAIN}

    def case(name: str, why: str, tops: list[int], marks: Marks, head: Feedback, **changes: Any) -> Case:
        name = f"feedback_{name}"
        dice = Dice(name)
        params = make(DOUBT, 3, 0, (), feedback=head, **(sides | changes))
        rows = from_u(dice, params, (level(dice, 3, top) for top in tops))
        return Case(name, why, params, rows, with_marks(marks, {len(tops): ("save",)}))

    # Each label decides alone; one of the last step of an alarm, with risk high all the time.
    at_once = Feedback(4, 0, 1, 0, 0, 0, 65535, 65535)
    every: Marks = {t: (label(0, RIGHT),) for t in range(1, 41)}
    # Saved also where the sum is between the limits of levels 12 and 13.
    up = with_marks(every, {14: BOTH}, dict.fromkeys(range(6, 41, 2), ("save",)), {43: ("save",)})
    yield case("limit_up", "alarms are withdrawn until the limit is at its largest", [high] * 44, up, at_once)
    yield case("limit_up_held", "the same with a hold", [high] * 44, up, at_once, hold=9, rise_clear=30000)
    misses: Marks = {t: (label(0, WRONG),) for t in range(1, 8)}
    tops = [low] * 8 + [high] * 3 + [low] * 10 + [200] * 8
    down = with_marks(misses, {6: BOTH})
    why = "shifts that were missed lower the limit to its least"
    yield case("limit_down", why, tops, down, at_once, rise_clear=30000)
    back: Marks = {t: (label(0, RIGHT),) for t in range(10, 30)}
    there = with_marks(misses, back, {t: (label(0, WRONG),) for t in range(30, 54)})
    why = "down, up, and down again"
    yield case(
        "limit_both", why, [low] * 8 + [high] * 22 + [low] * 26, with_marks(there, {44: BOTH}), at_once
    )
    small: dict[str, Any] = {"rise_limit": 3, "rise_cap": 70000}
    yield case("limit_3", "a limit without quarters", [low] * 6 + [high] * 4, misses, at_once, **small)
    four: dict[str, Any] = {"rise_limit": 4, "rise_cap": 4, "rise_reference": 65533}
    yield case("limit_4", "a limit of four units", [low] * 6 + [0, 1, 0, 0], misses, at_once, **four)
    off: dict[str, Any] = {"rise_limit": 0, "rise_cap": 0}
    yield case("side_off", "labels where the rise side is off", [high] * 12, every | misses, at_once, **off)
    largest: dict[str, Any] = {"rise_limit": 2**28, "rise_cap": 2**28, "rise_clear": 2**28 - 1}
    far = with_marks({4: (f"damage rise {2**28 - 9}",)}, {t: (label(0, RIGHT),) for t in range(5, 20)})
    far = with_marks(far, {12: (f"damage rise {2**30}",), 16: ("damage rise 1140850688",), 20: BOTH})
    why = "the largest limit fits 32 bits"
    yield case("limit_largest", why, [high] * 24, far, at_once, **largest)

    # Three labels decide; what others say in between takes it back.
    three = Feedback(8, 0, 1, 0, 0, 0, 8192, 8192)
    tops = [high] * 12 + [low] * 14
    turns: Marks = {
        1: (label(0, WRONG),),
        2: (label(0, WRONG), label(0, RIGHT)),
        3: (label(0, WRONG), label(1, RIGHT)),
        7: (label(0, RIGHT), label(1, RIGHT), label(5, RIGHT), label(2, WRONG), "save", label(3, RIGHT)),
        8: BOTH,
        9: (label(0, RIGHT), label(0, WRONG), "save"),
        12: (label(1, RIGHT), label(0, RIGHT), label(2, RIGHT), "save"),
        16: (label(0, WRONG), label(1, WRONG)),
        18: ("save", label(0, RIGHT), label(1, WRONG)),
        20: (label(0, WRONG), label(1, WRONG), "save", label(2, WRONG)),
        25: (label(0, WRONG), label(1, WRONG), label(4, WRONG), "save"),
    }
    yield case("turns", "labels for and against an alarm", tops, turns, three)
    yield case("turns_held", "the same with a hold", tops, turns, three, hold=3, rise_clear=40000)
    # An end that is met exactly, and one short of it.
    for score in (24575, 24576):
        exact = Feedback(8, 0, 1, 0, 0, 0, score, score)
        ends: Marks = {
            1: (label(0, WRONG),),
            2: ("save", label(0, WRONG)),
            5: (label(0, RIGHT),),
            6: ("save",),
        }
        ends |= {7: (label(0, RIGHT),), 10: (label(0, WRONG),), 11: ("save",)}
        yield case(f"score_{score}", "enough labels, just", [low] * 3 + [high] * 9, ends, exact)

    name = "feedback_evidence"
    dice = Dice(name)
    head = Feedback(8, 1, 20, 30000, 40, 0, 30000, 30000)
    params = make(
        0x30, 4, 0, (), feedback=head, evidence=evidence(0x30, 4, dice), **(sides | {"coef": (500,) * 10})
    )
    rows = dwell(dice, params, 50)
    marks = late(dice, params, rows, 40, 3)
    yield Case(
        name, "labels and an alarm from evidence", params, rows, with_marks(marks, {31: BOTH, 50: BOTH})
    )

    name = "feedback_bet"
    dice = Dice(name)
    bet = evidence(0x30, 4, dice, 60000, 8000)
    params = make(0x30, 4, 0, (), feedback=at_once, evidence=bet, **(sides | {"coef": (500,) * 10}))
    rows = dwell(dice, params, 30)
    missed = {t: (label(0, WRONG),) for t in (2, 3, 14, 15, 16, 17)}
    false = {10: ("damage rise 80000", "damage alarm 1"), 11: (label(0, RIGHT),)}
    marks = with_marks(missed, false, {13: BOTH, 20: BOTH})
    yield Case(name, "labels raise the limit of a bet, and take no more than that back", params, rows, marks)


def _states() -> Iterable[Case]:
    """Yield states with one number just out of range, and numbers that memory damages."""
    sides: dict[str, Any] = {"rise_limit": 40003, "rise_cap": 90000, "horizon": 4, "warmup": 2}
    for name, classes, memory, moments in (
        ("odd", 3, 3, (0, 1, 2, 9)),
        ("even", 65, 2, (1, 9)),
        ("full", 64, 4, (2, 9)),
    ):
        name = f"feedback_edges_{name}"
        head = Feedback(memory, 1, 4, 30000, 7, 0, 20000, 20000)
        params = make(DOUBT, classes, 0, (), feedback=head, rise_clear=5, **sides)
        dice = Dice(name)
        rows = dwell(dice, params, 12)
        labels: Marks = {2: (label(0, WRONG),), 5: (label(1, RIGHT), label(0, WRONG)), 8: (label(0, RIGHT),)}
        marks = dict(labels)
        for t in moments:
            marks = with_marks(marks, {t: edges(params, rows, t, labels)})
        yield Case(name, "one number of a state just out of its range", params, rows, marks)

    name = "feedback_damage"
    dice = Dice(name)
    params = make(DOUBT, 3, 0, (), feedback=HEAD, **sides)
    rows = dwell(dice, params, 72)
    top = HEAD.bounds()[1]
    marks = {
        10: (
            f"damage error_debt {top}",
            *BOTH,
            f"damage error_debt {top + 1}",
            *BOTH,
            label(0, RIGHT),
            *BOTH,
        ),
        13: (
            f"damage error_debt {-HEAD.error_shut}",
            *BOTH,
            f"damage error_debt {-HEAD.error_shut - 1}",
            *BOTH,
        ),
        14: ("save",),
        15: (f"damage error_debt {2**31 - 1}", label(0, WRONG), "save", label(0, WRONG)),
        17: (f"damage error_debt {-(2**31)}", label(9, WRONG), *BOTH, label(0, WRONG), *BOTH),
        19: (f"damage error_debt {-(2**31) + 5}",),
        22: ("damage next 6", *BOTH, label(0, 1), *BOTH),
        24: ("damage next 65535", label(3, RIGHT), *BOTH),
        26: ("damage next 2", *BOTH, label(1, 1)),
        28: ("damage next 6",),
        30: ("damage level 16", *BOTH, label(0, WRONG), *BOTH),
        32: ("damage level 65535", *BOTH),
        33: ("save",),
        34: ("save", "damage level 77", label(0, RIGHT), "save"),
        36: ("damage level 14", *BOTH),
        40: ("damage correction -32768", "damage case 32767", *BOTH, label(0, RIGHT), "save"),
        43: ("damage correction 32767", "damage case -32768", *BOTH, label(0, WRONG), "save"),
        46: ("damage alarm 1", "damage case -24000", label(0, RIGHT), label(1, RIGHT), "save"),
        48: (
            "damage alarm 1",
            "damage case -32768",
            label(1, RIGHT),
            label(2, WRONG),
            label(3, RIGHT),
            "save",
        ),
        50: ("damage entry 3", *BOTH, "damage entry 65535", *BOTH),
        56: BOTH,
        60: ("damage steps 0", *BOTH, label(0, RIGHT)),
        64: ("damage steps 2", *BOTH, label(2, RIGHT), label(1, RIGHT)),
        68: BOTH,
    }
    labels = {t: (label(0, WRONG if t % 3 else RIGHT),) for t in range(1, 72, 2) if t not in marks}
    yield Case(name, "numbers that only a memory error leaves", params, rows, with_marks(marks, labels))
    name = "feedback_damage_off"
    params = make(DOUBT, 3, 0, (), feedback=HEAD, **(sides | {"rise_limit": 0, "rise_cap": 0}))
    marks = {
        6: ("damage alarm 1", "damage case 5000", label(0, RIGHT), "damage case -5000"),
        8: ("damage case 5000", "damage alarm 1"),
        9: BOTH,
        10: ("damage alarm 253", label(1, WRONG), label(0, RIGHT)),
        12: ("damage case 5000", label(0, WRONG), *BOTH),
    }
    yield Case(name, "an alarm that memory raised where it is off", params, rows[:16], marks)


def cases() -> Iterable[Case]:
    """Yield all cases of this file."""
    for group in (_streams, _doubts, _labels, _corrections, _alarms, _states):
        yield from group()
