"""A summary of a fleet as text that fits a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from tcuq.report.text import NBSP, count, plural

from .words import ALARMS, ago, figure, known, moment, rollout, share, verdict

WORST = 8
"""Devices that are listed."""

WIDTH = 79
"""Columns of a terminal that are used."""

NAME = 20
"""Characters of a name that are shown in a table."""


def status_text(summary: Mapping[str, Any]) -> str:
    """Return the summary for a terminal of 80 columns."""
    parts = textwrap.wrap(verdict(summary), WIDTH)
    if summary.get("devices"):
        parts.append(
            f"{plural(summary['devices'], 'device')}, {count(summary.get('silent') or 0)} silent; "
            f"{plural(summary.get('steps') or 0, 'step')} up to {moment(summary.get('time'))}"
        )
        parts += ["", *_versions(summary), "", *_worst(summary), "", *_rest(summary)]
    elif summary.get("refused"):
        parts += _refused(summary)
    return "\n".join(parts).replace(NBSP, " ")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return aligned lines: the first columns to the left, the rest to the right."""
    lines = [titles, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(titles))]
    return [
        "  ".join(
            f"{cell:<{width}}" if place < left else f"{cell:>{width}}"
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _short(name: str) -> str:
    return name if len(name) <= NAME else f"{name[: NAME - 3]}..."


def _band(version: Mapping[str, Any]) -> str:
    low, high = version.get("accuracy_band") or (None, None)
    return "" if low is None else f" ({share(low)} to {share(high)})"


def _versions(summary: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            _short(each["version"]),
            count(each["devices"]),
            share((each.get("alarm") or {}).get("share")) + _worse(each),
            _most((each.get("alarm") or {}).get("baseline")),
            share(each.get("abstained")),
            figure(each.get("mean_risk")),
            share(each.get("expected_accuracy")) + _band(each),
        )
        for each in summary.get("versions") or ()
    ]
    titles = ("version", "devices", "in alarm", "healthy", "abstained", "mean risk", "expected")
    compared = [
        line
        for each in summary.get("rollouts") or ()
        if not each["worse"]  # else the sentence on top says so
        for line in textwrap.wrap(rollout(each), WIDTH)
    ]
    return [*table(titles, rows, 1), *compared]


def _worse(version: Mapping[str, Any]) -> str:
    return " !" if (version.get("alarm") or {}).get("unhealthy") else ""


def _most(baseline: Any) -> str:
    """Return how large a share may be in a healthy fleet."""
    return f"<= {share(baseline)}" if known(baseline) else share(None)


def _worst(summary: Mapping[str, Any]) -> list[str]:
    now = summary.get("time")
    listed = list(summary.get("worst") or ())[:WORST]
    severe = any(known(row.get("severity")) for row in listed)
    key = "severity" if severe else "recent_risk"
    rows = [
        (
            ("! " if row.get("named") else "  ") + _short(row["device"]),
            _short(row["version"]),
            figure(row.get(key), 2 if severe else 3),
            figure(row.get("mean_risk")),
            _alarm(row, now),
            f"{ago(row['last_time'], now)} ago" if known(row.get("last_time")) else "-",
        )
        for row in listed
    ]
    titles = ("  worst devices", "version", key.replace("_", " "), "mean risk", "alarm", "last heard")
    lines = table(titles, rows, 2)
    if any(row.get("named") for row in listed):
        lines.append("! looks degraded, by its alarm or by its severity beside the other devices")
    return lines


def _alarm(row: Mapping[str, Any], now: Any) -> str:
    alarm = int(row.get("alarm") or 0)
    if not alarm:
        return "-"
    since = f", {ago(row['alarm_since'], now)}" if known(row.get("alarm_since")) else ""
    return f"{ALARMS.get(alarm, alarm)}{since}"


def _rest(summary: Mapping[str, Any]) -> list[str]:
    def number(name: str) -> str:
        return count(summary.get(name) or 0)

    events = (
        f"events: {number('missing')} missing, {number('late')} late, {number('duplicates')} came again, "
        f"{number('held')} held; {plural(summary.get('reboots') or 0, 'reboot')}"
    )
    lines = [*textwrap.wrap(events, WIDTH, subsequent_indent="  "), *_refused(summary)]
    told = summary.get("labels")
    if told:
        said = "no estimate yet"
        if known(told.get("estimate")) and told.get("interval"):
            low, high = told["interval"]
            said = (
                f"accuracy of accepted answers {share(told['estimate'])} ({share(low)} to {share(high)} with "
                f"{share(told.get('level') or 0.95, 0)} confidence)"
            )
        lines.append(
            f"labels: {count(told.get('told') or 0)} of {count(told.get('asked') or 0)} asked for came back, "
            f"{plural(told.get('errors_found') or 0, 'error')} found;"
        )
        lines.append(f"  {said}")
    return lines


def _refused(summary: Mapping[str, Any]) -> list[str]:
    kinds = sorted((summary.get("refused") or {}).items(), key=lambda pair: -pair[1])
    if not kinds:
        return []
    said = f"refused: {', '.join(f'{count(number)} {kind}' for kind, number in kinds if number)}"
    return textwrap.wrap(said, WIDTH, subsequent_indent="  ")


def device_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what is known of one device, a paragraph a version."""
    parts = []
    for row in rows:
        alarm = ALARMS.get(row["alarm"], str(row["alarm"]))
        parts.append(
            f"{row['device']}, version {row['version']}: {plural(row['steps'], 'step')}, last heard "
            f"{moment(row['last_time'])}\n"
            f"  alarm: {alarm}; recent risk {figure(row['recent_risk'])}; "
            f"boot {row['boot']}, seq {row['seq']}\n"
            f"  {count(row['missing'])} missing, {count(row['late'])} late, "
            f"{count(row['duplicates'])} came again, {count(row['held'])} held"
        )
    return "\n".join(parts).replace(NBSP, " ")
