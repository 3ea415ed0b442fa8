"""From a firmware to an image: its files, written and compiled as hard as each deserves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..boards import Board
from ..generate.arena import lay_out
from ..generate.source import write
from .decision import FIRMWARE
from .firmware import Firmware, plan_header, plan_source
from .image import Image
from .linking import ALONE, BOARDS, START, Group, fresh, link


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
    levels, work, rule = levels or Levels(), fresh(folder), firmware.rule
    network_files = {
        path
        for name, graph in zip(firmware.names(), firmware.graphs, strict=True)
        for path in write(graph, work, name)
        if path.suffix == ".c"
    }
    arena = max((lay_out(graph).bytes for graph in firmware.graphs), default=0)
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
