"""A linked image: how many bytes lie in which memory, and where its symbols are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tcuq.base.errors import InputError

from ..boards import Board
from ..tools import call

LIBRARY = re.compile(r"mem(cpy|set|move)$|__")
"""Names of library functions."""


@dataclass(frozen=True)
class MemorySizes:
    """Bytes of an image in the board's memories, the harness left out.

    Code, constants and data lie in flash; data lie in RAM as well. `arena` and `input` are among `zeroed`.
    `library` is the part of the code that comes from the compiler's libraries.
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
        """Bytes of flash."""
        return self.code + self.constants + self.data

    @property
    def ram(self) -> int:
        """Bytes of RAM without the stack."""
        return self.data + self.zeroed


@dataclass(frozen=True)
class Image:
    """A linked firmware."""

    board: Board
    path: Path
    sizes: MemorySizes


class TooLarge(InputError):
    """The linker found no room: bytes too many by memory, and sizes as if there were room."""

    def __init__(self, name: str, board: Board, over: dict[str, int], sizes: MemorySizes) -> None:
        self.over, self.sizes = dict(over), sizes
        other, stack = sizes.ram - sizes.arena - sizes.input, board.stack_bytes
        parts = {
            "flash": f"weights and tables {sizes.constants:,}, code {sizes.code:,}, data {sizes.data:,}",
            "RAM": f"arena {sizes.arena:,}, input {sizes.input:,}, other {other:,}, stack {stack:,}",
        }
        text = "; ".join(
            f"{memory} over by {most:,} bytes ({parts[memory]})" for memory, most in over.items()
        )
        super().__init__("limit", f"{name} is too large for {board.title}: {text}", name)


def sizes_of(elf: Path, toolchain: str = "arm-none-eabi") -> MemorySizes:
    """Return the sizes of a linked image."""
    sections: dict[str, int] = {}
    for line in call(f"{toolchain}-size", ["-A", elf]).splitlines():
        words = line.split()
        if len(words) == 3 and words[0].startswith("."):
            sections[words[0]] = int(words[1])
    symbols = symbols_of(elf, toolchain)
    return MemorySizes(
        code=sum(sections.get(name, 0) for name in (".boot2", ".vectors", ".text", ".ARM.exidx")),
        constants=sections.get(".rodata", 0),
        data=sections.get(".data", 0),
        zeroed=sections.get(".bss", 0),
        arena=symbols.get("arena", (0, 0))[1],
        input=symbols.get("input", (0, 0))[1],
        # Several names of one function have one address.
        library=sum(dict(place for name, place in symbols.items() if LIBRARY.match(name)).values()),
    )


def symbols_of(elf: Path, toolchain: str = "arm-none-eabi") -> dict[str, tuple[int, int]]:
    """Return address and bytes of every symbol that has a size."""
    found = {}
    for line in call(f"{toolchain}-nm", ["-S", elf]).splitlines():
        words = line.split()
        if len(words) == 4:
            # The lowest bit of a function's address says Thumb.
            address = int(words[0], 16)
            found[words[3]] = (address & ~1 if words[2] in "tT" else address, int(words[1], 16))
    return found
