"""Figures of a fleet in words: times, spans, shares, alarms, and the sentence that stands on top."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from tcuq.report.text import DASH, NBSP, decimal, percent

SURE = 0.01
"""Chance below which more devices in alarm than the baseline explains are worth a warning."""

FEW = 6
"""Devices that the sentence on top names; the others are in the table."""

ALARMS = {0: "none", 1: "risen", 2: "fallen", 3: "risen and fallen"}

ORDER = {
    "missing": "events that never came; after a long gap the monitor of a device forgets its past",
    "late": "events that came after later ones had been run; dropped",
    "duplicates": "events that came again; dropped",
    "reboots": "starts of devices after the first",
    "held": "events that wait for an earlier one",
}
"""What is counted while events are put in order."""


def known(value: Any) -> bool:
    """Tell whether a figure is there."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def share(value: Any, digits: int = 1) -> str:
    """Return a share in percent, with more digits where it is small, or a dash.

    Examples
    --------
    >>> [share(x).replace(NBSP, " ") for x in (0.034, 0.0004, 1e-9, 0)], share(None) == DASH
    (['3.4 %', '0.04 %', '< 0.001 %', '0.0 %'], True)
    """
    if not known(value):
        return DASH
    if 0 < value < 1e-5:
        return f"< 0.001{NBSP}%"
    if 0 < value < 0.01 * 10**-digits:
        return f"{100 * value:.1g}{NBSP}%"
    return percent(value, digits)


def figure(value: Any, digits: int = 3) -> str:
    """Return a number, or a dash."""
    return decimal(float(value), digits) if known(value) else DASH


def moment(seconds: Any, brief: bool = False) -> str:
    """Return a time of day and date, UTC.

    Examples
    --------
    >>> moment(0), moment(0, brief=True), moment(None) == DASH
    ('1970-01-01 00:00 UTC', '01-01 00:00', True)
    """
    if not known(seconds):
        return DASH
    try:
        when = datetime.fromtimestamp(float(seconds), tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return DASH
    return f"{when:%m-%d %H:%M}" if brief else f"{when:%Y-%m-%d %H:%M} UTC"


def ago(seconds: Any, now: Any) -> str:
    """Return how long something was before now, in one unit.

    Examples
    --------
    >>> [ago(0, now).replace(NBSP, " ") for now in (50, 7200, 3 * 86400)]
    ['50 s', '2 h', '3 d']
    """
    if not known(seconds) or not known(now):
        return DASH
    span = max(0.0, float(now) - float(seconds))
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48)):
        if span < most * size:
            return f"{span / size:.0f}{NBSP}{unit}"
    return f"{span / 86400:,.0f}{NBSP}d"


def before(time: Any, now: Any) -> str:
    """Return how long ago something was, or a dash."""
    return f"{ago(time, now)} ago" if known(time) else DASH


def alarmed(summary: Mapping[str, Any]) -> bool:
    """Tell whether more devices are in alarm than chance explains."""
    alarm = summary.get("alarm") or {}
    if "unhealthy" in alarm:
        return bool(alarm["unhealthy"])
    values: list[Any] = [alarm.get(name) for name in ("p", "share", "baseline")]
    return all(map(known, values)) and values[0] < SURE and values[1] > values[2]


def named(summary: Mapping[str, Any]) -> int:
    """Return how many devices are named."""
    return int((summary.get("named") or {}).get("count") or 0)


def verdict(summary: Mapping[str, Any]) -> str:
    """Return what the reader needs to know first, in a few sentences."""
    devices = summary.get("devices") or 0
    if not devices:
        return "No device has sent anything yet."
    alarm = summary.get("alarm") or {}
    hit = alarm.get("devices") or 0
    if devices == 1:
        return "The one device is in alarm." if hit else "The one device is not in alarm."
    failing, some = _of_versions(summary), _of_devices(summary)
    said = [failing or _of_many(summary, devices, hit, alarm), some]
    worst_first = said if failing or alarmed(summary) or not named(summary) else said[::-1]
    rolled = [rollout(each, brief=True) for each in summary.get("rollouts") or () if each["worse"]]
    return " ".join(filter(None, [*rolled, *worst_first]))


def rollout(found: Mapping[str, Any], brief: bool = False) -> str:
    """Return how a version compares with the one before it, and how often that verdict is wrong."""
    new, old, hours = found["version"], found["before"], found["width"] // 3600
    if not known(found["time"]):
        return f"Versions {new} and {old} cannot be compared yet: no full hour has devices of both."
    mine, theirs = (
        f"{found[hit]:,} of {found[of]:,} devices ({share(found[hit] / found[of])})"
        for hit, of in (("in_alarm", "devices"), ("in_alarm_before", "devices_before"))
    )
    when = (
        "" if brief else f" in the {f'{hours:,} hours' if hours > 1 else 'hour'} from {moment(found['time'])}"
    )
    figures = f"{mine} were in alarm{when}, of {old} {theirs}."
    if not found["worse"]:
        return f"Version {new} is not shown to be worse than {old}: {figures}"
    most = f"Equal versions are ever called so with a chance of at most {share(found['error'], 0)}"
    return (
        f"Version {new} is worse than {old}: {figures} {most}{'.' if brief else ', however often one looks.'}"
    )


def _of_devices(summary: Mapping[str, Any]) -> str:
    """Return who is named, or what it would take."""
    found = summary.get("named") or {}
    if not found.get("of"):
        return ""
    count = named(summary)
    if not count:
        enough = found.get("from_alarms")
        by_alarm = f"by alarm alone, devices are named from {enough:,} in alarm on" if known(enough) else ""
        by_severity = "" if found.get("by_severity") else "severity is not compared"
        said = "; ".join(filter(None, [by_alarm, by_severity]))
        return f"No device looks degraded{f' ({said})' if said else ''}."
    shown = found["devices"][:FEW]
    names = f"{', '.join(shown)} and {count - len(shown):,} more" if count > len(shown) else _and(shown)
    most = f"At most {share(found['false_share'], 0)} of those named at a look are healthy, on average."
    if 2 * count > found["of"]:
        most = "So many may also mean that the field differs from the clean data of the fit."
    return (
        f"{count:,} of {found['of']:,} devices {'looks' if count == 1 else 'look'} degraded: {names}. {most}"
    )


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _of_versions(summary: Mapping[str, Any]) -> str:
    """Return what is said of versions that fail while the fleet as a whole does not."""
    versions = list(summary.get("versions") or ())
    bad = [each for each in versions if (each.get("alarm") or {}).get("unhealthy")]
    if alarmed(summary) or len(versions) < 2 or not bad:
        return ""
    parts = []
    for each in bad:
        alarm = each["alarm"]
        hit, of = alarm["devices"], alarm["of"]
        usual = f"at most {share(alarm['baseline'])} would be with clean data"
        parts.append(f"{each['version']}, {hit:,} of {of:,} devices ({share(hit / of)}; {usual})")
    return f"More devices are in alarm than chance explains, of version {'; '.join(parts)}."


def _of_many(summary: Mapping[str, Any], devices: int, hit: int, alarm: Mapping[str, Any]) -> str:
    base, of = alarm.get("baseline"), alarm.get("of", devices)
    if not of:
        return f"None of {devices:,} devices has been heard of for long."
    which = "devices" if of == devices else "devices that report"
    among = f"{hit:,} of {of:,} {which} ({share(hit / of)}) {'is' if hit == 1 else 'are'} in alarm"
    usual = f"at most {share(base)} would be with clean data" if known(base) else ""
    if alarmed(summary):
        return f"More devices are in alarm than chance explains: {among}; {usual}."
    if usual and not known(alarm.get("p")):
        return f"{among}; too little is known of healthy devices to tell whether that is many."
    if not usual:
        return f"{among}; there is no clean baseline to compare with."
    enough = alarm.get("unhealthy_from")
    limit = f" From {enough:,} on the fleet is called unhealthy." if known(enough) else ""
    if hit / of > (base or 0.0):
        said = "More may be in alarm than of healthy devices, but that is not certain"
    else:
        said = "No more are in alarm than of healthy devices"
    return f"{said}: {among}; {usual}.{limit}"
