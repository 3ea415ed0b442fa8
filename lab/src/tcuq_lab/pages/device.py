"""The page of measurements on boards, from result files alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq_device.boards import board

from ..boards.costs import load
from .words import fill, grid

TASKS = {"speech_commands": "Speech Commands", "cifar10": "CIFAR-10", "mnist": "MNIST"}
METHODS = {
    "base": "plain network",
    "conformal": "conformal p-value",
    "vote": "vote over the last predictions",
    "tcuq_paper": "TCUQ, the paper's signals",
    "tcuq": "TCUQ, standard",
    "early_exit": "early exits",
    "hydra": "HYDRA",
    "mc_dropout": "MC dropout",
    "deep": "deep ensemble, five networks",
}
GOALS = {"cifar10": ("ResNet-8", 22_000_000), "speech_commands": ("DS-CNN", 6_500_000)}
"""Backbones by task, and the instructions that were to be reached on a Cortex-M4."""
SHOWN = ("standard", "standard, posteriors alone", "paper")


def page(folder: str | Path, figures: str | Path) -> str:
    """Return the page in Markdown."""
    home, beside = Path(folder), Path(figures).parent
    monitors, table = load(figures)["measured"], load(home / "table.json")
    accuracy, paper, avr, cmsis = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (
            home / "accuracy.json",
            home / "paper.json",
            beside / "avr.json",
            beside / "cmsis_nn.json",
        )
    )
    shown = [each for each in monitors if each["level"] == "-Os" and each["name"] in SHOWN]
    known = {
        **{name: table[name] for name in ("compiler", "emulator", "tcuq")},
        "monitors": _monitors(shown, avr["measured"]),
        "networks": _networks(table["measured"]),
        "level": cmsis["level"],
        "compared": _compared(cmsis["measured"]),
        "boards": "\n\n".join(_board(table, paper, name) for name in ("stm32l432kc", "stm32f767zi")),
        "points": f"{accuracy['bounds']['points_lost']:g}",
        "auroc": f"{accuracy['bounds']['auroc_lost']:g}",
        "accuracy": _accuracy(accuracy["networks"]),
        "command": accuracy["command"],
        "energy": _energy(paper["energy"]),
        "all_monitors": _monitors(monitors),
    }
    return fill("device", known)


def _count(found: Mapping[str, Any]) -> str:
    least, most = found["least"], found["most"]
    mean = f"{found['mean']:,.0f}"
    return mean if least == most else f"{mean} ({least:,} to {most:,}, sd {found['sd']:.0f})"


def _monitors(measured: Iterable[Mapping[str, Any]], avr: Iterable[Mapping[str, Any]] = ()) -> str:
    rows = [
        [
            board(each["board"]).core,
            each["name"],
            f"`{each['level']}`",
            f"{each['overhead']['flash']:,}",
            f"{each['overhead']['ram']:,}",
            _count(each["step"]["instructions"]),
        ]
        for each in measured
    ]
    for each in avr:
        memory = [f"{each['flash']:,}", f"{each['ram']:,}"]
        rows.append(
            [f"AVR ({each['chip']})", each["name"], "`-Os`", *memory, f"{each['cycles']:,.0f} cycles"]
        )
    head = ["core", "monitor", "compiled", "flash, bytes", "RAM, bytes", "instructions per step"]
    return grid(head, rows, 3)


def _networks(measured: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for each in measured:
        if each["firmware"] != "base" or "over" in each:
            continue
        count = each["network"]["instructions"]["mean"]
        name, goal = GOALS.get(each["task"], ("CNN4", None))
        asked = goal and each["board"] == "stm32l432kc"
        reached = f"{goal:,}, {'met' if count <= goal else 'not met'}" if asked else ""
        memory = [f"{each['among']['arena']:,}", f"{each['ram']['stack_bound']:,}"]
        rows.append([name, board(each["board"]).core, f"{count:,.0f}", reached, *memory])
    head = ["network", "core", "instructions an inference", "goal", "arena, bytes", "stack, bound"]
    return grid(head, rows, 2)


def _compared(measured: Mapping[str, Mapping[str, int]]) -> str:
    rows = []
    for name, each in measured.items():
        counts = [f"{each[field]:,}" for field in ("products", "theirs", "ours")]
        rows.append([name, *counts, f"{each['theirs'] / each['ours']:.2f}"])
    return grid(["network", "multiply-adds", "CMSIS-NN, instructions", "ours", "times fewer"], rows)


def _board(table: Mapping[str, Any], paper: Mapping[str, Any], name: str) -> str:
    printed = {(row["task"], row["method"]): row for row in paper["table"] if row["board"] == name}
    on = board(name)
    limits = f"{on.flash_bytes // 1024:,} KB of flash, {on.ram_bytes // 1024} KB of RAM, {on.clock_mhz} MHz"
    seen = ", ".join(f"{count:,}" for count in sorted(set(table["examples"].values())))
    words = f"Accuracy: {seen} clean test examples, in the arithmetic of the board."
    out = [f"## {on.title}\n\n{on.core}, {limits}. The paper's figures are in brackets. {words}"]
    times = ["ms, estimate, no wait states", "mJ, estimate"]
    head = ["", "accuracy", "flash, KB", "RAM, KB", "instructions", *times]
    for task, title in TASKS.items():
        here = [each for each in table["measured"] if (each["task"], each["board"]) == (task, name)]
        rights = table.get("accuracy", {}).get(task, {})
        rows = [
            _row(each, printed.get((task, each["firmware"]), {}), rights.get(each["firmware"]))
            for each in here
        ]
        if rows:
            out.append(f"### {title}\n\n{grid(head, rows)}")
    return "\n\n".join(out)


def _row(each: Mapping[str, Any], printed: Mapping[str, Any], right: float | None) -> list[str]:
    def beside(ours: str, name: str) -> str:
        theirs = printed.get(name)
        return ours if theirs is None else f"{ours} ({theirs:g})".strip()

    fitted = "flash_kb" not in printed or printed["flash_kb"] is not None
    flash, ram = (f"{each[memory]['total'] / 1024:.1f}" for memory in ("flash", "ram"))
    cells = [
        METHODS[each["firmware"]] + ("" if fitted else " (did not fit there)"),
        beside("" if right is None else f"{right:.3f}", "accuracy"),
        beside(flash, "flash_kb"),
        beside(ram, "ram_kb"),
    ]
    if "over" in each:
        short = ", ".join(f"{count:,} bytes of {memory} short" for memory, count in each["over"].items())
        return [*cells, f"does not fit: {short}", "", ""]
    parts = [each[part] for part in ("network", "rule") if part in each]
    total = sum(part["instructions"].get("mean", 0) for part in parts)
    time, energy = _range(parts, "milliseconds", 1.0, 1), _range(parts, "microjoules", 1e3, 2)
    return [*cells, f"{total:,.0f}", beside(time, "ms"), energy]


def _range(parts: Sequence[Mapping[str, Any]], name: str, unit: float, digits: int) -> str:
    """Return the least and the most that the parts of a firmware take together."""
    known = [part["cycles"][name] for part in parts if part.get("cycles") and name in part["cycles"]]
    return " to ".join(f"{sum(column) / unit:.{digits}f}" for column in zip(*known, strict=True))


def _accuracy(networks: Iterable[Mapping[str, Any]]) -> str:
    rows = []
    for each in networks:
        aurocs = [each["monitor"][name] for name in ("posteriors", "features")]
        kept = "kept" if each["within"] else "kept, better than float by more"
        rows.append(
            [
                each["network"],
                f"{each['settings']['headroom']:g}",
                f"{each['test_examples']:,}",
                f"{each['float_accuracy']:.2f}",
                f"{each['int8_accuracy']:.2f}",
                *(f"{found['float_auroc']:.4f}, {found['int8_auroc']:.4f}" for found in aurocs),
                kept if each["met"] else "**not kept**",
            ]
        )
    named = [f"error AUROC, {name}: float, int8" for name in ("posteriors", "with features")]
    return grid(["network", "headroom", "test examples", "float, %", "int8, %", *named, "bounds"], rows)


def _energy(measured: Iterable[Mapping[str, Any]]) -> str:
    rows = [
        [
            board(row["board"]).title,
            TASKS[row["task"]],
            METHODS[row["method"]],
            f"{row['mj']:g}",
            f"{row['ms']:g}",
        ]
        for row in measured
    ]
    return grid(["board", "task", "method", "mJ", "ms"], rows, 3)
