"""A small plot: the marks as an SVG that stretches, the words around it as HTML that does not.

An SVG with a viewBox shrinks its text with its width; on a telephone nobody could read it. So the
drawing is stretched to whatever room there is, with strokes of constant width, and ticks and labels
are placed in percent around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .data import Cells
from .text import escape, short

SIZE = 1000


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers in a range, about as many as asked.

    >>> nice_ticks(0, 1, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    ticks = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    return [float(f"{t:.10g}") for t in ticks]


def axis_top(value: float) -> float:
    """Return a round number in (0, 1] that is not below a share.

    >>> axis_top(0.43), axis_top(0.02), axis_top(1.0)
    (0.5, 0.02, 1.0)
    """
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

    def bars(self, edges: list[tuple[float, float]], heights: npt.ArrayLike, name: str) -> None:
        """Fill boxes that stand on the low end."""
        for edge, height in zip(edges, np.asarray(heights, dtype=float).tolist(), strict=True):
            self.boxes([edge], self.y.low, height, name)

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
    """Return first and one past last of each stretch of hits.

    >>> runs(np.array([0, 1, 1, 0, 1]))
    [(1.0, 3.0), (4.0, 5.0)]
    """
    padded = np.concatenate([[False], hits.astype(bool), [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1]).astype(float).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
