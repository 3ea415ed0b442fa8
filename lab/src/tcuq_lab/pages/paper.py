"""The page that puts every table and figure of the paper beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .figures import PAPER_RIVALS, SEVERITIES, UNSEEN, Sources
from .paper_text import board_tables, contradictions, energy_table, rate_audit_line, sensitivity
from .words import MADE, SPACE, grid, listed, page, plain, row_name, task_name

BESIDE = f"{SPACE}/{SPACE}"
BACK = "[All results](../RESULTS.md)."
NOT_COMPARABLE = "Not comparable: 16 of the 200 classes of TinyImageNet, 800 test pictures, one network."
OURS = ("tcuq_paper", "tcuq")
MEASURES = {
    "macro F1": "F1",
    "Brier score / classes": "Brier score / classes",
    "NLL, nats": "NLL",
    "ECE, 15 bins": "ECE",
}


class Part(NamedTuple):
    """A table of the paper that an experiment repeats."""

    title: str
    experiment: str
    tasks: Sequence[str]
    columns: Mapping[str, str]  # of the result file, and as they are headed
    rows: Sequence[str]
    note: str = ""  # what differs
    # At which ours are shown: the paper does not say how long a class stays. Empty where there is one.
    dwells: Sequence[float] = ()


OF_DROPS = (
    "The paper averages over all corruption types, ours over types that no fit has seen. Drop events are not "
    "equally frequent, which moves every AUPRC: compare orders, not levels."
)
CALIBRATED = (
    "A monitor that leaves the network as it is cannot change its posteriors: F1, Brier score and NLL of "
    "tcuq are those of plain confidence here by construction."
)
SMALL_SET = f"For TinyImageNet: {NOT_COMPARABLE[0].lower()}{NOT_COMPARABLE[1:]}"
THREE = ("mnist", "speech_commands", "cifar10")
SCORES = {name: words for name, words in MEASURES.items() if words != "ECE"}
EITHER = (1.0, 16.0)
FIRST = (
    Part(
        "Table 1: accuracy-drop detection, AUPRC",
        "drop",
        ("mnist", "speech_commands"),
        {UNSEEN: "AUPRC"},
        (*PAPER_RIVALS, *OURS),
        f"{OF_DROPS} What the paper describes as G-ODIN is ODIN; ours is G-ODIN.",
        EITHER,
    ),
    Part(
        "Table 2: failure detection, AUROC of errors",
        "failure",
        THREE,
        {"AUROC of errors, unseen kinds": "errors"},
        (*PAPER_RIVALS, *OURS),
        "The paper does not state its mixture of clean and corrupted inputs.",
        EITHER,
    ),
    Part(
        "Table 2: failure detection, AUROC of OOD inputs",
        "failure",
        THREE,
        {"AUROC, OOD inputs for 16 steps or more": "OOD"},
        (*PAPER_RIVALS, *OURS),
        "OOD inputs stay for 16 steps or more here; the paper does not say how long they stay.",
        EITHER,
    ),
    Part(
        "Temperature scaling: calibration",
        "temperature",
        THREE,
        SCORES,
        ("temperature", "tcuq_paper_ts", "tcuq"),
        CALIBRATED,
    ),
    Part(
        "Temperature scaling: accuracy-drop detection, AUPRC",
        "temperature_drops",
        ("mnist", "speech_commands"),
        {UNSEEN: "AUPRC"},
        ("temperature", "tcuq_paper_ts", "tcuq_paper", "tcuq"),
        "Its five severities of CIFAR-10-C were not run with temperature scaling.",
    ),
    Part("PostNet: calibration", "postnet", ("mnist", "cifar10"), SCORES, ("postnet", "tcuq"), CALIBRATED),
    Part(
        "Ablation of temporal signals and calibration, AUPRC",
        "ablation",
        ("cifar10",),
        {"drop AUPRC, unseen kinds": "AUPRC"},
        ("tcuq_paper_no_temporal", "tcuq_paper_no_conformal", "tcuq_paper_frozen_weights", *OURS),
        "Brier score and NLL cannot differ between these variants, since none changes a posterior, nor can a "
        f"fixed threshold change the AUPRC of a score. {SMALL_SET}",
    ),
    Part(
        "Temporal assistance in training: calibration",
        "assistance",
        ("cifar10",),
        SCORES,
        ("base, assisted", "base"),
        SMALL_SET,
    ),
)
LAST = (
    Part(
        "Calibration on clean data",
        "calibration",
        THREE,
        MEASURES,
        ("base", "mc_dropout", "deep", "early_exit", "hydra", "tcuq", "tcuq_plus"),
        f"{CALIBRATED} TCUQ+ is a wider network here; the paper does not define it. {SMALL_SET}",
    ),
    Part(
        "Early-exit ensemble with and without the last exit",
        "exits",
        ("cifar10",),
        {f"{column}, clean": name for column, name in SCORES.items()},
        ("early_exit", "exits_alone"),
    ),
    Part(
        "Early-exit ensemble with full and light heads, corrupted data",
        "exits",
        ("cifar10",),
        {f"{column}, corrupted": name for column, name in SCORES.items()},
        ("early_exit", "early_exit, light heads"),
        "The paper's Brier scores here are too small for its F1 by a factor of about ten.",
    ),
)


def side_by_side(sources: Sources, part: Part) -> str:
    """Return a table with the paper's figure and ours in each cell."""
    found = sources.repeat(part.experiment)
    dwells: Sequence[float | None] = part.dwells or (None,)
    many = len(part.columns) > 1
    heads = [
        task_name(task) if len(part.columns) == 1 else f"{task_name(task)}, {name}"
        for task in part.tasks
        for name in part.columns.values()
    ]
    if many and len(part.tasks) > 1:
        tables = [side_by_side(sources, part._replace(tasks=(task,))) for task in part.tasks]
        return "\n\n".join(tables)
    rows = []
    for row in part.rows:
        cells = []
        for task in part.tasks:
            for column in part.columns:
                printed = sources.paper(part.experiment, task, column, row)
                ours = [found.get(task, row, column, dwell) for dwell in dwells]
                cells.append(BESIDE.join(plain(each) or "\u2013" for each in (printed, *ours)))
        if any(cell.strip(f"\u2013/{SPACE}") for cell in cells):
            rows.append([row_name(row), *cells])
    order = "paper / ours" if not part.dwells else "paper / ours, shuffled / ours, class stays 16 steps"
    return grid([order, *heads], rows)


def leaders(sources: Sources, part: Part) -> str:
    """Return which row of a table is best in the paper, and which is best here."""
    found = sources.repeat(part.experiment)
    if len(part.columns) > 1 or not found.figures:
        return ""
    column = next(iter(part.columns))
    said = []
    for task in part.tasks:
        printed = _best({row: sources.paper(part.experiment, task, column, row) for row in part.rows})
        ours = []
        for dwell in part.dwells or (None,):
            where = {1.0: " (shuffled)", 16.0: " (class stays 16 steps)", None: ""}[dwell]
            best = _best({row: found.get(task, row, column, dwell) for row in part.rows})
            ours += [f"{best}{where}"] if best else []
        said.append(f"{task_name(task)}: in the paper {printed or 'none'}; here {', '.join(ours) or 'none'}")
    return f"Best on {'. Best on '.join(said)}."


def _best(values: Mapping[str, float]) -> str:
    """Return the rows with the highest value; those that print alike are tied."""
    known = {row: plain(value) for row, value in values.items() if not math.isnan(value)}
    top = max(known.values(), default="")
    return listed(row_name(row) for row, value in known.items() if value == top)


def section(sources: Sources, part: Part) -> list[str]:
    """Return the title, the table and the words of a part."""
    return [
        f"## {part.title}",
        side_by_side(sources, part),
        " ".join(filter(None, (leaders(sources, part), part.note))),
    ]


def severity_calibration(sources: Sources) -> str:
    """Return Brier score and NLL by severity, as far as it was measured."""
    rows: dict[str, list[str]] = {}
    for found in sources.repeated.values():
        for task in dict.fromkeys(place[0] for place in found.figures):
            for row in found.rows(task):
                for column, words in (("Brier score, sum over classes", "Brier score"), ("NLL, nats", "NLL")):
                    values = [found.get(task, row, f"{column}, severity {level}") for level in SEVERITIES]
                    if not all(map(math.isnan, values)):
                        clean = found.get(task, row, f"{column}, clean")
                        if math.isnan(clean):
                            clean = found.get(task, row, column)
                        label = f"{task_name(task)}, {row_name(row)}, {words}"
                        rows[label] = [label, *(plain(value) for value in (clean, *values))]
    if not rows:
        return "Brier score and NLL by severity were not measured."
    return grid(["sum over classes; nats", "clean", *map(str, SEVERITIES)], list(rows.values()))


def delays_table(sources: Sources) -> str:
    """Return median delays at equal rates of false alarms, where a class stays 16 steps."""
    found = sources.repeat("headlines")
    tasks = [task for task in ("mnist", "speech_commands", "cifar10") if found.rows(task)]
    column = "median delay at equal run lengths, steps"
    rows = [
        [row_name(row), *(plain(found.get(task, row, column, 16.0), 0) for task in tasks)]
        for row in (*PAPER_RIVALS, *OURS)
    ]
    return grid(["median delay, steps", *map(task_name, tasks)], rows) if tasks else "Not run yet."


def paper_page(sources: Sources) -> str:
    """Return the page."""
    made: dict[str, list[str]] = {}
    for name, each in sorted(sources.repeated.items()):
        if "versions" in each.about:
            made.setdefault(each.about["versions"]["tcuq"], []).append(f"`{name}`")
    oldest, *newer = sorted(made) or [""]
    said = f"Figures of ours are of version {oldest} of tcuq" if made else ""
    said += "".join(f"; those of {listed(made[each])} are of version {each}" for each in newer)
    said += ". " if made else ""
    head = [
        "# The paper, table by table",
        MADE,
        "Figures printed in *TCUQ: Single-Pass Uncertainty Quantification from Temporal Consistency with "
        f"Streaming Conformal Calibration for TinyML* beside ours. {BACK}",
        "*TCUQ (paper)* is our replication of the paper's monitor: its four signals and its blend; "
        "*tcuq* is the standard monitor, fitted with `about='prediction'`. The paper does not say how long a "
        "class stays in its streams, nor how its networks were chosen: levels are not comparable, orders "
        f"are. {said}Every figure with its interval: `lab/results`.",
        "Three things differ from the paper. Its threshold is a running quantile of the risk; ours follows "
        "the debt of flags. Its warm-up is conservative; our first steps never abstain. It uses version 2 of "
        "Speech Commands; ours is v0.01.",
        "## Figures 1 and 2: architecture",
        "No data. What ours computes: [the monitor](../concepts/monitor.md).",
        "## Microcontrollers: the figure of bars, Big-MCU, Small-MCU, energy",
        "Ours are linked images of int8 networks, run in an emulator; milliseconds are estimates without "
        "wait states, and there is none for the Cortex-M7. *Network and tcuq* has the standard monitor. "
        "Networks of the paper are not published: sizes are not comparable. RAM, instructions, energy: "
        "[DEVICE.md](../DEVICE.md).",
        *(board_tables(sources) or ["Not run yet."]),
        energy_table(sources),
    ]
    parts = [*head, *section(sources, FIRST[0])]
    parts += [
        "## Figures of severity: CIFAR-10-C, TinyImageNet-C, ResNet-50",
        "![AUPRC by severity, ours and the paper's](severity.svg)",
        f"CIFAR-10-C: {OF_DROPS} TinyImageNet-C and ResNet-50: "
        f"{NOT_COMPARABLE[0].lower()}{NOT_COMPARABLE[1:]}",
        severity_calibration(sources),
    ]
    for part in FIRST[1:]:
        parts += section(sources, part)
    parts += [
        "## Figure: loss with and without temporal assistance",
        "![Loss at the first exit](assistance_loss.svg)",
        "Three networks each, trained with tcuq 0.1; an exit whose gradients stop before the backbone stands "
        "for training without assistance. The paper's curves come from formulas, not from data.",
        "## Figure: number of assisting exits",
        "![Accuracy and NLL by number of exits](exits.svg)",
        NOT_COMPARABLE.replace("one network", "three networks of 30 epochs"),
    ]
    for part in LAST:
        parts += section(sources, part)
    parts += [
        "## Text: risk and coverage",
        "The paper announces these curves and does not show them. A class stays 16 steps.",
        "![Errors among accepted answers by coverage](risk_coverage.svg)",
        "## Text: exceedance and budget",
        rate_audit_line(sources),
        "## Text: detection delay",
        "The paper claims that its delay is 25 to 35 % shorter and prints none. Ours at equal rates of false "
        "alarms; a class stays 16 steps:",
        delays_table(sources),
        "## Text: sensitivity",
        "\n".join(sensitivity(sources)),
        "## Where the paper contradicts itself",
        "\n".join(contradictions(sources)),
    ]
    return page(parts)
