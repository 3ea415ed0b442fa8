"""A board, read from its JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tcuq.base.errors import wrong_value


@dataclass(frozen=True)
class Emulated:
    """The emulator's machine with the same core, and where its memories lie.

    The harness lies in `harness_flash` and `harness_ram` (begin and bytes), beyond the board's own memories;
    without them it shares those. It writes to `uart`: its kind and address.
    """

    emulator: str
    machine: str
    flash: int
    ram: int
    harness_flash: tuple[int, int] | None
    harness_ram: tuple[int, int] | None
    input_end: int
    uart: tuple[str, int]


@dataclass(frozen=True)
class Chip:
    """What a flashed image needs to know: where memories begin, the start-up in C, the UART in words.

    `machine` is what the emulator calls it; None where it knows no such chip, and `tried` says what was run.
    `uf2` asks for an image of that format too.
    """

    machine: str | None
    flash: int
    ram: int
    files: str
    uart: str
    about: str
    flashing: tuple[str, ...]
    tried: str = ""
    uf2: bool = False


@dataclass(frozen=True)
class Cycles:
    """Least and most cycles by kind of instruction (see `tcuq_device.cost.cycles`).

    `word` is what each register adds to an instruction that moves several.
    """

    source: str
    assumes: str
    each: Mapping[str, tuple[int, int]]
    word: int


@dataclass(frozen=True)
class Energy:
    """Current of the running core."""

    source: str
    assumes: str
    microamps_per_mhz: float
    volts: float

    @property
    def nanojoules(self) -> float:
        """Energy of a cycle: microamperes a megahertz are picocoulombs a cycle."""
        return self.microamps_per_mhz * self.volts / 1000


@dataclass(frozen=True)
class Board:
    """A board: its memories, its core, and published cycles and current; None where there are none."""

    name: str
    title: str
    core: str
    flash_bytes: int
    ram_bytes: int
    stack_bytes: int
    clock_mhz: float
    toolchain: str
    compiler: tuple[str, ...]
    library: str
    emulated: Emulated
    chip: Chip | None
    cycles: Cycles | None
    energy: Energy | None


def names() -> tuple[str, ...]:
    """Return the boards that there are.

    Examples
    --------
    >>> len(names()), "nrf52840" in names()
    (9, True)
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
    >>> board("esp32")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    tcuq.InputError: board is 'esp32', expected one of corstone300, esp32c3, microbit, ...
    """
    if name not in names():
        raise wrong_value("board", name, f"one of {', '.join(names())}")
    content = _content(name)
    machine, cycles, energy = content.pop("emulated"), content.pop("cycles"), content.pop("energy")
    chip = content.pop("chip", None)
    return Board(
        **{**content, "compiler": tuple(content["compiler"])},
        emulated=Emulated(
            machine["emulator"],
            machine["machine"],
            int(machine["flash"], 0),
            int(machine["ram"], 0),
            _region(machine["harness_flash"]),
            _region(machine["harness_ram"]),
            int(machine["input_end"], 0),
            (machine["uart"][0], int(machine["uart"][1], 0)),
        ),
        chip=None
        if chip is None
        else Chip(
            **{**chip, "flash": int(chip["flash"], 0), "ram": int(chip["ram"], 0)}
            | {"flashing": tuple(chip["flashing"])}
        ),
        cycles=None if cycles is None else _cycles(cycles),
        energy=None if energy is None else Energy(**energy),
    )


def _content(name: str) -> dict[str, Any]:
    """Return what the file of a board says; what it leaves out is as in the file of the one it is `like`."""
    own: dict[str, Any] = json.loads((resources.files(__package__) / f"{name}.json").read_text("utf-8"))
    whole = _content(own.pop("like")) if "like" in own else {}
    for key, value in own.items():
        whole[key] = {**whole[key], **value} if isinstance(value, dict) and key in whole else value
    return whole


def _region(value: Any) -> tuple[int, int] | None:
    return None if value is None else (int(value[0], 0), int(value[1]))


def _cycles(content: Mapping[str, Any]) -> Cycles:
    each = {kind: (int(low), int(high)) for kind, (low, high) in content["each"].items()}
    return Cycles(content["source"], content["assumes"], each, int(content["word"]))
