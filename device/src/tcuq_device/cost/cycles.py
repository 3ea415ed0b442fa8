"""Cycles and energy estimated from instruction counts and the board's file; never a measurement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from ..boards import Cycles
from ..emulate.emulator import Counts
from ..firmware.image import Image
from ..firmware.stack import CONDITIONS, LINE, registers
from ..tools import call

_BRANCH = re.compile(rf"(b{CONDITIONS}|cbn?z)$")
_JUMP = re.compile(rf"(b|bl|bx|blx){CONDITIONS}?$")
_SEVERAL = re.compile(r"v?(ldm|stm|push|pop)")


def kind_of(mnemonic: str, operands: str) -> tuple[str, int, bool]:
    """Return the kind of an instruction, the registers that it moves, and whether it also jumps.

    Examples
    --------
    >>> kind_of("ldrb.w", "r3, [r0], #1"), kind_of("pop", "{r4, r5, pc}"), kind_of("bls.n", "1a4")
    (('load', 1, False), ('several', 3, True), ('branch', 0, False))
    >>> kind_of("bl", "1a4 <memcpy>"), kind_of("bic.w", "r0, r0, r1"), kind_of("stmia", "r0!, {r4-r7}")
    (('jump', 0, False), ('other', 0, False), ('several', 4, False))
    """
    name = mnemonic.partition(".")[0]
    if name.startswith(("tbb", "tbh")):
        return "table", 0, False
    if _BRANCH.match(name):
        return "branch", 0, False
    if _JUMP.match(name):
        return "jump", 0, False
    if re.fullmatch(r"it[te]{0,3}", name):
        return "it", 0, False
    if name.startswith(("sdiv", "udiv")):
        return "divide", 0, False
    if _SEVERAL.match(name):
        return "several", registers(operands), "pc" in operands
    if name.startswith(("ldrd", "strd")):
        return "several", 2, False
    if name.startswith(("ldr", "vldr")):
        return "load", 1, operands.startswith("pc,")
    if name.startswith(("str", "vstr")):
        return "store", 1, False
    return "other", 0, operands.startswith("pc,")


def _cost(table: Cycles, mnemonic: str, operands: str) -> tuple[int, int]:
    kind, registers, jumps = kind_of(mnemonic, operands)
    low, high = table.each[kind]
    if kind == "several":
        low, high = low + registers * table.word, high + registers * table.word
    if jumps:
        # What filling the pipeline again adds to a jump of one cycle.
        low, high = low + table.each["jump"][0] - 1, high + table.each["jump"][1] - 1
    return low, high


def cycles(image: Image, counts: Counts) -> dict[str, Any] | None:
    """Estimate the cycles of a step, without wait states; None where the board has no table.

    The table of the Cortex-M7 is not published, and rough bounds would mislead.
    """
    board, steps = image.board, len(counts.instructions)
    if board.cycles is None or steps == 0:
        return None
    least, most = (total / steps for total in _totals(board.cycles, _listing(image), counts))
    found: dict[str, Any] = {"estimate": True, "least": least, "most": most}
    found["milliseconds"] = [value * (1 / (board.clock_mhz * 1e3)) for value in (least, most)]
    if board.energy is not None:
        found["microjoules"] = [value * (board.energy.nanojoules / 1e3) for value in (least, most)]
    return found


def _listing(image: Image) -> dict[int, tuple[str, str]]:
    found = {}
    for line in call("arm-none-eabi-objdump", ["-d", image.path]).splitlines():
        parts = LINE.match(line)
        if parts:
            found[int(parts[1], 16)] = (parts[2], parts[3].strip())
    return found


def _totals(table: Cycles, listing: Mapping[int, tuple[str, str]], counts: Counts) -> tuple[float, float]:
    places = sorted(listing)
    following = dict(pairwise(places))
    low = high = 0
    for address, length, times in counts.blocks:
        at: int | None = address
        for _ in range(length):
            assert at is not None, f"{address:x}: a block runs beyond the listing"
            one = _cost(table, *listing[at])
            low, high, at = low + times * one[0], high + times * one[1], following.get(at)
    return low, high
