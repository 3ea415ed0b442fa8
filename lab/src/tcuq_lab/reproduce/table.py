"""From the records of comparisons to a table: means over kinds and seeds, a row a method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..comparison.records import TOGETHER, Record, Results

if TYPE_CHECKING:
    from .paper import PaperExperiment

Line = dict[str, Any]
"""A figure of a table, with what it was made from."""

LEVEL, REPLICATES = 0.95, 1000


def table(experiment: PaperExperiment, found: Mapping[str, Results]) -> list[Line]:
    """Return the figures of an experiment, one for each task, dwell, row and column."""
    lines: list[Line] = []
    for task in experiment.tasks:
        for dwell in experiment.dwells:
            chosen = [_by_figure(each) for each in found.values() if _is(each, task, dwell)]
            rows = dict.fromkeys(label for each in chosen for label, _, _ in each)
            for row in rows:
                for column in experiment.columns:
                    key = (row, column.metric, column.variant)
                    picked = [each.get(key, []) for each in chosen]
                    if any(picked):
                        about = {"task": task, "dwell": dwell, "row": row, "column": column.title}
                        lines.append(about | _figure(picked) | _spans(picked))
    return lines


def _is(each: Results, task: str, dwell: float) -> bool:
    return bool(each.about["task"] == task and each.about["dwell"] == dwell)


def _by_figure(results: Results) -> dict[tuple[str, str, str], list[Record]]:
    """Return the records of every row and figure: the one over all streams together where there is one."""
    found: dict[tuple[str, str, str], list[Record]] = {}
    for row in results.records:
        found.setdefault((row["method"], row["metric"], row["variant"]), []).append(row)
    return {
        key: [row for row in rows if row["stream"] in TOGETHER][:1] or rows for key, rows in found.items()
    }


def _figure(picked: list[list[Record]]) -> Line:
    """Return the mean over seeds, and how far to trust it."""
    seeds = [_mean([row["value"] for row in rows]) for rows in picked]
    by_stream: dict[str, list[float]] = {}
    for rows in picked:
        for row in rows:
            if row["stream"] not in TOGETHER and not math.isnan(row["value"]):
                by_stream.setdefault(row["stream"], []).append(row["value"])
    streams = {name: _mean(values) for name, values in by_stream.items()}
    if any(row["stream"] in TOGETHER for rows in picked for row in rows):
        known = [value for value in seeds if not math.isnan(value)] or [math.nan]
        low, high, n = min(known), max(known), sum(row["n"] for rows in picked for row in rows)
    else:
        (low, high), n = drawn_again(list(streams.values())), sum(map(len, by_stream.values()))
    low, high = _own_interval(picked) or (low, high)
    about = {"seeds": seeds, "networks": sum(map(bool, picked)), "streams": streams, "n": n}
    return {"value": _mean(seeds), "low": low, "high": high, **about}


def _own_interval(picked: list[list[Record]]) -> tuple[float, float] | None:
    """Return the mean of the intervals that records bring, where each seed has one record with one.

    Several streams are drawn again instead: their own intervals do not know of other kinds.
    """
    alone = [rows[0] for rows in picked if rows]
    if any(len(rows) > 1 for rows in picked) or any(
        math.isnan(row[end]) for row in alone for end in ("low", "high")
    ):
        return None
    return _mean([row["low"] for row in alone]), _mean([row["high"] for row in alone])


def _spans(picked: list[list[Record]]) -> Line:
    """Return the intervals of streams whose records bring any: means over seeds, which share examples."""
    by_stream: dict[str, list[Record]] = {}
    for rows in picked:
        for row in rows:
            if row["stream"] not in TOGETHER and not math.isnan(row["low"] + row["high"]):
                by_stream.setdefault(row["stream"], []).append(row)
    spans = {
        name: [_mean([row[end] for row in rows]) for end in ("low", "high")]
        for name, rows in by_stream.items()
    }
    return {"spans": spans} if spans else {}


def drawn_again(values: list[float]) -> tuple[float, float]:
    """Return a 95 % percentile interval of the mean of values, each drawn again and again.

    Examples
    --------
    >>> low, high = drawn_again([0.2, 0.4, 0.6])
    >>> 0.2 <= low < 0.4 < high <= 0.6
    True
    """
    if len(values) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(0)
    means = np.array(values)[rng.integers(0, len(values), (REPLICATES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def text(lines: list[Line]) -> str:
    """Return the figures as Markdown, a table for each task and dwell.

    A figure that is defined on fewer streams than others of its column says on how many.
    """
    out = []
    for task, dwell in dict.fromkeys((line["task"], line["dwell"]) for line in lines):
        here = [line for line in lines if (line["task"], line["dwell"]) == (task, dwell)]
        columns = list(dict.fromkeys(line["column"] for line in here))
        out += [f"{task}, dwell {dwell:g}", "", "| | " + " | ".join(columns) + " |"]
        out.append("| --- |" + " ---: |" * len(columns))
        most: dict[tuple[str, int], int] = {}  # rows with networks of fewer seeds have fewer streams
        for line in here:
            most[_group(line)] = max(line["n"], most.get(_group(line), 0))
        for row in dict.fromkeys(line["row"] for line in here):
            shown = {line["column"]: line for line in here if line["row"] == row}
            cells = [
                _shown(shown[column], most[_group(shown[column])]) if column in shown else ""
                for column in columns
            ]
            out.append(f"| {row} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def _group(line: Mapping[str, Any]) -> tuple[str, int]:
    """Return the column of a figure, and of how many networks it is."""
    return line["column"], line.get("networks", 0)


def _shown(line: Mapping[str, Any], most: int) -> str:
    value = line["value"]
    if math.isnan(value):
        return "-"
    figure = f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"
    return figure if line["n"] == most else f"{figure} ({line['n']} of {most})"
