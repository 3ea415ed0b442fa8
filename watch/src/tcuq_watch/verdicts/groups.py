"""Devices by site, batch or another tag of theirs: a table of groups."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tcuq.base.errors import InputError, one_line
from tcuq.base.limits import read_limited
from tcuq.io.rows import name_in_csv
from tcuq.report.text import NBSP, count

from ..engine.tallies import MEAN_ONE, RISK_ONE
from .status import table
from .versions import VersionView, ranked_by
from .words import figure

NONE = "(none)"  # the group of devices without a row, or without a value in it
SHOWN, NAME = 20, 30  # groups that are printed, and characters of their names


def read_tags(path: str, by: str | None = None) -> tuple[str, dict[str, str]]:
    """Read a CSV file with a column `device`; return the column to group by and its value by device."""
    tags: dict[str, str] = {}
    try:
        reader = csv.DictReader(io.StringIO(read_limited(path, "file").decode("utf-8-sig"), newline=""))
        columns = list(reader.fieldnames or ())
        others = [name for name in columns if name != "device"]
        if len(others) == len(columns) or not others:
            raise InputError("missing", f"{path}: expected a column 'device' and others, such as 'site'")
        column = others[0] if by is None else by
        if column not in others:
            known = ", ".join(others)
            raise InputError("unknown", f"{path}: has no column {by!r} to group by, expected one of: {known}")
        for row in reader:
            device, value = (name_in_csv((row[name] or "").strip()) for name in ("device", column))
            if tags.setdefault(device, value or NONE) != (value or NONE):
                where = f"{path}, line {reader.line_num}"
                raise InputError("conflict", f"{where}: device {device!r} comes again with another {column}")
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError("damaged", f"{path}: is not a CSV file ({error})") from None
    return column, tags


def by_group(views: Sequence[VersionView], tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a row a group, those with the largest share of named devices first.

    The last figure is the median over the devices that report: of the degradation where every version has
    one, else of the recent risk.
    """
    key = ranked_by(views)
    unit = RISK_ONE if key == "degradation" else MEAN_ONE
    values, members = dict[str, float](), dict[str, list[str]]()
    for view in views:
        values.update(zip(view.names, (view.rows[key] / unit).tolist(), strict=True))
    for name in values:
        members.setdefault(tags.get(name, NONE), []).append(name)
    kinds = {
        kind: {name for view in views for name in view.called(getattr(view, kind))}
        for kind in ("silent", "in_alarm", "named")
    }
    rows = []
    for group, names in members.items():
        reports = [values[name] for name in names if name not in kinds["silent"]]
        counts = {kind: len(some.intersection(names)) for kind, some in kinds.items()}
        middle = float(np.median(reports)) if reports else None
        rows.append({"group": group, "devices": len(names), **counts, key: middle})
    return sorted(rows, key=lambda row: (-row["named"] / row["devices"], -row["in_alarm"], row["group"]))


def groups_text(column: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the groups as a table for a terminal."""
    counts = {"devices": "devices", "silent": "silent", "in_alarm": "in alarm", "named": "degraded"}
    cells = []
    for row in rows[:SHOWN]:
        key = "degradation" if "degradation" in row else "recent_risk"
        cells.append(
            {one_line(column, NAME): one_line(row["group"], NAME)}
            | {title: count(row[name]) for name, title in counts.items()}
            | {key.replace("_", " "): figure(row[key])}
        )
    lines = table(cells, 1)
    if len(rows) > SHOWN:
        lines.append(f"and {count(len(rows) - SHOWN)} more groups; --json gives all")
    return "\n".join(lines).replace(NBSP, " ")
