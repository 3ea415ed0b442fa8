"""Figures of a fleet, of a device that is watched alone, and of the process: for Prometheus and for OTLP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tcuq._version import VERSION

from .words import known

Row = tuple[str, str, str]  # where the value is, name, help; totals are counters, the others gauges

FLEET: tuple[Row, ...] = (
    ("devices", "devices", "Devices that were heard of."),
    ("silent", "devices_silent", "Devices not heard of for long."),
    ("alarm.devices", "devices_in_alarm", "Devices in alarm."),
    ("named.count", "devices_named", "Devices that look degraded."),
    ("alarm.share", "alarm_share", "Share of devices in alarm."),
    ("alarm.baseline", "alarm_baseline", "How large that share is in a healthy fleet, at most."),
    ("alarm.p_always", "alarm_p_always", "Chance of so many alarms in a healthy fleet, right for all looks."),
    ("alarm.unhealthy", "unhealthy", "1: more alarms than a healthy fleet has."),
    ("steps", "steps_total", "Steps that were run."),
    ("missing", "events_missing_total", "Events that never came."),
    ("late", "events_late_total", "Events that came after later ones had been run; dropped."),
    ("duplicates", "events_duplicates_total", "Events that came again; dropped."),
    ("reboots", "events_reboots_total", "Starts of devices after the first."),
    ("held", "events_held", "Events that wait for an earlier one."),
    ("versions.devices", "version_devices", "Devices of a version."),
    ("versions.alarm.share", "version_alarm_share", "Share of them in alarm."),
    ("versions.abstained", "version_abstained", "Share of steps that abstained."),
    ("versions.mean_risk", "version_mean_risk", "Mean risk."),
    ("versions.expected_accuracy", "version_expected_accuracy", "Expected accuracy."),
    ("rollouts.worse", "version_worse", "1: the version is worse than the one before it."),
    ("rollouts.p_always", "version_worse_p_always", "Chance of such a difference between equal versions."),
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
    ("alarm", "alarm", "0 none, 1 risk, evidence or input, 2 risk has fallen, 3 both."),
    ("expected_accuracy", "expected_accuracy", "Accuracy that the monitor expects, 0 to 1."),
    ("abstention_share", "abstention_share", "Share of abstentions in the last 1,000 steps."),
    ("time", "last_step_timestamp_seconds", "Time of the last step, Unix seconds."),
    ("connected", "connected", "1 while the source is connected."),
    ("info", "info", "What is watched."),
)

PROCESS: tuple[Row, ...] = (
    ("commits", "commits_total", "Commits that were written."),
    ("last_commit", "last_commit_timestamp_seconds", "Time of the last commit, Unix seconds."),
    ("refused", "refused_total", "Input that was refused, by kind."),
)

TABLES = {"tcuq_fleet_": FLEET, "tcuq_": DEVICE, "tcuq_watch_": PROCESS}

TOLD = ("title", "source", "params", "version", "decided_by")  # of a device, as labels of `tcuq_info`
Metric = tuple[str, str, bool, list[tuple[dict[str, Any], float]]]
"""Name, help, whether it is a counter, and values with labels: a label a version, never one a device."""


def metrics(
    summary: Mapping[str, Any] | None = None,
    device: Mapping[str, Any] | None = None,
    about: Mapping[str, Any] | None = None,
    process: Mapping[str, Any] | None = None,
) -> Iterator[Metric]:
    """Yield what is known.

    `summary` is that of a fleet; `device` the status of one that is watched alone, with what its page is told
    `about` it; `process` is what `process_of` returns.
    """
    if device is not None and about is not None:
        device = {**device, "info": [({key: about[key] for key in TOLD if key in about}, 1)]}
    for (prefix, rows), source in zip(TABLES.items(), (summary, device, process), strict=True):
        for path, name, help in rows if source is not None else ():
            samples = [(labels, float(value)) for labels, value in _values(source, path) if known(value)]
            if samples:
                yield prefix + name, help, name.endswith("_total"), samples


def process_of(fleet: Any) -> dict[str, Any]:
    """Return how the process does that writes a fleet, as its folder tells."""
    files = [path for path in fleet.folder.glob("fleet.sqlite*") if path.suffix != ".sqlite-shm"]
    last = max((path.stat().st_mtime for path in files), default=None)
    return {"commits": fleet.commit_number, "refused": fleet.refused, "last_commit": last}


def _values(source: Any, path: str) -> Iterable[tuple[dict[str, Any], Any]]:
    """Return labels and value at a place: one a version, one a kind, or one alone."""
    first, _, rest = path.partition(".")
    value: Any = (source or {}).get(first)
    if first in ("versions", "rollouts"):
        return [({"version": row["version"]}, found) for row in value for _, found in _values(row, rest)]
    if rest:
        return _values(value, rest)
    if isinstance(value, Mapping):
        return [({"kind": kind}, number) for kind, number in value.items()]
    return value if isinstance(value, list) else [({}, value)]


def metrics_text(*args: Any, **kwargs: Any) -> str:
    """Return what is known, in Prometheus' exposition format; arguments are those of `metrics`."""
    lines = []
    for name, help, counter, samples in metrics(*args, **kwargs):
        lines += [f"# HELP {name} {help}", f"# TYPE {name} {'counter' if counter else 'gauge'}"]
        lines += [f"{name}{_labels(labels)} {value:.14g}" for labels, value in samples]
    return "\n".join([*lines, ""])


def _labels(labels: Mapping[str, Any]) -> str:
    parts = []
    for name, value in labels.items():
        escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        parts.append(f'{name}="{escaped}"')
    return f"{{{','.join(parts)}}}" if parts else ""


def otlp_metrics(found: Iterable[Metric], began: float, now: float, instance: str) -> dict[str, Any]:
    """Return metrics as a request of OTLP over HTTP, in JSON.

    `began` is when the counters were 0, in seconds since 1970: a restart does not change it, as they go on.
    """
    shown = []
    for name, help, counter, samples in found:
        times = {"timeUnixNano": _nano(now), **({"startTimeUnixNano": _nano(began)} if counter else {})}
        points = [
            {"attributes": _attributes(labels), **times, "asDouble": value} for labels, value in samples
        ]
        data: dict[str, Any] = {"dataPoints": points}
        if counter:
            data |= {"aggregationTemporality": 2, "isMonotonic": True}  # 2: cumulative
        shown.append({"name": name, "description": help, "sum" if counter else "gauge": data})
    resource = {"service.name": "tcuq", "service.version": VERSION, "service.instance.id": instance}
    scope = {"scope": {"name": "tcuq", "version": VERSION}, "metrics": shown}
    return {"resourceMetrics": [{"resource": {"attributes": _attributes(resource)}, "scopeMetrics": [scope]}]}


def _nano(seconds: float) -> str:
    return str(round(seconds * 1e9))


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": str(value)}} for key, value in values.items()]
