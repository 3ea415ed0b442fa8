"""Which plots go with an experiment: curves and grids where its columns or rows ask for them, else rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from tcuq.report.plot import Axis
from tcuq.report.text import escape

from .about import PLOTTED, SWEPT
from .draw import STYLES, curves, drawn, ends, forest, grid, legend
from .figures import PAIRED, Figure, Found
from .paper import Paper
from .tables import OURS
from .wording import named, sense

CURVES = ("tcuq", "tcuq_paper", "base", "deep", "early_exit", "mc_dropout", "hydra", "godin")
"""Rows that curves show where an experiment has more than fit into one plot."""
POINTS = 3
"""Columns that a curve needs at least."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
SETTING = re.compile(r"(.+), ([a-z]+) (\d+(?:\.\d+)?)")
FITTED = re.compile(r"(.+), fitted at (\d+(?:\.\d+)?)")


def series(columns: Sequence[str]) -> dict[str, dict[float, str]]:
    """Return columns that differ in one number alone, by what they share.

    Examples
    --------
    >>> series(["AUPRC, severity 1", "AUPRC, severity 3", "AUPRC, severity 5", "ECE, 15 bins"])
    {'AUPRC, severity *': {1.0: 'AUPRC, severity 1', 3.0: 'AUPRC, severity 3', 5.0: 'AUPRC, severity 5'}}
    """
    found: dict[str, dict[float, str]] = {}
    for column in columns:
        numbers = list(NUMBER.finditer(column))
        if numbers:
            last = numbers[-1]
            shared = f"{column[: last.start()]}*{column[last.end() :]}"
            found.setdefault(shared, {})[float(last.group())] = column
    return {shared: dict(sorted(each.items())) for shared, each in found.items() if len(each) >= POINTS}


def figure(title: str, body: str) -> str:
    """Return a plot with its caption, or nothing where there is nothing to draw."""
    return f"<figure><figcaption>{escape(title)}</figcaption>{body}</figure>" if body else ""


def side_by_side(parts: Sequence[str]) -> str:
    """Return plots beside each other where there is room."""
    kept = [part for part in parts if part]
    return f'<div class="pair">{"".join(kept)}</div>' if kept else ""


def at_dwell(found: Found, paper: Paper, dwell: float) -> str:
    """Return the plots of an experiment at a dwell."""
    if _fitted(found):
        return ""
    swept = _swept(found)
    if swept and not series(found.columns):
        return "".join(_sweep(found, dwell, thing, rows) for thing, rows in swept.items())
    telling = [column for column in found.columns if sense(column)] or found.columns
    runs = series(telling)
    inside = {column for columns in runs.values() for column in columns.values()}
    plotted = [column for column in PLOTTED.get(found.name, telling[:1]) if column in found.columns]
    return "".join(
        [
            *(_curves(found, paper, dwell, shared, columns) for shared, columns in runs.items()),
            *(_forests(found, paper, dwell, column) for column in plotted if column not in inside),
        ]
    )


def over_dwells(found: Found) -> str:
    """Return the plots that hold all dwells of an experiment: what was fitted at one, used at another."""
    fitted = _fitted(found)
    if not fitted:
        return ""
    column = found.columns[0]
    used = [f"{each:g}" for each in found.dwells]
    parts = []
    for task in found.tasks:
        values = {
            method: {
                at: [found.get(task, dwell, row, column).value for dwell in found.dwells]
                for at, row in rows.items()
            }
            for method, rows in fitted.items()
        }
        # One scale for all methods, so that their tints can be compared.
        held = drawn(Figure(each) for rows in values.values() for row in rows.values() for each in row)
        for method, rows in values.items():
            scale = (min(held), max(held)) if held else (0.0, 0.0)
            body = grid("fitted \\ used", used, rows, scale, sense(column) >= 0)
            parts.append(figure(f"{named(task)}, {method}", body))
    return f"<p>{escape(column)}, by the dwell of the fit and the dwell of use:</p>{side_by_side(parts)}"


def _fitted(found: Found) -> dict[str, dict[str, str]]:
    """Return rows that were fitted at several dwells, by method and dwell."""
    fitted: dict[str, dict[str, str]] = {}
    for row in found.rows:
        match = FITTED.fullmatch(row)
        if match:
            fitted.setdefault(match[1], {})[match[2]] = row
    return fitted


def _defined(found: Found, row: str, columns: Iterable[str]) -> bool:
    """Return whether a row has any figure of some columns."""
    wanted = set(columns)
    return any(
        place.row == row and place.column in wanted and math.isfinite(figure_.value)
        for place, figure_ in found.figures.items()
    )


def _swept(found: Found) -> dict[str, dict[str, dict[float, str]]]:
    """Return rows in which a setting was moved to several numbers, by setting, method and number."""
    swept: dict[str, dict[str, dict[float, str]]] = {}
    for row in found.rows:
        match = SETTING.fullmatch(row)
        if match:
            swept.setdefault(match[2], {}).setdefault(match[1], {})[float(match[3])] = row
    kept = {
        thing: {method: dict(sorted(rows.items())) for method, rows in methods.items() if len(rows) >= POINTS}
        for thing, methods in swept.items()
    }
    return {thing: methods for thing, methods in kept.items() if methods}


def _sweep(found: Found, dwell: float, thing: str, methods: Mapping[str, Mapping[float, str]]) -> str:
    column = SWEPT.get(thing, found.columns[0])
    column = column if column in found.columns else found.columns[0]
    rows = {row for values in methods.values() for row in values.values()}
    held = drawn(
        Figure(each.value)
        for place, each in found.figures.items()
        if place.row in rows and place.column == column
    )
    if not held:
        return ""
    up = Axis(*ends(held), column)
    xs = sorted({x for values in methods.values() for x in values})
    parts = []
    for task in found.tasks:
        lines = {
            method: [found.get(task, dwell, values.get(x, ""), column).value for x in xs]
            for method, values in methods.items()
        }
        parts.append(
            figure(f"{named(task)}, by {thing}", curves(f"{named(task)}, {thing}", thing, up, xs, lines))
        )
    return legend(methods) + side_by_side(parts)


def _rows(found: Found) -> list[str]:
    """Return the rows that curves show."""
    plain = [row for row in found.rows if PAIRED not in row]
    known = [row for row in CURVES if row in plain]  # ours first: they have the strongest lines
    others = [row for row in plain if row not in known and (len(plain) <= STYLES or "," not in row)]
    return [*known, *others][:STYLES]


def _curves(found: Found, paper: Paper, dwell: float, shared: str, columns: Mapping[float, str]) -> str:
    rows = [row for row in _rows(found) if _defined(found, row, columns.values())]
    before, _, after = shared.partition("*")
    label, _, across = before.rpartition(" at " if ", " not in before else ", ")
    across = f"{across.strip()} {after.strip()}".strip()
    shown = [place for place in found.figures if place.row in rows and place.column in columns.values()]
    printed = {task: _printed(found.name, paper, task, shared) for task in found.tasks}
    theirs = [value for rows_ in printed.values() for values in rows_.values() for value in values.values()]
    held = drawn((Figure(found.figures[place].value) for place in shown), theirs)
    if not held:
        return ""
    up = Axis(*ends(held), label)
    parts = []
    for task in found.tasks:
        lines = {row: [found.get(task, dwell, row, each).value for each in columns.values()] for row in rows}
        parts.append(figure(named(task), curves(named(task), across, up, list(columns), lines)))
        if printed[task]:
            xs = sorted({x for values in printed[task].values() for x in values})
            lines = {row: [printed[task].get(row, {}).get(x, math.nan) for x in xs] for row in rows}
            title = f"{named(task)}, as the paper printed it"
            parts.append(figure(title, curves(title, across, up, xs, lines)))
    return legend(rows) + side_by_side(parts)


def _printed(name: str, paper: Paper, task: str, shared: str) -> dict[str, dict[float, float]]:
    """Return the paper's points of some columns that differ in a number, by row."""
    found: dict[str, dict[float, float]] = {}
    parts = [part for part in paper.of(name) if part.task == task]
    for number, column in series([part.column for part in parts]).get(shared, {}).items():
        for row, value in paper.column(name, task, column).items():
            found.setdefault(row, {})[number] = value
    return found


def _forests(found: Found, paper: Paper, dwell: float, column: str) -> str:
    plain = {place: each for place, each in found.figures.items() if PAIRED not in place.row}
    rows = {place.row for place in plain if place.column == column}
    printed = {
        task: {row: value for row, value in paper.column(found.name, task, column).items() if row in rows}
        for task in found.tasks
    }
    # One axis for all datasets and dwells, so that they can be compared.
    held = drawn(
        (each for place, each in plain.items() if place.column == column),
        (value for values in printed.values() for value in values.values()),
    )
    if not held or len(rows) < 2:
        return ""
    across = Axis(*ends(held), column)
    parts = []
    for task in found.tasks:
        figures = {
            row: found.get(task, dwell, row, column) for row in found.at(task, dwell).rows if row in rows
        }
        order = sorted(figures, key=lambda row, figures=figures: _rank(column, figures[row].value))  # type: ignore[misc]
        title = f"{named(task)}, dwell {dwell:g}: {column}"
        body = forest(title, across, {row: figures[row] for row in order}, printed[task], OURS)
        parts.append(figure(named(task), body))
    keys = [("ours", "TCUQ"), ("other", "others")] if rows & set(OURS) else []
    keys += [("span", "interval")]
    keys += [("ring", "printed in the paper")] if any(printed.values()) else []
    items = "".join(f'<li><i class="mark {kind}"></i>{words}</li>' for kind, words in keys)
    return f'<ul class="legend">{items}</ul>{side_by_side(parts)}'


def _rank(column: str, value: float) -> float:
    """Return what sorts rows from the best to the worst, undefined ones last."""
    return math.inf if math.isnan(value) else value if sense(column) < 0 else -value
