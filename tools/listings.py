# SPDX-License-Identifier: MIT
"""Listings of linked images: functions, what may follow each instruction, and loops."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Function:
    """Instructions of one function: address, place in the source, name, operands, target of a jump."""

    name: str = ""
    lines: list[tuple[int, tuple[str, int] | None, str, str, int | None]] = field(default_factory=list)

    @property
    def own(self) -> bool:
        """Whether it is of the core."""
        return any(place is not None and place[0].startswith("tcuq") for _, place, _, _, _ in self.lines)


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
        kind = name.partition(".")[0]
        writes_pc = operands.startswith("pc,") or (re.match(r"(pop|ldm)", kind) and "pc" in operands)
        restores = writes_pc and re.search(r"\{|\[sp\]", operands)
        returns = restores or operands.strip() == "lr"
        if kind in ("tbb", "tbh") or (writes_pc and not returns):
            raise ValueError(f"instruction at {at:#x} is {name}, expected no table of jumps")
        if re.match("bl?x", kind) and not returns:
            raise ValueError(f"instruction at {at:#x} calls through a pointer, expected none")
        # A condition is part of the name: what has one may also go on.
        stops = kind == "b" or (returns and kind in ("bx", "pop", "ldmia", "ldr"))
        after = [] if stops or number + 1 == len(body) else [number + 1]
        if goal in numbers and kind not in ("bl", "blx"):
            after.append(numbers[goal])
        found.append(after)
    return found


def reached(after: list[list[int]]) -> set[int]:
    """Return the instructions that some way leads to: constants lie between them.

    Examples
    --------
    >>> reached([[2], [], []])
    {0, 2}
    """
    found, left = {0}, [0]
    while left:
        for other in after[left.pop()]:
            if other not in found:
                found.add(other)
                left.append(other)
    return found


def natural_loops(after: list[list[int]]) -> dict[int, set[int]]:
    """Return the instructions of every loop by the one that it begins with; refuse a loop with two entries.

    Examples
    --------
    >>> natural_loops([[1], [2, 3], [1], []])
    {1: {1, 2}}
    """
    count, live = len(after), reached(after)
    after = [nexts if number in live else [] for number, nexts in enumerate(after)]
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
