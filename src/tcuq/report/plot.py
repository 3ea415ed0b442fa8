"""A small plot, and the figures that need no script.

The marks are an SVG that stretches, the words around it HTML that does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import metrics
from .data import ASK, FALL, FLAGGED, RISE, SHIFTED, Cells, flag_bits, kind_changes, per_cell
from .summary import FlagRate
from .text import count, decimal, escape, percent, short

SIZE = 1000


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
    """Collects marks; `html` gives the figure, and stretches the drawing of this width and height."""

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
SIGNAL_CELLS = 250
CURVE_POINTS = 240
SHADES = 5
"""Shares of a cell that a thin row tells apart."""

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


def risk_top(decisions: npt.NDArray[Any]) -> float:
    """Return the upper end of the risk axis: all of the risk, and the threshold up to 1."""
    threshold = float(np.clip(decisions["threshold"], 0, 1).max())
    return axis_top(max(1.02 * float(decisions["risk"].max()), threshold, 0.1))


def risk_plot(
    decisions: npt.NDArray[Any], log: Any, top: float, axis: Axis, width: float = SIZE, height: float = SIZE
) -> Plot:
    """Return risk, threshold, asks and alarm over time; the drawing has this width and height."""
    steps = len(decisions)
    per = per_cell(steps, TIMELINE_CELLS)
    risk, threshold = Cells.of(decisions["risk"], per), Cells.of(decisions["threshold"], per)
    bits = flag_bits(decisions, log)
    plot = Plot(
        "Risk and threshold over time",
        "Range and mean of the risk, the threshold, and shaded stretches where the alarm was raised.",
        axis,
        Axis(0, top, "risk"),
        "tall",
        width=width,
        height=height,
    )
    plot.boxes(runs(bits & SHIFTED), 0, top, "shift tint")
    plot.boxes(runs(bits & SHIFTED), 0.985 * top, top, "shift rim")
    plot.boxes(runs(bits & RISE), 0, top, "in-rise")
    plot.boxes(runs(bits & FALL), 0, top, "in-fall")
    plot.cells(risk, "risk")
    plot.line(risk.middle, threshold.mean, "threshold")
    if steps <= TIMELINE_CELLS:
        at = np.flatnonzero(bits & ASK)
        if len(at):
            plot.dots(at + 0.5, decisions["risk"][at], "abstain")
    if log is not None:
        borders = [piece.start for piece in log.pieces()[1:]]
        if len(borders) <= TIMELINE_CELLS // 4:
            for border in borders:
                plot.line([border, border], [0, top], "border")
    return plot


def timeline(
    decisions: npt.NDArray[Any], log: Any, wrong: npt.NDArray[np.bool_] | None, top: float, first: int
) -> str:
    """Return the timeline as it is shown where scripts do not run, and in print."""
    steps = len(decisions)
    risk = risk_plot(decisions, log, top, steps_axis(steps, first, ""))
    bare = Axis(0, steps, ticks=((-steps, ""),))
    lanes = lane_plots(flag_bits(decisions, log), wrong, bare, kind_changes(log))
    lanes[-1].x, lanes[-1].kind = steps_axis(steps, first), "lane last"
    return "".join(plot.html() for plot in (risk, *lanes))


def lane_plots(
    bits: npt.NDArray[np.uint8],
    wrong: Any,
    axis: Axis,
    changes: list[int] | None,
    width: float = SIZE,
    height: float = SIZE,
) -> list[Plot]:
    """Return thin rows that show where steps were flagged, asks, wrong, on hold, or shifted."""
    steps = len(bits)
    per = per_cell(steps, TIMELINE_CELLS)
    full, upper, lower = (0.0, 1.0), (0.5, 1.0), (0.0, 0.5)
    rows: list[tuple[str, list[tuple[str, tuple[float, float], Any]]]] = [
        ("flagged", [("flagged", full, bits & FLAGGED)]),
        ("ask", [("abstain", full, bits & ASK)]),
    ]
    if wrong is not None:
        rows.append(("wrong", [("wrong", full, wrong)]))
    # A hatch cannot be told in a thin lane; there a rise is the upper half and a fall the lower one.
    rows.append(("hold", [("rise", upper, bits & RISE), ("fall", lower, bits & FALL)]))
    if changes is not None:
        rows.append(("shift", [("shift", full, bits & SHIFTED)]))
    lanes = []
    for label, kinds in rows:
        plot = Plot(
            f"Steps: {label}",
            f"Where steps are: {label}.",
            axis,
            Axis(0, 1, label, ticks=((-1, ""),)),
            "lane",
            False,
            width,
            height,
        )
        for name, (low, high), hits in kinds:
            # Stretches of whole cells keep the drawing small, whatever the number of steps.
            cells = Cells.of(np.asarray(hits != 0), per)
            # Where steps do not stay what they are, the share of a cell says more than any hit in it.
            shares = np.ceil(cells.mean * SHADES) if (low, high) == full else cells.high * SHADES
            for shade in range(1, SHADES + 1):
                edges = [(a * per, min(steps, b * per)) for a, b in runs(shares == shade)]
                plot.boxes(edges, low, high, name, shade / SHADES)
        lanes.append(plot)
    if changes is not None and len(changes) <= TIMELINE_CELLS // 4:
        for step in changes:
            lanes[-1].line([step, step], [0, 1], "border")
    return lanes


def signal(values: npt.NDArray[np.float64], name: str, last: bool, first: int) -> str:
    """Return one signal over time."""
    steps = len(values)
    cells = Cells.of(values, per_cell(steps, SIGNAL_CELLS))
    axis = steps_axis(steps, first) if last else Axis(0, steps, ticks=((-steps, ""),))
    plot = Plot(f"Signal {name} over time", f"Range and mean of {name}.", axis, Axis(0, 1))
    plot.y = Axis(0, 1, ticks=((0.0, "0"), (1.0, "1")))
    plot.kind = "row last" if last else "row"
    plot.cells(cells, "risk")
    return plot.html()


def running_rate(flags: FlagRate) -> str:
    """Return the running flag rate against its level and envelope."""
    steps = len(flags.running)
    times = np.unique(np.rint(np.geomspace(1, steps, CURVE_POINTS)).astype(np.int64))
    # Min and max between the points drawn: no excursion can hide.
    low = np.minimum.reduceat(flags.running, times - 1)
    high = np.maximum.reduceat(flags.running, times - 1)
    settled = flags.running[min(steps, 30) - 1 :]
    top = axis_top(max(2.5 * (flags.level or 0), 1.1 * float(settled.max()), 0.05))
    description = f"After {count(steps)} steps {percent(float(flags.running[-1]))} were flagged."
    plot = Plot(
        "Running flag rate",
        description,
        Axis(1, max(steps, 2), "steps so far (logarithmic)", log=True),
        Axis(0, top, "share flagged"),
        "medium",
    )
    if flags.level is not None and flags.bounds is not None:
        under = np.maximum(0, flags.level + flags.reach[0] / times)
        over = np.minimum(1, flags.level + flags.reach[1] / times)
        plot.band(times, under, over, "envelope")
        plot.line(times, over, "bound")
        plot.line(times, under, "bound")
        plot.line([1, max(steps, 2)], [flags.level] * 2, "level")
    plot.band(times, low, high, "risk")
    plot.line(times, flags.running[times - 1], "risk")
    return plot.html()


def coverage_curves(
    own: metrics.RiskCoverage, plain: metrics.RiskCoverage, acted: float, wrong: tuple[float, float]
) -> str:
    """Return both risk-coverage curves, and what monitor and confidence got wrong at the share acted on."""
    start = len(own.error) // 50
    highest = max(float(own.error[start:].max()), float(plain.error[start:].max()), *wrong, 0.02)
    top = axis_top(min(1.0, 1.08 * highest))
    quarters = tuple((k / 4, f"{25 * k} %") for k in range(5))
    rates = tuple((t, percent(t, 0 if top >= 0.05 else 1)) for t in nice_ticks(0, top, 5))
    areas = [decimal(float(curve.error.mean()), 4) for curve in (own, plain)]
    plot = Plot(
        "Wrong answers among the steps acted on, against the share acted on",
        f"Area {areas[0]} for the risk and {areas[1]} for plain confidence.",
        Axis(0, 1, "share of steps acted on", ticks=quarters),
        Axis(0, top, "wrong of those", ticks=rates),
        "medium",
    )
    for curve, name in ((plain, "plain"), (own, "risk")):
        shown = np.unique(np.rint(np.linspace(0, len(curve.error) - 1, CURVE_POINTS)).astype(np.int64))
        plot.line(curve.coverage[shown], curve.error[shown], name)
    for rate, name in zip(wrong, ("spot", "plain"), strict=True):
        plot.dots([acted], [rate], name)
    return plot.html()
