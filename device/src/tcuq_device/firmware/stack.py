"""How deep the stack of an image can get on any input: stack frames along the deepest call path.

Frames are those of the compiler's usage files (`-fstack-usage`); those of library functions, which have none,
are added up from the listing. Calls are those of the linked image. What a listing cannot show is refused, not
guessed: recursion, calls through pointers that nobody declared, frames whose size depends on data.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tcuq.base.errors import InputError

from ..tools import call
from .image import Image

ROOT = "reset_handler"
OPTION = "-fstack-usage"
"""Asks the compiler for usage files, FILE.su beside FILE.o."""

HARNESS = ".harness_code"
"""Section of what is no part of a firmware; calls into it are not followed."""

_SECTION = re.compile(r"Disassembly of section (.*):$")
_LABEL = re.compile(r"([0-9a-f]{8}) <([^>]+)>:$")
LINE = re.compile(r"\s*([0-9a-f]+):\t[0-9a-f ]+\t(\S+)\t?([^;@]*)")
_TARGET = re.compile(r"([0-9a-f]+) <")
CONDITIONS = "(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)"


class NoBound(InputError):
    """The listing does not tell how deep the stack can get; the message says where and why."""


def _unbounded(why: str) -> NoBound:
    return NoBound("unsupported", f"the stack has no bound: {why}")


@dataclass(frozen=True)
class StackBound:
    """How deep the stack can get, interrupts aside, and the functions of the deepest call path."""

    bytes: int
    path: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return " > ".join(f"{name} {frame}" for name, frame in self.path)


@dataclass
class _Function:
    """What the listing shows of a function."""

    name: str
    section: str
    frame: int | None = 0
    targets: set[int] = field(default_factory=set)
    indirect: bool = False
    switches: bool = False
    falls: bool = True


def usage_of(files: Iterable[Path]) -> dict[str, int]:
    """Return the bytes of every function's frame, from usage files; the most where several have one name."""
    found: dict[str, int] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            place, size, kind = line.split("\t")
            name = place.rpartition(":")[2]
            if kind == "dynamic":
                raise _unbounded(f"the frame of {name} depends on data")
            found[name] = max(int(size), found.get(name, 0))
    return found


def frame_change(mnemonic: str, operands: str) -> int | None:
    """Return by how many bytes an instruction makes the stack deeper; None where it does not say.

    Examples
    --------
    >>> frame_change("push", "{r4, r5, lr}"), frame_change("sub.w", "sp, sp, #1040")
    (12, 1040)
    >>> frame_change("vpush", "{d8-d9}"), frame_change("str.w", "lr, [sp, #-4]!")
    (16, 4)
    >>> frame_change("add", "sp, #8"), frame_change("sub.w", "sp, sp, r3"), frame_change("addi", "sp,sp,-32")
    (0, None, 32)
    """
    name = mnemonic.partition(".")[0]
    if name in ("push", "vpush") or (name == "stmdb" and operands.startswith("sp!")):
        return registers(operands) * (8 if "{d" in operands else 4)
    if name.startswith("str") and (down := re.search(r"\[sp, #-(\d+)\]!", operands)):
        return int(down[1])
    if name in ("addi", "add") and (change := re.fullmatch(r"sp,sp,(-?\d+)", operands.strip())):
        return max(0, -int(change[1]))
    if name in ("sub", "subw", "subs") and operands.startswith("sp,"):
        size = re.search(r"#(\d+)$", operands.strip())
        return int(size[1]) if size else None
    if name == "mov" and operands.startswith("sp,"):
        return None
    if name in ("add", "addw") and operands.startswith("sp,") and "#" not in operands:
        return None
    return 0


def registers(operands: str) -> int:
    """Count the registers of a list in braces, in which r4-r7 are four."""
    total = 0
    for part in operands[operands.find("{") + 1 : operands.find("}")].split(","):
        first, _, last = part.strip().partition("-")
        ends = re.search(r"\d+", first), re.search(r"\d+", last)
        total += int(ends[1][0]) - int(ends[0][0]) + 1 if ends[0] and ends[1] else 1
    return total


def stack_bound(
    elf: Path,
    usages: Mapping[str, int],
    root: str = ROOT,
    indirect: Mapping[str, Sequence[str]] | None = None,
    toolchain: str = "arm-none-eabi",
) -> StackBound:
    """Return how deep the stack of an image for a Cortex-M or RISC-V can get.

    `indirect` says what a function that calls through a pointer may call.
    """
    listing = _listing(elf, toolchain)
    starts = sorted(listing)
    declared = indirect or {}
    places = {function.name: at for at, function in listing.items()}
    if root not in places:
        raise _unbounded(f"{elf.name} has no function {root}")
    known: dict[int, StackBound] = {}

    def usage(function: _Function) -> int | None:
        # A copy of a function is NAME.constprop.0 in the image, NAME.constprop or NAME in the usage file.
        names = (function.name, function.name.rpartition(".")[0], function.name.partition(".")[0])
        return next((usages[name] for name in names if name in usages), None)

    def frame_of(function: _Function) -> int:
        stated, listed = usage(function), function.frame
        if stated is None and listed is None:
            raise _unbounded(f"the frame of {function.name} depends on data")
        # The compiler states 0 for a function in assembler; the listing shows what that pushes.
        return max(stated or 0, listed or 0)

    def callees(at: int) -> set[int]:
        function = listing[at]
        found = {starts[bisect_right(starts, target) - 1] for target in function.targets}
        found -= set() if at in function.targets else {at}
        alien = usage(function) is None
        if function.indirect or (function.switches and alien):
            if function.name not in declared:
                raise _unbounded(f"{function.name} calls through a pointer")
            found |= {places[name] for name in declared[function.name]}
        after = bisect_right(starts, at)
        # A compiler ends a function with a jump, or with a call that never returns.
        if function.falls and alien and after < len(starts):
            found.add(starts[after])
        return {target for target in found if listing[target].section != HARNESS}

    def deepest(at: int, way: tuple[int, ...]) -> StackBound:
        if at in way:
            names = " > ".join(listing[each].name for each in (*way[way.index(at) :], at))
            raise _unbounded(f"recursion, {names}")
        if at not in known:
            below = [deepest(target, (*way, at)) for target in sorted(callees(at))]
            most = max(below, key=lambda each: each.bytes, default=StackBound(0, ()))
            own = frame_of(listing[at])
            known[at] = StackBound(own + most.bytes, ((listing[at].name, own), *most.path))
        return known[at]

    return deepest(places[root], ())


def bound_of(image: Image) -> StackBound:
    """Return how deep the stack of a built image can get; usage files lie beside it."""
    usages = usage_of(sorted(image.path.parent.glob("*.su")))
    return stack_bound(image.path, usages, toolchain=image.board.toolchain)


def _listing(elf: Path, toolchain: str) -> dict[int, _Function]:
    """Return what the disassembler shows of every function, by address."""
    found: dict[int, _Function] = {}
    parts: dict[int, list[tuple[str, str]]] = {}
    section, at = "", 0
    for line in call(f"{toolchain}-objdump", ["-d", elf]).splitlines():
        if begun := _SECTION.match(line):
            section = begun[1]
        elif label := _LABEL.match(line):
            at = int(label[1], 16)
            found[at], parts[at] = _Function(label[2], section), []
        elif (words := LINE.match(line)) and at in parts:
            parts[at].append((words[2], words[3].strip()))
    for at, function in found.items():
        _read(function, at, parts[at])
    return found


def _read(function: _Function, at: int, lines: Sequence[tuple[str, str]]) -> None:
    """Note the frame, the calls and the end of a function."""
    end = ("", "")
    for mnemonic, operands in lines:
        kind = mnemonic.partition(".")[0]
        if mnemonic.startswith(".") or kind == "nop":
            continue
        end = (kind, operands)
        change = frame_change(mnemonic, operands)
        function.frame = None if change is None or function.frame is None else function.frame + change
        if re.fullmatch(rf"(bl|blx|bx|b){CONDITIONS}?|cbn?z|jal|j|jalr", kind):
            target = _TARGET.search(operands)
            if target:
                # A jump to the function's own beginning is a loop, a call of it is recursion.
                inside = int(target[1], 16) == at and not kind.startswith(("bl", "jal"))
                function.targets |= set() if inside else {int(target[1], 16)}
            elif not operands.startswith("lr"):
                function.indirect = True
        elif kind == "jr" or (kind == "mov" and operands.startswith("pc,") and not operands.endswith("lr")):
            # Within a function: a switch on cores without an instruction for it, or the kernels' own jump.
            function.switches = True
        elif kind.startswith("ldr") and operands.startswith("pc,") and "[sp]" not in operands:
            function.indirect = True
    returns = "pc" in end[1] and end[0] in ("pop", "ldmia", "ldr", "mov")
    function.falls = not (
        returns or end[0] in ("", "b", "bx", "tbb", "tbh", "udf", "ret", "j", "jr", "ebreak")
    )
