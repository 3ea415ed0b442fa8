"""Plots as SVG that no library draws: the same figures give the same bytes everywhere.

Colors change with what the reader's system prefers; a page with a theme of its own shows the light or the
dark form. The ground is drawn too. Series differ in shape as well as in color.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tcuq.report.plot import nice_ticks
from tcuq.report.text import escape

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
