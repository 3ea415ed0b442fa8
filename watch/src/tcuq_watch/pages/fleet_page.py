"""The fleet's page: one HTML file that needs nothing else, or served; names of devices are escaped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tcuq._version import VERSION
from tcuq.monitor.steps import NOT_MOVED, moved_name
from tcuq.report.page import NOT_PROMISED, asset, head, policy
from tcuq.report.plot import Axis, Plot, axis_top, nice_ticks, runs
from tcuq.report.text import DASH, count, escape, fact, legend, plural, section, table

from ..engine.tallies import MEAN_ONE
from ..verdicts.words import (
    ALARMS,
    ORDER,
    alarmed,
    before,
    comparable,
    figure,
    moment,
    named,
    rollout,
    share,
    state,
    verdict,
    why_named,
)
from .live_page import closed, own

Summary = Mapping[str, Any]
Timelines = Mapping[tuple[str, str], Mapping[str, Sequence[Any]]]

CELLS = 60
"""Parts of the time that a timeline has."""

MOST_BYTES = 20_000_000
"""Bytes of decisions that are read for timelines, the newest: about 2 million, and a second of work."""

SHOWN = 20
"""Devices that are listed with all figures, the worst; others that need someone are one click away."""

MATCHES = 20
"""Devices that a search shows."""

STYLES = "abcd"
"""Names of line styles, each a color and a dash pattern; versions beyond them share the last."""


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
                "recent_risk": float(row["recent_risk"]) / MEAN_ONE,
                "alarm": int(row["alarm"]),
                "moved": moved_name(NOT_MOVED - int(row["cause"]), model.params.sight),
                "last_time": time if np.isfinite(time) else None,
                **{key: int(place[key]) for key in ("boot", "seq", "missing", "late", "duplicates", "held")},
            }
        )
    return rows


def spark(line: Mapping[str, Sequence[Any]] | None, top: float) -> str:
    """Return the mean risk of one device over time as a small drawing, shaded where it was in alarm."""
    if line is None:
        return '<span class="none">no decisions kept</span>'
    risk = np.array(line["mean_risk"], dtype=float)
    plot = Plot("", "", Axis(0, len(risk)), Axis(0, top), grid=False, width=100, height=32)
    plot.boxes(runs(np.array(line["in_alarm"])), 0, top, "rise tint")
    for first, end in runs(np.isfinite(risk)):
        plot.line(np.arange(first, end) + 0.5, risk[int(first) : int(end)], "risk")
    return (
        '<svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" aria-hidden="true">'
        f"{plot.drawing()}</svg>"
    )


def listed(rows: Iterable[Any], columns: Mapping[str, Callable[[Any], str]], name: str = "") -> str:
    """Return a table of rows, a column for each title: what its function makes of a row, as HTML."""
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return table(list(columns), cells, f"numbers {name}")


def _cell(key: str, shown: Callable[[Any], str]) -> Callable[[Summary], str]:
    return lambda row: shown(row[key])


def find_devices(fleet: Any, text: str) -> str:
    """Return devices with a text in their names as a table, the shortest names first."""
    wanted = text.strip().lower()
    hits = [
        (len(name), name, version)
        for version, model in fleet.models.items()
        for name in model.devices
        if wanted in name.lower()
    ]
    if not hits:
        return fact("No device has that in its name.")
    columns = {
        "Device": _cell("device", escape),
        "Version": _cell("version", escape),
        "Recent risk": _cell("recent_risk", figure),
        "Alarm": lambda row: (
            ALARMS[row["alarm"]] + f"<small>{escape(row['moved'])}</small>" * bool(row["moved"])
        ),
        "Steps": _cell("steps", count),
        "Last heard": _cell("last_time", moment),
    }
    rows = [row for _, name, version in sorted(hits)[:MATCHES] for row in one_device(fleet, name, version)]
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
        "worst": worst(summary, timelines or {}),
        "over-time": over_time(summary),
        "versions": versions(summary),
        "arrivals": arrivals(summary),
    }
    body = "".join(f'<div data-part="{key}">{html}</div>' for key, html in parts.items())
    return (
        f"{head(title, style, allowed)}</head><body{' data-served' * (find is not None)}>"
        f'<header><p class="kind">tcuq {DASH} fleet</p>'
        f'<h1>{escape(title)}</h1><div data-part="top">{top(summary)}</div></header>'
        f"<main>{search}{matches}{body}</main><footer><p>{escape(NOT_PROMISED)}</p>"
        f"<p>Made with tcuq {escape(VERSION)}.</p></footer>"
        f"<script>{code}</script></body></html>\n"
    ), allowed


def top(summary: Summary) -> str:
    """Return what the reader needs to know first, and the figures on top."""
    alarm, labels = summary["alarm"], summary["labels"] or {}
    most = f"at most {share(alarm['baseline'])} when clean" if comparable(alarm) else "too little clean data"
    if not summary["devices"]:
        return (
            f'<p class="verdict">{escape(verdict(summary))}</p><p class="when"><span id="state"></span></p>'
        )
    tiles = [
        (False, "Devices", count(summary["devices"]), f"{count(summary['steps'])} steps"),
        (alarm["devices"], "In alarm", count(alarm["devices"]), f"{share(alarm['share'])}; {most}"),
        (named(summary), "Look degraded", count(named(summary)), f"{why_named(summary)}, at this look"),
        (summary["silent"], "Silent", count(summary["silent"]), "not heard of for long"),
    ]
    if labels.get("interval"):
        low, high = labels["interval"]
        by_labels = f"{share(low)} to {share(high)}, by {plural(labels['told'], 'label')}"
        tiles.append((False, "Measured accuracy", share(labels["estimate"]), by_labels))
    body = "".join(
        f'<div class="{"hot" * bool(hot)}"><dt>{name}</dt><dd><b>{value}</b><small>{more}</small></dd></div>'
        for hot, name, value, more in tiles
    )
    hot = " hot" if summary["need"] or alarmed(summary) else ""
    return (
        f'<p class="verdict{hot}" role="status">{escape(verdict(summary))}</p><dl class="tiles">{body}</dl>'
        f'<p class="when">State of {moment(summary["time"])}<span id="state"></span></p>'
    )


def over_time(summary: Summary) -> str:
    """Return the share of devices in alarm over time, one line a version, and clean baselines."""
    title, source = "Devices in alarm over time", summary["alarm"]["baseline_from"]
    lead = "The share of devices in alarm at a moment, on average over each part of the time."
    lines: dict[str, list[tuple[float, float]]] = {}
    for each in summary["over_time"]:
        # How many devices had an alarm at least once in an hour could not be compared with a baseline.
        rows = zip(each["time"], each["alarm_steps"], each["steps"], strict=True)
        lines[each["version"]] = [
            (time + each["width"] / 2, hits / steps) for time, hits, steps in rows if steps
        ]
    points = [point for line in lines.values() for point in line]
    if not points:
        return section("over-time", title, lead, fact("Nothing to draw yet: no step with a time has come."))
    times, shares = zip(*points, strict=True)
    low, high = min(times), max(*times, min(times) + 1)
    # So that three fit a telephone; of times that read alike, one is shown.
    ticks = {moment(low + part * (high - low), brief=True): part for part in (0.12, 0.88, 0.5)}
    levels = sorted({row["alarm"]["baseline"] for row in summary["versions"] if comparable(row["alarm"])})
    compared = "The baseline" if levels else "Too little clean data to compare with"
    lead += f" {compared}: {source}." if source else ""
    top = axis_top(max(1.15 * max(shares), *(1.6 * level for level in levels), 0.01))
    plot = Plot(
        title,
        "; ".join(f"{name}: {share(line[-1][1])} at last" for name, line in lines.items() if line),
        Axis(
            low,
            high,
            "time (UTC)",
            ticks=tuple((low + part * (high - low), at) for at, part in ticks.items()),
        ),
        Axis(0, top, "devices in alarm", ticks=tuple((t, share(t, 0)) for t in nice_ticks(0, top, 5))),
        "over-time",
    )
    keys = [("level", f"clean baseline, at most {share(level)}") for level in levels]
    for level in levels:
        plot.line([low, high], [level, level], "level")
    for place, (name, line) in enumerate(lines.items()):
        style = f"version-{STYLES[min(place, len(STYLES) - 1)]}"
        keys.insert(place, (style, name))
        if line:
            plot.line([time for time, _ in line], [value for _, value in line], style)
    return section("over-time", title, lead, legend(keys) + plot.html())


def worst(summary: Summary, timelines: Timelines) -> str:
    """Return every device that needs someone: the first of them with all figures and their timelines."""
    rows, now = summary["worst"], summary["time"]
    by = summary["ranked_by"]
    rank = by.replace("_", " ").capitalize()
    highest = max([0.25, *(float(np.nanmax(line["mean_risk"])) for line in timelines.values())])

    def now_in(row: Summary) -> str:
        word, judged, _ = state(row)
        said = "".join(f"<small>{escape(each)}</small>" for each in (row["moved"], judged) if each)
        kind = word.split(",")[0].lower() if row["silent"] or row["alarm"] else "calm"
        return f'<b class="state {kind}">{word}</b>{said}'

    columns = {
        "Device": lambda row: f'<span class="device">{escape(row["device"])}</span>',
        "State": now_in,
        "Since": lambda row: before(state(row)[2], now),
        rank: _cell(by, figure),
        "Mean risk over time": lambda row: spark(timelines.get((row["version"], row["device"])), highest),
        "Version": _cell("version", escape),
        "Mean risk": _cell("mean_risk", figure),
        "Steps": _cell("steps", count),
        "Last heard": lambda row: before(row["last_time"], now),
    }
    span = "".join(
        f"All timelines go from {moment(line['time'][0])} to {moment(line['time'][-1])}. "
        for line in [*timelines.values()][:1]
    )
    false = share(summary["named"]["false_share"], 0)
    why = why_named(summary)
    hint = f"{span}Shaded: in alarm. Degraded: {why}; at most {false} of these are healthy."
    none = fact("No device has been judged yet. <code>tcuq fleet run</code> takes events in.")
    body = f'{listed(rows[:SHOWN], columns, "named worst")}<p class="hint">{hint}</p>' if rows else none
    if more := rows[SHOWN:]:
        brief = listed(more, dict([*columns.items()][:4]), "named worst")
        body += f"<details><summary>Show {count(len(more))} more that need you</summary>{brief}</details>"
    lead = (
        f"Degraded ones first, then silent ones, other alarms, and the rest; within each by {rank.lower()}."
    )
    return section("worst", f"Need you: {count(summary['need'])}", lead, body)


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
        f'<p class="fact{" hot" * each["worse"]}">{escape(rollout(each))}</p>'
        for each in summary.get("rollouts", ())
    )
    lead = "Accuracy as expected of the last answers, without labels; intervals stand under the figures."
    body = listed(summary["versions"], columns) + compared
    return section("versions", "Versions side by side", lead, body) if summary["versions"] else ""


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
