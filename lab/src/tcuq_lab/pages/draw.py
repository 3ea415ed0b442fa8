"""Plots as HTML and inline SVG: rows with intervals, curves, and tinted grids.

Color never stands alone: rows of TCUQ are squares and others dots, curves differ in dashes and marks, tinted
cells hold their number. No library draws, so that the bytes are the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tcuq.report.plot import Axis, Plot, nice_ticks
from tcuq.report.text import escape

from .figures import Figure
from .wording import shown

STYLES = 8
"""Styles of curves that the style sheet has."""
NEAR_ZERO = 0.35
"""An axis whose lowest value is below this share of its highest begins at 0."""


def ends(values: Sequence[float]) -> tuple[float, float]:
    """Return round ends of an axis that holds some values.

    Examples
    --------
    >>> ends([0.52, 0.97]), ends([0.02, 0.43]), ends([3.0, 71.0]), ends([-0.03, 0.02])
    ((0.5, 1.0), (0.0, 0.5), (0.0, 80.0), (-0.03, 0.02))
    """
    low, high = min(values), max(values)
    if 0 <= low < NEAR_ZERO * high:
        low = 0.0
    ticks = nice_ticks(low, high, 6) if high > low else []
    step = ticks[1] - ticks[0] if len(ticks) > 1 else max(abs(high), 0.1)
    bottom, top = step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)
    return float(f"{bottom:.10g}"), float(f"{top if top > bottom else bottom + step:.10g}")


def drawn(rows: Iterable[Figure], printed: Iterable[float] = ()) -> list[float]:
    """Return all values that a plot of figures has to hold."""
    values = [value for figure in rows for value in (figure.value, figure.low, figure.high)]
    return [value for value in [*values, *printed] if math.isfinite(value)]


def forest(
    title: str,
    across: Axis,
    rows: Mapping[str, Figure],
    printed: Mapping[str, float],
    ours: Iterable[str],
) -> str:
    """Return rows with their intervals, best at the top, the paper's figures as rings.

    Parameters
    ----------
    title : str
    across : Axis
    rows : mapping of str to Figure
        In order from the top.
    printed : mapping of str to float
    ours : iterable of str
        Rows drawn as squares, with what follows a comma in their names or without.
    """
    if not drawn(rows.values()):
        return ""
    names = []
    for number, (row, figure) in enumerate(rows.items()):
        at = len(rows) - number - 0.5
        names.append((at, row if math.isfinite(figure.value) else f"{row}: {_absent(figure.value)}"))
    plot = Plot(
        title,
        ", ".join(f"{row} {shown(figure.value)}" for row, figure in rows.items()),
        across,
        Axis(0, len(rows), ticks=tuple(names)),
        "forest",
    )
    mine = set(ours)
    for (row, figure), (at, _) in zip(rows.items(), names, strict=True):
        name = "ours" if row.partition(",")[0] in mine else "other"
        if row in printed:
            plot.dots([printed[row]], [at], "ring")
            plot.dots([printed[row]], [at], "hole")
        if math.isfinite(figure.value):
            if math.isfinite(figure.low) and math.isfinite(figure.high):
                plot.line([figure.low, figure.high], [at, at], name)
            plot.dots([figure.value], [at], name)
    longest = max(len(name) for _, name in names)
    return f'<div style="--rows:{len(rows)};--letters:{longest}">{plot.html()}</div>'


def _absent(value: float) -> str:
    return "never" if math.isinf(value) else "no figure"


def curves(
    title: str, across: str, up: Axis, xs: Sequence[float], lines: Mapping[str, Sequence[float]]
) -> str:
    """Return a line a row through those of its points that are defined.

    Parameters
    ----------
    title, across : str
        Of the plot and of the axis below it.
    up : Axis
    xs : sequence of float
    lines : mapping of str to sequence of float
        Up to `STYLES` of them; a legend with the same order goes with it.
    """
    if not any(math.isfinite(value) for values in lines.values() for value in values):
        return ""
    described = "; ".join(f"{row} {', '.join(map(shown, values))}" for row, values in lines.items())
    ticks = tuple((x, f"{x:g}") for x in xs) if len(xs) <= STYLES else ()
    plot = Plot(title, described, Axis(min(xs), max(xs), across, ticks=ticks), up, "curves")
    for number, values in reversed(list(enumerate(lines.values()))):
        kept = [(x, value) for x, value in zip(xs, values, strict=True) if math.isfinite(value)]
        if kept:
            at, height = zip(*kept, strict=True)
            plot.line(at, height, f"s{number}")
            if len(xs) <= 2 * STYLES:
                plot.dots(at, height, f"s{number}")
    return plot.html()


def legend(rows: Iterable[str]) -> str:
    """Return the styles of curves with the names of their rows."""
    parts = (
        f'<li><svg class="key" viewBox="0 0 36 12" aria-hidden="true">'
        f'<path class="line s{number}" d="M0 6H36"/>'
        f'<path class="dots s{number}" d="M18 6h0"/></svg>{escape(row)}</li>'
        for number, row in enumerate(rows)
    )
    return f'<ul class="legend">{"".join(parts)}</ul>'


def grid(
    corner: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[float]],
    scale: tuple[float, float],
    higher: bool = True,
) -> str:
    """Return a table whose cells are the darker the better they are, from one end of a scale to the other.

    Examples
    --------
    >>> grid("fitted", ["4"], {"4": [0.5]}, (0.0, 1.0)).count("--tint:50%")
    1
    """
    low, high = scale
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = []
    for row, values in rows.items():
        cells = []
        for value in values:
            share = (value - low) / (high - low) if math.isfinite(value) and high > low else 0.0
            tint = round(100 * (share if higher else 1 - share))
            cells.append(f'<td style="--tint:{tint if math.isfinite(value) else 0}%">{shown(value)}</td>')
        body.append(f'<tr><th scope="row">{escape(row)}</th>{"".join(cells)}</tr>')
    return (
        '<div class="scroll"><table class="grid"><thead><tr>'
        f'<th scope="col">{escape(corner)}</th>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )
