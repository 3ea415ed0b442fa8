"""Pages of the three experiments on streams: answers, alarms, expected accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from ..harness.laws import UNTOLD
from ..harness.lines import Line
from .figures import (
    ALARM,
    ANSWER,
    CLEAN,
    CONFIDENCE,
    DEEP,
    FILTER,
    GROUPS,
    LABELS,
    NO_LABELS,
    SIMPLE,
    Field,
    Sources,
    better,
    cell,
    group_of,
)
from .first import AGAINST, NOT_RUN, Place, alarm_cell, best_alarm, remarks
from .losses import ASKED, DISTANCE, EQUAL, ERRORS, FALSE, FOUND
from .words import MADE, grid, lasting, page, percent, place_name, plain, row_name, steps, task_name

BACK = "[All results](../RESULTS.md)."
READ = "\n".join(
    [
        "How to read the names of streams:",
        "",
        "- *class stays N steps*: every step shows another example; a class stays N steps on average. "
        "*Shuffled*: N is 1.",
        "- *held object*: one picture is held for 16 steps on average and shaken at every step. *Continuous "
        "sound*: windows of one second slide over words, 0.2 s apart.",
        "- *heavy-tailed stays*: most runs of a class are short, a few very long. *Changing pace*: the mean "
        "stay changes between 2, 8 and 32 steps, every 250 steps.",
        "- *mixed*: runs of 12 steps on average, of held objects or new examples; shifts last 600 to 1,100 "
        "steps, half of them with a slow onset. *Long runs*: of 80 steps. *Fast*: another class at each "
        "step. *Short shifts*: of 30 to 100 steps.",
        "- *mixed, label shift*: clean; two classes have 70 % of the runs and a third of the others is "
        "missing, redrawn every 1,000 steps. *Mostly clean*: shifts of 20 to 50 steps, 3 to 5 % of the time. "
        "*Day and night*: one corruption that rises and recedes.",
        "- *as recorded*: real recordings in their own order, traffic signs track after track, a wrist "
        "sensor trial after trial, with shifts laid over them.",
        "- Half of the steps of the other streams are clean, half in segments with one corruption type at "
        "one severity.",
        "",
        "All methods are fitted on a recording of the same kind of stream where nothing else is said; "
        "*fitted on mixed paces* means a recording that mixes stays of 1, 4, 16 and 64 steps. Intervals of "
        "95 % are in the CSV files.",
    ]
)
ALARM_COLUMNS = {
    FOUND: "found, %",
    "delay": "delay, steps",
    "costly on": "on, harmful, %",
    "clean on": "on, clean, %",
    FALSE: "false alarms",
    "benign on": "on, benign, %",
    "collapse found": "collapse found, %",
}


def _head(field: Field, title: str, about: str) -> list[str]:
    parts = [f"# {title}", MADE, f"{about} {BACK}"]
    if field.about:
        took = lasting(float(field.about.get("seconds") or 0))
        parts.append(f"Run it again: `{field.about['command']}` ({took} of processor time). {_data(field)}")
        parts.append(remarks(field))
    else:
        parts.append(NOT_RUN)
    return parts


def _data(field: Field) -> str:
    name = field.about["name"]
    tasks = dict.fromkeys(line.task for line in field.lines)
    links = ", ".join(f"[{task_name(task)}](../../lab/results/{name}/{task}.csv)" for task in tasks)
    return f"All figures as CSV: {links}." if "tables" in field.about else ""


def group_means(field: Field, places: Sequence[Place], rows: Sequence[str], column: str) -> str:
    """Return means by method and group of streams: the best in bold, a count where a method has fewer."""
    groups = {group: [place for place in places if group_of(*place) == group] for group in GROUPS}
    kept = {group: here for group, here in groups.items() if here}
    found: dict[str, list[list[float]]] = {}
    for row in rows:
        found[row] = [field.values(here, row, column) for here in kept.values()]
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
    return [row for row in first if row in there] + [
        row for row in there if row not in first and row != "tcuq"
    ]


def answers_page(sources: Sources) -> str:
    """Return the page of wrong answers."""
    field = sources.fields["answers"]
    parts = _head(
        field,
        "Wrong answers that are left",
        "Which answers are wrong, and how many errors are left when a method may leave out the 10 % of steps "
        "that it trusts least?",
    )
    places = field.places(ERRORS, ANSWER)
    if not places:
        return page(parts)
    rows = _ordered(field.rows(ERRORS), (ANSWER, NO_LABELS, CONFIDENCE, FILTER, DEEP))
    simple = [row for row in SIMPLE if row in rows]
    table = []
    for place in places:
        rule = field.best(*place, simple, ERRORS)
        named = [field.get(*place, row, ERRORS) for row in (ANSWER, NO_LABELS, CONFIDENCE, FILTER, DEEP)]
        mixed = field.get(*place, ANSWER, ERRORS, (UNTOLD,))
        cells = [cell(line) for line in (*named[:2], mixed, *named[2:])]
        table.append([place_name(*place), *cells, cell(rule, name=True)])
    head = ["wrong, %", "tcuq", "no labels", "fitted on mixed paces", *AGAINST.values(), "best simple rule"]
    auroc = _ordered(field.rows("error AUROC"), (ANSWER, NO_LABELS, CONFIDENCE, FILTER, DEEP))
    return page(
        [
            *parts,
            "## By method",
            "Wrong answers among the 90 % of steps that a method trusts most, in percent. The ensemble, MC "
            "dropout and ODIN take several passes per step. [N]: a method that was run on N of these streams "
            "only.",
            group_means(field, places, rows, ERRORS),
            "AUROC of a method's own errors, in percent: how well its score ranks them above its right "
            "answers. A method that answers better has fewer and harder errors to rank.",
            group_means(
                field, [place for place in places if group_of(*place) != CLEAN], auroc, "error AUROC"
            ),
            "## By stream",
            "The best simple rule is picked in hindsight on that very stream, which favors it.",
            grid(head, table),
            *_backbones(sources),
            READ,
        ]
    )


def _backbones(sources: Sources) -> list[str]:
    field = sources.fields.get("backbones", Field({}, ()))
    rows = []
    for task, stream in field.places(ERRORS, CONFIDENCE):
        accuracy = field.get(task, "clean", CONFIDENCE, "accuracy")
        lines = [field.get(task, stream, row, ERRORS) for row in (ALARM, CONFIDENCE)]
        cells = [cell(line) for line in (*lines, accuracy)]
        rows.append([place_name(task, stream), *cells])
    if not rows:
        return []
    return [
        "## Other networks",
        "One network each, fitted on mixed paces; no other rival was run here.",
        grid(["wrong, %", "tcuq, `about='prediction'`", "confidence", "accuracy on clean data"], rows),
    ]


def alarms_page(sources: Sources) -> str:
    """Return the page of alarms."""
    field = sources.fields["alarms"]
    parts = _head(
        field,
        "Alarms",
        "How many harmful shifts does an alarm find, how soon, and how often does it come for nothing?",
    )
    if not field.lines:
        return page(parts)
    rows = _ordered(field.rows("clean on"), (ALARM, NO_LABELS))
    rows = [ALARM, *(row for row in rows if row != ALARM)]
    parts += [
        "*Harmful*: a shift that costs 10 points of accuracy or more. *Found*: the alarm comes on during it, "
        "having been off. *Delay*: median steps until then, misses counting as infinite. *On*: share of the "
        "time under alarm, in harmful shifts, on clean steps, in benign corruptions that cost less than 10 "
        "points. *False alarms*: per 10,000 clean steps, with a grace of 50 steps after a shift, at most one "
        f"in 150 steps; {ASKED:g} were asked for, limits come from development data alone. *Collapse found*: "
        "faults after which the network answers one class. `X, deep` watches an ensemble of five, at five "
        "passes per step. [N]: a method that was run on N of these streams only; its means are over those.",
    ]
    for group in GROUPS:
        here = [place for place in field.places("clean on", ALARM) if group_of(*place) == group]
        if here:
            parts += [
                f"## {group[0].upper()}{group[1:]} ({len(here)})",
                _alarm_group(field, here, rows, group),
            ]
    table, equal = [], []
    for place in field.places(FOUND, ALARM):
        table.append([place_name(*place), *_found(field, place, FOUND, best_alarm(field, place))])
        if field.get(*place, ALARM, FOUND + EQUAL):
            rival = field.best(*place, field.rivals(FOUND + EQUAL), FOUND + EQUAL)
            equal.append([place_name(*place), *_found(field, place, FOUND + EQUAL, rival)])
    head = ["found, %", "tcuq", "delay", "no labels", "best rival", "its delay", "rival"]
    parts += [
        "## By stream",
        "The best rival takes one pass and is picked in hindsight, among those whose false alarms come at "
        "most half as often again as asked for, or at most as often as ours, where there is one.",
        grid(["found, % at false alarms", *head[1:]], table),
    ]
    if equal:
        parts += [
            "## By stream, at equal rates of false alarms",
            "Limits are set afterwards so that false alarms come once in 2,000 clean steps of that very "
            "stream; fitted on mixed paces, on mixed streams on a recording of the same kind.",
            grid(head, equal),
        ]
    return page([*parts, READ])


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
    parts = _head(
        field,
        "Expected accuracy",
        "How far is the accuracy that is estimated without labels from the true one?",
    )
    places = field.places(DISTANCE, ANSWER)
    if not places:
        return page(parts)
    variant = f"{ANSWER}, window mean"
    rows = _ordered(field.rows(DISTANCE), (ANSWER, variant))
    table = []
    for place in places:
        rival = field.best(*place, field.rivals(DISTANCE), DISTANCE)
        bias = field.get(*place, ANSWER, "accuracy bias")
        lines = [
            field.get(*place, row, DISTANCE) for row in (ANSWER, variant, "ATC", "DoC", "mean confidence")
        ]
        cells = [cell(line) for line in lines]
        cells.insert(1, percent(bias.value, sign=True) if bias else "")
        table.append([place_name(*place), *cells, cell(rival, name=True)])
    head = [
        "off by, points",
        "tcuq",
        "its bias",
        "window mean",
        "ATC",
        "DoC",
        "mean confidence",
        "best rival",
    ]
    return page(
        [
            *parts,
            "Mean distance between the expected accuracy and the true one over the last 200 steps, in "
            "points. tcuq expects the accuracy of its own answers, rivals that of the network's predictions. "
            "It looks back about 32 steps, which makes it quick and rough; *window mean* is the same "
            "estimate averaged over the 200 steps it is judged by. `X, clean dev only` was fitted without "
            "shifted steps.",
            "## By method",
            group_means(field, places, [row for row in rows if row != "tcuq, window mean"], DISTANCE),
            "## By stream",
            "The best rival is picked in hindsight on that very stream, which favors it.",
            grid(head, table),
            READ,
        ]
    )
