"""Plots as SVG that no library draws: the same figures give the same bytes everywhere.

Colors change with what the reader's system prefers; a page with a theme of its own shows the light or the
dark form. The ground is drawn too. Series differ in shape as well as in color.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple

from tcuq.report.plot import nice_ticks
from tcuq.report.text import escape

from .figures import SEVERITIES, SUBSET, Sources
from .words import row_name, task_name

WIDTH = 760
"""A page shows it about 700 px wide: letters of 13.5 px are at least 12 px there."""
COLORS = {
    "light": "svg{--bg:#fff;--ink:#18202b;--mut:#586374;--line:#dce1e8;--c:#586374;--s:#b85a00;--d:#7a2a8c;"
    "--o:#0068a8}",
    "dark": "svg{--bg:#151b23;--ink:#e8ecf2;--mut:#a0acbb;--line:#323c49;--c:#a0acbb;--s:#ffa14f;--d:#d79be6;"
    "--o:#5bb6ee}",
}
STYLE = """
text{font:13.5px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
.t{font-size:16px;font-weight:600}.p{font-weight:600}.m{fill:var(--mut);font-size:13.1px}
.g{stroke:var(--line)}.e{text-anchor:end}.h{text-anchor:middle}
.c{stroke:var(--c);fill:var(--bg)}.s{stroke:var(--s);fill:var(--s)}
.d{stroke:var(--d);fill:var(--d)}.o{stroke:var(--o);fill:var(--o)}
path{stroke-width:1.6}path.l{fill:none;stroke-width:2.2}.k{stroke-dasharray:5 4}
"""
MARKS = {
    "c": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0",
    "s": "m-4.5 4l4.5-8l4.5 8z",
    "d": "m0-5l5 5l-5 5l-5-5z",
    "o": "m-4-4h8v8h-8z",
}
"""Ring, triangle, diamond and square."""


ON = 0.7
"""Where in its row a line lies."""


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


def dots(title: str, rows: Sequence[str], series: Sequence[Series], form: str = "auto") -> str:
    """Return a plot with a line for each row and a mark for each series, in percent."""
    top, pitch, left, right = 92, 34, 20, 30  # names stand above their lines: phones show the left part
    bottom = top + pitch * len(rows)
    ticks = _ticks(100 * y for each in series for _, y in each.points)
    wide = WIDTH - left - right
    out = _legend(series, 235)
    for tick in ticks:
        x = left + wide * tick / ticks[-1]
        out.append(f'<path class="g" d="M{x:.1f} {top}V{bottom}"/>')
        out.append(f'<text class="m h" x="{x:.1f}" y="{bottom + 20}">{tick:g} %</text>')
    for number, words in enumerate(rows):
        y = top + pitch * (number + ON)
        out.append(f'<text class="m" x="{left}" y="{y - 9:g}">{escape(words)}</text>')
        out.append(f'<path class="g" d="M{left} {y:g}h{wide}"/>')
    for each in series:
        for row, value in each.points:
            if math.isfinite(value):
                out.append(_mark(each.mark, left + wide * 100 * value / ticks[-1], top + pitch * (row + ON)))
    said = "; ".join(
        f"{words}: "
        + ", ".join(f"{s.name} {100 * y:.1f} %" for s in series for r, y in s.points if r == number)
        for number, words in enumerate(rows)
    )
    return _svg(title, said, bottom + 34, out, form)


def curves(title: str, panels: Sequence[Panel], form: str = "auto") -> str:
    """Return line plots beside each other, with one legend: that of the first."""
    legend = panels[0].series
    top, high, left, gap = 84 + 20 * ((len(legend) + 1) // 2), 190, 52, 62
    wide = (WIDTH - left - 22 - gap * (len(panels) - 1)) / len(panels)
    out, said = _legend(legend), []
    for number, panel in enumerate(panels):
        x0 = left + number * (wide + gap)
        scale = 100 if panel.percent else 1
        xs = [x for each in panel.series for x, _ in each.points]
        ends = min(xs, default=0.0), max(xs, default=1.0)
        ticks = _ticks(scale * y for each in panel.series for _, y in each.points)
        out.append(f'<text class="p" x="{x0:.1f}" y="{top - 14}">{escape(panel.title)}</text>')
        for tick in ticks:
            y = top + high * (1 - tick / ticks[-1])
            out.append(f'<path class="g" d="M{x0:.1f} {y:.1f}h{wide:.1f}"/>')
            unit = " %" if panel.percent else ""
            out.append(f'<text class="m e" x="{x0 - 6:.1f}" y="{y + 4:.1f}">{tick:g}{unit}</text>')
        for x in nice_ticks(*ends, 5):
            at = x0 + wide * (x - ends[0]) / (ends[1] - ends[0])
            out.append(f'<text class="m h" x="{at:.1f}" y="{top + high + 18}">{x:g}</text>')
        out.append(
            f'<text class="m h" x="{x0 + wide / 2:.1f}" y="{top + high + 38}">{escape(panel.below)}</text>'
        )
        for each in panel.series:
            at_points = [
                (x0 + wide * (x - ends[0]) / (ends[1] - ends[0]), top + high * (1 - scale * y / ticks[-1]))
                for x, y in each.points
                if math.isfinite(y)
            ]
            kind = f"l {each.mark}{' k' if each.dashed else ''}"
            out.append(f'<path class="{kind}" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in at_points)}"/>')
            if len(at_points) <= 12:
                out += [_mark(each.mark, x, y) for x, y in at_points]
                values = ", ".join(f"{x:g}: {y:.3g}" for x, y in each.points if math.isfinite(y))
                said.append(f"{panel.title}, {each.name}: {values}")
    return _svg(title, "; ".join(said), top + high + 52, out, form)


def _ticks(values: Iterable[float]) -> list[float]:
    """Return ticks from 0 to at least the largest value."""
    known = [value for value in values if math.isfinite(value)]
    top = max(known, default=1.0) or 1.0
    ticks = nice_ticks(0, top, 5)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else top
    return [step * number for number in range(math.ceil(top / step - 1e-9) + 1)]


def _legend(series: Sequence[Series], wide: int = 340) -> list[str]:
    out = []
    for number, each in enumerate(series):
        x, y = 28 + wide * (number % 2), 50 + 20 * (number // 2)
        if each.dashed:
            out.append(f'<path class="l {each.mark} k" d="M{x - 14} {y}h28"/>')
        out.append(_mark(each.mark, x, y))
        out.append(f'<text x="{x + 20}" y="{y + 4.5:g}">{escape(each.name)}</text>')
    return out


def _mark(mark: str, x: float, y: float) -> str:
    return f'<path class="{mark}" d="M{x:.1f} {y:.1f}{MARKS[mark]}"/>'


def _svg(title: str, said: str, height: float, body: Sequence[str], form: str) -> str:
    colors = (
        f"{COLORS['light']}\n@media(prefers-color-scheme:dark){{{COLORS['dark']}}}"
        if form == "auto"
        else COLORS[form]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" '
        f'height="{height:g}" role="img" aria-labelledby="t d"><title id="t">{escape(title)}</title>'
        f'<desc id="d">{escape(said)}</desc><style>\n{colors}{STYLE}</style>\n'
        f'<rect width="{WIDTH}" height="{height:g}" rx="8" fill="var(--bg)"/>\n'
        f'<text class="t" x="14" y="28">{escape(title)}</text>\n' + "\n".join(body) + "\n</svg>\n"
    )


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
