"""Figures for Prometheus: a fleet, a device that is watched alone, and the process that watches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .words import known

Row = tuple[str, str, str]  # where the value is, name, help; totals are counters, the others gauges

FLEET: tuple[Row, ...] = (
    ("devices", "devices", "Devices that were heard of."),
    ("silent", "devices_silent", "Devices not heard of for long."),
    ("alarm.devices", "devices_in_alarm", "Devices in alarm."),
    ("named.count", "devices_named", "Devices that look degraded by alarm or severity."),
    ("alarm.share", "alarm_share", "Share of devices in alarm."),
    ("alarm.baseline", "alarm_baseline", "How large that share is in a healthy fleet, at most."),
    ("alarm.p", "alarm_p", "Chance of so many alarms in a healthy fleet, right for a single look."),
    (
        "alarm.p_always",
        "alarm_p_always",
        "Chance of so many alarms in a healthy fleet, right for all looks: alert on this one.",
    ),
    ("alarm.unhealthy", "unhealthy", "1: more alarms than a healthy fleet has."),
    ("steps", "steps_total", "Steps that were run."),
    ("missing", "events_missing_total", "Events: missing."),
    ("late", "events_late_total", "Events: late."),
    ("duplicates", "events_duplicates_total", "Events: duplicates."),
    ("reboots", "events_reboots_total", "Events: reboots."),
    ("held", "events_held", "Events that wait for an earlier one."),
    ("refused", "refused_total", "Input that was refused."),
    ("versions.devices", "version_devices", "Devices of a version."),
    ("versions.alarm.share", "version_alarm_share", "Share of them in alarm."),
    ("versions.abstained", "version_abstained", "Share of steps that abstained."),
    ("versions.mean_risk", "version_mean_risk", "Mean risk."),
    ("versions.expected_accuracy", "version_expected_accuracy", "Expected accuracy."),
    ("rollouts.worse", "version_worse", "1: the version is worse than the one before it."),
    (
        "rollouts.p_always",
        "version_worse_p_always",
        "Chance of such a difference between equal versions, right for all looks.",
    ),
    ("labels.estimate", "labeled_accuracy", "Accuracy by labels."),
)

DEVICE: tuple[Row, ...] = (
    ("counts.steps", "steps_total", "Steps received."),
    ("counts.abstained", "abstentions_total", "Steps on which the monitor abstained."),
    ("counts.flagged", "flags_total", "Steps whose risk was at or above the threshold."),
    ("counts.alarms", "alarms_total", "Times the alarm was raised."),
    ("counts.broken", "broken_lines_total", "Lines and frames that could not be read."),
    ("counts.lost", "lost_connections_total", "Times the connection to the device was lost."),
    ("counts.missing", "missing_steps_total", "Steps that the device numbered and that never came."),
    ("counts.duplicates", "duplicate_steps_total", "Steps that came twice and were left out."),
    ("counts.late", "late_steps_total", "Steps that came after later ones and were left out."),
    ("counts.reboots", "device_reboots_total", "Times the device started again."),
    ("counts.others", "other_steps_total", "Steps of other parameters, or of a kind that is not used."),
    ("counts.unkept", "unkept_lines_total", "Lines of the logs lost to a full disk."),
    ("risk", "risk", "Risk of the last step, 0 to 1."),
    ("threshold", "threshold", "Threshold of the last step."),
    ("alarm", "alarm", "0 none, 1 risk has risen or evidence has added up, 2 risk has fallen, 3 both."),
    ("expected_accuracy", "expected_accuracy", "Accuracy that the monitor expects, 0 to 1."),
    ("abstention_share", "abstention_share", "Share of abstentions in the last 1,000 steps."),
    ("time", "last_step_timestamp_seconds", "Time of the last step, Unix seconds."),
    ("connected", "connected", "1 while the source is connected."),
    ("info", "info", "What is watched."),
)

PROCESS: tuple[Row, ...] = (
    ("commits", "commits_total", "Commits that were written."),
    ("last_commit", "last_commit_timestamp_seconds", "Time of the last commit, Unix seconds."),
    ("events", "events_total", "Events that were taken."),
    ("refused", "refused_total", "Input that was refused, by kind."),
    ("connected", "connected", "1 while the source is connected."),
)

TABLES = {"tcuq_fleet_": FLEET, "tcuq_": DEVICE, "tcuq_watch_": PROCESS}

NAMES = frozenset(prefix + name for prefix, rows in TABLES.items() for _, name, _ in rows)
"""Of all metrics that may be written."""

TOLD = ("title", "source", "params", "version", "decided_by")
"""What `tcuq_info` tells of a device."""


def metrics_text(
    summary: Mapping[str, Any] | None = None,
    device: Mapping[str, Any] | None = None,
    about: Mapping[str, Any] | None = None,
    process: Mapping[str, Any] | None = None,
) -> str:
    """Return what is known, in Prometheus' exposition format: a label a version, never one a device.

    `summary` is that of a fleet; `device` the status of one that is watched alone, with what its page is told
    `about` it; `process` has `commits`, `last_commit` (Unix seconds), `events`, `refused` by kind and
    `connected`.
    """
    if device is not None:
        watched = {key: about[key] for key in TOLD if about and key in about}
        device = {**device, "info": [(_labels(**watched), 1)]}
    if process is not None:
        counts: Mapping[str, Any] = summary or (device or {}).get("counts") or {}
        taken = sum(counts.get(name) or 0 for name in ("steps", "held", "late", "duplicates"))
        process = {"events": taken, "connected": (device or {}).get("connected"), **process}
    lines: list[str] = []
    for (prefix, rows), source in zip(TABLES.items(), (summary, device, process), strict=True):
        for path, name, help in rows:
            kind = "counter" if name.endswith("_total") else "gauge"
            values = [
                f"{prefix}{name}{labels} {float(value):.14g}"
                for labels, value in _values(source, path)
                if known(value)
            ]
            if values:
                lines += [f"# HELP {prefix}{name} {help}", f"# TYPE {prefix}{name} {kind}", *values]
    return "\n".join([*lines, ""])


def process_of(folder: Path, commits: int, refused: Mapping[str, int]) -> dict[str, Any]:
    """Return how the process does that writes a fleet, as its folder tells."""
    times = [path.stat().st_mtime for path in folder.glob("fleet.sqlite*") if path.suffix != ".sqlite-shm"]
    return {"commits": commits, "refused": refused, "last_commit": max(times, default=None)}


def _values(source: Mapping[str, Any] | None, path: str) -> Iterator[tuple[str, Any]]:
    """Give labels and value at a place: one a version, one a kind, or one alone."""
    first, _, rest = path.partition(".")
    value = (source or {}).get(first)
    if first in ("versions", "rollouts"):
        for each in value or ():
            for _, found in _values(each, rest):
                yield _labels(version=each["version"]), found
    elif rest:
        yield from _values(value, rest)
    elif isinstance(value, Mapping):
        yield from ((_labels(kind=kind), count) for kind, count in value.items())
    elif isinstance(value, list):
        yield from value
    else:
        yield "", value


def _labels(**values: Any) -> str:
    parts = []
    for name, value in values.items():
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        parts.append(f'{name}="{escaped}"')
    return f"{{{','.join(parts)}}}"
