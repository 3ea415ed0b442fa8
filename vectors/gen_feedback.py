# SPDX-License-Identifier: MIT
"""Cases of labels that come late: doubtful steps, error debt, correction, alarms that labels move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from gen_base import (
    PAPER,
    SILENT,
    STANDARD,
    STANDARD_POSTERIORS,
    Case,
    Dice,
    Row,
    by_signal,
    case,
    dwell,
    from_u,
    marked,
    one_hot,
    params_of,
)
from gen_edges import edges

from tcuq.reference import Feedback, Params
from tcuq.reference.labels import RIGHT, WRONG

DOUBT = 0x8
PLAIN = {"coef": SILENT, "bias": -12 * 65536, "blend": 0, "warmup": 0}
"""Risk is the doubt of the posterior alone, and the uncertainty is 1."""
UNSURE = {"coef": SILENT, "bias": -12 * 65536, "blend": 65536}
HEAD = Feedback(6, 1, 10, 20000, 25, 0, 9000, 8000)
AT_ONCE = Feedback(4, 0, 1, 0, 0, 0, 65535, 65535)
"""Each label decides alone."""
SIDES = {
    "rise_reference": 10000,
    "rise_limit": 40003,
    "rise_cap": 90000,
    "fall_limit": 0,
    "fall_cap": 0,
    **PLAIN,
}


def late(dice: Dice, params: Params, rows: list[Row], wrong: int, delay: int) -> str:
    """Return labels of most rows, each up to `delay` steps late, in any order.

    `wrong` percent of them are; they come as classes and as right or wrong in turn. What is right is the
    prediction here, which may not be the answer.
    """
    out = []
    for t, (probs, _) in enumerate(rows):
        if dice.chance(15):
            continue
        at = min(len(rows), t + 1 + dice.below(delay + 1))
        top, is_wrong = probs.index(max(probs)), dice.chance(wrong)
        what = WRONG if is_wrong else RIGHT
        if dice.chance(50):
            what = (top + 1 + dice.below(params.classes - 1)) % params.classes if is_wrong else top
        out.append(f"{at} label {at - 1 - t} {what}; ")
    return "".join(out)


def levels(dice: Dice, params: Params, tops: Sequence[int]) -> list[Row]:
    """Return posteriors with these largest values, of any class."""
    count = params.classes
    rest = count - 1
    shown = (one_hot(count, dice.below(count), top, (255 - top) // rest // 2) for top in tops)
    return from_u(dice, params, shown)


def streams() -> Iterator[Case]:
    """Yield streams with labels at all kinds of delays."""
    lively = {"horizon": 4, "expected_start": 50000, "budget_num": 1, "budget_den": 5}
    saved, held_back = "30 save; 56 save", "doubtful steps, and what the budget says"
    doubt, reach = (DOUBT, 3, 0), "how far back labels may go"
    more = {
        "about": 1,
        "anchor": 1,
        "rise_limit": 90000,
        "rise_cap": 150000,
        "least_raised": 3,
        "feedback": HEAD,
    }
    for name, why, shape, wrong, marks, changes in (
        *(
            (name, held_back, (PAPER, 4, 4), 30, saved,
             {"lags": (1, 2), "warmup": warmup, "budget_num": int(first < 2),
              "feedback": Feedback(16, 1, 10, 20000, 25, first, 9000, 8000)})
            for name, first, warmup in (("budget", 0, 8), ("error", 1, 8), ("error_no_budget", 65535, 30))
        ),
        ("saved", "states with labels in between", doubt, 20, "0-56/4 both", {"feedback": HEAD}),
        ("reset", "a reset forgets no label", doubt, 20, "20 reset, both; 31 reset", {"feedback": HEAD}),
        *(
            (f"memory_{n}", reach, doubt, 15, "41 both; 56 save",
             {"feedback": Feedback(n, 1, 20, 9000, 30, 1, 7000, 5000)})
            for n in (1, 2, 3, 16)
        ),
        ("learned", "labels are of the answer", (STANDARD_POSTERIORS, 5, 0), 25, "29 both; 56 save", more),
        ("standard", "labels are of the answer", (STANDARD, 5, 4), 25, "29 both; 56 save", more),
    ):  # fmt: skip
        instant = True if changes is more else None
        params = params_of(Dice(name), *shape, instant=instant, **lively | changes)
        name, dice = f"feedback_{name}", Dice(f"feedback_{name}")
        rows = dwell(dice, params, 56)
        told = late(dice, params, rows, wrong, params.feedback.memory + 1)
        yield Case(name, why, params, rows, marked(told + marks))


def doubts() -> Iterator[Case]:
    """Yield the error debt at its ends, and risks at the edge of what is doubtful."""
    sure = [250] * 24
    cut = "1-13 right; 14-24 wrong; 13 both; 20 both"
    # N counted steps are out when their labels come, all wrong, at the largest debt below `shut`.
    out = "1 wrong; 2 wrong, save; 7 wrong 3, wrong 0, wrong 4, wrong 1, wrong 2; 8 save, right; 12 both"
    # risk * shut = reference * (shut - debt) at risk 65536 - 256 * top: 256 * 10 * 8 = 2560 * (8 - 0).
    edge = [245, 246, 247, 246, 245, 244, 243, 242, 241, 240, 246, 247, 245, 246, 250, 255, 248]
    many = "1-39 right; 40-43 wrong; 34 both"
    # Silent, then right where it is sure: the certainty of an entry against the reference.
    errors = "1-4 wrong; 5-24 right; 6 both; 12 both"
    back = [("sure", 1, 60000, -12, 8), ("unsure", 1, 60000, -1, 8), ("just_sure", 1, 32, -12, 8)]
    back += [("just_unsure", 1, 31, -12, 8), ("cut", 5, 60000, -12, 1)]
    # Four steps of the silence are told at once: three bring the debt below three quarters, one is too many.
    told = "1-2 wrong; 3-8 right; 12 right 3, right 2, right 1, right 0"
    # Labels that lead back pay for 9 units of debt, then no more until right answers have paid that back.
    spent = "; ".join(f"{t} {'right' if t % 3 else 'wrong'}" for t in range(1, 40))
    spent += "; 40-47 right; 30 both; 48 save, damage error_debt -3; 49-55 right; 56 both"
    spent += "; 60 damage error_debt 5; 61-67 right"
    for name, why, head, tops, marks, changes in (
        *(
            (f"cut_{first}", "credit is cut, then every label is wrong", (4, 1, 4, 30000, 9, first), sure,
             cut, {"budget_num": first})
            for first in (0, 1)
        ),
        ("bound", "the bound is reached", (5, 1, 3, 60000, 5, 1), [254] * 12, out, {}),
        ("edge", "risk just doubtful", (4, 1, 8, 2560, 8, 0), edge, "4-8 right; 12 wrong 1",
         {"budget_num": 1, "budget_den": 1}),
        ("shut_0", "every step is doubtful from the start", (3, 1, 2, 30000, 0, 0), [255, 200, 128],
         "1-2 wrong", {}),
        ("largest", "the largest numbers", (2, 999, 1000, 65535, 32767, 1), [255, 1, 128, 77] * 11, many, {}),
        *(
            (f"back_{name}", "a way back from silence", (4, num, 8, reference, shut, 1), sure, errors,
             UNSURE | {"bias": bias * 65536})
            for name, num, reference, bias, shut in back
        ),
        ("back_late", "where the way back ends", (4, 1, 8, 60000, 8, 1), sure, told, UNSURE),
        ("back_spent", "where the way back is paid for", (2, 1, 4, 60000, 4, 1), [250] * 70, spent, UNSURE),
        ("back_4095", "the most labels that are counted", (9, 1, 1000, 60000, 40, 1), [250] * 10,
         "3-8 right; 2 damage error_debt 45, damage quarters 65504", UNSURE),
        ("any_error", "no share of errors: no debt", (2, 0, 1, 0, 1, 1), sure, "1-23 wrong", {}),
    ):  # fmt: skip
        marks, given = f"{marks}; {len(tops)} save", {**PLAIN, **changes, "feedback": Feedback(*head)}
        yield case(f"feedback_{name}", why, DOUBT, 3, 0, (levels, tops), marks, **given)


def labels() -> Iterator[Case]:
    """Yield labels that are refused or count once, and answers of all widths."""
    head = Feedback(3, 1, 10, 40000, 20, 0, 100, 100)
    marks = "0 right, label 0 4, save; 1 right 1, label 0 -3, label 0 4, wrong, label 0 1, save"
    marks += f"; 2 wrong 1, right 2, label {2**32 - 1} 2"
    marks += "; 6 right 3, label 2 0, label 2 0, label 1 3, label 0 2, label 0 2, save"
    marks += f"; 8 right 2, right 1, right, label {2**31} 0, label 0 {2**31 - 1}, save"
    tops, name = [240] * 8, "feedback_refused_labels"
    given = {**PLAIN, "feedback": head}
    refused = case(name, "which labels are taken", DOUBT, 4, 0, (levels, tops), marks, **given)
    yield refused
    marks = "0 label 0 1; 2 right"
    yield case("feedback_absent", "a label without feedback", DOUBT, 4, 0, refused.rows[:2], marks, **PLAIN)
    for classes, tops in ((64, (63, 62, 0)), (65, (64, 63, 0, 1)), (1000, (999, 64, 0))):
        shown, n = [one_hot(classes, top, value) for value in (250, 180) for top in tops], len(tops)
        # The class that an answer of six bits, or of ten, would be taken for; then the right one.
        told = (f"{t + 1} label 0 {top % 64}; {n + t + 1} label 0 {top}; " for t, top in enumerate(tops))
        marks, head = "".join(told), Feedback(8, 1, 7, 50000, 30, 0, 3000, 3000)
        changes = {"feedback": head, "horizon": 4, "expected_start": 9000}
        name, marks = f"feedback_L{classes}", f"{marks}{n} both; {2 * n} save"
        yield case(name, "bits of an answer", DOUBT, classes, 0, (from_u, shown), marks, warmup=0, **changes)
    # As after a long time: entries all round.
    marks = "4 wrong 3, wrong 4, damage steps 5000, damage next 1022, both"
    marks += "; 9 right 6, label 8 1, label 1023 0, label 1024 0, label 3 1, save"

    def wide(dice: Dice, params: Params) -> list[Row]:
        tops = (255 - dice.below(99) for _ in range(14))
        return from_u(dice, params, (one_hot(2, dice.below(2), top, (255 - top) // 2) for top in tops))

    given = {**PLAIN, "feedback": Feedback(1024, 1, 10, 30000, 90, 0, 8000, 8000)}
    yield case("feedback_memory_1024", "the longest memory, wrapped", DOUBT, 2, 0, (wide,), marks, **given)


def corrections() -> Iterator[Case]:
    """Yield expected accuracies that labels pull up and down, to both ends."""
    turned = {"right": "wrong", "wrong": "right"}
    for name, top, start, what, horizon, bias in (
        ("up", 90, 30000, "right", 4, 2),
        ("down", 250, 65535, "wrong", 4, -12),
        ("even", 250, 40000, "wrong", 5, 0),
        ("without_horizon", 250, 0, "wrong", 0, -12),
    ):
        changes = {"horizon": horizon, "expected_start": start, "warmup": 0, "blend": 65536}
        changes |= {"feedback": Feedback(5), "coef": SILENT, "bias": bias * 65536}
        other = turned[what]
        marks = f"3-35/2 {what} 1; 4-35/2 {what}; 36-45 {other}, {other} 1; 23 both; 46 save"
        rows, name = (levels, [top] * 46), f"feedback_correction_{name}"
        yield case(name, "what labels correct", DOUBT, 3, 0, rows, marks, **changes)
    # A step that says almost nothing is right each time, and one that is sure never.
    for name, bias, start, what in (("above", 12, 65535, "right"), ("below", -12, 0, "wrong")):
        changes = {"feedback": Feedback(4), "coef": SILENT, "bias": bias * 65536}
        changes |= {"horizon": 12, "expected_start": start}
        rows, name, marks = (levels, [200] * 24), f"feedback_correction_{name}", f"1-19 {what}; 24 save"
        yield case(name, "an accuracy beyond its end", DOUBT, 2, 0, rows, marks, **changes)


def alarms() -> Iterator[Case]:
    """Yield labels that withdraw alarms and move the limit, to both of its ends."""
    low, high = [250], [60]
    # Saved also where the sum is between the limits of levels 12 and 13.
    up, misses = "1-40 right; 14 both; 6-40/2 save; 43 save", "1-7 wrong"
    far = f"4 damage rise {2**28 - 9}; 5-19 right; 12 damage rise {2**30}; 16 damage rise 1140850688; 20 both"
    large = {"rise_limit": 2**28, "rise_cap": 2**28, "rise_clear": 2**28 - 1}
    # Three labels decide; what others say in between takes it back.
    three, tops = Feedback(8, 0, 1, 0, 0, 0, 8192, 8192), high * 12 + low * 14
    turns = "1 wrong; 2 wrong, right; 3 wrong, right 1; 7 right, right 1, right 5, wrong 2, save, right 3"
    turns += "; 8 both; 9 right, wrong, save; 12 right 1, right, right 2, save; 16 wrong, wrong 1"
    turns += "; 18 save, right, wrong 1; 20 wrong, wrong 1, save, wrong 2; 25 wrong, wrong 1, wrong 4, save"
    ends = "1 wrong; 2 save, wrong; 5 right; 6 save; 7 right; 10 wrong; 11 save"
    for name, why, tops_, marks, head, changes in (
        ("limit_up", "alarms are withdrawn until the limit is at its largest", high * 44, up, AT_ONCE, {}),
        ("limit_up_held", "the same with least steps", high * 44, up, AT_ONCE,
         {"least_raised": 9, "rise_clear": 30000}),
        ("limit_down", "shifts that were missed lower the limit to its least",
         low * 8 + high * 3 + low * 10 + [200] * 8, f"{misses}; 6 both", AT_ONCE, {"rise_clear": 30000}),
        ("limit_both", "down, up, and down again", low * 8 + high * 22 + low * 26,
         f"{misses}; 10-29 right; 30-53 wrong; 44 both", AT_ONCE, {}),
        ("limit_3", "a limit without quarters", low * 6 + high * 4, misses, AT_ONCE,
         {"rise_limit": 3, "rise_cap": 70000}),
        ("limit_4", "a limit of four units", low * 6 + [0, 1, 0, 0], misses, AT_ONCE,
         {"rise_limit": 4, "rise_cap": 4, "rise_reference": 65533}),
        ("side_off", "labels where the rise side is off", high * 12, f"8-40 right; {misses}", AT_ONCE,
         {"rise_limit": 0, "rise_cap": 0}),
        ("limit_largest", "the largest limit fits 32 bits", high * 24, far, AT_ONCE, large),
        ("turns", "labels for and against an alarm", tops, turns, three, {}),
        ("turns_held", "the same with least steps", tops, turns, three,
         {"least_raised": 3, "rise_clear": 40000}),
        # An end that is met exactly, and one short of it.
        *((f"score_{score}", "enough labels, just", low * 3 + high * 9, ends,
           Feedback(8, 0, 1, 0, 0, 0, score, score), {}) for score in (24575, 24576)),
    ):  # fmt: skip
        marks, given = f"{marks}; {len(tops_)} save", {**SIDES, **changes, "feedback": head}
        yield case(f"feedback_{name}", why, DOUBT, 3, 0, (levels, tops_), marks, **given)
    changes = {**SIDES, "coef": by_signal(), "feedback": Feedback(8, 1, 20, 30000, 40, 0, 30000, 30000)}
    dice, name = Dice("feedback_evidence"), "feedback_evidence"
    params = params_of(dice, 0x30, 4, 0, evidence={}, **changes)
    rows = dwell(dice, params, 50)
    marks = late(dice, params, rows, 40, 3) + "31 both; 50 both"
    yield Case(name, "labels and an alarm from evidence", params, rows, marked(marks))
    changes |= {"feedback": AT_ONCE, "evidence": {"bet_base": 60000, "bet_slope": 8000}}
    why = "labels raise the limit of a bet, and take no more than that back"
    marks = "2-3 wrong; 14-17 wrong; 10 damage rise 80000, damage alarm 1; 11 right; 13 both; 20 both"
    yield case("feedback_bet", why, 0x30, 4, 0, 30, marks, **changes)


def states() -> Iterator[Case]:
    """Yield states with one number just out of range, and numbers that memory damages."""
    sides = {"rise_limit": 40003, "rise_cap": 90000, "horizon": 4, "warmup": 2}
    shapes = [("odd", 3, 3, (0, 1, 2, 9)), ("even", 65, 2, (1, 9)), ("full", 64, 4, (2, 9))]
    for name, classes, memory, moments in shapes:
        changes = {**sides, "feedback": Feedback(memory, 1, 4, 30000, 7, 0, 20000, 20000), "rise_clear": 5}
        marks = (edges, moments, "2 wrong; 5 right 1, wrong; 8 right")
        why = "one number of a state just out of its range"
        yield case(f"feedback_edges_{name}", why, DOUBT, classes, 0, 12, marks, **changes)
    top, high = HEAD.bounds()[1], 2**31
    marks = f"10 damage error_debt {top}, both, damage error_debt {top + 1}, both, right, both"
    low = -HEAD.error_shut
    marks += f"; 13 damage error_debt {low}, both, damage error_debt {low - 1}, both"
    marks += f"; 14 save; 15 damage error_debt {high - 1}, wrong, save, wrong"
    marks += f"; 17 damage error_debt {-high}, wrong 9, both, wrong, both; 19 damage error_debt {-high + 5}"
    marks += "; 22 damage next 6, both, label 0 1, both; 24 damage next 65535, right 3, both"
    marks += "; 26 damage next 2, both, label 1 1; 28 damage next 6; 30 damage quarters 16, both, wrong, both"
    marks += "; 32 damage quarters 65535, both; 33 save; 34 save, damage quarters 77, right, save"
    marks += "; 36 damage quarters 14, both"
    marks += "; 40 damage correction -32768, damage case 32767, both, right, save"
    marks += "; 43 damage correction 32767, damage case -32768, both, wrong, save"
    marks += "; 46 damage alarm 1, damage case -24000, right, right 1, save"
    marks += "; 48 damage alarm 1, damage case -32768, right 1, wrong 2, right 3, save"
    marks += "; 50 damage entry 3, both, damage entry 65535, both; 56 both; 60 damage steps 0, both, right"
    marks += "; 64 damage steps 2, both, right 2, right 1; 68 both"
    taken = marked(marks)
    told = "; ".join(f"{t} {'wrong' if t % 3 else 'right'}" for t in range(1, 72, 2) if t not in taken)
    why, given = "numbers that only a memory error leaves", {**sides, "feedback": HEAD}
    damaged = case("feedback_damage", why, DOUBT, 3, 0, 72, f"{marks}; {told}", **given)
    yield damaged
    marks = "6 damage alarm 1, damage case 5000, right, damage case -5000; 8 damage case 5000, damage alarm 1"
    marks += "; 9 both; 10 damage alarm 253, wrong 1, right; 12 damage case 5000, wrong, both"
    why, given = "an alarm that memory raised where it is off", given | {"rise_limit": 0, "rise_cap": 0}
    yield case("feedback_damage_off", why, DOUBT, 3, 0, damaged.rows[:16], marks, **given)


def cases() -> Iterator[Case]:
    """Yield all cases of this file."""
    groups = (streams, doubts, labels, corrections, alarms, states)
    yield from chain.from_iterable(group() for group in groups)
