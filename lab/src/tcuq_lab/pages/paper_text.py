"""What the paper says in its text and of boards, beside ours, and where its figures contradict each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from .figures import NAN, PAPER_RIVALS, SEVERITIES, SUBSET, UNSEEN, Sources
from .plots import printed_loss
from .words import SPACE, grid, percent, plain, row_name, task_name

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


def sensitivity(sources: Sources) -> list[str]:
    """Return what changes of window, lags, blend and level do, as far as it was measured."""
    out = []
    audited = sources.repeated.get("rate_audit")
    column = "largest change of risk over windows 12 to 24"
    changes = (
        [figure.value for place, figure in audited.figures.items() if place[3] == column] if audited else []
    )
    if changes:
        most = max(changes)
        out.append(
            "- Window of 12 to 24 steps: no risk changes; no signal reads further back than the largest lag."
            if most == 0
            else f"- Window of 12 to 24 steps: a risk changes by up to {plain(most)}."
        )
    questions = sources.fields["questions"]
    lags = [
        line.value
        for line in questions.lines
        if line.row == "other lags and window" and line.column == "risk change"
    ]
    if not lags:
        out.append("- Lags: not measured.")
    elif max(lags) == 0:
        out.append(
            "- Lags: the standard monitor has no signal that looks back by a lag; other lags and windows "
            "change no risk."
        )
    else:
        out.append(f"- Lags: other lags and windows change a risk by up to {plain(max(lags))}.")
    selective = sources.repeat("selective")
    for what, label, column in (
        ("blend", "Blend (the paper's \u03bb), area under risk and coverage", "AURC"),
        ("lags", "Lags of the paper's monitor, area under risk and coverage", "AURC"),
        ("level", "Level (the paper's \u03b1), coverage", "coverage of the monitor"),
    ):
        said = []
        for task in dict.fromkeys(place[0] for place in selective.figures):
            values = [
                (row.rpartition(" ")[2], selective.get(task, row, column))
                for row in selective.rows(task)
                if row.startswith(f"tcuq_paper, {what}")
            ]
            known = ", ".join(f"{plain(value)} at {name}" for name, value in values if not math.isnan(value))
            said += [f"{task_name(task)} {known}"] if known else []
        if said:
            out.append(f"- {label}: {'; '.join(said)}.")
    return out


def contradictions(sources: Sources) -> list[str]:
    """Return where the paper's figures contradict each other, or what its method can do."""

    def printed(experiment: str, task: str, column: str, row: str) -> str:
        value = sources.paper(experiment, task, column, row)
        return "?" if math.isnan(value) else f"{value:g}"

    def board(name: str, task: str, method: str, what: str, where: str = "bars") -> str:
        value = printed_on(sources, name, task, method, where).get(what)
        return "?" if value is None else f"{value:g}"

    levels = [f"AUPRC, severity {level}" for level in SEVERITIES]
    big, small, speech = "stm32f767zi", "stm32l432kc", "speech_commands"
    tiny = [sources.paper("severity_tinyimagenet", SUBSET, column, "tcuq_paper") for column in levels]
    literal = sources.repeat("literal")
    clock = [literal.get("cifar10", row, "AUPRC, clean then worse") for row in ("clock", "tcuq_paper")]
    same = all(
        printed("failure", speech, "AUROC of errors, unseen kinds", row)
        == printed("failure", speech, "AUROC, OOD inputs for 16 steps or more", row)
        for row in PAPER_RIVALS
    )
    out = [
        f"Drop AUPRC of TCUQ on MNIST-C: {printed('drop', 'mnist', UNSEEN, 'tcuq_paper')} in Table 1, "
        f"{printed('temperature_drops', 'mnist', UNSEEN, 'tcuq_paper')} in the table of temperature scaling; "
        f"on Speech Commands {printed('drop', speech, UNSEEN, 'tcuq_paper')} and "
        f"{printed('temperature_drops', speech, UNSEEN, 'tcuq_paper')}.",
        "On CIFAR-10-C by severity: "
        f"{', '.join(printed('severity', 'cifar10', column, 'tcuq_paper') for column in levels)} in the "
        f"figure, {', '.join(printed('', 'cifar10', column, 'tcuq_paper') for column in levels)} in the "
        "table.",
        "On TinyImageNet-C the mean is "
        f"{printed('ablation_tinyimagenet', SUBSET, 'drop AUPRC, unseen kinds', 'tcuq_paper')} in the "
        f"ablation; the points of its figure have a mean of {fmean(tiny):.3f}.",
        "Table 2: confidence on MNIST has an OOD AUROC of "
        f"{printed('failure', 'mnist', 'AUROC, OOD inputs for 16 steps or more', 'base')}, far below chance.",
        "Table 2, Speech Commands: all six rivals have the same figure for errors and for OOD inputs."
        if same
        else "",
        "The network is frozen, yet TCUQ changes F1 (MNIST "
        f"{printed('calibration', 'mnist', 'macro F1', 'base')} to "
        f"{printed('calibration', 'mnist', 'macro F1', 'tcuq')}), Brier score and NLL. A monitor cannot; "
        "other training can.",
        f"TCUQ on MNIST has F1 {printed('calibration', 'mnist', 'macro F1', 'tcuq')} in one table and "
        f"{printed('temperature', 'mnist', 'macro F1', 'tcuq')} in another; its accuracy on the board is "
        f"{board(small, 'mnist', 'tcuq_paper', 'accuracy', 'table')}.",
        f"TinyImageNet: F1 of TCUQ {printed('calibration_tinyimagenet', SUBSET, 'macro F1', 'tcuq')}, of "
        f"TCUQ+ {printed('', 'tinyimagenet', 'macro F1', 'tcuq_plus')}; the text says that TCUQ+ improves on "
        "TCUQ.",
        "Its Brier score is defined as a sum over classes; the printed values are only possible as means "
        "over classes.",
        f"Latency of TCUQ, CIFAR-10, Big-MCU: {board(big, 'cifar10', 'tcuq_paper', 'ms')} ms in the figure, "
        f"{board(big, 'cifar10', 'tcuq_paper', 'ms', 'table')} in the table, "
        f"{board(big, 'cifar10', 'tcuq_paper', 'ms', 'energy')} in the table of energy. Speech Commands, "
        f"Small-MCU: {board(small, speech, 'tcuq_paper', 'ms')}, "
        f"{board(small, speech, 'tcuq_paper', 'ms', 'table')}, "
        f"{board(small, speech, 'tcuq_paper', 'ms', 'energy')}.",
        "In the figure TCUQ takes less flash than the network alone "
        f"({board(big, speech, 'tcuq_paper', 'flash_kb')} KB, {board(big, speech, 'base', 'flash_kb')} KB; "
        f"in the table {board(big, speech, 'tcuq_paper', 'flash_kb', 'table')} and "
        f"{board(big, speech, 'base', 'flash_kb', 'table')}), and in the table of energy less energy. It "
        "adds work to the network.",
        f"An early-exit ensemble of {board(small, speech, 'early_exit', 'flash_kb')} KB is shown as fitting "
        f"a board of 256 KB. Five networks cost {board(big, speech, 'deep', 'flash_kb', 'table')} KB where "
        f"one costs {board(big, speech, 'base', 'flash_kb', 'table')}.",
        "Savings in latency and flash against the early-exit ensemble are 27 % and 29 % in one section, 43 % "
        "and 50 % in another.",
        "A delay that is 25 to 35 % shorter is claimed; no delay, no onset and no rate of false alarms is "
        "printed. Rates of flags and abstentions are defined and never reported.",
        "Streams run from clean data to ever higher severity, so that time alone predicts drops: on CIFAR-10 "
        f"in that order a step counter has an AUPRC of {plain(clock[0])} here, the paper's monitor "
        f"{plain(clock[1])}."
        if not any(map(math.isnan, clock))
        else "",
        "Its loss curves are drawn from formulas; that without assistance ends lower "
        f"({printed_loss(300, False):.2f}) than that with it ({printed_loss(300, True):.2f}).",
        "MNIST-C has five severities in one place and one in another; Speech Commands has 11 corruption "
        "types, of which 12 are listed.",
    ]
    return [f"- {each}" for each in out if each]


def rate_audit_line(sources: Sources) -> str:
    """Return what audits of promised rates found."""
    found = sources.repeat("rate_audit")

    def worst(column: str) -> float:
        values = [
            figure.value
            for place, figure in found.figures.items()
            if place[3] == column and place[2] == "tcuq_paper"
        ]
        return max(values, default=NAN)

    audited = sum(
        f.value for p, f in found.figures.items() if p[3] == "streams audited" and p[2] == "tcuq_paper"
    )
    if not audited:
        return "Not run yet."
    return (
        f"The paper defines them and reports none. Our replication of its monitor, on {audited:.0f} streams: "
        f"{worst('violations'):.0f} violations of the promised rates; the flag rate is off its level by at "
        f"most {percent(worst('off by, worst stream'))} points on any stream; at most "
        f"{worst('most abstentions in 100 steps'):.0f} abstentions in 100 steps, where "
        f"{worst('bound on those'):.0f} are allowed."
    )
