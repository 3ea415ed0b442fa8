"""Plots of the pages, drawn by matplotlib when they are written, and held by what they show.

A picture carries the digest of its figures: whether it is up to date does not depend on the version of the
library. Its colors change with what the reader's system prefers; a page with a theme of its own shows the
light or the dark form. Series differ in shape as well as in color.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tcuq.report.text import escape

from ..home import library
from .figures import SEVERITIES, SUBSET, WHOLE, Sources
from .words import listing, row_name, task_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMS = ("light", "dark")
LOOK = 1
"""To be raised when pictures of the same figures are to be drawn anew."""
_LOOK = listing("look")
COLORS: Mapping[str, Sequence[str]] = _LOOK["colors"]
"""By name, in the light and in the dark form."""


def _colored(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the color of the light form where one is named, as in "$ink"."""
    named = {f"${name}": light for name, (light, _) in COLORS.items()}
    return {name: named.get(str(value), value) for name, value in given.items()}


MUTED = COLORS["mut"][0]
MARKS = {name: _colored(each) for name, each in _LOOK["marks"].items()}
"""Ring, triangle, diamond and square."""
STYLE = _colored(_LOOK["style"])
"""Of matplotlib; letters stay letters in the SVG, which readers may search and enlarge."""
WIDTH = 7.9
"""Inches of 96 px: a page shows it about 700 px wide."""


class Series(NamedTuple):
    """Points of one method."""

    name: str  # in the legend
    mark: str
    points: Sequence[tuple[float, float]]  # of `dots`: row and value; of `curves`: x and y. NaN is left out
    dashed: bool = False  # joined by a broken line


class Panel(NamedTuple):
    """A plot beside others: what stands above it, below its x axis and beside its y axis."""

    title: str
    below: str
    series: Sequence[Series]
    percent: bool = False


class Picture(NamedTuple):
    """A plot: its title, what it shows in words, its figures, and who draws it."""

    title: str
    said: str
    shown: object
    draw: Callable[[], Figure]
    form: str = "auto"

    @property
    def mark(self) -> str:
        """What a file of this very picture holds."""
        shown = repr((LOOK, self.title, self.shown)).encode()
        return f"<!-- figures {hashlib.sha256(shown).hexdigest()[:16]} -->"

    def text(self, path: Path) -> str:
        """Return what a file of it is to hold: what it holds already, where the figures are the same."""
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        return there if self.mark in there else self.svg()

    def svg(self) -> str:
        """Draw it."""
        matplotlib = library("matplotlib", "to draw what has changed")
        content = io.BytesIO()
        with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "svg", **STYLE}):
            nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            self.draw().savefig(content, format="svg", metadata=nothing)
        text = content.getvalue().decode()
        text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
        text = re.sub(r" +$", "", text, flags=re.MULTILINE)
        for name, (light, _) in COLORS.items():
            text = text.replace(light, f"var(--{name})")
        light, dark = (
            "svg{" + ";".join(f"--{name}:{pair[at]}" for name, pair in COLORS.items()) + "}" for at in (0, 1)
        )
        colors = {"light": light, "dark": dark, "auto": f"{light}@media(prefers-color-scheme:dark){{{dark}}}"}
        begin, end = text.split(">", 1)
        return (
            f'{begin} role="img" aria-labelledby="t d">\n{self.mark}\n'
            f'<title id="t">{escape(self.title)}</title>'
            f'<desc id="d">{escape(self.said)}</desc><style>{colors[self.form]}</style>{end}'
        )


def dots(title: str, rows: Sequence[str], series: Sequence[Series], form: str = "auto") -> Picture:
    """Return a plot with a line for each row and a mark for each series, in percent."""

    def draw() -> Figure:
        figure, (axis,) = _figure(1, 1.1 + 0.36 * len(rows))
        for each in series:
            axis.plot([100 * y for _, y in each.points], [x for x, _ in each.points], **_look(each, line=""))
        for row, words in enumerate(rows):  # above its line: phones show the left part
            axis.annotate(
                words,
                (0, row),
                (0, 7),
                ("axes fraction", "data"),
                "offset points",
                color=MUTED,
                fontsize=9.8,
            )
        axis.set(xlim=(0, None), ylim=(len(rows) - 0.5, -0.9), yticks=range(len(rows)), yticklabels=[])
        axis.tick_params(length=0)
        axis.xaxis.set_major_formatter("{x:g} %")
        axis.grid()
        return _headed(figure, axis, title)

    said = "; ".join(
        f"{words}: "
        + ", ".join(f"{s.name} {100 * y:.1f} %" for s in series for r, y in s.points if r == number)
        for number, words in enumerate(rows)
    )
    return Picture(title, said, (rows, series), draw, form)


def curves(title: str, panels: Sequence[Panel]) -> Picture:
    """Return line plots beside each other, with one legend: that of the first."""

    def draw() -> Figure:
        figure, axes = _figure(len(panels), 3.3 + 0.1 * len(panels[0].series))
        for axis, panel in zip(axes, panels, strict=True):
            for each in panel.series:
                points = [(x, 100 * y if panel.percent else y) for x, y in each.points if math.isfinite(y)]
                look = _look(each) if len(points) <= 12 else {**_look(each), "marker": ""}
                axis.plot([x for x, _ in points], [y for _, y in points], **look)
            axis.set(title=panel.title, xlabel=panel.below, ylim=(0, None))
            axis.tick_params(length=0)
            axis.grid(axis="y")
            if panel.percent:
                axis.yaxis.set_major_formatter("{x:g} %")
        return _headed(figure, axes[0], title)

    said = [
        f"{panel.title}, {each.name}: " + ", ".join(f"{x:g}: {y:.3g}" for x, y in known)
        for panel in panels
        for each in panel.series
        for known in [[(x, y) for x, y in each.points if math.isfinite(y)]]
        if len(known) <= 12
    ]
    return Picture(title, "; ".join(said), panels, draw)


def _figure(panels: int, height: float) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _look(series: Series, line: str = "-") -> dict[str, Any]:
    line = "--" if series.dashed else line
    return {**MARKS[series.mark], "linestyle": line, "label": series.name, "markersize": 6, "linewidth": 1.8}


def _headed(figure: Figure, axis: Axes, title: str) -> Figure:
    """Put the title and the legend above."""
    bold = {"weight": "bold", "size": 12.5}
    named = axis.get_legend_handles_labels()
    figure.legend(
        *named, loc="outside upper left", ncols=2, title=title, title_fontproperties=bold, alignment="left"
    )
    return figure


SERIES = (("base", "c"), ("deep", "d"), ("tcuq_paper", "s"), ("tcuq", "o"))


def severity_plot(sources: Sources) -> Picture:
    """Return AUPRC by severity: CIFAR-10-C, TinyImageNet-C, and ResNet-50 on TinyImageNet-C."""
    panels = []
    for title, experiment, task in (
        ("CIFAR-10-C", "severity", "cifar10"),
        ("TinyImageNet-C", "severity_tinyimagenet", WHOLE),
        ("ResNet-50, 16 classes", "deeper", SUBSET),
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


def coverage_plot(sources: Sources) -> Picture:
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
    """Return the loss that the paper's figure draws after so many thousand batches: a formula, not data."""
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


def loss_plot(sources: Sources) -> Picture:
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


def exits_plot(sources: Sources) -> Picture:
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


PLOTS: Mapping[str, Callable[[Sources], Picture]] = MappingProxyType(
    {
        "severity.svg": severity_plot,
        "risk_coverage.svg": coverage_plot,
        "assistance_loss.svg": loss_plot,
        "exits.svg": exits_plot,
    }
)
"""By file name."""
