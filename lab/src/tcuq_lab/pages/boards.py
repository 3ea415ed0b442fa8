"""The paper's tables of microcontrollers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .figures import Sources
from .words import SPACE, grid, plain, row_name, task_name

NAMES = {"base": "network alone", "tcuq": "network and tcuq"}
BOARDS = {"stm32f767zi": "Big-MCU, STM32F767ZI", "stm32l432kc": "Small-MCU, STM32L432KC"}


def board_tables(sources: Sources) -> list[str]:
    """Return a table for each board: flash and time of the paper's tables, its bars, and ours."""
    table = sources.boards.get("table", {}).get("measured", ())
    out = []
    for board, title in BOARDS.items():
        rows = []
        for task in ("speech_commands", "cifar10", "mnist"):
            for method in ("base", "early_exit", "deep", "tcuq_paper", "tcuq"):
                row = _board_row(sources, board, task, method, table)
                if row:
                    rows.append(row)
        if rows:
            head = [
                "",
                "flash, KB: ours",
                "paper, table",
                "paper, figure",
                "ms: ours",
                "paper, table / figure / energy",
            ]
            out += [f"**{title}**", grid(head, rows)]
    return out


def energy_table(sources: Sources) -> str:
    """Return the paper's table of energy beside our estimates, in millijoules an inference."""
    rows = []
    for row in sources.boards.get("paper", {}).get("energy", ()):
        measured = sources.boards.get("table", {}).get("measured", ())
        ours = _one(measured, board=row["board"], task=row["task"], firmware=row["method"])
        cycles = (ours.get("network") or {}).get("cycles") or {}
        estimate = f"{SPACE}to{SPACE}".join(f"{end / 1000:.2f}" for end in cycles.get("microjoules", ()))
        method = NAMES.get(row["method"], row_name(row["method"]))
        rows.append(
            [f"{BOARDS[row['board']]}, {task_name(row['task'])}: {method}", f"{row['mj']:g}", estimate]
        )
    return grid(["energy, mJ", "paper", "ours, estimate"], rows) if rows else ""


def _board_row(
    sources: Sources, board: str, task: str, method: str, table: Sequence[Mapping[str, Any]]
) -> list[str]:
    ours = _one(table, board=board, task=task, firmware=method)
    theirs = {name: printed_on(sources, board, task, method, name) for name in ("table", "bars", "energy")}
    if not ours or not printed_on(sources, board, task, "base"):
        return []
    cycles = (ours.get("network") or {}).get("cycles") or {}
    estimate = f"{SPACE}to{SPACE}".join(f"{end:.0f}" for end in cycles["milliseconds"]) if cycles else ""
    sizes = [
        "" if not row else plain(row["flash_kb"], 0) if row["flash_kb"] else "does not fit"
        for row in (theirs["table"], theirs["bars"])
    ]
    times = [f"{row['ms']:g}" if row.get("ms") else "\u2013" for row in theirs.values()]
    return [
        f"{task_name(task)}: {NAMES.get(method, row_name(method))}",
        plain(float(ours["flash"]["total"]) / 1024, 1) + (", does not fit" if "over" in ours else ""),
        *sizes,
        estimate,
        f"{SPACE}/{SPACE}".join(times) if set(times) != {"\u2013"} else "",
    ]


def printed_on(
    sources: Sources, board: str, task: str, method: str, name: str = "table"
) -> Mapping[str, Any]:
    """Return what the paper prints of a method on a board: in `table`, `bars` (a figure) or `energy`."""
    return _one(sources.boards.get("paper", {}).get(name, ()), board=board, task=task, method=method)


def _one(rows: Sequence[Mapping[str, Any]], **wanted: str) -> Mapping[str, Any]:
    return next((row for row in rows if all(row.get(name) == value for name, value in wanted.items())), {})
