"""The fleet's page: one HTML file that needs nothing else, or served; names of devices are escaped."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole
from tcuq.report.markup import fact, section, table
from tcuq.report.page import asset, policy
from tcuq.report.text import DASH, count, escape, plural

from ..verdicts.words import (
    ALARMS,
    ORDER,
    ago,
    alarmed,
    before,
    figure,
    known,
    moment,
    named,
    rollout,
    share,
    verdict,
)
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
                "last_time": time if known(time) else None,
                **{key: int(place[key]) for key in ("boot", "seq", "missing", "late", "duplicates", "held")},
            }
        )
    return rows


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
    rows = []
    for *_, name, version in sorted(hits)[:MATCHES]:
        [row] = one_device(fleet, name, version)
        alarm = ALARMS[row["alarm"]] if row["alarm"] else DASH
        cells = (figure(row["recent_risk"]), alarm, count(row["steps"]), moment(row["last_time"]))
        rows.append((escape(name), escape(version), *cells))
    head = ("Device", "Version", "Recent risk", "Alarm", "Steps", "Last heard")
    more = f", the first {MATCHES} of them" if len(hits) > MATCHES else ""
    return fact(f"{plural(len(hits), 'device')}{more}:") + table(head, rows, "numbers named")


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


def write_page(
    path: str | Path, summary: Summary, timelines: Timelines | None = None, title: str = "Fleet"
) -> int:
    """Write the page, whole or not at all; return its bytes."""
    content = page(summary, timelines, title)[0].encode()
    write_whole(path, content)
    return len(content)


def top(summary: Summary) -> str:
    """Return what the reader needs to know first, and the figures on top."""
    alarm, labels = summary.get("alarm") or {}, summary.get("labels") or {}
    shares = f"{share(alarm['share'])}; " if known(alarm.get("share")) else ""
    most = f"at most {share(alarm['baseline'])} when clean" if known(alarm.get("baseline")) else ""
    tiles = [
        (False, "Devices", count(summary["devices"]), f"{count(summary['steps'])} steps"),
        (alarmed(summary), "In alarm", count(alarm.get("devices") or 0), shares + most),
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
    rows = [row for row in summary["versions"] if known(row["expected_accuracy"])]
    weights = [(row["alarm"] or {}).get("of", row["devices"]) for row in rows]
    if not sum(weights):
        return None
    return float(np.average([row["expected_accuracy"] for row in rows], weights=weights))


def over_time(summary: Summary) -> str:
    """Return the share in alarm over time."""
    bases = [(row["alarm"] or {}).get("baseline") for row in summary["versions"]]
    levels = sorted({float(value) for value in bases if value is not None and known(value)})
    source = (summary.get("alarm") or {}).get("baseline_from")
    return section(
        "over-time",
        "Devices in alarm over time",
        "The share of devices in alarm at a moment, on average over each part of the time."
        + (f" The baseline: {source}." if source else ""),
        alarm_plot(summary["over_time"], levels),
    )


def worst(summary: Summary, timelines: Timelines) -> str:
    """Return the worst devices with their timelines."""
    rows, now = summary["worst"], summary["time"]
    # Without evidence there is no severity, and devices are ranked by their recent risk.
    by, title, lead = "recent_risk", "Recent risk", "the mean risk of their last steps."
    if all(known(row["severity"]) for row in rows):
        by, title = "severity", "Severity"
        lead = "severity: above 0, their last steps look more likely degraded than clean."
    highest = max([0.25, *(float(np.nanmax(line["mean_risk"])) for line in timelines.values())])
    dot = '<i class="dot" role="img" aria-label="looks degraded"></i>'
    lines = []
    for row in rows:
        alarm = DASH
        if row["alarm"]:
            since = f" <small>for {ago(row['alarm_since'], now)}</small>" if known(row["alarm_since"]) else ""
            alarm = f'<b class="alarm-{row["alarm"]}">{ALARMS[row["alarm"]]}</b>{since}'
        lines.append(
            (
                f'<span class="device">{dot if row["named"] else ""}{escape(row["device"])}</span>',
                escape(row["version"]),
                spark(timelines.get((row["version"], row["device"])), highest),
                figure(row[by], 2),
                alarm,
                figure(row["mean_risk"]),
                share(row["abstained"]),
                count(row["steps"]),
                f'<span title="{moment(row["last_time"])}">{before(row["last_time"], now)}</span>',
            )
        )
    head = ("Device", "Version", "Mean risk over time", title, "Alarm")
    head += ("Mean risk", "Abstained", "Steps", "Last heard")
    hint = "Shaded: in alarm. A dot marks devices that look degraded by alarm or severity."
    for line in [*timelines.values()][:1]:
        span = f"{moment(line['time'][0])} to {moment(line['time'][-1])}"
        hint = f"All timelines go from {span}, and from risk 0 to {figure(highest, 2)}. {hint}"
    body = f'{table(head, lines, "numbers named worst")}<p class="hint">{hint}</p>'
    none = fact("No device has been judged yet. <code>tcuq fleet run</code> takes events in.")
    lead = f"Devices that look degraded first, then by {lead}"
    return section("worst", "The worst devices", lead, body if rows else none)


def versions(summary: Summary) -> str:
    """Return versions side by side, and what is said of each new one."""
    if not summary["versions"]:
        return ""
    body = []
    for row in summary["versions"]:
        alarm, print_ = row["alarm"] or {}, row.get("fingerprint")
        low_high = [_range(ends) for ends in (alarm.get("interval"), row.get("accuracy_band"))]
        made = f"<small>{escape(print_)}</small>" if print_ != row["version"] else ""
        body.append(
            (
                escape(row["version"]) + made,
                count(row["devices"]),
                count(row["silent"]),
                share(alarm.get("share")) + low_high[0],
                share(row["abstained"]),
                share(row["flagged"]),
                figure(row["mean_risk"]),
                share(row["expected_accuracy"]) + low_high[1],
            )
        )
    head = ("Version", "Devices", "Silent", "In alarm", "Abstained", "Flagged", "Mean risk")
    compared = "".join(
        f"<p{_hot(each['worse'], 'fact')}>{escape(rollout(each))}</p>" for each in summary["rollouts"]
    )
    return section(
        "versions",
        "Versions side by side",
        "Shares and accuracy with their intervals under them.",
        table((*head, "Expected accuracy"), body) + compared,
    )


def _range(ends: Sequence[Any] | None) -> str:
    return f"<small>{share(ends[0])} to {share(ends[1])}</small>" if ends else ""


def classes(summary: Summary) -> str:
    """Return mean risk and abstentions by class, the highest risk first."""
    rows = sorted((row for row in summary["classes"] if row["steps"]), key=lambda row: -row["mean_risk"])
    body = [
        (
            escape(row["name"] or f"class {row['class']}"),
            escape(row["version"]),
            count(row["steps"]),
            figure(row["mean_risk"]),
            share(row["abstained"]),
        )
        for row in rows[:CLASSES]
    ]
    head = ("Class", "Version", "Steps", "Mean risk", "Abstained")
    lead = f"By the answer that devices gave; the {plural(len(body), 'row')} with the highest mean risk."
    return section("classes", "Classes", lead, table(head, body, "numbers named")) if rows else ""


def silent(summary: Summary) -> str:
    """Return devices that were not heard of for long."""
    number, rows = summary["silent"], summary["silent_devices"]
    if not number:
        return ""
    items = "".join(
        f'<li><span class="device">{escape(row["device"])}</span> <small>{escape(row["version"])}, '
        f"{before(row['last_time'], summary['time'])}</small></li>"
        for row in rows
    )
    more = f'<p class="hint">and {count(number - len(rows))} more</p>' if number > len(rows) else ""
    lead = f"{plural(number, 'device')} sent nothing for long, measured by how often they used to send."
    return section("silent", "Silent devices", lead, f'<ul class="names">{items}</ul>{more}')


def arrivals(summary: Summary) -> str:
    """Return what was missing, late, sent again or refused."""
    counts = {f"{name}<small>{meaning}</small>": summary[name] for name, meaning in ORDER.items()}
    refused = sorted(summary["refused"].items(), key=lambda pair: -pair[1])
    counts |= {f"refused: {escape(kind)}": number for kind, number in refused}
    steps = max(1, summary["steps"])
    rows = [(name, count(number), share(number / steps, 2)) for name, number in counts.items()]
    lead = "Nothing here stops the fleet; each is counted."
    return section("arrivals", "What arrived", lead, table(("What", "Count", "Of steps"), rows))
