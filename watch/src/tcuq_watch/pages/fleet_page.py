"""The fleet's page: one HTML file that needs nothing else, or served; names of devices are escaped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcuq._version import VERSION
from tcuq.report.markup import fact, section, table
from tcuq.report.page import asset, policy
from tcuq.report.text import DASH, count, escape, plural

from ..verdicts.words import ALARMS, ORDER, alarmed, before, figure, moment, named, rollout, share, verdict
from .figures import alarm_plot, spark
from .live_page import closed, own

Summary = Mapping[str, Any]
Timelines = Mapping[tuple[str, str], Mapping[str, Sequence[Any]]]

CELLS = 60
"""Parts of the time that a timeline has."""

MOST_BYTES = 20_000_000
"""Bytes of decisions that are read for timelines, the newest: about 2 million, and a second of work."""

MATCHES, CLASSES = 20, 12
"""Devices that a search shows, and classes that the page lists."""

RISK = 2**24
"""Units of the slow mean of the risk in the tallies of a device."""

NOT_PROMISED = (
    "What is not promised: the error rate. An alarm says that the steps of a device look unlike those that "
    "its parameters were fitted to. Confident mistakes can pass unseen; labels measure them."
)


def timelines(fleet: Any, rows: Sequence[Summary]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return mean risk (nan: none) and alarm over time by (version, device), from the newest decisions."""
    wanted = {(row["version"], row["device"]): place for place, row in enumerate(rows)}
    taken = [np.zeros((0, 4))]
    # Who writes may drop old decisions meanwhile: what was read until then is shown.
    with contextlib.suppress(OSError):
        for _, parts in fleet.commits(fleet.store.recent(MOST_BYTES)) if wanted else ():
            for part in parts:
                place = np.array([wanted.get((part.version, name), -1) for name in part.devices.tolist()])
                mine = (place >= 0) & np.isfinite(part.times)
                steps = part.steps[mine]
                columns = place[mine], part.times[mine], steps["risk"], steps["alarm"] > 0
                taken.append(np.column_stack(columns))
    place, times, risk, alarm = np.concatenate(taken).T
    if not len(times):
        return {}
    edges = np.linspace(times.min(), times.max(), CELLS + 1)
    bins = np.arange(len(wanted) + 1), edges
    steps, sums, hits = (
        np.histogram2d(place, times, bins, weights=weights)[0] for weights in (None, risk, alarm)
    )
    mean = np.divide(sums, steps, out=np.full_like(sums, np.nan), where=steps > 0)
    return {
        key: {"time": edges[:-1], "mean_risk": mean[row], "in_alarm": hits[row] > 0}
        for row, key in enumerate(wanted)
        if steps[row].any()
    }


def one_device(fleet: Any, name: str, only: str | None = None) -> list[dict[str, Any]]:
    """Return what is known of a device, one row a version; none where no version knows it."""
    rows = []
    for version, model in fleet.models.items():
        slot = model.slot(name) if only in (None, version) else None
        if slot is None:
            continue
        row, place = model.tallies.devices[slot], model.places[slot]
        time = float(row["last_time"])
        rows.append(
            {
                "device": name,
                "version": version,
                "steps": int(row["steps"]),
                "recent_risk": float(row["recent_risk"]) / RISK,
                "alarm": int(row["alarm"]),
                "last_time": time if np.isfinite(time) else None,
                **{key: int(place[key]) for key in ("boot", "seq", "missing", "late", "duplicates", "held")},
            }
        )
    return rows


def listed(rows: Iterable[Any], columns: Mapping[str, Callable[[Any], str]], name: str = "") -> str:
    """Return a table of rows, a column for each title: what its function makes of a row, as HTML."""
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return table(list(columns), cells, f"numbers {name}")


def _cell(key: str, shown: Callable[[Any], str]) -> Callable[[Summary], str]:
    return lambda row: shown(row[key])


def find_devices(fleet: Any, text: str) -> str:
    """Return devices with a text in their names as a table: first the name itself, then its beginnings."""
    wanted, hits = text.strip().lower(), []
    for version, model in fleet.models.items():
        for name in model.devices:
            start = name.lower().find(wanted)
            if start >= 0:
                hits.append((len(name) > len(wanted), start > 0, name, version))
    if not hits:
        return fact("No device has that in its name.")
    columns = {
        "Device": _cell("device", escape),
        "Version": _cell("version", escape),
        "Recent risk": _cell("recent_risk", figure),
        "Alarm": lambda row: ALARMS[row["alarm"]],
        "Steps": _cell("steps", count),
        "Last heard": _cell("last_time", moment),
    }
    rows = [row for *_, name, version in sorted(hits)[:MATCHES] for row in one_device(fleet, name, version)]
    more = f", the first {MATCHES} of them" if len(hits) > MATCHES else ""
    return fact(f"{plural(len(hits), 'device')}{more}:") + listed(rows, columns, "named")


def page(
    summary: Summary,
    timelines: Timelines | None = None,
    title: str = "Fleet",
    find: str | None = None,
    matches: str = "",
) -> tuple[str, str]:
    """Return the page and its content security policy.

    With `find`, what was searched for, the page is served: it keeps itself up to date and can find devices.
    """
    style, code = "\n" + asset("report.css") + own("fleet.css"), closed(own("fleet.js"))
    allowed, search = policy(style, (code,)), ""
    if find is not None:
        allowed = allowed.replace("form-action 'none'", "form-action 'self'; connect-src 'self'")
        search = (
            '<form class="find" role="search"><label for="find">Find a device</label>'
            f'<input id="find" name="find" type="search" value="{escape(find)}" autocomplete="off" '
            'placeholder="part of its name"><button>Find</button></form>'
        )
    parts = {
        "over-time": over_time(summary),
        "worst": worst(summary, timelines or {}),
        "versions": versions(summary),
        "classes": classes(summary),
        "silent": silent(summary),
        "arrivals": arrivals(summary),
    }
    body = "".join(f'<div data-part="{key}">{html}</div>' for key, html in parts.items())
    return (
        f'<!doctype html>\n<html lang="en"{" data-served" * (find is not None)}><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="tcuq {escape(VERSION)}"><title>{escape(title)}</title>'
        f'<style>{style}</style></head><body><header><p class="kind">tcuq {DASH} fleet</p>'
        f'<h1>{escape(title)}</h1><div data-part="top">{top(summary)}</div></header>'
        f"<main>{search}{matches}{body}</main><footer><p>{escape(NOT_PROMISED)}</p>"
        f"<p>Made with tcuq {escape(VERSION)}.</p></footer>"
        f"<script>{code}</script></body></html>\n"
    ), allowed


def top(summary: Summary) -> str:
    """Return what the reader needs to know first, and the figures on top."""
    alarm, labels = summary.get("alarm") or {}, summary.get("labels") or {}
    shares = f"{share(alarm.get('share'))}; at most {share(alarm.get('baseline'))} when clean"
    tiles = [
        (False, "Devices", count(summary["devices"]), f"{count(summary['steps'])} steps"),
        (alarmed(summary), "In alarm", count(alarm.get("devices") or 0), shares),
        (named(summary), "Look degraded", count(named(summary)), "by alarm or severity, at this look"),
        (False, "Silent", count(summary["silent"]), "not heard of for long"),
        (False, "Expected accuracy", share(_accuracy(summary)), "of the last answers, without labels"),
    ]
    if labels.get("interval"):
        low, high = labels["interval"]
        by_labels = f"{share(low)} to {share(high)}, by {plural(labels['told'], 'label')}"
        tiles.append((False, "Measured accuracy", share(labels["estimate"]), by_labels))
    body = "".join(
        f"<div{_hot(hot)}><dt>{name}</dt><dd><b>{value}</b><small>{more}</small></dd></div>"
        for hot, name, value, more in tiles
    )
    state = _hot(alarmed(summary) or named(summary), "verdict")
    return (
        f'<p{state} role="status">{escape(verdict(summary))}</p><dl class="tiles">{body}</dl>'
        f'<p class="when">State of {moment(summary["time"])}<span id="state"></span></p>'
    )


def _hot(hot: Any, kind: str = "") -> str:
    names = " ".join(filter(None, [kind, "hot" if hot else ""]))
    return f' class="{names}"' if names else ""


def _accuracy(summary: Summary) -> float | None:
    """Return the expected accuracy over versions, each by its devices that report."""
    rows = [row for row in summary["versions"] if row["expected_accuracy"] is not None]
    weights = [row["alarm"].get("of", row["devices"]) for row in rows]
    if not sum(weights):
        return None
    return float(np.average([row["expected_accuracy"] for row in rows], weights=weights))


def over_time(summary: Summary) -> str:
    """Return the share in alarm over time."""
    levels = {row["alarm"]["baseline"] for row in summary["versions"]} - {None}
    source = summary["alarm"]["baseline_from"]
    return section(
        "over-time",
        "Devices in alarm over time",
        "The share of devices in alarm at a moment, on average over each part of the time."
        + (f" The baseline: {source}." if source else ""),
        alarm_plot(summary["over_time"], sorted(levels)),
    )


def worst(summary: Summary, timelines: Timelines) -> str:
    """Return the worst devices with their timelines."""
    rows, now = summary["worst"], summary["time"]
    # Without evidence there is no severity, and devices are ranked by their recent risk.
    severe = all(row["severity"] is not None for row in rows)
    by, rank = ("severity", "Severity") if severe else ("recent_risk", "Recent risk")
    highest = max([0.25, *(float(np.nanmax(line["mean_risk"])) for line in timelines.values())])

    def device(row: Summary) -> str:
        dot = '<i class="dot" role="img" aria-label="looks degraded"></i>' if row["named"] else ""
        return f'<span class="device">{dot}{escape(row["device"])}</span>'

    def alarm(row: Summary) -> str:
        if not row["alarm"]:
            return DASH
        since = f"<small>{before(row['alarm_since'], now)}</small>"
        return f'<b class="alarm-{row["alarm"]}">{ALARMS[row["alarm"]]}</b>{since}'

    columns = {
        "Device": device,
        "Version": _cell("version", escape),
        "Mean risk over time": lambda row: spark(timelines.get((row["version"], row["device"])), highest),
        rank: _cell(by, figure),
        "Alarm": alarm,
        "Mean risk": _cell("mean_risk", figure),
        "Abstained": _cell("abstained", share),
        "Steps": _cell("steps", count),
        "Last heard": lambda row: before(row["last_time"], now),
    }
    span = "".join(
        f"All timelines go from {moment(line['time'][0])} to {moment(line['time'][-1])}. "
        for line in [*timelines.values()][:1]
    )
    hint = f"{span}Shaded: in alarm. A dot marks devices that look degraded by alarm or severity."
    none = fact("No device has been judged yet. <code>tcuq fleet run</code> takes events in.")
    body = f'{listed(rows, columns, "named worst")}<p class="hint">{hint}</p>' if rows else none
    lead = f"Devices that look degraded first, then by {rank.lower()}: the mean of their last steps."
    return section("worst", "The worst devices", lead, body)


def versions(summary: Summary) -> str:
    """Return versions side by side, and what is said of each new one."""

    def between(ends: Sequence[float] | None) -> str:
        return f"<small>{share(ends[0])} to {share(ends[1])}</small>" if ends else ""

    columns = {
        "Version": lambda row: f"{escape(row['version'])}<small>{escape(row['fingerprint'])}</small>",
        "Devices": _cell("devices", count),
        "Silent": _cell("silent", count),
        "In alarm": lambda row: share(row["alarm"]["share"]) + between(row["alarm"]["interval"]),
        "Abstained": _cell("abstained", share),
        "Flagged": _cell("flagged", share),
        "Mean risk": _cell("mean_risk", figure),
        "Expected accuracy": lambda row: share(row["expected_accuracy"]) + between(row.get("accuracy_band")),
    }
    compared = "".join(
        f"<p{_hot(each['worse'], 'fact')}>{escape(rollout(each))}</p>" for each in summary.get("rollouts", ())
    )
    lead = "Shares and accuracy, with their intervals under them."
    body = listed(summary["versions"], columns) + compared
    return section("versions", "Versions side by side", lead, body) if summary["versions"] else ""


def classes(summary: Summary) -> str:
    """Return mean risk and abstentions by class, the highest risk first."""
    rows = sorted((row for row in summary["classes"] if row["steps"]), key=lambda row: -row["mean_risk"])
    columns = {
        "Class": lambda row: escape(row["name"] or f"class {row['class']}"),
        "Version": _cell("version", escape),
        "Steps": _cell("steps", count),
        "Mean risk": _cell("mean_risk", figure),
        "Abstained": _cell("abstained", share),
    }
    lead = f"By the answer that devices gave; the first {CLASSES} by mean risk."
    return section("classes", "Classes", lead, listed(rows[:CLASSES], columns, "named")) if rows else ""


def silent(summary: Summary) -> str:
    """Return devices that were not heard of for long."""
    number, rows = summary["silent"], summary["silent_devices"]
    items = "".join(
        f'<li><span class="device">{escape(row["device"])}</span> <small>{escape(row["version"])}, '
        f"{before(row['last_time'], summary['time'])}</small></li>"
        for row in rows
    )
    more = f'<p class="hint">and {count(number - len(rows))} more</p>' if number > len(rows) else ""
    lead = f"{plural(number, 'device')} sent nothing for long, measured by how often they used to send."
    body = f'<ul class="names">{items}</ul>{more}'
    return section("silent", "Silent devices", lead, body) if number else ""


def arrivals(summary: Summary) -> str:
    """Return what was missing, late, sent again or refused."""
    rows = [(f"{name}<small>{meaning}</small>", summary[name]) for name, meaning in ORDER.items()]
    refused = sorted(summary["refused"].items(), key=lambda pair: -pair[1])
    rows += [(f"refused: {escape(kind)}", number) for kind, number in refused]
    columns = {
        "What": lambda row: row[0],
        "Count": lambda row: count(row[1]),
        "Of steps": lambda row: share(row[1] / max(1, summary["steps"]), 2),
    }
    lead = "Nothing here stops the fleet; each is counted."
    return section("arrivals", "What arrived", lead, listed(rows, columns))
