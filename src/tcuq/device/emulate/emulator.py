"""Running an image in the emulator, with an input from a file, and counting what it executes."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from ..firmware.image import Image, symbols_of
from ..tools import PACKAGE, call, path_of

REGIONS = ("network", "rule")
"""Parts of a step that are counted; the firmware marks them."""

STATUSES = {2: "refused its input", 3: "took a fault"}


@dataclass
class Counts:
    """What one region executed.

    Parameters
    ----------
    instructions : list of int
        A step each, the cost of counting taken off.
    blocks : list of (int, int, int)
        Address, instructions and executions of straight runs of instructions, over all steps.
    """

    instructions: list[int] = field(default_factory=list)
    blocks: list[tuple[int, int, int]] = field(default_factory=list)


@dataclass
class Ran:
    """What an emulation gave.

    Parameters
    ----------
    lines : list of str
        What the firmware wrote.
    counts : dict of str to Counts
        By region; empty when nothing was counted.
    """

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

    Parameters
    ----------
    image : Image
    data : bytes
        The input, as the firmware reads it.
    counted : bool
        Count the instructions of every step's regions.
    timeout : float
        Seconds.
    singly : bool
        Let the emulator look at one instruction at a time: slower, and no count may change by it.
    kept : path, optional
        A folder that keeps the compiled plugin.
    """
    machine = image.board.emulated.machine
    command = [
        path_of("qemu-system-arm"),
        "-M",
        machine,
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(image.path)]
    command += ["-singlestep"] if singly else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "input.bin").write_bytes(data)
        if counted:
            command += ["-plugin", f"{plugin(kept or folder)},out=counts.txt,{','.join(_marks(image))}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise ValueError(f"the emulation of {image.path} did not end within {timeout:g} s") from None
        if done.returncode != 0:
            said = (
                STATUSES.get(done.returncode) or f"ended with status {done.returncode}: {_last(done.stderr)}"
            )
            raise ValueError(f"the firmware {image.path} {said}")
        lines = (folder / "output.txt").read_text("ascii").splitlines()
        return Ran(lines, _read(folder / "counts.txt", image) if counted else {})


def plugin(folder: Path) -> Path:
    """Compile the counting plugin into a folder, unless it is there, and return it.

    Parameters
    ----------
    folder : path
    """
    target = folder / "count.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as name:
            made = Path(name) / target.name
            call("gcc", ["-O2", "-shared", "-fPIC", PACKAGE / "device" / "emulate" / "count.c", "-o", made])
            made.replace(target)  # whole or not at all
    return target.resolve()


def _last(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or ["nothing was said"])[-1]


def _marks(image: Image) -> list[str]:
    found = symbols_of(image.path)
    ends = [(found[f"{region}_begin"][0], found[f"{region}_end"][0]) for region in REGIONS]
    return [f"region={begin:x}:{end:x}" for begin, end in ends]


def _read(path: Path, image: Image) -> dict[str, Counts]:
    counts = {region: Counts() for region in REGIONS}
    marks = symbols_of(image.path)
    own = {marks[f"{region}_{end}"][0] for region in REGIONS for end in ("begin", "end")}
    for line in path.read_text("ascii").splitlines():
        kind, number, *rest = line.split()
        region = counts[REGIONS[int(number)]]
        if kind == "region":
            region.instructions.append(int(rest[0]))
        elif int(rest[0], 16) not in own:
            region.blocks.append((int(rest[0], 16), int(rest[1]), int(rest[2])))
    for region in counts.values():
        # The first passage has nothing inside: it is what counting costs.
        nothing, *steps = region.instructions
        region.instructions = [step - nothing for step in steps]
    return counts
