"""Devices by site, batch or another tag of theirs: a table of groups."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.csv_text import name_in_csv
from tcuq.base.errors import InputError, one_line
from tcuq.base.limits import read_limited
from tcuq.report.text import NBSP, count

from ..engine.tallies import RISK_ONE
from .status import table
from .versions import HasTallies, by_version, find_named, without_moved
from .words import figure

NONE = "(none)"
"""The group of devices without a row, or without a value in it."""

SHOWN, NAME = 20, 30
"""Groups that are printed, and characters of their names."""


def read_tags(path: str, by: str | None = None) -> tuple[str, dict[str, str]]:
    """Read a CSV file with a column `device`; return the column to group by and its value by device."""
    try:
        with io.StringIO(read_limited(path, "file").decode("utf-8-sig"), newline="") as file:
            reader = csv.DictReader(file)
            columns = list(reader.fieldnames or ())
            others = [name for name in columns if name != "device"]
            if "device" not in columns or not others:
                raise InputError("missing", f"{path}: expected a column 'device' and others, such as 'site'")
            column = others[0] if by is None else by
            if column not in others:
                known = ", ".join(others)
                raise InputError(
                    "unknown", f"{path}: has no column {by!r} to group by, expected one of: {known}"
                )
            tags: dict[str, str] = {}
            for row in reader:
                device = name_in_csv(row["device"] or "")
                value = name_in_csv((row[column] or "").strip()) or NONE
                if tags.setdefault(device, value) != value:
                    line = f"{path}, line {reader.line_num}"
                    raise InputError("conflict", f"{line}: device {device!r} has another {column} before")
    except UnicodeDecodeError:
        raise InputError("damaged", f"{path}: is no text, expected CSV") from None
    except csv.Error as error:
        raise InputError("damaged", f"{path}: {error}") from None
    return column, tags


def by_group(
    models: Mapping[str, HasTallies],
    tags: Mapping[str, str],
    time: float | None,
    baseline: tuple[float, float] | None = None,
) -> list[dict[str, Any]]:
    """Return a row a group, those with the largest share of named devices first.

    A device that changed its version counts once. `severity` is the median over the devices that report,
    None unless every version has one; `mean_risk` is that of all steps.
    """
    versions = by_version(list(models.values()), time, baseline)
    if not versions:
        return []
    places = {name: place for place, name in enumerate(dict.fromkeys(n for v in versions for n in v.names))}
    groups = sorted({tags.get(name, NONE) for name in places})
    codes = {group: code for code, group in enumerate(groups)}
    of_device = np.array([codes[tags.get(name, NONE)] for name in places], dtype=np.int64)
    device = np.array([places[name] for v in versions for name in v.names], dtype=np.int64)
    reports = ~np.concatenate([v.silent for v in versions])
    rows = {
        key: np.concatenate([v.rows[key] for v in versions]) for key in ("alarm", "risk", "steps", "severity")
    }

    judged, first = find_named(versions), np.cumsum([0, *(len(v.names) for v in versions)])
    chosen = judged.places[judged.named]
    silent = np.concatenate(
        [start + slots for start, slots in zip(first, without_moved(versions), strict=False)]
    )
    marked = {
        "devices": device,
        "silent": device[silent],
        "in_alarm": device[reports & (rows["alarm"] > 0)],
        "named": device[first[chosen[:, 0]] + chosen[:, 1]],
    }
    counts = {
        key: np.bincount(of_device[np.unique(some)], minlength=len(groups)) for key, some in marked.items()
    }
    group, many = of_device[device], len(groups)
    risk, steps = (np.bincount(group, rows[key], many) for key in ("risk", "steps"))
    severity = _medians(group[reports], rows["severity"][reports] / RISK_ONE, many)
    severe = all(version.params.evidence is not None for version in versions)
    found = [
        {
            "group": name,
            **{key: int(values[code]) for key, values in counts.items()},
            "severity": severity[code] if severe else None,
            "mean_risk": float(risk[code] / RISK_ONE / steps[code]) if steps[code] else None,
        }
        for name, code in codes.items()
    ]
    return sorted(found, key=lambda row: (-row["named"] / row["devices"], -row["in_alarm"], row["group"]))


def _medians(group: npt.NDArray[np.int64], values: npt.NDArray[np.float64], many: int) -> list[float | None]:
    """Return the median of each group, None for one without values."""
    ends = np.cumsum(np.bincount(group, minlength=many))
    parts = np.split(values[np.argsort(group, kind="stable")], ends[:-1])
    return [float(np.median(part)) if len(part) else None for part in parts]


def groups_text(column: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the groups as a table for a terminal."""
    severe = any(row["severity"] is not None for row in rows)
    key = "severity" if severe else "mean_risk"
    lines = [
        (
            one_line(row["group"], NAME),
            *(count(row[name]) for name in ("devices", "silent", "in_alarm", "named")),
            figure(row[key], 2 if severe else 3),
        )
        for row in rows[:SHOWN]
    ]
    titles = (one_line(column, NAME), "devices", "silent", "in alarm", "degraded", key.replace("_", " "))
    more = [f"and {count(len(rows) - SHOWN)} more; --json gives all"] if len(rows) > SHOWN else []
    return "\n".join([*table(titles, lines, 1), *more]).replace(NBSP, " ")
