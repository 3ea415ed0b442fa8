"""The state of a session as text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COUNTS = {
    "steps": ("tcuq_steps_total", "Steps received."),
    "abstained": ("tcuq_abstentions_total", "Steps on which the monitor abstained."),
    "flagged": ("tcuq_flags_total", "Steps whose risk was at or above the threshold."),
    "alarms": ("tcuq_alarms_total", "Times the alarm was raised."),
    "broken": ("tcuq_broken_lines_total", "Lines and frames that could not be read."),
    "lost": ("tcuq_lost_connections_total", "Times the connection to the device was lost."),
    "missing": ("tcuq_missing_steps_total", "Steps that the device numbered and that never came."),
    "duplicates": ("tcuq_duplicate_steps_total", "Steps that came twice and were left out."),
    "late": ("tcuq_late_steps_total", "Steps that came after later ones and were left out."),
    "reboots": ("tcuq_device_reboots_total", "Times the device started again."),
    "others": ("tcuq_other_steps_total", "Steps of other parameters, or of a kind that is not used."),
    "unkept": ("tcuq_unkept_lines_total", "Lines of the logs lost because the disk was full for too long."),
}
_GAUGES = {
    "risk": ("tcuq_risk", "Risk of the last step, 0 to 1."),
    "threshold": ("tcuq_threshold", "Threshold of the last step."),
    "alarm": (
        "tcuq_alarm",
        "Alarm: 0 none, 1 risk has risen or evidence has added up, 2 risk has fallen, 3 both.",
    ),
    "expected_accuracy": ("tcuq_expected_accuracy", "Accuracy that the monitor expects, 0 to 1."),
    "abstention_share": ("tcuq_abstention_share", "Share of abstentions in the last 1,000 steps."),
    "time": ("tcuq_last_step_timestamp_seconds", "Time of the last step, Unix seconds."),
    "connected": ("tcuq_connected", "1 while the source is connected."),
}


def prometheus_text(status: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    r"""Return the text of ``/metrics``, in Prometheus' exposition format.

    Examples
    --------
    >>> text = prometheus_text({"counts": {"steps": 3}, "risk": 0.25}, {"title": 'a "b"'})
    >>> print(text)
    # HELP tcuq_steps_total Steps received.
    # TYPE tcuq_steps_total counter
    tcuq_steps_total 3
    # HELP tcuq_risk Risk of the last step, 0 to 1.
    # TYPE tcuq_risk gauge
    tcuq_risk 0.25
    # HELP tcuq_info What is watched.
    # TYPE tcuq_info gauge
    tcuq_info{title="a \"b\""} 1
    <BLANKLINE>
    """
    lines = []
    for key, (name, help) in _COUNTS.items():
        if key in status["counts"]:
            lines += [f"# HELP {name} {help}", f"# TYPE {name} counter", f"{name} {status['counts'][key]}"]
    for key, (name, help) in _GAUGES.items():
        value = status.get(key)
        if value is not None:
            lines += [f"# HELP {name} {help}", f"# TYPE {name} gauge", f"{name} {float(value):.14g}"]
    told = {key: about[key] for key in ("title", "source", "params", "version", "decided_by") if key in about}
    labels = ",".join(f'{key}="{_escaped(str(value))}"' for key, value in told.items())
    lines += ["# HELP tcuq_info What is watched.", "# TYPE tcuq_info gauge", f"tcuq_info{{{labels}}} 1"]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
