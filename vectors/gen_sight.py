# SPDX-License-Identifier: MIT
"""Cases of the alarm that sees the input: gauges, stays, a device's baseline, alarms that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from gen_base import STANDARD, Case, Dice, Row, clip8, marked, params_of, posterior, refusing
from gen_edges import edges

from tcuq.reference import Feedback, Params, Sight

ODDS, SEES, WHOLE = 0x10, 0x30, STANDARD & ~0x200
LIMIT = 3 * 65536 // 2
LABELED = {"horizon": 4, "expected_start": 50000}
ALARM = {"rise_limit": LIMIT, "rise_cap": 64 * 65536, "rise_clear": LIMIT * 3 // 4, "warmup": 0}
LEARNED = {"instant": True, "about": 1, "anchor": 1, "horizon": 5, "expected_start": 60000}
DEVIATION = 40
"""Of every gauge, so that a scale and shift of (819, 7) give 4096."""

# A stretch of a stream: first and last row, and what happens in it.
Fault = tuple[int, int, str]


def drawn_sight(dice: Dice, mask: int, classes: int, gauges: int, **changes: Any) -> Sight:
    """Return a head to which the clean part of `stream` is clean."""
    outputs = [(15000, 699, 13)] + [(36500, 699, 13)] * (mask >> 7 & 1)
    inputs = gauges or 8 * (mask >> 7 & 1)
    numbers = [(dice.between(-3000, 3000), 819, 7) for _ in range(gauges)]
    numbers += [(20, 600, 7)] * (inputs - gauges) + outputs
    numbers += [(31500 + 2731 * inputs.bit_length(), 768, 13)] * (inputs > 0)
    count = len(numbers)
    triangle = [dice.between(-60, 60) for _ in range(count * (count + 1) // 2)]
    at = 0
    for i in range(count):
        triangle[at] = 300
        at += count - i
    given: dict[str, Any] = {"gauges": gauges, "reach": 256, "odds_weight": 150, "clear_weight": 320}
    given |= {"matrix_shift": 8, "changed": 80000, "frozen": 0, "matrix": tuple(triangle)}
    given |= {"accuracy_bias": 20000, "accuracy_odds": 5678, "accuracy_far": -4000, "accuracy_both": -900}
    given["class_mean"] = tuple(dice.between(-8, 8) for _ in range(classes * count))
    mean, scale, shift = zip(*((16 * mean, scale, shift) for mean, scale, shift in numbers), strict=True)
    return Sight(**{"mean": mean, "scale": scale, "shift": shift} | given | changes)


def clip16(value: int) -> int:
    """Return `value` as the nearest int16."""
    return min(32767, max(-32768, value))


def stream(
    dice: Dice, params: Params, steps: int, faults: tuple[Fault, ...], stays: tuple[int, int], unseen: int
) -> list[Row]:
    """Return a stream in which inputs are new and classes stay for a while.

    Faults: `far` and `low` move all gauges up or down, `one` the first of them, `unsure` the posteriors,
    `all` everything; `still` repeats the row before, `own` is a place of its own for every stay, `place` one
    for the whole stream. The input of `unseen` percent of the rows is not seen.
    """
    head = params.sight
    means = [mean // 16 for mean in head.mean[: head.gauges]] if head is not None else []
    rows: list[Row] = []
    shown = left = 0
    moved: list[int] = [0] * len(means)
    for t in range(steps):
        now = {kind for first, last, kind in faults if first <= t <= last}
        if left == 0:
            shown, left = (shown + 1 + dice.below(params.classes - 1)) % params.classes, dice.between(*stays)
            moved = [dice.between(-120, 120) for _ in means]
        left -= 1
        if "still" in now:
            rows.append(rows[-1])
            continue
        weak = now & {"unsure", "all"}
        u = posterior(dice, params.classes, shown, dice.between(30, 90) if weak else dice.between(900, 9000))
        x = [
            clip8(9 * (shown % 8) + dice.between(-40, 40) + 60 * ("all" in now))
            for _ in range(params.features)
        ]
        shift = [DEVIATION * (8 * bool(now & {"far", "all"}) - 8 * ("low" in now)) for _ in means]
        shift[:1] = [s + 20 * DEVIATION * ("one" in now) for s in shift[:1]]
        own = [m if "own" in now else 90 if "place" in now else 0 for m in moved]
        seen = [clip16(m + s + o + dice.between(-70, 70)) for m, s, o in zip(means, shift, own, strict=True)]
        hidden = not means or dice.below(100) < unseen
        probs = [c - 128 for c in u]
        rows.append((probs, x) if hidden else (probs, x, seen))
    return rows


def sighted(
    name: str,
    why: str,
    mask: int,
    classes: int,
    features: int,
    gauges: int,
    steps: int,
    faults: tuple[Fault, ...] = (),
    marks: Any = "",
    stays: tuple[int, int] = (3, 12),
    unseen: int = 0,
    sight: dict[str, Any] | None = None,
    **changes: Any,
) -> Case:
    """Return a case of such a stream."""
    name, dice = f"sight_{name}", Dice(f"sight_{name}")
    head = drawn_sight(dice, mask, classes, gauges, **sight or {})
    params = params_of(dice, mask, classes, features, sight=head, **ALARM | changes)
    rows = stream(dice, params, steps, faults, stays, unseen)
    if isinstance(marks, tuple):
        tell, *given = marks
        marks = tell(params, rows, *given)
    return Case(name, why, params, rows, marked(marks))


def shapes() -> Iterator[Case]:
    """Yield numbers of all counts, beside every part of a monitor."""
    fault, why = ((30, 45, "far"), (30, 45, "unsure")), "a fault that comes and goes"
    learned = {**LEARNED, "budget_num": 1, "budget_den": 4}
    for name, mask, classes, features, gauges, changes in (
        ("none", ODDS, 3, 0, 0, {}),
        ("none_distance", 0xB0, 3, 9, 0, {}),
        ("one", SEES, 3, 0, 1, learned),
        ("two_classes", SEES, 2, 0, 2, {}),
        ("sixteen", 0xB0, 4, 6, 16, {}),
        ("sixteen_odds", ODDS, 4, 0, 16, {}),
        ("standard", WHOLE, 4, 6, 5, learned),
        ("paper", 0x1F, 3, 4, 3, {"lags": (1, 2)}),
        ("every", 0x1FF, 3, 5, 2, {"lags": (1, 3), **learned}),
        ("by_uncertainty", SEES, 3, 0, 2, {**LABELED, "sight": {"accuracy_odds": 0}}),
        ("L200", SEES, 200, 0, 1, {}),
    ):
        steps = 8 if classes == 200 else 70
        yield sighted(name, why, mask, classes, features, gauges, steps, fault, "52 both", **changes)


def alarms() -> Iterator[Case]:
    """Yield alarms that are raised and cleared in all ways."""
    on = ((20, 30, "far"),)
    again = tuple((first, first + 7, "all") for first in (20, 55, 105, 170))
    far = {"rise_cap": 2**22, **LABELED}
    lazy, quick = {"clear_weight": 16}, {"clear_weight": 4095}
    for name, why, steps, faults, sight, changes in (
        ("cleared_by_calm", "like clean input before the slow means are", 60, on, quick, {}),
        ("cleared_by_distance", "little weight: slow means decide", 80, on, lazy, {}),
        ("back", "the same change comes back, and needs more to clear", 210, again, {}, {}),
        ("back_quick", "the same where clean input says much", 120, again, quick, {}),
        ("fell", "gauges that fall", 60, ((20, 34, "low"),), {}, {}),
        ("one_gauge", "one gauge alone", 60, ((20, 34, "one"),), {}, {}),
        ("unsure", "outputs alone", 60, ((20, 40, "unsure"),), {"odds_weight": 4096}, {}),
        ("sure", "sure answers take off a little", 50, (), {"odds_weight": 4096, "mean": None}, {}),
        ("cap", "the largest distance", 50, ((20, 36, "all"),), {}, {"rise_cap": LIMIT + 20000}),
        ("held", "least steps", 80, on, quick, {"least_raised": 20}),
        ("changed_0", "always changed", 30, (), {"changed": 0}, {}),
        ("nothing", "numbers that never move", 20, on, {"nothing": 1, "changed": 0}, {}),
        ("zeros", "a matrix of zeros", 20, on, {"matrix": None, "changed": 0, "odds_weight": 0}, {}),
        ("largest", "the largest numbers", 50, ((12, 30, "all"),), {"largest": 1}, far),
        ("least_limit", "the least limit", 40, on, {"changed": 9000}, {"rise_limit": 16384, "rise_clear": 0}),
        ("early", "the first stays", 36, ((2, 9, "one"),), {}, {}),
    ):  # fmt: skip
        yield sighted(
            name, why, SEES, 3, 0, 2, steps, faults, "28 both", **changes, sight=_special(sight, 2, 3)
        )
    faults = tuple((first, first + 1, "one") for first in range(8, 60, 5))
    why, marks = "the first stays are over, and the limit comes down", "4 damage stays 50, both"
    yield sighted("many_stays", why, SEES, 3, 0, 2, 60, faults, marks, (1, 4))
    why, fault = "an alarm that is forgotten, then another", ((10, 20, "far"), (50, 60, "far"))
    yield sighted("forgotten", why, ODDS, 2, 0, 1, 90, fault, "40 damage recent 6, both", sight=quick)


def _special(sight: dict[str, Any], gauges: int, classes: int) -> dict[str, Any]:
    """Return what to change of a drawn head: lists at their ends where these are named."""
    count, given = gauges + 2, dict(sight)
    if "mean" in given:
        given["mean"] = (0,) * gauges + (16 * 60000,) * 2
    if given.pop("nothing", 0):
        given |= {"mean": (-(2**20),) * count, "scale": (1,) * count, "shift": (24,) * count}
        given |= {"class_mean": (0,) * (classes * count)}
    if "matrix" in given:
        given["matrix"] = (0,) * (count * (count + 1) // 2)
    if given.pop("largest", 0):
        given |= {
            "mean": (-(2**20),) * gauges + (-(2**20),) * 2,
            "scale": (1023,) * count,
            "shift": (0,) * count,
        }
        given |= {"matrix": (32767,) * (count * (count + 1) // 2), "class_mean": (-128,) * (classes * count)}
        given |= {"odds_weight": 4096, "clear_weight": 4095, "matrix_shift": 0}
        given |= {
            "accuracy_bias": 2**20,
            "accuracy_odds": -32768,
            "accuracy_far": 32767,
            "accuracy_both": 32767,
        }
    return given


def stays() -> Iterator[Case]:
    """Yield stays with a mean of their own, and devices with a baseline."""
    own, place = ((0, 200, "own"),), ((0, 200, "place"),)
    far = (*own, (60, 75, "all"))
    long = (12, 30)
    for name, why, steps, faults, length, sight, marks in (
        ("stays", "classes that stay have means of their own", 90, own, long, {}, "70 both"),
        ("stays_alarm", "a class changes under an alarm", 100, far, (8, 14), {"clear_weight": 16}, "66 both"),
        ("stays_short", "stays too short for a mean", 30, own, (1, 3), {}, ""),
        ("baseline", "a device of its own", 76, place, (3, 12), {"baseline_inputs": 8}, "5-40/5 both"),
        ("baseline_1", "a baseline of one input", 40, place, (3, 12), {"baseline_inputs": 1}, "1 both"),
        ("baseline_most", "a place too far", 60, ((0, 60, "low"),), (3, 12), {"baseline_inputs": 5}, ""),
        ("baseline_long", "a long stay counts less", 50, place, (30, 30), {"baseline_inputs": 20}, "40 both"),
    ):  # fmt: skip
        yield sighted(name, why, 0xB0, 3, 6, 3, steps, faults, marks, length, sight=sight)
    for name, baseline in (("unseen", 0), ("unseen_baseline", 6)):
        why, sight = "steps whose input was not seen", {"baseline_inputs": baseline}
        yield sighted(name, why, 0xB0, 3, 6, 4, 66, ((40, 55, "far"),), "30 both", unseen=40, sight=sight)
    yield sighted("unseen_all", "no input is ever seen", SEES, 3, 0, 4, 40, ((15, 25, "unsure"),), unseen=100)


def still() -> Iterator[Case]:
    """Yield input that stands still."""
    stop = ((20, 60, "still"),)
    for name, mask, features, faults, changes in (
        ("still", 0xB0, 6, stop, {}),
        ("still_odds", SEES, 0, stop, {}),
        ("still_again", 0xB0, 6, (*stop, (80, 120, "still"), (135, 170, "still")), {}),
        ("still_after", 0xB0, 6, ((10, 19, "far"), *stop), {}),
        ("still_held", 0xB0, 6, stop, {"least_raised": 30}),
        ("still_learned", WHOLE, 6, stop, LEARNED),
    ):
        why, sight = "input that stands still, then moves again", {"frozen": 6 * 65536, "reach": 4000}
        length = faults[-1][1] + 20
        yield sighted(
            name, why, mask, 4, features, 2, length, faults, "45 both; 62 reset", **changes, sight=sight
        )


def labels() -> Iterator[Case]:
    """Yield labels that withdraw the alarm and move its limit."""
    head, told = Feedback(6, 1, 10, 20000, 25, 0, 65535, 65535), "12-40 right; 30 both; 55-70 wrong; 62 both"
    fault = ((10, 40, "all"), (55, 80, "one"))
    for name, said, changes in (
        ("labels", told, {}),
        ("labels_held", told, {"least_raised": 7}),
        ("labels_cap", told, {"rise_cap": LIMIT}),
        ("labels_clear", "2-70 wrong", {"rise_clear": 9}),
    ):
        why = "labels move the limit of a distance"
        yield sighted(name, why, 0xB0, 3, 6, 3, 90, fault, said, feedback=head, **LABELED, **changes)


def states() -> Iterator[Case]:
    """Yield states that are refused and words that memory damages."""
    why = "one number of a state just out of its range"
    for name, mask, features, gauges, moments, changes in (
        ("edges", ODDS, 0, 1, (9,), {"sight": {"baseline_inputs": 6}}),
        ("edges_labels", ODDS, 0, 0, (9,), {"feedback": Feedback(2, 1, 4, 30000, 7, 0, 20000, 20000)}),
        ("edges_raised", ODDS, 0, 0, (11,), {"least_raised": 3}),
    ):
        faults = ((5, 12, "all"),) if "raised" in name else ()
        yield sighted(
            name, why, mask, 2, features, gauges, 13, faults, (edges, moments, "7 reset"), **changes
        )
    top, high = 2**32 - 1, 2**31 - 1
    singles = {
        "slow_odds": (69633, -69633, high, -high - 1),
        "stay_length": (2049, top),
        "stay_class": (3, top),
    }
    singles |= {"stays": (61, top), "recent": (301, top), "again": (3, top), "calm": (5000, 704513, top)}
    singles |= {"object": (65536, top), "objects": (65536, top)}
    lists = ("slow_numbers", "stay_numbers", "base_numbers", "raised_lengths")
    wrong = [(name, value) for name, values in singles.items() for value in values]
    wrong += [(name, value) for name in lists for value in (9000, -9000, high, -high - 1)]
    wrong += [("baseline_seen", value) for value in (0, 100, top)] + [("rise", top), ("rise", 2**22 + 1)]
    wrong += [("fall", 5), ("fall", top), ("stillness", top), ("alarm", 2), ("alarm", 255)]
    saved = "; ".join(
        f"{3 * n + 2} damage {name} {value}, both; {3 * n + 3} both" for n, (name, value) in enumerate(wrong)
    )
    taken = saved.replace(", both", "")
    steps = 3 * len(wrong) + 4
    for name, marks, faults in (
        ("damage", saved, ()),
        ("damage_raised", taken, ((0, steps, "far"),)),
    ):
        why = "words that no input can cause"
        yield sighted(name, why, SEES, 3, 0, 1, steps, faults, marks, sight={"baseline_inputs": 4})
    unread = "5 damage baseline 77, damage baseline_seen 9, both; 8 damage degradation -5, both"
    unread += f"; 12 damage accuracy 4, both; 13 damage base_numbers {high}; 14 both"
    yield sighted("damage_unread", "counters that nobody reads", SEES, 3, 0, 1, 16, (), unread)
    marks = f"0 {refusing([(68, 4, 1), (80, 4, 1)])}; 9 {refusing([(76, 4, 2), (64, 4, 65536), (16, 4, 1)])}"
    yield sighted("refused", "words before the first step, and of others", ODDS, 2, 0, 1, 12, (), marks)
    yield sighted(
        "saved", "saved and loaded at every step", 0xB0, 3, 6, 2, 60, ((20, 34, "far"),), "0-59/6 both"
    )
    yield sighted(
        "reset", "a reset forgets none of it", 0xB0, 3, 6, 2, 60, ((20, 34, "far"),), "10-50/8 reset"
    )


def cases() -> Iterator[Case]:
    """Yield all cases of this file."""
    yield from chain.from_iterable(group() for group in (shapes, alarms, stays, still, labels, states))
