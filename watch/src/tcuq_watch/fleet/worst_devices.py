"""The worst devices of a fleet, with their timelines, on its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tcuq.report.text import DASH, count, escape

from .figures import spark
from .sections import Timelines, scrolled, section
from .words import ALARMS, ago, before, figure, known, moment, share

WORST = (
    ("device", "Device", ""),
    ("version", "Version", ""),
    ("", "Mean risk over time", ""),
    ("severity", "Severity", "n"),
    ("recent_risk", "Recent risk", "n"),
    ("mean_risk", "Mean risk", "n"),
    ("alarm", "Alarm", "n"),
    ("abstained", "Abstained", "n"),
    ("steps", "Steps", "n"),
    ("missing", "Missing", "n"),
    ("last_time", "Last heard", "n"),
)
"""Columns of the worst devices: key, title, and whether it is a number."""


def worst(summary: Mapping[str, Any], timelines: Timelines, served: bool) -> str:
    """Return the worst devices with their timelines."""
    rows, now = list(summary.get("worst") or ()), summary.get("time")
    lines = {key: line for key, line in timelines.items() if line["mean_risk"]}
    highest = [value for line in lines.values() for value in line["mean_risk"] if known(value)]
    top = max([*highest, 0.25])
    # Without evidence there is no severity, and devices are ranked by their recent risk.
    severe = any(known(row.get("severity")) for row in rows)
    none = {key for key in ("severity", "recent_risk") if not any(known(row.get(key)) for row in rows)}
    columns = [each for each in WORST if each[0] not in none]
    head = "".join(
        f'<th scope="col"{" class=n" if kind else ""}>'
        + (f'<button type="button" class="sort" data-key="{key}">{title}</button>' if key else title)
        + "</th>"
        for key, title, kind in columns
    )
    body = "".join(
        _worst_row(row, columns, spark(lines.get((row["version"], row["device"])), top), now) for row in rows
    )
    find = _FIND if served else ""
    if not rows:
        table = (
            '<p class="fact">No device has been judged yet. <code>tcuq fleet run</code> takes events in.</p>'
        )
    else:
        table = (
            f"{scrolled('worst sortable', head, body)}"
            f'<p class="hint">{_scales(lines, top)}Shaded: in alarm. '
            f"A dot marks devices that look degraded by alarm or severity.{_false(summary)}</p>"
        )
    return section(
        "worst",
        "The worst devices",
        "Devices that look degraded first, then by severity: how degraded their last steps looked; above 0, "
        "more likely degraded than clean."
        if severe
        else "Devices that look degraded first, then by the mean risk of their last steps.",
        find + table,
    )


def _false(summary: Mapping[str, Any]) -> str:
    """Say how many of the devices that are named are healthy."""
    most = (summary.get("named") or {}).get("false_share")
    return f" At most {share(most, 0)} of them are healthy, on average." if known(most) else ""


def _scales(lines: Timelines, top: float) -> str:
    """Say what the timelines have in common."""
    for line in lines.values():
        first, last = line["time"][0], line["time"][-1]
        return (
            f"All timelines go from {moment(first)} to {moment(last)}, and from risk 0 to {figure(top, 2)}. "
        )
    return ""


_FIND = (
    '<form class="find" role="search"><label for="find">Find a device</label>'
    '<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="part of its name">'
    '<output id="found" for="find" aria-live="polite"></output></form><div id="matches"></div>'
)


def _worst_row(row: Mapping[str, Any], columns: Sequence[tuple[str, str, str]], line: str, now: Any) -> str:
    alarm = int(row.get("alarm") or 0)
    said = ALARMS.get(alarm, str(alarm))
    since = (
        f" <small>for {ago(row.get('alarm_since'), now)}</small>"
        if alarm and known(row.get("alarm_since"))
        else ""
    )
    dot = '<i class="dot" role="img" aria-label="looks degraded"></i>' if row.get("named") else ""
    values = {
        "severity": figure(row.get("severity"), 2),
        "recent_risk": figure(row.get("recent_risk")),
        "mean_risk": figure(row.get("mean_risk")),
        "alarm": f'<span class="alarm-{min(alarm, 3)}">{said}</span>{since}' if alarm else DASH,
        "abstained": share(row.get("abstained")),
        "steps": count(int(row.get("steps") or 0)),
        "missing": count(int(row.get("missing") or 0)),
        "last_time": f'<span title="{moment(row.get("last_time"))}">{before(row.get("last_time"), now)}'
        "</span>",
    }
    cells = "".join(
        f'<td class="n {key}" data-name="{title}" data-sort="{_number(row.get(key))}">{values[key]}</td>'
        for key, title, kind in columns
        if kind
    )
    return (
        f'<tr><th scope="row"><span class="device">{dot}{escape(row["device"])}</span></th>'
        f"<td>{escape(row['version'])}</td><td>{line}</td>{cells}</tr>"
    )


def _number(value: Any) -> str:
    return f"{float(value):.9g}" if known(value) else "-1"
