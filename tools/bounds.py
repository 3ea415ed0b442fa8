# SPDX-License-Identifier: MIT
"""A bound of the instructions of one step on a Cortex-M, from the compiled core, for any input.

    python tools/bounds.py

Every loop of the core has a bound here, as a function of classes, features and lags; a loop without one is
an error.

Why the bound is sound: an instruction that is in no loop runs at most once a call. One in loops runs at
most as often as the product of the turns of all loops around it. The sum over all instructions of a
function, both sides of every branch included, is thus never below what a call runs. Loops are those of the
compiled code: jumps back to an instruction that every way to the jump comes through. Each stands for a loop
of the source among the lines that lie in it, so the largest bound of those holds for it. What a called
function takes is added at each call. Recursion, calls through pointers, tables of jumps and loops with two
entries are refused.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "src" / "tcuq" / "core"
STEP = ("tcuq.c", "tcuq_signals.c", "tcuq_beliefs.c", "tcuq_math.h", "tcuq_internal.h")
"""Files whose loops a step can run."""

LOOPS = {
    "for (i = 0; left != 0u; i++, left >>= 1) {": "17",
    "for (i = 0; mask != 0u; i++, mask >>= 1) {": "17",
    "for (i = 0; i < TCUQ_SIGNAL_COUNT; i++) {": "17",
    "for (i = 0; i < classes; i++) {": "classes",
    "for (i = 0; i < classes; i++, beliefs += 2) {": "classes",
    "for (i = 0; i < p->classes; i++) {": "classes",
    "for (i = 0; i < of->classes; i++) {": "classes",
    "for (i = 0; p->instant->class_mix != NULL && i < p->classes; i++) {": "classes",
    "for (i = 0; i < count; i++) {": "4 * classes",
    "for (k = 0; k < EXPERT_COUNT; k++) {": "6",
    "for (i = 0; i < EXPERT_COUNT; i++) {": "6",
    "for (n = TCUQ_DISBELIEF_SLOW; n >= TCUQ_DISBELIEF_FAST; n--) {": "2",
    "for (; features != end; features++) {": "features",
    "for (i = 0; i < p->features; i++) {": "features",
    "for (; count > 0u; count--) {": "features",
    "for (; count >= 4u; count -= 4u) {": "features",
    "for (count = 0; count < p->lag_count && p->lags[count] <= m->fill; count++) {": "lags",
    "while (largest >> shift > 32767u) {": "17",
    "while (value >> shift > Q16_MAX) {": "16",
    "while (value << shift < ONE) {": "16",
    "while (bit != 0u) {": "16",
    "while (squares > 0xFFFFFFFFu) {": "16",
    "while (value < (1uL << 30)) {": "16",
    "while (p >> shift > 511u) {": "4",
}
"""The most turns of each loop that a step can run, by its first line."""

LIBRARY = "classes + features + 64"
"""Turns of a loop in a library function, and of one that a compiler puts in place of memcpy.

A copy takes a byte or more a turn, of an entry of the ring or of the 34 bytes of signals.
A division takes at most 64."""


COPY = "8 * classes + 8 * features + 372"
"""Instructions of memcpy: at most eight a byte, and a hundred beside.

No copy of a step is longer than an entry of the ring, or the 34 bytes of the signals."""


@dataclass
class Function:
    """Instructions of one function: address, place in the source, name, operands, target of a jump."""

    name: str = ""
    lines: list[tuple[int, tuple[str, int] | None, str, str, int | None]] = field(default_factory=list)


def loops_of(text: str) -> list[tuple[int, str]]:
    r"""Return the line number and the first line of every loop of a source.

    Examples
    --------
    >>> loops_of("int i;\n    while (bit != 0u) {\n    }\n")
    [(2, 'while (bit != 0u) {')]
    """
    lines = enumerate(text.splitlines(), 1)
    return [(number, line.strip()) for number, line in lines if re.match(r"\s*(for|while|do)\b", line)]


def bounds_by_line() -> dict[tuple[str, int], str]:
    """Return the bound of every loop of a step by file and line; refuse a loop that has none."""
    found = {}
    for name in STEP:
        text = (CORE / name).read_text(encoding="utf-8")
        copies = [
            number for number, line in enumerate(text.splitlines(), 1) if re.search(r"\bmem(cpy|set)\(", line)
        ]
        found.update({(name, number): LIBRARY for number in copies})
        for number, line in loops_of(text):
            if line not in LOOPS:
                raise ValueError(
                    f"{name}:{number} is a loop without a bound, expected one in tools/bounds.py: {line}"
                )
            found[name, number] = LOOPS[line]
    return found


def listing(elf: Path) -> dict[int, Function]:
    """Return the functions of a linked image by address."""
    text = subprocess.run(
        ["arm-none-eabi-objdump", "-dl", elf], check=True, capture_output=True, text=True
    ).stdout
    found: dict[int, Function] = {}
    now, place = Function(), None
    for line in text.splitlines():
        if label := re.match(r"([0-9a-f]{8}) <([^>]+)>:$", line):
            now, place = found.setdefault(int(label[1], 16), Function(label[2])), None
        elif where := re.match(r"(/\S+):(\d+)", line):
            place = (Path(where[1]).name, int(where[2]))
        elif words := re.match(r"\s*([0-9a-f]+):\t[0-9a-f ]+\t(\S+)\t?([^;@]*)", line):
            target = re.search(r"\b([0-9a-f]+) <", words[3])
            goal = int(target[1], 16) if target else None
            now.lines.append((int(words[1], 16), place, words[2], words[3], goal))
    return found


def followers(function: Function) -> list[list[int]]:
    """Return by instruction the numbers of those that may come next, calls aside."""
    body = function.lines
    numbers = {at: number for number, (at, _, _, _, _) in enumerate(body)}
    found = []
    for number, (at, _, name, operands, goal) in enumerate(body):
        if name.startswith(("tbb", "tbh")):
            raise ValueError(f"instruction at {at:#x} is {name}, expected no table of jumps")
        stops = name in ("b", "b.n", "b.w", "bx") or (
            name in ("pop", "ldmia.w", "ldr.w") and "pc" in operands
        )
        after = [] if stops or number + 1 == len(body) else [number + 1]
        if goal in numbers and name not in ("bl", "blx"):
            after.append(numbers[goal])
        found.append(after)
    return found


def natural_loops(after: list[list[int]]) -> dict[int, set[int]]:
    """Return the instructions of every loop by the one that it begins with; refuse a loop with two entries.

    Examples
    --------
    >>> natural_loops([[1], [2, 3], [1], []])
    {1: {1, 2}}
    """
    count = len(after)
    reached, left = {0}, [0]
    while left:
        for other in after[left.pop()]:
            if other not in reached:
                reached.add(other)
                left.append(other)
    # Constants between the instructions look like some, but no way leads there.
    after = [nexts if number in reached else [] for number, nexts in enumerate(after)]
    before: list[list[int]] = [[] for _ in range(count)]
    for number, nexts in enumerate(after):
        for other in nexts:
            before[other].append(number)
    # Bit n of above[m]: every way to m comes through n.
    above = [1, *([(1 << count) - 1] * (count - 1))]
    changed = True
    while changed:
        changed = False
        for number in range(1, count):
            now = (1 << count) - 1
            for other in before[number]:
                now &= above[other]
            now |= 1 << number
            changed |= now != above[number]
            above[number] = now
    loops: dict[int, set[int]] = {}
    for number, nexts in enumerate(after):
        for head in nexts:
            if above[number] >> head & 1:
                body, left = loops.setdefault(head, {head}), [number]
                while left:
                    one = left.pop()
                    if one not in body:
                        body.add(one)
                        left += before[one]
    # Without the jumps back no circle is left, or one has two entries.
    state = [0] * count
    for root in range(count):
        path = [(root, 0)] if state[root] == 0 else []
        while path:
            number, at = path.pop()
            state[number] = 1
            forward = [each for each in after[number] if not above[number] >> each & 1]
            if at < len(forward):
                path.append((number, at + 1))
                if state[forward[at]] == 1:
                    raise ValueError(f"the loop at instruction {number} has two entries, expected one")
                if state[forward[at]] == 0:
                    path.append((forward[at], 0))
            else:
                state[number] = 2
    return loops


def bound_of(
    functions: Mapping[int, Function], start: int, sizes: Mapping[str, int], way: tuple[int, ...] = ()
) -> int:
    """Return the most instructions that a call of a function runs."""
    if start in way:
        raise ValueError(f"function at {start:#x} calls itself, expected no recursion")
    if functions[start].name in ("memcpy", "memset"):
        return turns_of(COPY, sizes)
    table, body = bounds_by_line(), functions[start].lines
    first, last = body[0][0], body[-1][0]
    times = [1] * len(body)
    own = any(place is not None and place[0].startswith("tcuq") for _, place, _, _, _ in body)
    try:
        loops = natural_loops(followers(functions[start]))
    except ValueError:
        if own:
            raise
        # Divisions in assembler jump as they like, but run no instruction more often than bits.
        loops = {0: set(range(len(body)))}
    for head, inside in loops.items():
        places = {place for each in inside if (place := body[each][1]) is not None}
        named = [turns_of(table[place], sizes) for place in places if place in table]
        if not named and any(place[0].startswith("tcuq") for place in places):
            raise ValueError(f"loop at {body[head][0]:#x} has no line of a loop of the core, expected one")
        # The test at its head may run once more than the turns.
        most = max(named, default=turns_of(LIBRARY, sizes)) + 1
        for each in inside:
            times[each] *= most
    total = 0
    for number, (at, _, name, _, goal) in enumerate(body):
        cost = 1
        if name == "blx" and goal is None:
            raise ValueError(f"instruction at {at:#x} calls through a pointer, expected none")
        if goal is not None and not first <= goal <= last and name[0] == "b":
            callee = max(each for each in functions if each <= goal)
            cost += bound_of(functions, callee, sizes, (*way, start))
        total += times[number] * cost
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


MAIN = """
#include "tcuq.h"
void *memcpy(void *to, const void *from, size_t size);
void reset_handler(void);
tcuq_t monitor; tcuq_step_t step; int8_t probs[1000], features[256]; uint16_t signals[TCUQ_SIGNAL_COUNT];
void reset_handler(void) { tcuq_step(&monitor, probs, features, &step, signals); }
"""


def linked(folder: Path, cpu: str, mask: int, level: str = "-Os") -> Path:
    """Build an image of a step alone, with lines of the source."""
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    flags = ["-std=c99", level, "-g", "-mthumb", f"-mcpu={cpu}", "-ffunction-sections", f"-I{CORE}"]
    sources = [CORE / name for name in STEP if name.endswith(".c")]
    command = ["arm-none-eabi-gcc", *flags, f"-DTCUQ_SIGNALS={mask}", "-nostartfiles", "-Wl,--gc-sections"]
    command += [
        "-Wl,-ereset_handler",
        str(folder / "main.c"),
        *map(str, sources),
        str(CORE / "tcuq_params.c"),
    ]
    subprocess.run([*command, "-o", str(folder / "step.elf")], check=True)
    return folder / "step.elf"


def step_bound(cpu: str, mask: int, classes: int, features: int, lags: int, level: str = "-Os") -> int:
    """Return the most instructions of one step of a build with these signals."""
    with tempfile.TemporaryDirectory() as name:
        elf = linked(Path(name), cpu, mask, level)
        symbols = subprocess.run(["arm-none-eabi-nm", elf], check=True, capture_output=True, text=True).stdout
        found = re.search(r"^([0-9a-f]{8}) \w tcuq_step$", symbols, re.MULTILINE)
        assert found is not None
        sizes = {"classes": classes, "features": features, "lags": lags}
        return bound_of(listing(elf), int(found[1], 16), sizes)


def main() -> int:
    """Print the table."""
    if shutil.which("arm-none-eabi-gcc") is None:
        print("bounds need: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi", file=sys.stderr)
        return 2
    print(f"{'profile':<12}{'classes':>8}{'features':>9}{'lags':>5}{'Cortex-M4':>12}")
    for profile, mask, classes, features, lags in (
        ("standard", 0x1D200, 10, 32, 0),
        ("paper", 0xF, 10, 32, 3),
        ("extended", 0x7F3A, 10, 32, 3),
    ):
        most = step_bound("cortex-m4", mask, classes, features, lags)
        print(f"{profile:<12}{classes:>8}{features:>9}{lags:>5}{most:>12,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
