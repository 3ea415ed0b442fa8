# SPDX-License-Identifier: MIT
"""A bound of the instructions of one step on a Cortex-M, from the compiled core, for any input.

`tools/bounds.py` prints it for stock monitors, beside what the emulator counts.

Every loop of the core has a bound here, as a function of classes, features and lags; a loop without one is
an error.

Why the bound is sound: an instruction that is in no loop runs at most once a call. One in loops runs at
most as often as the product of the turns of all loops around it. The sum over all instructions of a
function, both sides of every branch included, is thus never below what a call runs. Loops are those of the
compiled code: jumps back to an instruction that every way to the jump comes through. Each stands for a loop
of the source whose line lies in it and in no loop inside it: the largest bound of such lines holds; where
several jumps lead back to one instruction, a loop and one inside it may have become one, and the product of
their bounds is taken. What a called function takes is added at each call. Recursion, calls through pointers,
tables of jumps, loops with two entries and functions of a library that this file does not know are refused.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from listings import Function, followers, listing, natural_loops, reached

from tcuq import SIGNALS

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "src" / "tcuq" / "core"
STEP = ("tcuq.c", "tcuq_signals.c", "tcuq_beliefs.c", "tcuq_sight.c", "tcuq_internal.h")
"""Files whose loops a step can run."""

EVERY = str(len(SIGNALS))

LOOPS = {
    "for (i = 0; left != 0u; i++, left >>= 1) {": EVERY,
    "for (i = 0; mask != 0u; i++, mask >>= 1) {": EVERY,
    "for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {": EVERY,
    "for (i = 0; i < classes; i++) {": "classes",
    "for (i = 0; i < classes; i++, beliefs += 2) {": "classes",
    "for (i = 0; i < of->classes; i++) {": "classes",
    "for (i = 0; i < count; i++) {": "4 * classes",
    "for (i = 0; i < BLOCKS; i++) {": "8",
    "for (block = 0; block < BLOCKS; block++) {": "8",
    "} while (next != end);": "block",
    "} while (++prob != end);": "classes",
    "for (k = 0; k < EXPERT_COUNT; k++) {": "6",
    "for (i = 0; i < EXPERT_COUNT; i++) {": "6",
    "for (i = 0; i < p->lag_count; i++) {": "lags",
    "for (i = 0; i < tcuq_internal_numbers(p); i++) {": "sight",
    "for (; features != end; features++) {": "features",
    "for (; classes > 0u; classes--) {": "classes",
    "for (i = count; i < p->lag_count; i++) {": "lags",
    "for (; count > 0u; count--) {": "features",
    "for (; count >= 4u; count -= 4u) {": "features",
    "for (count = 0; count < p->lag_count && p->lags[count] <= m->fill; count++) {": "lags",
    "while (value >> shift > Q16_MAX) {": "16",
    "while (value << shift < ONE) {": "16",
    "while (bit != 0u) {": "16",
    "while (squares < (1uL << 30)) {": "16",
}
"""The most turns of each loop of a step, by that line; a block is an eighth of the features."""

SIGHT_LOOPS = {
    "for (i = 0; i < inputs; i++) {": "sight",
    "for (i = 0; i < count; i++) {": "sight",
    "for (; i < end; i++) {": "sight",
    "for (; slow != stay; slow++) {": "sight",
    "for (; left != 0u; left--) {": "sight",
    "} while (--more != 0u);": "sight",
    "} while (--count != 0u);": "sight",
}
"""The same of tcuq_sight.c, whose counts are of the numbers of a step."""

COPY = "20 + classes + features + 4 * sight"
"""Bytes of the longest copy of a step, and turns of a loop that a compiler puts in place of one.

Copies are of the signals (20 bytes), of what is kept of a step (16), of a posterior, of features and of the
lengths that raise an alarm."""

JUMPS_BACK = {"__udivsi3": 2, "__aeabi_uidivmod": 0, "__aeabi_idiv0": 0}
"""How often functions of libgcc jump to a lower address in one call, where a core has no division.

Between two such jumps addresses only grow, so no instruction runs more often than once and once a jump.
__udivsi3 has one, taken when a one leaves the top of its register of quotient bits. It begins with at most
sixteen ones there, and each turn shifts eight bits out and those of the quotient in from below, so the
jump is taken at most twice. `tools/bounds.py --divisions` counts divisions of the worst operands."""


def loops_of(text: str) -> list[tuple[int, str]]:
    r"""Return the line number and the first line of every loop of a source; the last one of a `do`.

    Examples
    --------
    >>> loops_of("int i;\n    while (bit != 0u) {\n    }\n")
    [(2, 'while (bit != 0u) {')]
    """
    lines = enumerate(text.splitlines(), 1)
    return [(number, line.strip()) for number, line in lines if re.match(r"\s*(\} )?(for|while)\b", line)]


def bounds_by_line() -> dict[tuple[str, int], str]:
    """Return the bound of every loop of a step by file and line; refuse a loop that has none."""
    found = {}
    for name in STEP:
        text = (CORE / name).read_text(encoding="utf-8")
        known = SIGHT_LOOPS if name == "tcuq_sight.c" else LOOPS
        for number, line in enumerate(text.splitlines(), 1):
            # Those of a number are two bytes: no compiler makes a loop of them.
            if re.search(r"\b(memcpy|COPY)\((?!.*, sizeof (value|kept)\))", line):
                found[name, number] = COPY
        for number, line in loops_of(text):
            if line not in known:
                raise ValueError(
                    f"{name}:{number} is a loop without a bound, expected one in tools/step_loops.py: {line}"
                )
            found[name, number] = known[line]
    return found


def copy_bound(function: Function, size: int) -> int:
    """Return the most instructions of a copy of some bytes: each turn of a loop stores what its body says."""
    body = function.lines
    loops = natural_loops(followers(function))
    inside = set().union(*loops.values())
    total = len(body) - len(inside)
    for loop in loops.values():
        stores = [body[each][2] for each in loop if body[each][2].startswith("str")]
        stored = sum({"strb": 1, "strh": 2, "str": 4}[name.partition(".")[0]] for name in stores)
        if stored == 0 or sum(each in other for other in loops.values() for each in loop) > len(loop):
            raise ValueError(
                f"a loop of {function.name} stores {stored} bytes or has another in it, "
                "expected bytes, and none"
            )
        total += len(loop) * (size // stored + 1)
    return total


def turns(function: Function, sizes: Mapping[str, int]) -> list[int]:
    """Return how often each instruction of a function runs in a call, at most."""
    body = function.lines
    if not function.own:
        if function.name not in JUMPS_BACK:
            raise ValueError(f"{function.name} is called, expected the core, a copy or a division alone")
        most = JUMPS_BACK[function.name]
        back = [(goal, at) for at, _, _, _, goal in body if goal is not None and body[0][0] <= goal <= at]
        if len(back) > min(most, 1):
            raise ValueError(f"{function.name} has {len(back)} jumps back, expected {min(most, 1)}")
        for first, last in back:
            bits = sum(name == "adcs" and first <= at <= last for at, _, name, _, _ in body)
            if bits != 8:
                raise ValueError(f"{function.name} takes {bits} bits a turn, expected 8")
        return [1 + most] * len(body)
    table, after = bounds_by_line(), followers(function)
    live = reached(after)
    times = [int(number in live) for number in range(len(body))]
    loops = natural_loops(after)
    lines = {
        head: {place for each in inside if (place := body[each][1]) in table}
        for head, inside in loops.items()
    }
    for head, inside in loops.items():
        within = [lines[other] for other in loops if other != head and loops[other] <= inside]
        alone = lines[head].difference(*within)
        if not alone:
            raise ValueError(f"loop at {body[head][0]:#x} has no line of a loop of the core, expected one")
        ways = sum(head in after[each] for each in inside)
        # The test at its head may run once more than the turns.
        bounds = [turns_of(table[place], sizes) + 1 for place in alone if place is not None]
        most = max(bounds) if ways == 1 else math.prod(bounds)
        for each in inside:
            times[each] *= most
    return times


def bound_of(
    functions: Mapping[int, Function], start: int, sizes: Mapping[str, int], way: tuple[int, ...] = ()
) -> int:
    """Return the most instructions that a call of a function runs."""
    if start in way:
        raise ValueError(f"function at {start:#x} calls itself, expected no recursion")
    function = functions[start]
    if function.name == "memcpy":
        return copy_bound(function, turns_of(COPY, sizes))
    body, total = function.lines, 0
    first, last = body[0][0], body[-1][0]
    for (_, _, name, _, goal), times in zip(body, turns(function, sizes), strict=True):
        total += times
        if times and goal is not None and re.match("b|cb", name) and not first <= goal <= last:
            callee = max(each for each in functions if each <= goal)
            total += times * bound_of(functions, callee, sizes, (*way, start))
    return total


def turns_of(bound: str, sizes: Mapping[str, int]) -> int:
    """Return a bound as a number: sums of products of sizes and numbers.

    Examples
    --------
    >>> turns_of("8 * classes + 64", {"classes": 10})
    144
    """
    total = 0
    for part in bound.split(" + "):
        product = 1
        for word in part.split(" * "):
            product *= int(word) if word.isdigit() else sizes[word]
        total += product
    return total


def step_bound(elf: Path, sizes: Mapping[str, int], name: str = "tcuq_step") -> int:
    """Return the most instructions of one step of an image that has lines of the source."""
    functions = listing(elf)
    sizes = {"sight": 0, **sizes, "block": sizes.get("features", 0) // 8 + 1}
    (start,) = (at for at, function in functions.items() if function.name == name)
    return bound_of(functions, start, sizes)
