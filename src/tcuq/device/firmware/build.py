"""From a firmware to an image: compile, link with the limits of a board, say what lies where."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ...base.whole_files import write_whole
from ...export import sources as exported
from ..boards import Board
from ..generate.source import write
from ..tools import PACKAGES, MissingTool, call, path_of
from .decision import Watch
from .firmware import RULE_FILES, Firmware, plan_header, plan_source

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
SPLIT = ("-mthumb", "-ffunction-sections", "-fdata-sections")
# The harness may not lean on the C library, nor may its marks be folded into one function.
ALONE = ("-O2", "-ffreestanding", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-fno-ipa-icf")

LIBRARY = re.compile(r"mem(cpy|set|move)$|__")
"""Names of library functions."""

ROOM = Path(str(resources.files("tcuq")))
CORE, BOARDS, FIRMWARE = ROOM / "core", ROOM / "device" / "boards", ROOM / "device" / "firmware"


@dataclass(frozen=True)
class Levels:
    """How hard the compiler tries.

    Parameters
    ----------
    network, rule : str
        Options for the kernels and for the rule with the monitor's core.
    rest : str
        For what joins them.
    """

    network: str = "-O3"
    rule: str = "-O2"
    rest: str = "-Os"


@dataclass(frozen=True)
class Sizes:
    """Bytes of an image in the board's memories, the harness left out.

    Parameters
    ----------
    code, constants, data : int
        What lies in flash; `data` lies in RAM as well.
    zeroed : int
        RAM that begins as zero, `arena` and `input` among it.
    arena, input : int
        The networks' working memory and the buffer of an input.
    library : int
        Of the code, functions of the compiler's libraries: copying, clearing, division.
    """

    code: int
    constants: int
    data: int
    zeroed: int
    arena: int
    input: int
    library: int

    @property
    def flash(self) -> int:
        """Bytes of flash.

        Examples
        --------
        >>> Sizes(code=100, constants=50, data=4, zeroed=20, arena=0, input=0, library=0).flash
        154
        """
        return self.code + self.constants + self.data

    @property
    def ram(self) -> int:
        """Bytes of RAM without the stack."""
        return self.data + self.zeroed


@dataclass(frozen=True)
class Image:
    """A linked firmware.

    Parameters
    ----------
    board : Board
    path : path
        The ELF file.
    sizes : Sizes
    """

    board: Board
    path: Path
    sizes: Sizes


class TooLarge(ValueError):
    """The linker found no room.

    Parameters
    ----------
    name : str
    board : Board
    over : dict of str to int
        Bytes too many by memory, "flash" and "RAM".
    sizes : Sizes
        Of the image, if the board had room.
    """

    def __init__(self, name: str, board: Board, over: dict[str, int], sizes: Sizes) -> None:
        self.over, self.sizes = dict(over), sizes
        other, stack = sizes.ram - sizes.arena - sizes.input, board.stack_bytes
        parts = {
            "flash": f"weights and tables {sizes.constants:,}, code {sizes.code:,}, data {sizes.data:,}",
            "RAM": f"arena {sizes.arena:,}, input {sizes.input:,}, other {other:,}, stack {stack:,}",
        }
        said = "; ".join(
            f"{memory} over by {most:,} bytes ({parts[memory]})" for memory, most in over.items()
        )
        super().__init__(f"{name} is too large for {board.title}: {said}")


def memory(board: Board, wide: bool = False) -> str:
    """Return memory.ld: the regions of a board as `boards/image.ld` wants them.

    Parameters
    ----------
    board : Board
    wide : bool
        Give more room than any board has, to see how large something is that does not fit.

    Examples
    --------
    >>> from tcuq.device.boards import board
    >>> print(memory(board("microbit")))
    MEMORY
    {
        FLASH (rx) : ORIGIN = 0x0, LENGTH = 262144
        RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 16384
    }
    REGION_ALIAS("HARNESS_CODE", FLASH)
    REGION_ALIAS("HARNESS_DATA", RAM)
    STACK_BYTES = 1024;
    <BLANKLINE>
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
    return "\n".join(["MEMORY", "{", *lines, "}", *aliases, f"STACK_BYTES = {board.stack_bytes};", ""])


def build(
    firmware: Firmware,
    board: Board,
    folder: str | Path,
    levels: Levels | None = None,
    kept: Path | None = None,
) -> Image:
    """Build a firmware for a board.

    Parameters
    ----------
    firmware : Firmware
    board : Board
    folder : path
        Made when it does not exist; what it holds is replaced.
    levels : Levels, optional
    kept : path, optional
        A folder that keeps compiled files for other builds; one that asks for the same is quicker.

    Returns
    -------
    Image

    Raises
    ------
    TooLarge
        When the linker finds no room.
    """
    levels, work = levels or Levels(), _fresh(folder)
    rule_files = [FIRMWARE / RULE_FILES[type(firmware.rule)], FIRMWARE / "rule_top.c"]
    defines: list[str] = []
    if isinstance(firmware.rule, Watch):
        params = firmware.rule.params
        texts = exported(params, "monitor")
        for name in ("monitor.h", "monitor.c"):
            (work / name).write_text(texts[name], encoding="utf-8")
        rule_files += [work / "monitor.c", *sorted(CORE.glob("*.c"))]
        defines = [
            f"-DTCUQ_SIGNALS={params.integers()['signals']}u",
            f"-DTCUQ_EVIDENCE={int(params.evidence is not None)}",
        ]
    network_files = {
        path
        for name, graph in zip(firmware.names(), firmware.graphs, strict=True)
        for path in write(graph, work, name)
        if path.suffix == ".c"
    }
    (work / "plan.h").write_text(plan_header(firmware), encoding="utf-8")
    (work / "plan.c").write_text(plan_source(firmware, _arena(work, firmware.names())), encoding="utf-8")
    groups: list[tuple[Sequence[Path], Sequence[str]]] = [
        ([*sorted(network_files), work / "plan.c"], [levels.network]),
        (rule_files, [levels.rule]),
        ([FIRMWARE / "main.c", BOARDS / "startup.c"], [levels.rest, "-fno-tree-loop-distribute-patterns"]),
        (sorted(FIRMWARE / f"harness{end}.c" for end in ("", "_report", "_step")), ALONE),
    ]
    return _image(firmware.name, board, work, groups, defines, kept)


def build_replay(board: Board, folder: str | Path, level: str = "-Os", kept: Path | None = None) -> Image:
    """Build the firmware that replays cases through the monitor alone, every signal compiled in.

    Parameters
    ----------
    board : Board
    folder : path
    level : str
        Option for the monitor's core.
    kept : path, optional
        As for `build`.
    """
    groups: list[tuple[Sequence[Path], Sequence[str]]] = [
        (sorted(CORE.glob("*.c")), [level]),
        ([BOARDS / "startup.c"], ["-Os", "-fno-tree-loop-distribute-patterns"]),
        (sorted(FIRMWARE / f"harness{end}.c" for end in ("", "_replay", "_step")), ALONE),
    ]
    room = [f"-DREPLAY_BYTES={replay_room(board)}u"]
    return _image("replay", board, _fresh(folder), groups, room, kept)


def replay_room(board: Board) -> int:
    """Return the bytes that a ring or a saved state may have in a replay.

    Examples
    --------
    >>> from tcuq.device.boards import board
    >>> replay_room(board("microbit"))
    4800
    """
    beyond = board.emulated.harness_ram
    # The rest of a small RAM goes to the buffers of the largest case, see harness_replay.c.
    return 1 << 18 if beyond else (board.ram_bytes - 6784) // 2 // 4 * 4


def _fresh(folder: str | Path) -> Path:
    work = Path(folder)
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    return work.resolve()


def _arena(work: Path, names: Sequence[str]) -> int:
    """Return the bytes of the largest arena, from the headers of the networks."""
    sizes = [0]
    for name in names:
        found = re.search(
            rf"#define\s+{name}_ARENA\s+\(?(\d+)", (work / f"{name}.h").read_text(), re.IGNORECASE
        )
        if found is None:
            raise ValueError(f"{work / name}.h has no {name}_ARENA; a number of bytes is needed")
        sizes.append(int(found[1]))
    return max(sizes)


def _image(
    name: str,
    board: Board,
    work: Path,
    groups: Sequence[tuple[Sequence[Path], Sequence[str]]],
    defines: Sequence[str],
    kept: Path | None = None,
) -> Image:
    objects: list[Path] = []
    defines = [*defines, *(f"-I{path}" for path in (work, CORE, FIRMWARE))]
    for files, options in groups:
        for file in files:
            target = work / f"{file.stem}.o"
            flags = [*STRICT, *SPLIT, *board.compiler, *options]
            _compile(file, target, flags, defines, kept)
            objects.append(target)
    over = _link(board, work, objects, "image.elf", wide=False)
    if over:
        _link(board, work, objects, "wide.elf", wide=True)
        raise TooLarge(name, board, over, sizes_of(work / "wide.elf"))
    return Image(board, work / "image.elf", sizes_of(work / "image.elf"))


def _compile(file: Path, target: Path, flags: Sequence[str], names: Sequence[str], kept: Path | None) -> None:
    """Compile, unless what the preprocessor makes of it was compiled with the same flags before."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        text = call("arm-none-eabi-gcc", [*flags, *names, "-E", "-P", file])
        mark = hashlib.sha256("\0".join([*flags, text]).encode()).hexdigest()
        known = kept / f"{file.stem}-{mark}.o"
        if known.exists():
            shutil.copyfile(known, target)
            return
    call("arm-none-eabi-gcc", [*flags, *names, "-c", file, "-o", target])
    if kept is not None:
        # Whole or not at all: another build would take half a file for one that was compiled.
        write_whole(known, target.read_bytes())


def _link(board: Board, work: Path, objects: Sequence[Path], target: str, wide: bool) -> dict[str, int]:
    """Link; return the bytes that each memory lacks, nothing when all is well."""
    (work / "memory.ld").write_text(memory(board, wide), encoding="utf-8")
    options = [*SPLIT, *board.compiler, "-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections"]
    # Names without folders: the linker script knows the harness by its files' names.
    names = [path.name for path in objects]
    command = [path_of("arm-none-eabi-gcc"), *options, "-T", str(BOARDS / "image.ld"), *names, "-o", target]
    done = subprocess.run(command, capture_output=True, text=True, cwd=work)
    if done.returncode == 0:
        return {}
    if "nano.specs" in done.stderr:
        package = PACKAGES["arm-none-eabi-gcc"]
        raise MissingTool(
            f"the C library of arm-none-eabi-gcc is missing: on Debian, apt-get install {package}"
        )
    found = re.findall(r"region `(FLASH|RAM)' overflowed by (\d+) byte", done.stderr)
    if not found or wide:
        said = [line for line in done.stderr.splitlines() if "warning" not in line] or ["nothing"]
        raise ValueError(f"arm-none-eabi-gcc cannot link: {said[0].strip()}")
    return {{"FLASH": "flash", "RAM": "RAM"}[region]: int(most) for region, most in found}


def sizes_of(elf: Path) -> Sizes:
    """Return the sizes of a linked image.

    Parameters
    ----------
    elf : path
    """
    sections: dict[str, int] = {}
    for line in call("arm-none-eabi-size", ["-A", elf]).splitlines():
        words = line.split()
        if len(words) == 3 and words[0].startswith("."):
            sections[words[0]] = int(words[1])
    symbols = symbols_of(elf)
    return Sizes(
        code=sum(sections.get(name, 0) for name in (".vectors", ".text", ".ARM.exidx")),
        constants=sections.get(".rodata", 0),
        data=sections.get(".data", 0),
        zeroed=sections.get(".bss", 0),
        arena=symbols.get("arena", (0, 0))[1],
        input=symbols.get("input", (0, 0))[1],
        # Several names of one function have one address.
        library=sum(dict(place for name, place in symbols.items() if LIBRARY.match(name)).values()),
    )


def symbols_of(elf: Path) -> dict[str, tuple[int, int]]:
    """Return address and bytes of every symbol that has a size.

    Parameters
    ----------
    elf : path
    """
    found = {}
    for line in call("arm-none-eabi-nm", ["-S", elf]).splitlines():
        words = line.split()
        if len(words) == 4:
            # The lowest bit of a function's address says Thumb.
            address = int(words[0], 16)
            found[words[3]] = (address & ~1 if words[2] in "tT" else address, int(words[1], 16))
    return found
