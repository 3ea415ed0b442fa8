"""The image of a package: what CMake makes with the board's toolchain file, compiled without CMake."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tcuq.base.errors import InputError

from ..boards import Board
from ..firmware.build import SPLIT, fresh
from ..firmware.image import Image, TooLarge, sizes_of
from ..firmware.stack import OPTION
from ..tools import call, path_of
from .application import Application
from .text import LINKING, OPTIONS, defines, groups, linker_script

COMPILER = "arm-none-eabi-gcc"


def build_package(
    application: Application, files: Mapping[str, str], board: Board, folder: str | Path
) -> Image:
    """Compile and link a package for its board, a usage file of the stack beside each object."""
    work = fresh(folder)
    for file, text in files.items():
        (work / file).parent.mkdir(parents=True, exist_ok=True)
        (work / file).write_text(text, encoding="utf-8")
    core = [*SPLIT[:1], *board.compiler]
    objects = []
    for group, level in groups(application, board):
        for file in group:
            target = f"{Path(file).with_suffix('').as_posix().replace('/', '_')}.o"
            options = [*OPTIONS, *core, *level, OPTION, *defines(application), "-I.", "-Iboard"]
            call(COMPILER, [*options, "-c", file, "-o", target], work)
            objects.append(target)
    over = _link(core, work, objects, "board/link.ld", "image.elf")
    if over:
        (work / "wide.ld").write_text(linker_script(board, wide=True), encoding="utf-8")
        _link(core, work, objects, "wide.ld", "wide.elf")
        raise TooLarge(application.name, board, over, sizes_of(work / "wide.elf"))
    return Image(board, work / "image.elf", sizes_of(work / "image.elf"))


def _link(core: list[str], work: Path, objects: list[str], script: str, target: str) -> dict[str, int]:
    """Link; return the bytes that each memory lacks, nothing when all is well."""
    command = [path_of(COMPILER), *core, *LINKING, "-T", script, *objects, "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, cwd=work)
    found = re.findall(r"region `(FLASH|RAM)' overflowed by (\d+) byte", done.stderr)
    if done.returncode != 0 and not found:
        said = [line for line in done.stderr.splitlines() if "warning" not in line] or ["nothing"]
        raise InputError("value", f"{COMPILER} cannot link: {said[0].strip()}")
    return {{"FLASH": "flash", "RAM": "RAM"}[region]: int(most) for region, most in found}
