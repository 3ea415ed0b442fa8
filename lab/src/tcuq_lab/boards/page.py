"""The page of measurements on boards, from result files alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tcuq_device.boards import board

from .costs import load

MADE = "<!-- Made by `tcuq-lab boards page` from lab/results/device and bench/*.json. -->"
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

COMPARED = (
    "Both engines lie in one image for a Cortex-M4, compiled with `{level}`. They run the same int8 networks "
    "of the shapes of MLPerf Tiny, with random weights, in TFLite's arithmetic, and their outputs are equal. "
    "CMSIS-NN is commit 99f736a. Instructions are counted; nothing was measured on silicon. Again: "
    "`python tools/cmsis_nn.py --cmsis FOLDER`, where FOLDER holds its sources."
)

INTRODUCTION = (
    "What does a monitor cost on a microcontroller, beside an int8 network? Each firmware here is linked "
    "under the true memory limits of its board and runs in an emulator.\n\n"
    "- **Measured:** bytes and instructions, on the linked image. They repeat exactly.\n"
    "- **Estimated:** cycles, milliseconds and joules, from the board's file, without wait states of its "
    "memories: with the four that flash has at full clock, a real chip takes longer. We used no physical "
    "board. Nothing is said of the Cortex-M7: Arm publishes no table of its cycles.\n"
    "- **RAM** is data, zeroed memory (the network's arena with its input in it, the monitor's state) and "
    "the deepest stack seen. No stack was deeper than its static bound. Test inputs lie outside the board's "
    "memories and count nowhere.\n"
    "- **Networks** are the int8 graphs in `lab/weights/int8`, the same on every machine.\n\n"
    "`make device` and `tcuq-lab boards accuracy` measure all of it again and say what differs. "
    "`tcuq-lab boards bench --check` fails when a figure differs from the stored one under the same compiler."
)

LABELS = (
    "These builds take no labels. With [labels compiled in](LABELS.md) (`TCUQ_FEEDBACK`), a step of the "
    "standard monitor takes 4,436 instructions at `-Os` instead of 4,257: `python bench/feedback_cost.py` "
    "counts them."
)

INT8 = (
    "Accuracy on whole test sets, and how well a monitor ranks errors on mixed streams with the outputs of "
    "either. The AUROC was measured with an earlier monitor of eleven signals, which is gone, and not again "
    "with the standard one. The bounds are {asked}. Headroom is how far features and logits reach beyond "
    "what calibration saw. With 1, the default, a network that overshoots on unknown input saturates: its "
    "posteriors are flatter than in float, which helps the monitor on MNIST. With 4 they are those of the "
    "float network."
)


def page(folder: str | Path, figures: str | Path) -> str:
    """Return the page in Markdown."""
    home = Path(folder)
    monitors, table = load(figures), load(home / "table.json")
    beside = Path(figures).parent
    accuracy, paper, avr, cmsis = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (
            home / "accuracy.json",
            home / "paper.json",
            beside / "avr.json",
            beside / "cmsis_nn.json",
        )
    )
    tools = f"Compiler {table['compiler']}; emulator {table['emulator']}; tcuq {table['tcuq']}."
    parts = [
        f"# On the microcontroller\n\n{MADE}\n\n{INTRODUCTION}\n\n{tools}",
        _monitors(monitors["measured"], avr["measured"]),
        _networks(table["measured"]),
        _compared(cmsis),
        *(_table(table, paper, name) for name in ("stm32l432kc", "stm32f767zi")),
        _accuracy(accuracy),
        _paper(paper),
        _all_monitors(monitors["measured"]),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    align = ["---"] * text_columns + ["---:"] * (len(head) - text_columns)
    lines = [head, align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _count(found: Mapping[str, Any]) -> str:
    least, most = found["least"], found["most"]
    mean = f"{found['mean']:,.0f}"
    return mean if least == most else f"{mean} ({least:,} to {most:,}, sd {found['sd']:.0f})"


def _monitor_rows(measured: Iterable[Mapping[str, Any]], more: Sequence[Sequence[str]] = ()) -> str:
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
    head = ["core", "monitor", "compiled", "flash, bytes", "RAM, bytes", "instructions per step"]
    return _rows(head, [*rows, *([core, name, "`-Os`", *figures] for core, name, *figures in more)], 3)


SHOWN = ("standard", "standard, posteriors alone", "paper")


def _monitors(measured: Sequence[Mapping[str, Any]], avr: Sequence[Mapping[str, Any]]) -> str:
    shown = [each for each in measured if each["level"] == "-Os" and each["name"] in SHOWN]
    rows = [
        [
            f"AVR ({each['chip']})",
            each["name"],
            f"{each['flash']:,}",
            f"{each['ram']:,}",
            f"{each['cycles']:,.0f} cycles",
        ]
        for each in avr
    ]
    return (
        "## What does the monitor add?\n\n10 classes; 32 features unless it watches posteriors alone; "
        "compiled with `-Os`. Bytes are what a linked firmware with the monitor beside a network has more "
        "than the firmware without it, its stack included; on the AVR, what a program has more than one "
        "without a monitor, without its stack. Every core gives the bits of Python. The paper gives 12 KB "
        "of flash and 3 KB of RAM on the larger board. "
        f"[Other monitors and levels](#all-monitors-on-all-cores). {LABELS}\n\n" + _monitor_rows(shown, rows)
    )


def _all_monitors(measured: Sequence[Mapping[str, Any]]) -> str:
    return "## All monitors on all cores\n\n" + _monitor_rows(measured)


def _networks(measured: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for each in measured:
        if each["firmware"] != "base" or "over" in each:
            continue
        count = each["network"]["instructions"]["mean"]
        name, goal = GOALS.get(each["task"], ("CNN4", None))
        small = each["board"] == "stm32l432kc"
        rows.append(
            [
                name,
                board(each["board"]).core,
                f"{count:,.0f}",
                f"{goal:,}, {'met' if count <= goal else 'not met'}" if goal and small else "",
                f"{each['among']['arena']:,}",
                f"{each['ram']['stack_bound']:,}",
            ]
        )
    head = ["network", "core", "instructions an inference", "goal", "arena, bytes", "stack, bound"]
    words = "Softmax included, kernels at `-O3`, counted in the emulator."
    return f"## What do the networks take alone?\n\n{words}\n\n" + _rows(head, rows, 2)


def _compared(found: Mapping[str, Any]) -> str:
    rows = [
        [
            name,
            *(f"{each[field]:,}" for field in ("products", "theirs", "ours")),
            f"{each['theirs'] / each['ours']:.2f}",
        ]
        for name, each in found["measured"].items()
    ]
    head = ["network", "multiply-adds", "CMSIS-NN, instructions", "ours", "times fewer"]
    return f"### Beside CMSIS-NN\n\n{COMPARED.format(**found)}\n\n" + _rows(head, rows)


def _range(found: Sequence[float] | None, digits: int) -> str:
    return "" if found is None else f"{found[0]:.{digits}f} to {found[1]:.{digits}f}"


def _table(table: Mapping[str, Any], paper: Mapping[str, Any], name: str) -> str:
    printed = {(row["task"], row["method"]): row for row in paper["table"] if row["board"] == name}
    on = board(name)
    limits = f"{on.flash_bytes // 1024:,} KB of flash, {on.ram_bytes // 1024} KB of RAM, {on.clock_mhz} MHz"
    seen = ", ".join(f"{count:,}" for count in sorted(set(table["examples"].values())))
    words = f"Accuracy: {seen} clean test examples, in the arithmetic of the board."
    out = [f"## {on.title}\n\n{on.core}, {limits}. The paper's figures are in brackets. {words}"]
    for task, title in TASKS.items():
        here = [each for each in table["measured"] if (each["task"], each["board"]) == (task, name)]
        if not here:
            continue
        rows = [_row(each, printed.get((task, each["firmware"])), table.get("accuracy", {})) for each in here]
        estimates = ["ms, estimate, no wait states", "mJ, estimate"]
        head = ["", "accuracy", "flash, KB", "RAM, KB", "instructions", *estimates]
        out.append(f"### {title}\n\n{_rows(head, rows)}")
    return "\n\n".join(out)


def _beside(ours: str, theirs: float | None) -> str:
    return ours if theirs is None else f"{ours} ({theirs:g})"


def _row(
    each: Mapping[str, Any], printed: Mapping[str, Any] | None, accuracies: Mapping[str, Any]
) -> list[str]:
    said = printed or {}
    right = accuracies.get(each["task"], {}).get(each["firmware"])
    accuracy = _beside("" if right is None else f"{right:.3f}", said.get("accuracy"))
    flash, ram = (each[memory]["total"] / 1024 for memory in ("flash", "ram"))
    sizes = [_beside(f"{flash:.1f}", said.get("flash_kb")), _beside(f"{ram:.1f}", said.get("ram_kb"))]
    name = METHODS[each["firmware"]]
    elsewhere = " (did not fit there)" if printed is not None and said["flash_kb"] is None else ""
    if "over" in each:
        short = ", ".join(f"{count:,} bytes of {memory} short" for memory, count in each["over"].items())
        return [name + elsewhere, accuracy, *sizes, f"does not fit: {short}", "", ""]
    parts = [each["network"]] + ([each["rule"]] if "rule" in each else [])
    total = sum(part["instructions"].get("mean", 0) for part in parts)
    times, microjoules = _sum(parts, "milliseconds"), _sum(parts, "microjoules")
    joules = None if microjoules is None else [value / 1e3 for value in microjoules]
    return [
        name + elsewhere,
        accuracy,
        *sizes,
        f"{total:,.0f}",
        _beside(_range(times, 1), said.get("ms")).strip(),
        _range(joules, 2),
    ]


def _sum(parts: Sequence[Mapping[str, Any]], name: str) -> list[float] | None:
    known = [part["cycles"][name] for part in parts if part.get("cycles") and name in part["cycles"]]
    return [sum(column) for column in zip(*known, strict=True)] if known else None


def _accuracy(found: Mapping[str, Any]) -> str:
    rows = [
        [
            each["network"],
            f"{each['settings']['headroom']:g}",
            f"{each['test_examples']:,}",
            f"{each['float_accuracy']:.2f}",
            f"{each['int8_accuracy']:.2f}",
            *(
                f"{each['monitor'][name]['float_auroc']:.4f}, {each['monitor'][name]['int8_auroc']:.4f}"
                for name in ("posteriors", "features")
            ),
            _kept(each),
        ]
        for each in found["networks"]
    ]
    aurocs = [f"error AUROC, {name}: float, int8" for name in ("posteriors", "with features")]
    head = ["network", "headroom", "test examples", "float, %", "int8, %", *aurocs, "bounds"]
    bounds = found["bounds"]
    asked = f"within {bounds['points_lost']:g} point of accuracy and {bounds['auroc_lost']:g} of AUROC"
    words = INT8.format(asked=asked)
    again = f"Again: `{found['command']}`."
    return f"## What does int8 cost in accuracy?\n\n{words}\n\n{_rows(head, rows)}\n\n{again}"


def _kept(each: Mapping[str, Any]) -> str:
    if not each["met"]:
        return "**not kept**"
    return "kept" if each["within"] else "kept, better than float by more"


def _paper(paper: Mapping[str, Any]) -> str:
    rows = [
        [
            board(row["board"]).title,
            TASKS[row["task"]],
            METHODS[row["method"]],
            f"{row['mj']:g}",
            f"{row['ms']:g}",
        ]
        for row in paper["energy"]
    ]
    head = ["board", "task", "method", "mJ", "ms"]
    return (
        "## The paper's table of energy\n\nThe paper prints other latencies here for the same networks on "
        "the same boards.\n\n" + _rows(head, rows, 3)
    )
