"""Devices by site, batch or another tag of theirs: a table of groups."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tcuq.base.errors import InputError, one_line
from tcuq.base.generated import name_in_csv
from tcuq.base.limits import read_limited
from tcuq.report.text import NBSP, count

from ..engine.tallies import RISK_ONE
from .status import table
from .versions import VersionView, standing
from .words import figure

NONE = "(none)"
"""The group of devices without a row, or without a value in it."""

SHOWN, NAME = 20, 30
"""Groups that are printed, and characters of their names."""


def read_tags(path: str, by: str | None = None) -> tuple[str, dict[str, str]]:
    """Read a CSV file with a column `device`; return the column to group by and its value by device."""
    try:
        reader = csv.DictReader(io.StringIO(read_limited(path, "file").decode("utf-8-sig"), newline=""))
        others = [name for name in reader.fieldnames or () if name != "device"]
        if "device" not in (reader.fieldnames or ()) or not others:
            raise InputError("missing", f"{path}: expected a column 'device' and others, such as 'site'")
        column = others[0] if by is None else by
        if column not in others:
            known = ", ".join(others)
            raise InputError("unknown", f"{path}: has no column {by!r} to group by, expected one of: {known}")
        tags: dict[str, str] = {}
        for row in reader:
            device, value = (name_in_csv((row[name] or "").strip()) for name in ("device", column))
            if tags.setdefault(device, value or NONE) != (value or NONE):
                said = f"{path}, line {reader.line_num}: device {device!r} comes again with another {column}"
                raise InputError("conflict", said)
    except UnicodeDecodeError:
        raise InputError("damaged", f"{path}: is no text, expected CSV") from None
    except csv.Error as error:
        raise InputError("damaged", f"{path}: {error}") from None
    return column, tags


def by_group(versions: Sequence[VersionView], tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a row a group, those with the largest share of named devices first.

    The last figure is the median severity of the devices that report where every version has one, else the
    mean of their mean risks.
    """
    severe = all(version.params.evidence is not None for version in versions)
    now, values, groups = standing(versions), dict[str, float](), dict[str, set[str]]()
    for version in versions:
        rows = version.rows
        found = rows["severity"] if severe else rows["risk"] / np.maximum(1, rows["steps"])
        values.update(zip(version.names, (found / RISK_ONE).tolist(), strict=True))
    for name in values:
        groups.setdefault(tags.get(name, NONE), set()).add(name)
    found_rows = []
    for group, names in groups.items():
        row: dict[str, Any] = {"group": group, "devices": len(names)}
        row |= {key: len(names & some) for key, some in now._asdict().items()}
        reports = [values[name] for name in names - now.silent]
        middle = np.median if severe else np.mean
        row["severity" if severe else "mean_risk"] = float(middle(reports)) if reports else None
        found_rows.append(row)
    return sorted(
        found_rows, key=lambda row: (-row["named"] / row["devices"], -row["in_alarm"], row["group"])
    )


def groups_text(column: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the groups as a table for a terminal."""
    titles = {"devices": "devices", "silent": "silent", "in_alarm": "in alarm", "named": "degraded"}
    key = "severity" if rows and "severity" in rows[0] else "mean_risk"
    lines = [
        (one_line(row["group"], NAME), *(count(row[name]) for name in titles), figure(row[key]))
        for row in rows[:SHOWN]
    ]
    shown = table((one_line(column, NAME), *titles.values(), key.replace("_", " ")), lines, 1)
    if len(rows) > SHOWN:
        shown.append(f"and {count(len(rows) - SHOWN)} more groups; --json gives all")
    return "\n".join(shown).replace(NBSP, " ")
