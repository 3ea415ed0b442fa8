"""From the records of comparisons to a table: means over kinds and seeds, a row a method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..lab.compare.results import TOGETHER, Results, pick
from .experiment import Column, Experiment


def table(experiment: Experiment, found: Mapping[str, Results]) -> list[dict[str, Any]]:
    """Return the figures of an experiment, one for each task, dwell, row and column.

    Parameters
    ----------
    experiment : Experiment
    found : mapping of str to Results
        What `run` returns.

    Returns
    -------
    list of dict
        With `value`, the mean over seeds of the mean over streams; `seeds`, those means; `n`, the streams of
        all seeds on which it is defined. Records over all streams together (delays) are taken as they are;
        an infinite delay stays so.
    """
    lines = []
    for task in experiment.tasks:
        for dwell in experiment.dwells:
            chosen = [each for each in found.values() if _is(each, task, dwell)]
            for row in experiment.rows:
                for column in experiment.columns:
                    found_here = [_value(each, row.label, column) for each in chosen]
                    seeds, n = [value for value, _ in found_here], sum(count for _, count in found_here)
                    line = {"task": task, "dwell": dwell, "row": row.label, "column": column.title}
                    lines.append({**line, "value": _mean(seeds), "seeds": seeds, "n": n})
    return lines


def _is(each: Results, task: str, dwell: float) -> bool:
    return bool(each.about["task"] == task and each.about["dwell"] == dwell)


def _value(results: Results, label: str, column: Column) -> tuple[float, int]:
    rows = pick(results.records, method=label, metric=column.metric, variant=column.variant)
    whole = [row for row in rows if row["stream"] in TOGETHER]
    if whole:
        return whole[0]["value"], whole[0]["n"]
    values = [row["value"] for row in rows if not math.isnan(row["value"])]
    return _mean(values), len(values)


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def text(lines: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown, a table for each task and dwell.

    A figure that is defined on fewer streams than others of its column says on how many.

    Examples
    --------
    >>> one = {"task": "mnist", "dwell": 16.0, "row": "base", "column": "drop", "value": 0.5, "n": 3}
    >>> print(text([one]))
    mnist, dwell 16
    <BLANKLINE>
    | | drop |
    | --- | ---: |
    | base | 0.5000 |
    <BLANKLINE>
    """
    out = []
    for task, dwell in dict.fromkeys((line["task"], line["dwell"]) for line in lines):
        here = [line for line in lines if (line["task"], line["dwell"]) == (task, dwell)]
        columns = list(dict.fromkeys(line["column"] for line in here))
        out += [f"{task}, dwell {dwell:g}", "", "| | " + " | ".join(columns) + " |"]
        out.append("| --- |" + " ---: |" * len(columns))
        most = {column: max(line["n"] for line in here if line["column"] == column) for column in columns}
        for row in dict.fromkeys(line["row"] for line in here):
            shown = {line["column"]: line for line in here if line["row"] == row}
            cells = [_shown(shown[column], most[column]) for column in columns]
            out.append(f"| {row} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def _shown(line: Mapping[str, Any], most: int) -> str:
    value = line["value"]
    if math.isnan(value):
        return "-"
    figure = f"{value:.4f}" if abs(value) <= 1 else f"{value:.1f}"
    return figure if line["n"] == most else f"{figure} ({line['n']} of {most})"


def plain(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures as strict JSON has them: null for undefined ones, a text for infinity.

    Examples
    --------
    >>> plain([{"value": math.inf, "seeds": [math.nan]}])
    [{'value': 'inf', 'seeds': [None]}]
    """
    return [
        {**line, "value": _strict(line["value"]), "seeds": list(map(_strict, line["seeds"]))}
        for line in lines
    ]


def _strict(value: float) -> float | str | None:
    return None if math.isnan(value) else str(value) if math.isinf(value) else value
