"""docs/results.html: all figures with intervals, to be chosen by experiment, task, stream and figure.

One file without outside resources. Figures are whole numbers in flat lists, so that the page stays small.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from tcuq.report.page import policy
from tcuq.report.text import escape

from ..reproduce.field.plan import SMALL, UNTOLD, fit_shown
from .about import PARAGRAPHS
from .content import Content
from .field import EQUAL, PAGED, TYPE, Field, direction, is_pair
from .field_tables import headed
from .figures import PAIRED, Found
from .headline import SHOWN
from .wording import NAMES, sense

MOST_BYTES = 390_000
LEFT_OUT = (
    ("other fits", "fits of the same or another pace outside of answers"),
    ("other pairs", "differences outside of answers"),
    ("types", "streams of one corruption type"),
    ("pairs", "differences"),
    ("fits", "fits of the same or another pace"),
    ("equal", "alarms at equal false-alarm rates"),
    ("small", "tasks of 2 and of 100 classes"),
)
"""What is left to the other pages, in this order, until the page is small enough."""
NEVER = 10**15
"""Stands for infinity."""
FIRST = "try {\n  document.documentElement.className = 'js';\n} catch (error) {}"


class Entry(NamedTuple):
    """A figure of the viewer; `stream` is a law, a stream or a dwell in words."""

    task: str
    stream: str
    column: str
    row: str
    fit: str
    value: float
    low: float
    high: float


def viewer(content: Content) -> str:
    """Return the page; where it would be too large, some figures are left to the other pages.

    Parameters
    ----------
    content : Content
    """
    for level in range(len(LEFT_OUT) + 1):
        page = _page(content, level)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _page(content: Content, level: int) -> str:
    gone = [each[0] for each in LEFT_OUT[:level]]
    experiments = [
        packed(name, PAGED[name], each.about["command"], list(_of_field(each, gone)), direction)
        for name, each in content.fields.items()
    ]
    experiments += [
        packed(name, each.title, each.command, list(_of_found(each, gone)), sense)
        for name, each in content.found.items()
    ]
    columns = {
        column for each in content.fields.values() for task in each.tasks for column in each.columns(task)
    }
    plain = {column: headed(column) for column in sorted(columns) if headed(column) != column}
    data = {"names": {**NAMES, **SHOWN, **plain}, "never": NEVER, "experiments": experiments}
    # "<" could end the element that holds the data.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    words = f" Only in docs/results: {', '.join(each[1] for each in LEFT_OUT[:level])}." if level else ""
    style, code = f"\n{_asset('viewer.css')}", f'(function () {{\n"use strict";\n{_asset("viewer.js")}}})();'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, (FIRST, code))}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>tcuq: results</title><style>{style}</style><script>{FIRST}</script></head><body>"
        "<header><h1>Results</h1>"
        "<p>Every figure with its 95 % interval, which speaks of other stretches of these networks, not of "
        "other networks. Tables, verdicts and what the streams are: <code>docs/RESULTS.md</code>."
        f"</p></header><main>{_controls()}"
        '<p id="question"></p><h2 id="title" aria-live="polite"></h2>'
        '<table aria-labelledby="title"><thead><tr><th scope="col">method</th>'
        '<th scope="col"><span id="axis"></span></th><th scope="col" class="number">figure</th>'
        '<th scope="col" class="number">95 % interval</th></tr></thead><tbody id="rows"></tbody></table>'
        '<p class="note" id="note"></p><p class="note">Run it again: <code id="command"></code></p>'
        "<noscript><p>This page needs a script to choose figures. All of them are in "
        "<code>docs/results/</code>.</p></noscript></main>"
        f"<footer><p>Made by <code>tcuq-lab results --write</code> from <code>lab/results</code>. "
        f"{escape(sum(len(each['data']) for each in experiments))} tables.{escape(words)}</p></footer>"
        f'<script type="application/json" id="data">{text}</script><script>{code}</script></body></html>\n'
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _controls() -> str:
    choices = (("experiment", "Experiment"), ("task", "Task"), ("stream", "Stream"), ("column", "Figure"))
    parts = [f'<label>{words}<select id="{name}"></select></label>' for name, words in choices]
    parts.append(
        '<label>Order<select id="order"><option>best first</option><option>as listed</option></select>'
        "</label>"
    )
    parts.append(
        '<label class="check"><input type="checkbox" id="fits"> also fitted on the pace of '
        "the stream (same pace) and on another (other pace)</label>"
        '<label class="check"><input type="checkbox" id="pairs"> differences of two methods</label>'
    )
    return f'<form id="choice" aria-label="What to show">{"".join(parts)}</form>'


def _of_field(field: Field, gone: list[str]) -> Iterable[Entry]:
    for line in field.found.lines:
        # Differences of other fits are never there: the page would be twice as large.
        if math.isnan(line.value) or (is_pair(line.row) and line.fit not in (UNTOLD, "")):
            continue
        told = field.fit_of(line.task, line.row, line.column, fit_shown(line.stream)) != line.fit
        about = {
            "other fits": told and field.name != "answers",
            "other pairs": is_pair(line.row) and field.name != "answers",
            "types": line.stream.startswith(TYPE),
            "pairs": is_pair(line.row),
            "fits": told,
            "equal": line.column.endswith(EQUAL),
            "small": line.task in SMALL,
        }
        if not any(about[each] for each in gone):
            yield Entry(
                line.task, line.stream, line.column, line.row, line.fit, line.value, line.low, line.high
            )


def _of_found(found: Found, gone: list[str]) -> Iterable[Entry]:
    for place, figure in found.figures.items():
        if not math.isnan(figure.value) and not (PAIRED in place.row and "other pairs" in gone):
            stream = f"dwell {place.dwell:g}"
            yield Entry(
                place.task, stream, place.column, place.row, "", figure.value, figure.low, figure.high
            )


def packed(
    name: str, title: str, command: str, entries: list[Entry], tells: Any = direction
) -> dict[str, Any]:
    """Return an experiment as the script reads it: lists of names, and a flat list of numbers a table.

    A figure is four numbers: row and fit, the value, and how far the interval reaches below and above it.

    Examples
    --------
    >>> one = Entry("mnist", "class 1", "errors", "base", "", 0.25, 0.24, 0.265)
    >>> packed("answers", "", "", [one])["data"]
    [[0, 0, 0, [0, 250, 10, 15]]]
    """
    names: dict[str, list[str]] = {
        field: list(dict.fromkeys(getattr(each, field) for each in entries))
        for field in ("task", "stream", "column", "row", "fit")
    }
    at: Mapping[str, Mapping[str, int]] = {
        field: {each: number for number, each in enumerate(listed)} for field, listed in names.items()
    }
    scale = {column: _scale(entries, column) for column in names["column"]}
    tables: dict[tuple[int, int, int], list[int | None]] = {}
    for each in entries:
        key = (at["task"][each.task], at["stream"][each.stream], at["column"][each.column])
        code = at["row"][each.row] * len(names["fit"]) + at["fit"][each.fit]
        by = scale[each.column]
        value = _whole(each.value, by)
        # An interval of one point is none: there was nothing to draw again.
        ends = [None, None] if each.low == each.high else [_whole(each.low, by), _whole(each.high, by)]
        spans = [
            None if end is None or value is None or abs(value) == NEVER else abs(end - value) for end in ends
        ]
        tables.setdefault(key, []).extend([code, value, *spans])
    return {
        "name": name,
        "title": title,
        "question": PARAGRAPHS.get(name, ""),
        "command": command,
        **{f"{field}s": listed for field, listed in names.items()},
        "scale": [scale[column] for column in names["column"]],
        "better": [tells(column) for column in names["column"]],
        "data": [[*key, numbers] for key, numbers in tables.items()],
    }


def _scale(entries: list[Entry], column: str) -> int:
    largest = max(
        (abs(each.value) for each in entries if each.column == column and math.isfinite(each.value)),
        default=0,
    )
    return 1000 if largest <= 20 else 10


def _whole(value: float, by: int) -> int | None:
    if math.isnan(value):
        return None
    return int(math.copysign(NEVER, value)) if math.isinf(value) else round(value * by)
