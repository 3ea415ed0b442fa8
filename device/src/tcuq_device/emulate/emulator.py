"""Run an image in the emulator and count the instructions it executes."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tcuq.base.errors import InputError

from ..firmware.image import Image, symbols_of
from ..tools import HERE, call, path_of

REGIONS = ("network", "rule", "gauges")
"""Parts of a step that are counted; the firmware marks those that it has."""

STATUSES = {"2": "refused its input", "3": "took a fault"}

MOST_INPUT = (16 << 20) - 4
"""Bytes of memory beyond the board's, but for the length; on the microbit what the image leaves of flash."""


@dataclass
class Counts:
    """Instructions of each step of a region, and straight runs of instructions over all steps.

    The cost of counting is taken off. A run has its address, instructions and executions.
    """

    instructions: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass
class Ran:
    """What an emulation gave."""

    lines: list[str]
    counts: dict[str, Counts]


def emulate(
    image: Image,
    data: bytes,
    counted: bool = False,
    timeout: float = 600,
    singly: bool = False,
    kept: Path | None = None,
) -> Ran:
    """Run an image until its input ends.

    `singly` looks at one instruction at a time, which is slower and may change no count; `kept` is a folder
    that keeps the compiled plugin.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [*command_of(image, data, folder), *(["-singlestep"] if singly else [])]
        if counted:
            command += ["-plugin", f"{plugin(kept or folder)},out=counts.txt,{','.join(_marks(image))}"]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=folder, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            problem = f"the emulation of {image.path} did not end within {timeout:g} s"
            raise InputError("failed", problem) from None
        text, _, status = f"\n{done.stdout}".rpartition("\nexit ")
        if done.returncode != 0 or status.strip() != "0":
            why = STATUSES.get(status.strip()) or f"ended with status {done.returncode}: {_last(done.stderr)}"
            raise InputError("failed", f"the firmware {image.path} {why}")
        return Ran(text.splitlines()[1:], _read(folder / "counts.txt", image) if counted else {})


def command_of(image: Image, data: bytes, folder: Path) -> list[str]:
    """Write the input into a folder, and return the command that runs an image there.

    A reset of the machine ends it. There is no semihosting and no network: what runs reaches no file of this
    computer and no other machine.
    """
    if len(data) > MOST_INPUT:
        raise InputError("limit", f"the input has {len(data):,} bytes, expected at most {MOST_INPUT:,}")
    at = image.board.emulated
    (folder / "input.bin").write_bytes(data + struct.pack("<I", len(data)))
    command = [path_of(at.emulator), "-M", at.machine, "-display", "none", "-monitor", "none"]
    command += ["-nic", "none", "-no-reboot", "-serial", "stdio", "-kernel", str(image.path)]
    command += ["-bios", "none"] if at.emulator == "qemu-system-riscv32" else []
    return [*command, "-device", f"loader,file=input.bin,addr={at.input_end - len(data) - 4:#x},force-raw=on"]


def plugin(folder: Path) -> Path:
    """Compile the counting plugin into a folder, unless it is there, and return it."""
    target = folder / "count.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            made = Path(name) / target.name
            call("gcc", ["-O2", "-shared", "-fPIC", HERE / "emulate" / "count.c", "-o", made])
            made.replace(target)  # whole or not at all
    return target.resolve()


def _last(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["nothing was said"])[-1]


def _marks(image: Image) -> list[str]:
    found = symbols_of(image.path, image.board.toolchain)
    ends = [(found[f"{region}_begin"][0], found[f"{region}_end"][0]) for region in _regions(found)]
    return [f"region={begin:x}:{end:x}" for begin, end in ends]


def _regions(symbols: Mapping[str, tuple[int, int]]) -> list[str]:
    return [region for region in REGIONS if f"{region}_begin" in symbols]


def _read(path: Path, image: Image) -> dict[str, Counts]:
    marks = symbols_of(image.path, image.board.toolchain)
    counts = {region: Counts() for region in _regions(marks)}
    own = {marks[f"{region}_{end}"][0] for region in counts for end in ("begin", "end")}
    for line in path.read_text("ascii").splitlines():
        kind, number, *rest = line.split()
        region = counts[list(counts)[int(number)]]
        if kind == "region":
            region.instructions.append(int(rest[0]))
        elif int(rest[0], 16) not in own:
            region.blocks.append((int(rest[0], 16), int(rest[1]), int(rest[2])))
    for region in counts.values():
        # The first passage has nothing inside: it is what counting costs.
        nothing, *steps = region.instructions
        region.instructions = [step - nothing for step in steps]
    return counts
