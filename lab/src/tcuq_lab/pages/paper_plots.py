"""Curves of the paper beside ours, drawn from result files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import fmean
from types import MappingProxyType

from .figures import SEVERITIES, SUBSET, Sources
from .plots import Panel, Series, curves
from .words import row_name, task_name

SERIES = (("base", "c"), ("deep", "d"), ("tcuq_paper", "s"), ("tcuq", "o"))


def severity_plot(sources: Sources) -> str:
    """Return AUPRC by severity: CIFAR-10-C, TinyImageNet-C, and ResNet-50 on TinyImageNet-C."""
    panels = []
    for title, experiment, task in (
        ("CIFAR-10-C", "severity", "cifar10"),
        ("TinyImageNet-C, 16 classes", "severity_tinyimagenet", SUBSET),
        ("the same, ResNet-50", "deeper", SUBSET),
    ):
        found = sources.repeat(experiment)
        series = []
        for row, mark in SERIES:
            columns = [(level, f"AUPRC, severity {level}") for level in SEVERITIES]
            ours = [(float(level), found.get(task, row, column)) for level, column in columns]
            printed = [
                (float(level), sources.paper(experiment, task, column, row)) for level, column in columns
            ]
            series.append(Series(f"{row_name(row)}, ours", mark, ours))
            if row != "tcuq":
                series.append(Series(f"{row_name(row)}, paper", mark, printed, dashed=True))
        panels.append(Panel(title, "severity", [each for each in series if _any(each)] or series))
    return curves("Accuracy-drop detection, AUPRC by severity", panels)


def coverage_plot(sources: Sources) -> str:
    """Return errors among accepted answers over coverage, for each task of the experiment."""
    found = sources.repeat("selective")
    shares = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1)
    panels = []
    for task in ("mnist", "speech_commands", "cifar10"):
        series = [
            Series(
                row_name(row),
                mark,
                [(100 * at, found.get(task, row, f"error at coverage {at:g}")) for at in shares],
            )
            for row, mark in (("base", "c"), ("mean_posterior", "d"), ("tcuq_paper", "s"), ("tcuq", "o"))
        ]
        panels.append(Panel(task_name(task), "coverage, %", series, percent=True))
    return curves("Errors among accepted answers by coverage", panels)


def printed_loss(batches: float, assisted: bool) -> float:
    """Return the loss that the paper's figure draws after so many thousand batches: a formula, not data.

    Examples
    --------
    >>> round(printed_loss(300, True), 2), round(printed_loss(300, False), 2)
    (0.82, 0.71)
    """
    fade, floor, phase = (60, 0.8, 0.0) if assisted else (55, 0.7, 0.8)
    wave = 0.12 * math.sin(0.06 * batches + phase) * math.exp(-batches / 90)
    return 3 * math.exp(-batches / fade) + floor + wave


def loss_curve(sources: Sources, dataset: str, probe: bool) -> list[tuple[float, float]]:
    """Return the mean loss of the first exit over the percents of the training, if any was trained."""
    kept = [
        each["curves"]["exit_1"]
        for each in sources.trainings
        if each["dataset"] == dataset
        and "assistance" in each["ablations"]
        and each["settings"]
        and bool(each["settings"]["probe"]) == probe
    ]
    if not kept:
        return []
    last = len(kept[0]) - 1
    return [(100 * at / last, fmean(curve[at] for curve in kept)) for at in range(last + 1)]


def loss_plot(sources: Sources) -> str:
    """Return the loss at an exit with and without assistance, ours and the paper's."""
    series = [
        Series("with assistance, ours", "o", loss_curve(sources, "cifar10", False)),
        Series("without (stopped gradients), ours", "c", loss_curve(sources, "cifar10", True)),
    ]
    for assisted, mark in ((True, "o"), (False, "c")):
        points = [(share, printed_loss(3 * share, assisted)) for share in range(0, 101, 2)]
        series.append(Series(f"with{'' if assisted else 'out'} assistance, paper", mark, points, dashed=True))
    return curves(
        "Loss at the first exit, ResNet-8 on CIFAR-10", [Panel("", "percent of the training", series)]
    )


def exit_figures(sources: Sources, measure: str) -> list[tuple[float, float]]:
    """Return a figure of MobileNetV2 on TinyImageNet by the number of exits, means over seeds."""
    found: dict[float, list[float]] = {}
    for each in sources.trainings:
        if "exits" in each["ablations"]:
            found.setdefault(float(each["settings"].get("exits") or 0), []).append(each["test"][measure])
    return [(exits, fmean(values)) for exits, values in sorted(found.items())]


def exits_plot(sources: Sources) -> str:
    """Return accuracy and NLL by the number of assisting exits, ours and the paper's."""
    panels = []
    for title, measure, column in (("accuracy", "accuracy", "accuracy"), ("NLL", "nll", "NLL, nats")):
        printed = [
            (float(row.split()[0]) if row[0].isdigit() else 0.0, float(value))
            for part in sources.printed
            if (part["experiment"], part["column"]) == ("trainings_exits", column)
            for row, value in part["rows"].items()
        ]
        series = [
            Series("ours, 16 classes, 3 networks", "o", exit_figures(sources, measure)),
            Series("paper, 200 classes", "s", sorted(printed), dashed=True),
        ]
        panels.append(Panel(title, "assisting exits", series))
    return curves("Number of assisting exits, MobileNetV2 on TinyImageNet", panels)


def _any(series: Series) -> bool:
    return any(math.isfinite(y) for _, y in series.points)


PLOTS: Mapping[str, Callable[[Sources], str]] = MappingProxyType(
    {
        "severity.svg": severity_plot,
        "risk_coverage.svg": coverage_plot,
        "assistance_loss.svg": loss_plot,
        "exits.svg": exits_plot,
    }
)
"""By file name."""
