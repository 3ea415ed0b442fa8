"""Pages of the three experiments on streams: answers, alarms, expected accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median
from typing import Any

from ..harness.laws import UNTOLD
from ..harness.lines import Line
from .figures import (
    ALARM,
    ANSWER,
    CLEAN,
    CONFIDENCE,
    DEEP,
    FILTER,
    LABELS,
    NO_LABELS,
    SIMPLE,
    Field,
    Place,
    Sources,
    better,
    cell,
    group_of,
    grouped,
)
from .first import AGAINST, alarm_cell, best_alarm, remarks
from .losses import ASKED, DISTANCE, EQUAL, ERRORS, FALSE, FOUND
from .words import fill, grid, lasting, percent, place_name, plain, row_name, steps, task_name, text

ALARM_COLUMNS = {
    FOUND: "found, %",
    "delay": "delay, steps",
    "costly on": "on, harmful, %",
    "clean on": "on, clean, %",
    FALSE: "false alarms",
    "benign on": "on, benign, %",
    "collapse found": "collapse found, %",
}


def _filled(name: str, field: Field, **known: Any) -> str:
    """Return the page of an experiment, with what its result file says about itself."""
    if not field.lines:
        return fill(name, None)
    took = lasting(float(field.about.get("seconds") or 0))
    again = f"Run it again: `{field.about.get('command')}` ({took} of processor time). {_data(field)}"
    return fill(name, {"read": text("streams"), "run_again": again, "remarks": remarks(field), **known})


def _data(field: Field) -> str:
    name = field.about["name"]
    tasks = dict.fromkeys(line.task for line in field.lines)
    links = ", ".join(f"[{task_name(task)}](../../lab/results/{name}/{task}.csv)" for task in tasks)
    return f"All figures as CSV: {links}." if "tables" in field.about else ""


def group_means(field: Field, places: Sequence[Place], rows: Sequence[str], column: str) -> str:
    """Return means by method and group of streams: the best in bold, a count where a method has fewer."""
    kept = grouped(places)
    found = {row: [field.values(here, row, column) for here in kept.values()] for row in rows}
    best = []
    for number, here in enumerate(kept.values()):
        means = [fmean(of[number]) for of in found.values() if len(of[number]) == len(here)]
        best.append(min(means, key=lambda mean: mean if better(column, 0, 1) else -mean, default=math.nan))
    table = []
    for row, groups_of in found.items():
        cells = []
        for values, here, top in zip(groups_of, kept.values(), best, strict=True):
            text = percent(fmean(values)) if values else ""
            if values and len(values) < len(here):
                text += f" [{len(values)}]"
            elif values and fmean(values) == top:
                text = f"**{text}**"
            cells.append(text)
        table.append([row_name(row), *cells])
    return grid(["mean over streams", *(f"{group} ({len(here)})" for group, here in kept.items())], table)


def _ordered(rows: Iterable[str], first: Sequence[str]) -> list[str]:
    there = list(rows)
    others = (row for row in there if row not in first and row != "tcuq")
    return [*(row for row in first if row in there), *others]


def answers_page(sources: Sources) -> str:
    """Return the page of wrong answers."""
    field = sources.fields["answers"]
    places = field.places(ERRORS, ANSWER)
    shown = (ANSWER, NO_LABELS, CONFIDENCE, FILTER, DEEP)
    rows, auroc = (_ordered(field.rows(column), shown) for column in (ERRORS, "error AUROC"))
    simple = [row for row in SIMPLE if row in rows]
    table = []
    for place in places:
        rule = field.best(*place, simple, ERRORS)
        named = [field.get(*place, row, ERRORS) for row in shown]
        mixed = field.get(*place, ANSWER, ERRORS, (UNTOLD,))
        cells = [cell(line) for line in (*named[:2], mixed, *named[2:])]
        table.append([place_name(*place), *cells, cell(rule, name=True)])
    head = ["wrong, %", "tcuq", "no labels", "fitted on mixed paces", *AGAINST.values(), "best simple rule"]
    changing = [place for place in places if group_of(*place) != CLEAN]
    others = _backbones(sources)
    return _filled(
        "answers",
        field,
        errors=group_means(field, places, rows, ERRORS),
        auroc=group_means(field, changing, auroc, "error AUROC"),
        by_stream=grid(head, table),
        if_others="" if others else None,
        others=others,
    )


def _backbones(sources: Sources) -> str:
    field = sources.fields.get("backbones", Field({}, ()))
    rows = []
    for task, stream in field.places(ERRORS, CONFIDENCE):
        accuracy = field.get(task, "clean", CONFIDENCE, "accuracy")
        lines = [field.get(task, stream, row, ERRORS) for row in (ALARM, CONFIDENCE)]
        rows.append([place_name(task, stream), *map(cell, (*lines, accuracy))])
    head = ["wrong, %", "tcuq, `about='prediction'`", "confidence", "accuracy on clean data"]
    return grid(head, rows) if rows else ""


def alarms_page(sources: Sources) -> str:
    """Return the page of alarms."""
    field = sources.fields["alarms"]
    rows = _ordered(field.rows("clean on"), (ALARM, NO_LABELS))
    rows = [ALARM, *(row for row in rows if row != ALARM)]
    groups = []
    for group, here in grouped(field.places("clean on", ALARM)).items():
        groups.append(f"## {group[0].upper()}{group[1:]} ({len(here)})")
        groups.append(_alarm_group(field, here, rows, group))
    table, equal = [], []
    for place in field.places(FOUND, ALARM):
        table.append([place_name(*place), *_found(field, place, FOUND, best_alarm(field, place))])
        if field.get(*place, ALARM, FOUND + EQUAL):
            rival = field.best(*place, field.rivals(FOUND + EQUAL), FOUND + EQUAL)
            equal.append([place_name(*place), *_found(field, place, FOUND + EQUAL, rival)])
    head = ["tcuq", "delay", "no labels", "best rival", "its delay", "rival"]
    return _filled(
        "alarms",
        field,
        asked=ASKED,
        groups="\n\n".join(groups),
        by_stream=grid(["found, % at false alarms", *head], table),
        if_equal="" if equal else None,
        equal=grid(["found, %", *head], equal) if equal else "",
    )


def _found(field: Field, place: Place, column: str, rival: Line | None) -> list[str]:
    delay = "delay" + column.removeprefix(FOUND)
    out = []
    for row in (ALARM, NO_LABELS, rival.row if rival else ""):
        found, late = field.get(*place, row, column), field.get(*place, row, delay)
        out.append(alarm_cell(field, place, row) if column == FOUND else cell(found))
        if row != NO_LABELS:
            out.append(steps(late.value, found.value) if late and found else "")
    return [*out, row_name(rival.row) if rival else ""]


def _alarm_group(field: Field, places: Sequence[Place], rows: Sequence[str], group: str) -> str:
    columns = [column for column in ALARM_COLUMNS if field.on(places, ALARM, column)]
    if group in (CLEAN, LABELS):
        columns = [column for column in columns if column in ("clean on", FALSE)]
    table = []
    for row in rows:
        cells = []
        for column in columns:
            values = field.values(places, row, column)
            if not values:
                cells.append("")
            elif column == "delay":
                found = field.values(places, row, FOUND)
                cells.append(steps(median(values), fmean(found) if found else math.nan))
            else:
                cells.append(plain(fmean(values), 1) if column == FALSE else percent(fmean(values)))
        if any(cells):
            run = len(field.on(places, row, columns[0]))
            fewer = f" [{run}]" if run < len(places) else ""
            table.append([row_name(row) + fewer, *cells])
    return grid(["mean over streams", *(ALARM_COLUMNS[column] for column in columns)], table)


def accuracy_page(sources: Sources) -> str:
    """Return the page of the expected accuracy."""
    field = sources.fields["accuracy"]
    variant = f"{ANSWER}, window mean"
    rows = _ordered(field.rows(DISTANCE), (ANSWER, variant))
    places = field.places(DISTANCE, ANSWER)
    table = []
    for place in places:
        rival = field.best(*place, field.rivals(DISTANCE), DISTANCE)
        bias = field.get(*place, ANSWER, "accuracy bias")
        shown = (ANSWER, variant, "ATC", "DoC", "mean confidence")
        cells = [cell(field.get(*place, row, DISTANCE)) for row in shown]
        cells.insert(1, percent(bias.value, sign=True) if bias else "")
        table.append([place_name(*place), *cells, cell(rival, name=True)])
    head = ["tcuq", "its bias", "window mean", "ATC", "DoC", "mean confidence", "best rival"]
    kept = [row for row in rows if row != "tcuq, window mean"]
    return _filled(
        "accuracy",
        field,
        errors=group_means(field, places, kept, DISTANCE),
        by_stream=grid(["off by, points", *head], table),
    )
