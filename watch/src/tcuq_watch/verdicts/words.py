"""Figures of a fleet in words: times, spans, shares, alarms, and the sentences that stand on top."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from tcuq.report.text import DASH, NBSP, decimal, percent, plural

LIKELY = 0.25  # share of the alarms that chance explains, up to which a device on hold is likely degraded
FEW = 6  # devices that the sentence on top names; the others are in the table
ALARMS = {0: "no alarm", 1: "HOLD", 2: "HOLD, risk has fallen", 3: "HOLD"}
ORDER = {
    "missing": "events that never came; after a long gap the monitor of a device forgets its past",
    "late": "events that came after later ones had been run; dropped",
    "duplicates": "events that came again; dropped",
    "reboots": "starts of devices after the first",
    "held": "events that wait for an earlier one",
}


def known(value: Any) -> bool:
    """Tell whether a figure is there."""
    return value is not None and math.isfinite(value)


def share(value: Any, digits: int = 1) -> str:
    """Return a share in percent, with more digits where it is small, or a dash.

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


def figure(value: Any) -> str:
    """Return a number, or a dash."""
    return decimal(float(value), 3) if known(value) else DASH


def moment(seconds: Any, brief: bool = False) -> str:
    """Return a time of day and date, UTC."""
    if not known(seconds):
        return DASH
    when = datetime.fromtimestamp(float(seconds), tz=timezone.utc)
    return f"{when:%m-%d %H:%M}" if brief else f"{when:%Y-%m-%d %H:%M} UTC"


def ago(seconds: Any, now: Any) -> str:
    """Return how long something was before now, in one unit.

    >>> [ago(0, now).replace(NBSP, " ") for now in (50, 7200, 3 * 86400)]
    ['50 s', '2 h', '3 d']
    """
    span = max(0.0, float(now) - float(seconds))
    for unit, size, most in (("s", 1, 120), ("min", 60, 120), ("h", 3600, 48)):
        if span < most * size:
            return f"{span / size:.0f}{NBSP}{unit}"
    return f"{span / 86400:,.0f}{NBSP}d"


def before(time: Any, now: Any) -> str:
    """Return how long ago something was, or a dash."""
    return f"{ago(time, now)} ago" if known(time) else DASH


def state(row: Mapping[str, Any], alarm: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Return the state of a listed device, what is said of it, and since when it is so.

    Statistics choose the words, by the alarms of the whole fleet.
    """
    if row["silent"]:
        return "SILENT", "alarm unknown", row["last_time"]
    judged = "may be chance" if by_chance(alarm) > LIKELY else "likely degraded"
    if not comparable(alarm):
        judged = "not compared: too little clean data"
    return (
        ALARMS[row["alarm"]],
        "degraded" if row["named"] else judged if row["alarm"] else "",
        row["alarm_since"] if row["alarm"] else None,
    )


def by_chance(alarm: Mapping[str, Any]) -> float:
    """Return the share of the alarms that healthy devices would raise too; 1 where chance explains all."""
    return min(1.0, alarm["expected"] / alarm["share"]) if alarm["unhealthy"] else 1.0


def accuracies(row: Mapping[str, Any], was: Any = None) -> str:
    """Return the expected accuracy of a device, and that of before or of devices that need nobody."""
    if row["silent"]:
        return "unknown"
    usual = f"was {share(was, 0)}" if known(was) else f"others {share(row['usual_accuracy'], 0)}"
    shown = share(row["expected_accuracy"], 0)
    return f"{shown} ({usual})" if known(was) or known(row["usual_accuracy"]) else shown


def in_common(summary: Mapping[str, Any]) -> str:
    """Return what the devices that need someone have in common, in one sentence; "" where nothing."""
    facts = []
    for fact in summary["together"]:
        kind, value, these = fact["kind"], fact["value"], f"{fact['devices']:,} of {fact['of']:,}"
        if kind in ("version", "tag"):
            where = f"version {value}" if kind == "version" else value
            facts.append(
                f"{these} are in {where}, which has {fact['all']:,} of all {summary['devices']:,} devices"
            )
        elif kind == "cause":
            facts.append(f"{these} say: {value}")
        else:
            facts.append(f"{these} began from {moment(value[0])} to {moment(value[1])[11:]}")
    return f"Together: {'; '.join(facts)}." if facts else ""


def blind(summary: Mapping[str, Any]) -> list[str]:
    """Return a note for each version whose events lack the gauges that its monitor was fitted to."""
    return [
        f"{row['without_gauges']:,} of {row['steps']:,} steps of version {row['version']} came without the "
        "gauges that its monitor was fitted to: there the alarm sees the outputs alone."
        for row in summary["versions"]
        if row["without_gauges"]
    ]


def comparable(alarm: Mapping[str, Any]) -> bool:
    """Tell whether enough clean data is known for some number of alarms to be called unhealthy."""
    return known(alarm["p_always"])


def alarmed(summary: Mapping[str, Any]) -> bool:
    """Tell whether more devices are in alarm than chance explains."""
    return bool(summary["alarm"]["unhealthy"])


def named(summary: Mapping[str, Any]) -> int:
    """Return how many devices are named."""
    return int(summary["named"]["count"])


def why_named(summary: Mapping[str, Any]) -> str:
    """Return what devices are named for."""
    return "by alarm or degradation" if summary["named"]["by_degradation"] else "by alarm"


def verdict(summary: Mapping[str, Any]) -> str:
    """Return what the reader needs to know first, the worst news first."""
    devices, alarm = summary["devices"], summary["alarm"]
    if not devices:
        return "No device has sent anything yet."
    if not alarm["of"]:
        return f"{plural(devices, 'device')}, and none has reported lately."
    counts = {"on hold": alarm["devices"], "silent": summary["silent"]}
    counts["degraded without an alarm"] = summary["need"] - sum(counts.values())
    who = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number)
    needed = "1 device needs you" if summary["need"] == 1 else f"{summary['need']:,} devices need you"
    fine = f"{max(0, devices - summary['need']):,} fine"
    head = f"{needed}: {who}; {fine}." if who else "No device needs you: none is on hold or silent."
    news = [rollout(compared) for compared in summary["rollouts"] if compared["worse"]]
    bad = [version for version in summary["versions"] if version["alarm"]["unhealthy"]]
    if bad and not alarmed(summary):
        news += [_alarms(version["alarm"], f" of version {version['version']}") for version in bad]
    about_fleet = [_alarms(alarm), _degraded(summary["named"], alarm)]
    if named(summary) and not alarmed(summary):
        about_fleet.reverse()
    return " ".join(filter(None, [head, *news, *about_fleet]))


def _alarms(alarm: Mapping[str, Any], which: str = "") -> str:
    """Say how many devices are in alarm, beside healthy ones."""
    hit, of = alarm["devices"], alarm["of"]
    hits = f"{hit:,} of {of:,} devices{which} ({share(hit / of)}) {'is' if hit == 1 else 'are'} in alarm"
    if not known(alarm["baseline"]):
        return f"There is no baseline to compare alarms with: {alarm['baseline_from']}."
    if not comparable(alarm):
        own = "devices are listed by their own alarms. --healthy compares with a time when all was well"
        return f"Too little clean data to compare alarms{which}; {own}."
    expected, most = alarm["expected"], alarm["baseline"]
    healthy = f"about {share(expected)} of healthy devices are"
    healthy += f", {share(most)} at most"
    if alarm["unhealthy"]:
        chance = f"by chance {expected * of:,.0f} would be on hold, {most * of:,.0f} at most"
        return f"More devices are in alarm than chance explains: {hits}; {chance}."
    judged = "That is more than expected, but may be chance"
    if hit / of <= expected:
        judged = "That is no more than expected"
    return f"{hits}; {healthy}. {judged}. {alarm['unhealthy_from']:,} in alarm would be called unhealthy."


def _degraded(judged: Mapping[str, Any], alarm: Mapping[str, Any]) -> str:
    """Say who looks degraded and how many of them may be healthy."""
    count, of, names = judged["count"], judged["of"], judged["devices"][:FEW]
    if count:
        more = f" and {count - len(names):,} more" if count > len(names) else ""
        who = f"{count:,} of {plural(of, 'device')} {'looks' if count == 1 else 'look'} degraded"
        rate = f"On average, at most {share(judged['false_share'], 0)} of the devices named here are healthy."
        if 2 * count > of:
            rate += " So many may also mean that the field differs from the clean data of the fit."
        return f"{who}: {', '.join(names)}{more}. {rate}"
    return (
        "Any of them may be chance."
        if alarm["devices"] and comparable(alarm) and not alarm["unhealthy"]
        else ""
    )


def accuracy(labels: Mapping[str, Any]) -> str:
    """Return what labels say of accepted answers."""
    if not known(labels["estimate"]):
        return "no estimate yet"
    low, high = labels["interval"]
    sure = f"{share(low)} to {share(high)} with {share(labels['confidence'], 0)} confidence"
    return f"accuracy of accepted answers {share(labels['estimate'])} ({sure})"


def promised(row: Mapping[str, Any]) -> str:
    """Return what labels of accepted steps have shown beside what the parameters promise of them."""
    labeled, wrong, least = row["labeled"], row["wrong"], row["says_from"]
    whose = f" of {row['devices']:,} devices" if row["devices"] > 1 else ""
    shown = f"{plural(labeled, 'accepted answer')}{whose} with a label, {wrong:,} wrong"
    share_of = share(row["max_error"], 0 if row["max_error"] >= 0.01 else 1)
    if labeled < least:
        return (
            f"{shown}; the promise ({share_of} of them wrong, and a constant) says something from "
            f"{least:,} labels on: {least - labeled:,} more"
        )
    allowed = min(row["allowed"], labeled)
    return f"{shown}; the promise: no more than {allowed:,.1f} ({share(allowed / labeled)}) are"


def next_to_label(labels: Mapping[str, Any]) -> str:
    """Return the devices whose labels are wanted next, in one sentence; "" where none is."""
    rows = labels.get("next", ())
    who = ", ".join(f"{row['device']} ({row['steps']:,})" for row in rows[:FEW])
    return f"to label next (steps that wait): {who}" if rows else ""


def rollout(compared: Mapping[str, Any]) -> str:
    """Return how a version compares with the one before it, and how often that verdict is wrong."""
    new, old, hours = compared["version"], compared["before"], compared["width"] // 3600
    if not known(compared["time"]):
        return f"Versions {new} and {old} cannot be compared yet: no full hour has devices of both."
    mine, theirs = (
        f"{compared[hit]:,} of {compared[of]:,} devices ({share(compared[hit] / compared[of])})"
        for hit, of in (("in_alarm", "devices"), ("in_alarm_before", "devices_before"))
    )
    span = "hour" if hours == 1 else f"{hours:,} hours"
    figures = f"in the {span} from {moment(compared['time'])}, {mine} had an alarm, and {theirs} of {old}."
    if not compared["worse"]:
        return f"Version {new} is not shown to be worse than {old}: {figures}"
    chance = f"The chance to say so of equal versions is at most {share(compared['error'], 0)}"
    return f"Version {new} is worse than {old}: {figures} {chance}, however often you look."
