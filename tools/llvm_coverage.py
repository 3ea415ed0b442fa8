# SPDX-License-Identifier: MIT
"""What `llvm-cov export` says of one build, and the union over builds: lines, branches, conditions (MC/DC).

A branch or a condition is known by the way that macros and included files lead to it, so that one that a
macro makes thirty times is thirty. What a build knows when compiling is no branch of that build.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Place = tuple[int, int]
"""Line and column."""

Box = tuple[Place, Place]
"""Where something begins and ends."""

Constants = dict[tuple[str, Box], set[int]]
"""Numbers of the conditions that are constants, by file and place of a decision."""

EXPANSION, MCDC_BRANCH = 1, 6
"""Kinds of regions and branches, as LLVM numbers them."""


@dataclass(frozen=True, order=True)
class Spot:
    """Something that tests should reach."""

    kind: str
    file: str
    function: str
    way: tuple[str, ...]
    side: str = ""


@dataclass
class Found:
    """Spots of some builds, and which of them were reached."""

    reached: dict[Spot, bool] = field(default_factory=dict)

    def add(self, spot: Spot, reached: bool) -> None:
        """Note a spot; one that was reached once is reached."""
        self.reached[spot] = self.reached.get(spot, False) or reached

    def join(self, other: Found) -> None:
        """Take over what another build has."""
        for spot, reached in other.reached.items():
            self.add(spot, reached)

    def of(self, kind: str, file: str) -> dict[Spot, bool]:
        """Return the spots of a kind in a file."""
        return {spot: hit for spot, hit in self.reached.items() if (spot.kind, spot.file) == (kind, file)}


class Homes:
    """Folders whose files are measured; a file is called by its path in its folder."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = [folder.resolve() for folder in folders]
        self._texts: dict[str, list[str]] = {}

    def named(self, path: str) -> str:
        """Return the name of a file, `` where it is in none of the folders."""
        for folder in self.folders:
            if Path(path).is_relative_to(folder):
                return Path(path).relative_to(folder).as_posix()
        return ""

    def line(self, place: str) -> str:
        """Return the text at `file:line:column`."""
        name, line, _ = place.split(":")
        if name not in self._texts:
            path = next((folder / name for folder in self.folders if (folder / name).exists()), None)
            self._texts[name] = path.read_text("utf-8").splitlines() if path else []
        lines = self._texts[name]
        return lines[int(line) - 1].strip() if lines else ""


def _number(times: int) -> str:
    """Return what tells conditions apart that lie at one place, as those in one argument of a macro do."""
    return str(times) if times > 1 else ""


class _Function:
    """One function of an export: where its regions lie, through macros and included files."""

    def __init__(self, told: dict[str, Any], homes: Homes) -> None:
        self.files = [homes.named(name) or Path(name).name for name in told["filenames"]]
        self.name = told["name"].split(":")[-1]
        self.first, self.last = told["regions"][0][0], told["regions"][0][2]
        self.branches, self.decisions = told["branches"], told["mcdc_records"]
        self.parents: dict[int, tuple[int, Place]] = {}
        for line, column, _, _, _, file, expanded, kind in told["regions"]:
            if kind == EXPANSION:
                self.parents[expanded] = (file, (line, column))

    def way(self, file: int, place: Place) -> list[tuple[int, Place]]:
        """Return the places that lead to one, the outermost first."""
        found = [(file, place)]
        while found[0][0] in self.parents:
            found.insert(0, self.parents[found[0][0]])
        return found

    def named(self, way: Iterable[tuple[int, Place]]) -> tuple[str, ...]:
        """Return places as text."""
        return tuple(f"{self.files[file]}:{line}:{column}" for file, (line, column) in way)

    def branch_spots(self) -> Iterator[tuple[Spot, bool]]:
        """Yield both sides of every branch that is no constant in this build."""
        seen: Counter[tuple[str, ...]] = Counter()
        for line, column, _, _, true, false, file, *_ in self.branches:
            way = self.named(self.way(file, (line, column)))
            seen[way] += 1
            for side, count in (("true", true), ("false", false)):
                side = f"{side} {_number(seen[way])}".rstrip()
                yield Spot("branch", self.files[0], self.name, way, side), count > 0

    def _members(self, box: Box) -> list[list[list[tuple[int, Place]]]]:
        """Return the conditions of the decisions that lie in a box, one list a decision, as ways."""
        found: dict[tuple[tuple[int, Place], ...], list[list[tuple[int, Place]]]] = defaultdict(list)
        for line, column, _, _, _, _, file, _, kind in self.branches:
            way = self.way(file, (line, column))
            here = [self.files[number] == self.files[0] for number, _ in way]
            inside = [at for at, (_, place) in enumerate(way) if here[at] and box[0] <= place <= box[1]]
            if kind == MCDC_BRANCH and inside:
                found[tuple(way[: inside[0]])].append(way)
        return [found[outer] for outer in sorted(found)]

    def condition_spots(self, constants: Constants) -> Iterator[tuple[Spot, bool]]:
        """Yield the conditions of every decision that are no constants in this build."""
        turn: Counter[Box] = Counter()
        seen: Counter[tuple[str, ...]] = Counter()
        for line, column, last, end, _, _, covered in self.decisions:
            box = ((line, column), (last, end))
            groups = self._members(box)
            ways = groups[turn[box]] if turn[box] < len(groups) else []
            turn[box] += 1
            folded = constants.get((self.files[0], box), set())
            hits = [hit for at, hit in enumerate(covered) if at not in folded]
            for way, hit in zip(map(self.named, ways), hits, strict=True):
                seen[way] += 1
                yield Spot("condition", self.files[0], self.name, way, _number(seen[way])), hit


def constants_of(text: str, homes: Homes, file: str = "") -> Constants:
    r"""Return which conditions a build knows when compiling, from what `llvm-cov show -show-mcdc` prints.

    That names its files unless there is one alone, which is `file`.

    Examples
    --------
    >>> shown = ["a.c:", "  |---> MC/DC Decision Region (39:9) to (39:49)", "  |  C1-Pair: constant folded"]
    >>> constants_of("\n".join(shown), Homes([Path()]))
    {('a.c', ((39, 9), (39, 49))): {0}}
    """
    found: Constants = {}
    box = ((0, 0), (0, 0))
    for line in text.splitlines():
        numbers = [int(number) for number in re.findall(r"\d+", line)]
        if line.endswith(":") and not line.startswith(" "):
            file = homes.named(str(Path(line[:-1]).resolve()))
        elif "MC/DC Decision Region" in line:
            box = ((numbers[0], numbers[1]), (numbers[2], numbers[3]))
        elif line.endswith("-Pair: constant folded"):
            found.setdefault((file, box), set()).add(numbers[0] - 1)
    return found


def read(told: dict[str, Any], lines: str, shown: str, homes: Homes) -> Found:
    """Return what one build says of the files of some folders."""
    found, files = Found(), [homes.named(path) for path in re.findall("^SF:(.*)$", lines, re.MULTILINE)]
    constants = constants_of(shown, homes, files[0])
    functions = [
        _Function(each, homes) for each in told["data"][0]["functions"] if homes.named(each["filenames"][0])
    ]
    for one in functions:
        for spot, reached in (*one.branch_spots(), *one.condition_spots(constants)):
            found.add(spot, reached)
    spans = {(one.files[0], line): one.name for one in functions for line in range(one.first, one.last + 1)}
    file = ""
    for text in lines.splitlines():
        key, _, value = text.partition(":")
        if key == "SF":
            file = homes.named(value)
        elif key == "DA" and file:
            line, count = map(int, value.split(",")[:2])
            place, function = f"{file}:{line}:1", spans.get((file, line), "")
            # Neither what the preprocessor takes, nor braces, nor the text of macros outside of functions.
            if function and not homes.line(place).startswith(("#", "{", "}")):
                found.add(Spot("line", file, function, (place,)), count > 0)
    return found
