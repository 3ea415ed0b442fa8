"""Compile and link a firmware; each group of files has its own optimization level."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tcuq.base.atomic_files import write_whole
from tcuq.base.errors import InputError

from ..boards import Board
from ..generate.arena import lay_out
from ..generate.source import write
from ..tools import HERE, PACKAGES, MissingTool, call, path_of
from .decision import CORE, FIRMWARE
from .firmware import Firmware, plan_header, plan_source
from .image import Image, TooLarge, sizes_of
from .stack import OPTION


@dataclass(frozen=True)
class Levels:
    """Optimization levels of the kernels, of the rule with the monitor's core, and of the rest."""

    network: str = "-O3"
    rule: str = "-O2"
    rest: str = "-Os"


def build(
    firmware: Firmware,
    board: Board,
    folder: str | Path,
    levels: Levels | None = None,
    kept: Path | None = None,
) -> Image:
    """Build a firmware for a board; `kept` is a folder whose compiled files other builds use again."""
    levels, work, rule = levels or Levels(), fresh(folder), firmware.rule
    network_files = {
        path
        for name, graph in zip(firmware.names(), firmware.graphs, strict=True)
        for path in write(graph, work, name, firmware.keeps_input)
        if path.suffix == ".c"
    }
    layouts = [lay_out(graph, keep_input=firmware.keeps_input) for graph in firmware.graphs]
    arena = max((layout.bytes for layout in layouts), default=0)
    texts = rule.texts()
    for name, text in {
        **texts,
        "plan.h": plan_header(firmware),
        "plan.c": plan_source(firmware, arena),
    }.items():
        (work / name).write_text(text, encoding="utf-8")
    first, *others = rule.files()
    made = [work / name for name in texts if name.endswith(".c")]
    groups: list[Group] = [
        ([*sorted(network_files), work / "plan.c"], [levels.network]),
        ([first, FIRMWARE / "rule_top.c", *made, *others], [levels.rule]),
        ([FIRMWARE / "main.c", BOARDS / "startup.c"], [levels.rest, *START]),
        (sorted(FIRMWARE / f"harness{end}.c" for end in ("", "_report", "_step")), ALONE),
    ]
    return link(firmware.name, board, work, groups, rule.options(), kept)


STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
SPLIT = ("-ffunction-sections", "-fdata-sections")
# The harness may not lean on the C library, nor may its marks be folded into one function, nor may it push
# registers after it has looked where the stack ends.
ALONE = (
    "-O2",
    "-ffreestanding",
    "-fno-builtin",
    "-fno-tree-loop-distribute-patterns",
    "-fno-ipa-icf",
    "-fno-shrink-wrap",
    "-fno-tree-vectorize",
)
START = ("-fno-tree-loop-distribute-patterns",)
"""What runs before the memory is set up may not call the library either."""

BOARDS = HERE / "boards"

Group = tuple[Sequence[Path], Sequence[str]]
"""Files, and the options that they are compiled with."""


def memory(board: Board, wide: bool = False) -> str:
    """Return memory.ld: the regions of a board as `boards/image.ld` wants them.

    `wide` gives more room than any board has, to see how large something is that does not fit.
    """
    at = board.emulated
    regions = {
        "FLASH (rx)": (at.flash, board.flash_bytes),
        "RAM (rwx)": (at.ram, board.ram_bytes),
        "HARNESS_FLASH (rx)": at.harness_flash,
        "HARNESS_RAM (rwx)": at.harness_ram,
    }
    if wide:
        # A call reaches 16 MB.
        regions = {"FLASH (rx)": (0, 12 << 20), "RAM (rwx)": (0x20000000, 64 << 20)}
        regions |= {"HARNESS_FLASH (rx)": (12 << 20, 1 << 20), "HARNESS_RAM (rwx)": (0x30000000, 2 << 20)}
    lines = [
        f"    {name} : ORIGIN = {place[0]:#x}, LENGTH = {place[1]}"
        for name, place in regions.items()
        if place
    ]
    code, data = ("HARNESS_FLASH", "HARNESS_RAM") if regions["HARNESS_RAM (rwx)"] else ("FLASH", "RAM")
    aliases = [f'REGION_ALIAS("HARNESS_CODE", {code})', f'REGION_ALIAS("HARNESS_DATA", {data})']
    symbols = [f"STACK_BYTES = {board.stack_bytes};", f"input_end = {at.input_end:#x};"]
    return "\n".join(["MEMORY", "{", *lines, "}", *aliases, *symbols, ""])


def fresh(folder: str | Path) -> Path:
    """Return an empty folder; what it held is removed."""
    work = Path(folder)
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    return work.resolve()


def link(
    name: str,
    board: Board,
    work: Path,
    groups: Sequence[Group],
    defines: Sequence[str],
    kept: Path | None = None,
) -> Image:
    """Compile groups of files, each with options, and link them in this order under the limits of a board.

    Files named harness* lie beyond the board's memories.
    """
    objects: list[Path] = []
    kind, address = board.emulated.uart
    seen = [
        *defines,
        f"-DUART_{kind.upper()}",
        f"-DUART={address:#x}u",
        *(f"-I{path}" for path in (work, CORE, FIRMWARE)),
    ]
    for files, options in groups:
        for file in files:
            target = work / f"{file.stem}.o"
            flags = [*STRICT, *SPLIT, *board.compiler, f"--specs={board.library}", *options, OPTION]
            _compile(f"{board.toolchain}-gcc", file, target, flags, seen, kept)
            objects.append(target)
    over = _link(board, work, objects, "image.elf", wide=False)
    if over:
        _link(board, work, objects, "wide.elf", wide=True)
        raise TooLarge(name, board, over, sizes_of(work / "wide.elf", board.toolchain))
    return Image(board, work / "image.elf", sizes_of(work / "image.elf", board.toolchain))


def _compile(
    compiler: str, file: Path, target: Path, flags: Sequence[str], names: Sequence[str], kept: Path | None
) -> None:
    """Compile, unless what the preprocessor makes of it was compiled with the same flags before."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        text = call(compiler, [*flags, *names, "-E", "-P", file])
        mark = hashlib.sha256("\0".join([*flags, text]).encode()).hexdigest()
        known = kept / f"{file.stem}-{mark}.o"
        if known.exists():
            shutil.copyfile(known, target)
            shutil.copyfile(known.with_suffix(".su"), target.with_suffix(".su"))
            return
    call(compiler, [*flags, *names, "-c", file, "-o", target])
    if kept is not None:
        # Whole or not at all: another build would take half a file for one that was compiled. The usage file
        # first: whoever sees the other finds both.
        write_whole(known.with_suffix(".su"), target.with_suffix(".su").read_bytes())
        write_whole(known, target.read_bytes())


def _link(board: Board, work: Path, objects: Sequence[Path], target: str, wide: bool) -> dict[str, int]:
    """Link; return the bytes that each memory lacks, nothing when all is well."""
    (work / "memory.ld").write_text(memory(board, wide), encoding="utf-8")
    options = [*SPLIT, *board.compiler, "-nostartfiles", f"--specs={board.library}"]
    options += ["-Wl,--gc-sections"]
    # Names without folders: the linker script knows the harness by its files' names.
    names = [path.name for path in objects]
    compiler = path_of(f"{board.toolchain}-gcc")
    command = [compiler, *options, "-T", str(BOARDS / "image.ld"), *names, "-o", target]
    return linked(command, work, wide)


def linked(command: Sequence[str], work: Path, wide: bool = False) -> dict[str, int]:
    """Run a command that links; return the bytes that each memory lacks, nothing when all is well."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=work)
    if done.returncode == 0:
        return {}
    tool = Path(command[0]).name
    if ".specs" in done.stderr:
        raise MissingTool(
            "needs", f"the C library of {tool} is missing: on Debian, apt-get install {PACKAGES[tool]}"
        )
    found = re.findall(r"region `(FLASH|RAM)' overflowed by (\d+) byte", done.stderr)
    if not found or wide:
        lines = [line for line in done.stderr.splitlines() if "warning" not in line] or ["nothing"]
        raise InputError("failed", f"{tool} cannot link: {lines[0].strip()}")
    return {{"FLASH": "flash", "RAM": "RAM"}[region]: int(most) for region, most in found}
