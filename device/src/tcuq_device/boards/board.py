"""A board as its file describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tcuq.base.errors import wrong_value


@dataclass(frozen=True)
class Emulated:
    """The emulator's machine with the same core.

    Parameters
    ----------
    machine : str
        As the emulator names it.
    flash, ram : int
        Where its memories begin.
    harness_flash, harness_ram : (int, int), optional
        Begin and bytes of memories beyond those of the board, where the harness lies; without them it shares
        the board's.
    input_end : int
        Where the memory ends that holds the input.
    """

    machine: str
    flash: int
    ram: int
    harness_flash: tuple[int, int] | None
    harness_ram: tuple[int, int] | None
    input_end: int


@dataclass(frozen=True)
class Chip:
    """What an image that is flashed needs to know: memories as the chip has them, and its start-up.

    Parameters
    ----------
    machine : str
        The emulator's machine with these memories and this UART.
    flash, ram : int
        Where the memories begin.
    files : str
        Folder of start-up, clock and UART, in C.
    uart : str
        In words.
    """

    machine: str
    flash: int
    ram: int
    files: str
    uart: str


@dataclass(frozen=True)
class Cycles:
    """What is known of the cycles that instructions take.

    Parameters
    ----------
    source, assumes : str
    each : mapping of str to (least, most)
        By kind of instruction, see `tcuq_device.cost.cycles`.
    word : int
        What a register adds to an instruction that moves several.
    """

    source: str
    assumes: str
    each: Mapping[str, tuple[int, int]]
    word: int


@dataclass(frozen=True)
class Energy:
    """Current of the running core.

    Parameters
    ----------
    source, assumes : str
    microamps_per_mhz, volts : float
    """

    source: str
    assumes: str
    microamps_per_mhz: float
    volts: float

    @property
    def nanojoules(self) -> float:
        """Energy of a cycle: microamperes a megahertz are picocoulombs a cycle.

        Examples
        --------
        >>> round(Energy("", "", 84, 3.3).nanojoules, 4)
        0.2772
        """
        return self.microamps_per_mhz * self.volts / 1000


@dataclass(frozen=True)
class Board:
    """A board.

    Parameters
    ----------
    name, title, core : str
    flash_bytes, ram_bytes : int
        What the chip has.
    stack_bytes : int
        Kept free for the stack by the linker.
    clock_mhz : float
    compiler : tuple of str
        Options that choose the core.
    emulated : Emulated
        Where instructions are counted.
    chip : Chip, optional
        For boards that `tcuq device emit` knows.
    cycles : Cycles, optional
        None where the core's manual has no table.
    energy : Energy, optional
    """

    name: str
    title: str
    core: str
    flash_bytes: int
    ram_bytes: int
    stack_bytes: int
    clock_mhz: float
    compiler: tuple[str, ...]
    emulated: Emulated
    chip: Chip | None
    cycles: Cycles | None
    energy: Energy | None


def names() -> tuple[str, ...]:
    """Return the boards that there are.

    Examples
    --------
    >>> names()
    ('microbit', 'netduinoplus2', 'stm32f767zi', 'stm32l432kc')
    """
    files = (entry.name for entry in resources.files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in files if name.endswith(".json")))


def board(name: str) -> Board:
    """Return a board.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> board("stm32l432kc").flash_bytes // 1024, board("stm32l432kc").ram_bytes // 1024
    (256, 64)
    >>> board("esp32")
    Traceback (most recent call last):
    ...
    tcuq.InputError: board is 'esp32', expected one of microbit, netduinoplus2, stm32f767zi, stm32l432kc
    """
    if name not in names():
        raise wrong_value("board", name, f"one of {', '.join(names())}")
    content = json.loads((resources.files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
    machine, cycles, energy = content.pop("emulated"), content.pop("cycles"), content.pop("energy")
    chip = content.pop("chip", None)
    return Board(
        **{**content, "compiler": tuple(content["compiler"])},
        emulated=Emulated(
            machine["machine"],
            int(machine["flash"], 0),
            int(machine["ram"], 0),
            _region(machine["harness_flash"]),
            _region(machine["harness_ram"]),
            int(machine["input_end"], 0),
        ),
        chip=None
        if chip is None
        else Chip(**{**chip, "flash": int(chip["flash"], 0), "ram": int(chip["ram"], 0)}),
        cycles=None if cycles is None else _cycles(cycles),
        energy=None if energy is None else Energy(**energy),
    )


def _region(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0], 0), int(value[1]))


def _cycles(content: Mapping[str, Any]) -> Cycles:
    each = {kind: (int(low), int(high)) for kind, (low, high) in content["each"].items()}
    return Cycles(content["source"], content["assumes"], each, int(content["word"]))
