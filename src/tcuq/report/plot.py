"""A small plot, the figures that need no script, and one picture of a run for notebooks and files."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.atomic_files import write_whole
from ..base.errors import InputError
from ..base.texts import text_of
from ..log.log import Log
from .data import ASK, BORDER, FALL, FLAGGED, RISE, SHIFTED, Cells, per_cell
from .summary import Facts, facts_of
from .text import count, escape, percent, short

SIZE = 1000

Floats = npt.NDArray[np.float64]


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers in a range, about as many as asked."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    ticks = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    return [float(f"{t:.10g}") for t in ticks]


def axis_top(value: float) -> float:
    """Return a round number in (0, 1] that is not below a share."""
    for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8):
        if value <= top + 1e-12:
            return top
    return 1.0


@dataclass(frozen=True)
class Axis:
    """A range of values along one side of a plot."""

    low: float
    high: float
    label: str = ""
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()

    def place(self, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return positions, 0 at the low end and 1 at the high end; far ones are cut off outside."""
        given = np.asarray(values, dtype=np.float64)
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        if self.log:
            given = np.log10(given)
        return np.clip((given - low) / ((high - low) or 1.0), -0.5, 1.5)

    def marks(self) -> list[tuple[float, str]]:
        """Return position and text of each tick."""
        ticks = self.ticks
        if not ticks and self.log:
            top = math.floor(math.log10(self.high) + 1e-9)
            ticks = tuple(
                (10.0**k, f"{10**k:,}") for k in range(max(0, math.ceil(math.log10(self.low))), top + 1)
            )
        elif not ticks:
            ticks = tuple((t, short(t)) for t in nice_ticks(self.low, self.high))
        return [(float(self.place(value)), text) for value, text in ticks]


@dataclass
class Plot:
    """Collects marks, an SVG that stretches; `html` puts words around them that do not."""

    title: str
    description: str
    x: Axis
    y: Axis
    kind: str = ""
    grid: bool = True
    width: float = SIZE
    height: float = SIZE
    parts: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)

    def _points(self, xs: npt.ArrayLike, ys: npt.ArrayLike) -> list[str]:
        across = np.round(self.x.place(xs) * self.width, 1)
        down = np.round((1 - self.y.place(ys)) * self.height, 1)
        return [f"{a:g} {b:g}" for a, b in zip(across.tolist(), down.tolist(), strict=True)]

    def line(self, xs: npt.ArrayLike, ys: npt.ArrayLike, name: str) -> None:
        """Draw a line through points, or a dot where there is only one."""
        if np.size(xs) == 1:
            self.dots(xs, ys, name)
            return
        self.parts.append(f'<path class="line {name}" d="M{"L".join(self._points(xs, ys))}"/>')

    def band(self, xs: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, name: str) -> None:
        """Fill between two lines."""
        points = self._points(xs, high) + self._points(xs, low)[::-1]
        self.parts.append(f'<path class="fill {name}" d="M{"L".join(points)}Z"/>')

    def cells(self, cells: Cells, name: str) -> None:
        """Draw the range and the mean of cells of a series."""
        self.band(cells.middle, cells.low, cells.high, name)
        self.line(cells.middle, cells.mean, name)

    def boxes(
        self, edges: list[tuple[float, float]], low: float, high: float, name: str, shade: float = 1
    ) -> None:
        """Fill boxes that share their lower and upper edge; a shade below 1 lets the ground through."""
        if not edges:
            return
        across = np.round(self.x.place(np.array(edges)) * self.width, 1).tolist()
        bottom, top = (round(float(1 - self.y.place(v)) * self.height, 1) for v in (low, high))
        shape = "".join(f"M{a:g} {bottom:g}V{top:g}H{b:g}V{bottom:g}Z" for a, b in across)
        through = "" if shade == 1 else f' opacity="{shade:g}"'
        self.parts.append(f'<path class="fill {name}"{through} d="{shape}"/>')

    def dots(self, xs: npt.ArrayLike, ys: npt.ArrayLike, name: str) -> None:
        """Draw dots; lines of no length with round ends stay round when the drawing is stretched."""
        shape = "".join(f"M{point}h0" for point in self._points(xs, ys))
        self.over.append(f'<path class="dots {name}" d="{shape}"/>')

    def borders(self, places: list[int], top: float) -> None:
        """Draw a line up to the top at each place, unless they would be a wall."""
        for place in places if len(places) <= TIMELINE_CELLS // 4 else ():
            self.line([place, place], [0, top], "border")

    def drawing(self) -> str:
        """Return the marks, and the lines of the grid under them."""
        lines = ""
        if self.grid:
            shape = "".join(f"M0 {(1 - at) * self.height:.1f}h{self.width:g}" for at, _ in self.y.marks())
            shape += "".join(f"M{at * self.width:.1f} 0v{self.height:g}" for at, _ in self.x.marks())
            lines = f'<path class="grid" d="{shape}"/>'
        # Lines are cut off at the frame, dots on the frame are shown whole.
        framed = f'<svg width="{self.width:g}" height="{self.height:g}">{lines}{"".join(self.parts)}</svg>'
        return f"{framed}{''.join(self.over)}"

    def html(self) -> str:
        """Return the drawing with its axes."""
        across, up = self.x.marks(), self.y.marks()
        below = "".join(f'<span style="left:{100 * at:.2f}%">{escape(text)}</span>' for at, text in across)
        beside = "".join(f'<span style="bottom:{100 * at:.2f}%">{escape(text)}</span>' for at, text in up)
        return (
            f'<div class="plot {self.kind}"><div class="y-label">{escape(self.y.label)}</div>'
            f'<div class="y-ticks" aria-hidden="true">{beside}</div><div class="area">'
            f'<svg viewBox="0 0 {SIZE} {SIZE}" preserveAspectRatio="none" role="img" '
            f'aria-label="{escape(self.title)}. {escape(self.description)}">'
            f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
            f"{self.drawing()}</svg>"
            f'</div><div class="x-ticks" aria-hidden="true">{below}</div>'
            f'<div class="x-label">{escape(self.x.label)}</div></div>'
        )


def runs(hits: npt.NDArray[Any]) -> list[tuple[float, float]]:
    """Return first and one past last of each stretch of hits."""
    padded = np.concatenate([[False], hits.astype(bool), [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1]).astype(float).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


TIMELINE_CELLS = 500
CELLS = 400
SHADES = 5
"""Shares of a cell that a thin row tells apart."""

WINDOW = 200
"""Steps over which the true accuracy is taken, to stand beside the expected one."""

HATCHES = (
    "<defs>"
    '<pattern id="hatch-rise" width="10" height="30" patternUnits="userSpaceOnUse">'
    '<rect class="tint rise" width="10" height="30"/><path class="hatch rise" d="M0 30L10 0"/></pattern>'
    '<pattern id="hatch-fall" width="10" height="30" patternUnits="userSpaceOnUse">'
    '<rect class="tint fall" width="10" height="30"/><path class="hatch fall" d="M0 0L10 30"/></pattern>'
    '<pattern id="hatch-hold" width="9" height="90" patternUnits="userSpaceOnUse">'
    '<rect class="hold" width="9" height="90"/><path class="hatch hold" d="M0 90L9 0"/></pattern>'
    "</defs>"
)
"""Rise leans one way and fall the other, so that color is never the only difference."""


def steps_axis(steps: int, first: int, label: str = "step") -> Axis:
    """Return the time axis; `first` numbers the first step."""
    nice = (int(t) for t in nice_ticks(first, first + steps, 5) if t == int(t))
    ticks = tuple((float(t - first), count(t)) for t in nice if first <= t < first + steps)
    return Axis(0, steps, label, ticks=ticks)


def unmarked(steps: int) -> Axis:
    """Return a time axis without ticks."""
    return Axis(0, steps, ticks=((-steps, ""),))


def risk_top(decisions: npt.NDArray[Any]) -> float:
    """Return the upper end of the risk axis: all of the risk, and the threshold up to 1."""
    threshold = float(np.clip(decisions["threshold"], 0, 1).max())
    return axis_top(max(1.02 * float(decisions["risk"].max()), threshold, 0.1))


def risk_plot(facts: Facts, axis: Axis, width: float = SIZE, height: float = SIZE) -> Plot:
    """Return risk, threshold, asks and alarm over time; the drawing has this width and height."""
    steps, bits, top = facts.steps, facts.bits, risk_top(facts.steps)
    risk, threshold = (Cells.most(steps[name], TIMELINE_CELLS) for name in ("risk", "threshold"))
    text = "Range and mean of the risk, the threshold, and shaded stretches where the alarm was raised."
    up = Axis(0, top, "risk")
    plot = Plot("Risk and threshold over time", text, axis, up, "tall", width=width, height=height)
    plot.boxes(runs(bits & SHIFTED), 0, top, "shift tint")
    plot.boxes(runs(bits & SHIFTED), 0.985 * top, top, "shift rim")
    plot.boxes(runs(bits & RISE), 0, top, "in-rise")
    plot.boxes(runs(bits & FALL), 0, top, "in-fall")
    plot.cells(risk, "risk")
    plot.line(risk.middle, threshold.mean, "threshold")
    asks = np.flatnonzero(bits & ASK)
    if len(steps) <= TIMELINE_CELLS and len(asks):
        plot.dots(asks + 0.5, steps["risk"][asks], "abstain")
    plot.borders(np.flatnonzero(bits & BORDER).tolist(), top)
    return plot


def lane_plots(facts: Facts, axis: Axis, width: float = SIZE, height: float = SIZE) -> list[Plot]:
    """Return thin rows that show where steps were flagged, asks, wrong, on hold, or shifted."""
    steps, bits, log, changes = len(facts.steps), facts.bits, facts.log, []
    per = per_cell(steps, TIMELINE_CELLS)
    rows: dict[str, list[tuple[str, float, float, npt.NDArray[Any]]]] = {
        "flagged": [("flagged", 0, 1, bits & FLAGGED)],
        "ask": [("abstain", 0, 1, bits & ASK)],
    }
    if facts.wrong is not None:
        rows["wrong"] = [("wrong", 0.0, 1.0, facts.wrong)]
    # A hatch cannot be told in a thin lane; there a rise is the upper half and a fall the lower one.
    rows["hold"] = [("rise", 0.5, 1.0, bits & RISE), ("fall", 0.0, 0.5, bits & FALL)]
    if log is not None and log.shifted is not None:
        rows["shift"] = [("shift", 0.0, 1.0, bits & SHIFTED)]
        # Where one known shift follows another directly.
        changes = [step for step in log.change_points() if step and log.shifted[step - 1]]
    lanes = []
    for label, kinds in rows.items():
        text, up = f"Where steps are: {label}.", Axis(0, 1, label, ticks=((-1, ""),))
        plot = Plot(f"Steps: {label}", text, axis, up, "lane", False, width, height)
        for name, low, high, hits in kinds:
            # Stretches of whole cells keep the drawing small, whatever the number of steps.
            cells = Cells.of(np.asarray(hits != 0), per)
            # Where steps do not stay what they are, the share of a cell says more than any hit in it.
            shares = np.ceil(cells.mean * SHADES) if high - low == 1 else cells.high * SHADES
            for shade in range(1, SHADES + 1):
                edges = [(a * per, min(steps, b * per)) for a, b in runs(shares == shade)]
                plot.boxes(edges, low, high, name, shade / SHADES)
        lanes.append(plot)
    lanes[-1].borders(changes, 1)
    return lanes


def recent_accuracy(wrong: npt.NDArray[np.bool_]) -> Floats:
    """Return the share of right answers in the last steps, of all so far while there are fewer."""
    right = np.concatenate([[0], np.cumsum(~wrong)])
    ends = np.arange(1, len(wrong) + 1)
    starts = np.maximum(0, ends - WINDOW)
    return np.asarray((right[ends] - right[starts]) / (ends - starts))


def accuracy_plot(
    expected: Floats,
    recent: Floats | None,
    axis: Axis,
    width: float = SIZE,
    height: float = SIZE,
    ticks: int = 5,
    band: tuple[Floats, Floats] | None = None,
) -> Plot:
    """Return the expected accuracy over time, in its band, beside the true one where labels are known."""
    lowest = float((expected if band is None else band[0]).min())
    lowest = lowest if recent is None else min(lowest, recent[WINDOW:].min(initial=1))
    low = max(0.0, np.floor(10 * lowest - 0.5) / 10)
    marks = tuple((t, percent(t, 0)) for t in nice_ticks(low, 1, ticks))
    up, text = Axis(low, 1, "accuracy", ticks=marks), f"At the end {percent(float(expected[-1]))}."
    plot = Plot("Expected accuracy over time", text, axis, up, "medium", width=width, height=height)
    if band is not None:
        least, most = (Cells.most(end, CELLS) for end in band)
        plot.band(least.middle, least.mean, most.mean, "risk")
    for values, name in ((recent, "plain"), (expected, "risk")):
        if values is not None:
            cells = Cells.most(values, CELLS)
            plot.line(cells.middle, cells.mean, name)
    return plot


WIDTH, LEFT, RIGHT = 880, 78, 22
"""Of the picture, and of the room beside its plots, in pixels."""

RISK, ACCURACY, LANE, GAP = 220, 112, 12, 16
"""Heights of the plots and between them, in pixels."""

LETTER = 6.3
"""Width of a letter of the legend, about, in pixels; fonts differ."""


class StepsFigure:
    """A figure that a notebook shows by itself.

    Parameters
    ----------
    svg : str
        The picture. It needs no other file and follows the light or dark setting of the viewer.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return 'StepsFigure: a notebook shows it, .save("steps.svg") writes it'

    def save(self, path: str | Path) -> None:
        """Write the picture as an SVG file, whole or not at all.

        Parameters
        ----------
        path : path
            File to write; it ends in ``.svg``.
        """
        if Path(path).suffix.lower() != ".svg":
            raise InputError("value", f"{path}: a figure is written as .svg")
        write_whole(path, self.svg.encode())


def plot_steps(steps: npt.NDArray[Any], log: Log | None = None, title: str | None = None) -> StepsFigure:
    """Draw risk, threshold, abstentions, alarm and expected accuracy over the steps of a run.

    Parameters
    ----------
    steps : array of `tcuq.STEP_DTYPE`
        As `Monitor.run` gives it.
    log : Log, optional
        The input of the run: adds known shifts, segments and, with labels, wrong answers and true accuracy.
    title : str, optional
        Written above the picture.

    Returns
    -------
    StepsFigure
        A notebook shows it by itself; ``.save("steps.svg")`` writes it.

    Examples
    --------
    >>> from tcuq import Monitor, Params
    >>> figure = plot_steps(Monitor(Params(classes=3)).run(np.full((50, 3), 1 / 3)), title="Door 2")
    >>> "Door 2" in figure.svg and figure.svg.startswith("<svg")
    True
    """
    facts = replace(facts_of(steps, None, log, None, 0), about="answer")
    rows, bits, wrong = facts.steps, facts.bits, facts.wrong
    width = WIDTH - LEFT - RIGHT
    axis = steps_axis(len(rows), 0)
    bare = replace(axis, label="")
    panels = [risk_plot(facts, bare, width, RISK)]
    shown = np.isfinite(rows["expected_accuracy"]).all()
    if shown:
        recent = None if wrong is None else recent_accuracy(wrong)
        panels.append(accuracy_plot(rows["expected_accuracy"], recent, bare, width, ACCURACY, 4))
        panels[-1].y = replace(panels[-1].y, label="expected accuracy")
    shifts = bool((bits & SHIFTED).any())
    lanes = [lane for lane in lane_plots(facts, bare, width, LANE) if shifts or lane.y.label != "shift"]
    keys = [("line risk", "risk"), ("line threshold", "threshold")]
    if len(rows) > TIMELINE_CELLS:
        keys[:1] = [("line risk", "risk, mean"), ("fill risk", "risk, range")]
    if len(rows) <= TIMELINE_CELLS and rows["abstain"].any():
        keys.append(("dots abstain", "ask"))
    keys += [("fill in-rise", "alarm: risen")] * bool((bits & RISE).any())
    keys += [("fill in-fall", "alarm: fallen")] * bool((bits & FALL).any())
    keys += [("fill shift tint", "known shift")] * shifts
    if shown and wrong is not None:
        keys.append(("line plain", f"true accuracy, last {WINDOW} steps"))
    return StepsFigure(_picture(panels, lanes, axis, keys, title or f"{count(len(rows))} steps"))


def _picture(
    panels: list[Plot], lanes: list[Plot], axis: Axis, keys: list[tuple[str, str]], title: str
) -> str:
    """Put plots, words and legend together."""
    parts = [f'<text class="title" x="{LEFT}" y="30">{escape(title)}</text>']
    legend, down = _legend(keys, 52)
    parts.append(legend)
    for plot in panels:
        parts.append(f'<svg x="{LEFT}" y="{down}" class="area">{plot.drawing()}</svg>')
        for at, text in plot.y.marks():
            parts.append(_text(LEFT - 8, down + (1 - at) * plot.height + 4, text, "end"))
        middle = down + plot.height / 2
        turned = f'transform="rotate(-90 18 {middle:g})"'
        parts.append(_text(18, middle + 4, plot.y.label, "middle", turned))
        down += int(plot.height) + GAP
    for plot in lanes:
        back = f'<rect class="lane" x="{LEFT}" y="{down}" width="{plot.width:g}" height="{LANE}"/>'
        parts.append(f'{back}<svg x="{LEFT}" y="{down}" class="area">{plot.drawing()}</svg>')
        parts.append(_text(LEFT - 8, down + LANE - 2, plot.y.label, "end"))
        down += LANE + 5
    down += 12
    width = WIDTH - LEFT - RIGHT
    parts += [_text(LEFT + at * width, down, text, "middle") for at, text in axis.marks()]
    down += 20
    parts.append(_text(LEFT + width / 2, down, axis.label, "middle"))
    height = down + 14
    label = f"{title}. Risk, threshold, abstentions, alarm and expected accuracy over steps."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tcuq-steps" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}" '
        f'style="max-width:100%;height:auto"><style>{_style()}</style>{HATCHES}'
        f'<rect class="card" width="{WIDTH}" height="{height}" rx="10"/>{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def _legend(keys: list[tuple[str, str]], down: int) -> tuple[str, int]:
    """Return the legend, in as many lines as it needs, and where the plots may begin."""
    parts, across = [], float(LEFT)
    for kind, words in keys:
        needed = 26 + LETTER * len(words) + 16
        if across + needed > WIDTH - RIGHT and across > LEFT:
            across, down = float(LEFT), down + 20
        shape = {"line": "M0 0h20", "dots": "M10 0h0"}.get(kind.split()[0], "M0 -6h20v12h-20z")
        parts.append(f'<path class="{kind}" transform="translate({across:g} {down - 4})" d="{shape}"/>')
        parts.append(_text(across + 26, down, words, "start"))
        across += needed
    return "".join(parts), down + 16


def _style() -> str:
    """Return the colors and strokes of the report, with plain values: a file must do without variables."""
    css = text_of("report/report.css")
    rules = re.findall(r"^svg ((?:path|rect|\.)[^{]*\{[^}]*\})", css, re.M)
    own = (
        ".card { fill: var(--card); }",
        ".lane { fill: var(--line); fill-opacity: .45; }",
        ".area { overflow: visible; }",
        "text { fill: var(--muted); font: 12px system-ui, -apple-system, 'Segoe UI', Arial, sans-serif; }",
        ".title { fill: var(--ink); font-size: 16px; font-weight: 600; }",
    )
    light, dark = css.split("@media screen and (prefers-color-scheme: dark)", 1)
    styles = []
    for block in (light, dark):
        colors = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block.split("\n}", 1)[0]))
        text = "".join(f".tcuq-steps {rule}" for rule in (*rules, *own))
        for name, value in colors.items():
            text = text.replace(f"var(--{name})", value)
        styles.append(text)
    return f"{styles[0]}@media (prefers-color-scheme: dark) {{{styles[1]}}}"
