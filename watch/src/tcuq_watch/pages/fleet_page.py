"""The fleet's page: one HTML file that needs nothing else, or served; names of devices are escaped."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np

from tcuq._version import VERSION
from tcuq.monitor.steps import NOT_MOVED, moved_name
from tcuq.report.page import NOT_PROMISED, asset, head, policy
from tcuq.report.plot import Axis, Plot, axis_top, nice_ticks, runs
from tcuq.report.text import DASH, count, escape, fact, legend, plural, section, table

from ..engine.tallies import MEAN_ONE
from ..verdicts.summary import Only
from ..verdicts.words import (
    LIKELY,
    ORDER,
    accuracies,
    accuracy,
    alarmed,
    before,
    blind,
    by_chance,
    comparable,
    figure,
    in_common,
    moment,
    named,
    promised,
    rollout,
    share,
    state,
    verdict,
    why_named,
)
from .live_page import closed, own

Summary = Mapping[str, Any]
Timelines = Mapping[tuple[str, str], Mapping[str, Any]]

HOURS, CELLS = 24, 96
"""Hours up to the last event that a device's own day has, and its parts; a row's strip is its second half."""

MOST_BYTES = 20_000_000
"""Bytes of decisions that are read for timelines, the newest: about 2 million, and a second of work."""

SHOWN = 20
"""Devices that are listed with their days, the worst; others that need someone are one click away."""

MOST = 200
"""Devices that a page has at once, of those that need someone; a served one turns over."""

MATCHES = 100
"""Devices of a page that is searched, filtered or turned over."""

STYLES = "abcd"
"""Names of line styles, each a color and a dash pattern; versions beyond them share the last."""

STATES = ("none", "act", "ask", "hold")
"""What a device did most urgently in a part of its day."""


def timelines(
    fleet: Any, rows: Sequence[Summary], end: float | None
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the last day by (version, device), from the newest decisions.

    `state` has places in `STATES`, `accuracy` means (nan: none), `was` the mean before the alarm that is on.
    """
    wanted = {(row["version"], row["device"]): place for place, row in enumerate(rows)}
    since = np.array([math.inf if row["alarm_since"] is None else row["alarm_since"] for row in rows])
    taken = [np.zeros((0, 4))]
    # Who writes may drop old decisions meanwhile: what was read until then is shown.
    with contextlib.suppress(OSError):
        for _, parts in fleet.commits(fleet.store.recent(MOST_BYTES)) if wanted and end else ():
            for part in parts:
                place = np.array([wanted.get((part.version, name), -1) for name in part.devices.tolist()])
                mine = (place >= 0) & np.isfinite(part.times)
                steps = part.steps[mine]
                did = np.where(steps["alarm"] > 0, 3, np.where(steps["abstain"], 2, 1))
                columns = place[mine], part.times[mine], did, steps["expected_accuracy"]
                taken.append(np.column_stack(columns))
    place, times, did, accuracy = np.concatenate(taken).T
    if end is None or not len(times):
        return {}
    edges = np.linspace(end - 3600.0 * HOURS, end, CELLS + 1)
    bins = np.arange(len(wanted) + 1), edges
    seen = [
        np.histogram2d(place[hit], times[hit], bins)[0] > 0 for hit in (did == code for code in (1, 2, 3))
    ]
    states = np.max([code * hits for code, hits in enumerate(seen, 1)], axis=0)
    told = np.isfinite(accuracy)
    counts, sums = (
        np.histogram2d(place[told], times[told], bins, weights=weights)[0]
        for weights in (None, accuracy[told])
    )
    mean = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    calm = told & (did < 3) & (times < since[place.astype(int)])
    many = np.bincount(place[calm].astype(int), minlength=len(rows))
    before = np.bincount(place[calm].astype(int), accuracy[calm], len(rows)) / np.maximum(1, many)
    return {
        key: {
            "time": edges,
            "state": states[row].astype(int),
            "accuracy": mean[row],
            "was": before[row] if many[row] and np.isfinite(since[row]) else None,
        }
        for row, key in enumerate(wanted)
        if states[row].any()
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


def strip(line: Mapping[str, Any] | None) -> str:
    """Return what a device did in the last twelve hours as a small drawing: the more to do, the higher."""
    if line is None:
        return '<span class="none">no decisions kept</span>'
    states = np.asarray(line["state"])[CELLS // 2 :]
    plot = Plot("", "", Axis(0, len(states)), Axis(0, 1), grid=False, width=170, height=22)
    for code, (low, high) in enumerate(((0.45, 0.55), (0.0, 1.0), (0.0, 0.6), (0.0, 1.0))):
        plot.boxes(runs(states == code), low, high, f"did-{STATES[code]}")
        if code == STATES.index("ask"):
            plot.boxes(runs(states == code), 0.6, 1.0, "did-act")
    return (
        '<svg class="strip" viewBox="0 0 170 22" preserveAspectRatio="none" aria-hidden="true">'
        f"{plot.drawing()}</svg>"
    )


def day(row: Summary, line: Mapping[str, Any] | None, place: int, alarm: Summary) -> str:
    """Return the own day of a device: what it is doing, and its expected accuracy over the last 24 hours."""
    word, judged, _ = state(row, alarm)
    said = ", ".join(filter(None, (judged, row["moved"])))
    counted = f"{count(row['steps'])} steps, asked on {share(row['abstained'])}; "
    counted += f"last heard {moment(row['last_time'])}"
    head = f"<h3>{escape(row['device'])}: {word}{f', {escape(said)}' if said else ''}</h3>{fact(counted)}"
    if line is None:
        return f'<div class="own-day" id="day-{place}" tabindex="-1">{head}</div>'
    times, states = np.asarray(line["time"]), np.asarray(line["state"])
    low, high = float(times[0]), float(times[-1])
    ticks = tuple(
        (low + part * (high - low), moment(low + part * (high - low), brief=True)) for part in (0.1, 0.5, 0.9)
    )
    percents = tuple((tick, share(tick, 0)) for tick in (0.0, 0.5, 1.0))
    plot = Plot(
        f"The last day of {row['device']}", word, Axis(low, high, "time (UTC)", ticks=ticks),
        Axis(0, 1, "expected accuracy", ticks=percents), "day",
    )  # fmt: skip
    edges = [(times[int(a)], times[int(b)]) for a, b in runs(states == STATES.index("hold"))]
    plot.boxes(edges, 0, 1, "rise tint")
    for first, end in runs(np.isfinite(line["accuracy"])):
        part = slice(int(first), int(end))
        plot.line((times[:-1] + (times[1] - times[0]) / 2)[part], np.asarray(line["accuracy"])[part], "risk")
    return (
        f'<div class="own-day" id="day-{place}" tabindex="-1">{head}{plot.html()}'
        '<p class="hint">Shaded: on hold. <a href="#worst">Close</a></p></div>'
    )


def listed(rows: Iterable[Any], columns: Mapping[str, Callable[[Any], str]], name: str = "") -> str:
    """Return a table of rows, a column for each title: what its function makes of a row, as HTML."""
    cells = [[cell(row) for cell in columns.values()] for row in rows]
    return table(list(columns), cells, f"numbers {name}")


def _cell(key: str, shown: Callable[[Any], str]) -> Callable[[Summary], str]:
    return lambda row: shown(row[key])


def device_table(
    rows: Sequence[Summary], summary: Summary, timelines: Timelines, first: int = 0, days: bool = True
) -> str:
    """Return devices with their states, strips and own days."""
    now, by, alarm = summary["time"], summary["ranked_by"], summary["alarm"]
    lines = [timelines.get((row["version"], row["device"])) for row in rows]
    numbered = [(place, row, line) for place, (row, line) in enumerate(zip(rows, lines, strict=True), first)]

    def name(place: int, row: Summary, line: Any) -> str:
        shown = f'<span class="device">{escape(row["device"])}</span>'
        return f'<a href="#day-{place}">{shown}</a>' if days else shown

    def now_in(place: int, row: Summary, line: Any) -> str:
        word = state(row, alarm)[0]
        kind = word.split(",")[0].lower() if row["silent"] or row["alarm"] else "calm"
        return f'<b class="state {kind}">{word}</b>'

    def likely(place: int, row: Summary, line: Any) -> str:
        return state(row, alarm)[1] + f"<small>{escape(row['moved'])}</small>" * bool(row["moved"])

    columns: dict[str, Callable[..., str]] = {
        "Device": name,
        "State": now_in,
        "Since": lambda place, row, line: before(state(row, alarm)[2], now),
        "Expected accuracy": lambda place, row, line: accuracies(row, line and line["was"]),
        "Last 12 hours": lambda place, row, line: strip(line),
        "Likely": likely,
        "Version": lambda place, row, line: escape(row["version"]),
        "Site": lambda place, row, line: escape(row["tag"] or DASH),
        by.replace("_", " ").capitalize(): lambda place, row, line: figure(row[by]),
    }
    if not any(row["tag"] for row in rows):
        del columns["Site"]
    cells = [[cell(*each) for cell in columns.values()] for each in numbered]
    shown = "".join(day(row, line, place, alarm) for place, row, line in numbered) if days else ""
    return table(list(columns), cells, "numbers named worst") + shown


def found(summary: Summary, timelines: Timelines, only: Only) -> str:
    """Return devices that were searched for, or a further page of those that need someone."""
    rows, of = summary["worst"], summary["meant"] if not only.all else summary["need"]
    if not rows:
        return fact("No such device. Part of a name is enough; a version and a site must fit as well.")
    last = only.first + len(rows)
    more = f", {count(only.first + 1)} to {count(last)}" if only.first or last < of else ""
    body = fact(f"{plural(of, 'device')}{more}, those that need you first:")
    body += device_table(rows, summary, timelines, 1000)
    if last < of:
        asked = urlencode({"find": only.find, "version": only.version, "site": only.tag, "from": last})
        body += f'<p class="hint"><a href="?{escape(asked)}">Next {MATCHES}</a></p>'
    return f'<div data-part="found">{body}</div>'


def _search(summary: Summary, only: Only, sites: Sequence[str]) -> str:
    """Return the form that searches by name, and filters by version and site."""

    def choice(name: str, title: str, values: Sequence[str], chosen: str) -> str:
        options = "".join(
            f"<option{' selected' * (value == chosen)}>{escape(value)}</option>" for value in values
        )
        chooser = f'<select id="{name}" name="{name}"><option value="">all</option>{options}</select>'
        return f'<label for="{name}">{title}</label>{chooser}' if len(values) > 1 else ""

    versions = [row["version"] for row in summary["versions"]]
    return (
        '<form class="find" role="search"><label for="find">Find a device</label>'
        f'<input id="find" name="find" type="search" value="{escape(only.find)}" autocomplete="off" '
        f'placeholder="part of its name">{choice("version", "Version", versions, only.version)}'
        f"{choice('site', 'Site', sites, only.tag)}<button>Find</button></form>"
    )


def page(
    summary: Summary,
    timelines: Timelines | None = None,
    title: str = "Fleet",
    only: Only | None = None,
    matches: str = "",
    sites: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the page and its content security policy.

    With `only`, what was searched for, the page is served: it keeps itself up to date and can find devices.
    A file has all its devices in it, and its script filters these.
    """
    style, code = "\n" + asset("report.css") + own("fleet.css"), closed(own("fleet.js"))
    allowed = policy(style, (code,))
    if only is not None:
        allowed = allowed.replace("form-action 'none'", "form-action 'self'; connect-src 'self'")
    parts = {
        "worst": worst(summary, timelines or {}, only is not None),
        "over-time": over_time(summary),
        "labels": labeled(summary, only is not None),
        "versions": versions(summary),
        "arrivals": arrivals(summary),
    }
    body = "".join(f'<div data-part="{key}">{html}</div>' for key, html in parts.items())
    search = _search(summary, only or Only(), sites) if summary["devices"] else ""
    return (
        f"{head(title, style, allowed)}</head><body{' data-served' * (only is not None)}>"
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
    degraded = (named(summary), "Look degraded", count(named(summary)), f"{why_named(summary)}, at this look")
    if not named(summary) and by_chance(alarm) <= LIKELY:
        chance = round(by_chance(alarm) * alarm["devices"])
        not_chance = f"about {count(alarm['devices'] - chance)}"
        degraded = (1, degraded[1], not_chance, f"of {count(alarm['devices'])}; {chance} by chance")
    tiles = [
        (False, "Devices", count(summary["devices"]), f"{count(summary['steps'])} steps"),
        (alarm["devices"], "On hold", count(alarm["devices"]), f"{share(alarm['share'])}; {most}"),
        degraded,
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
    notes = "".join(f'<p class="fact hot">{escape(each)}</p>' for each in blind(summary))
    return (
        f'<p class="verdict{hot}" role="status">{escape(verdict(summary))}</p>'
        f'{notes}<dl class="tiles">{body}</dl>'
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


def worst(summary: Summary, timelines: Timelines, served: bool = False) -> str:
    """Return devices that need someone, worst first: the first of them with their days."""
    rows, rank = summary["worst"][:MOST], summary["ranked_by"].replace("_", " ")
    false = share(summary["named"]["false_share"], 0)
    why = why_named(summary)
    hint = "Strips: act light, ask half, hold full, no data a line. "
    hint += f"Degraded: {why}; at most {false} of these are healthy."
    none = fact("No device has been judged yet. <code>tcuq fleet run</code> takes events in.")
    body = device_table(rows[:SHOWN], summary, timelines) if rows else none
    body += f'<p class="hint">{hint}</p>' * bool(rows)
    if shared := in_common(summary):
        body = f'<p class="fact together">{escape(shared)}</p>{body}'
    if more := rows[SHOWN:]:
        brief = device_table(more, summary, timelines, SHOWN, days=False)
        body += f"<details><summary>Show {count(len(more))} more that need you</summary>{brief}</details>"
    if (left := summary["need"] - len(rows)) > 0:
        asked = (
            f'<a href="?from={len(rows)}">Next {MATCHES}</a>'
            if served
            else "tcuq fleet page --serve shows them"
        )
        body += f'<p class="hint">{count(left)} more need you: {asked}.</p>'
    lead = (
        "Degraded ones first, then silent ones, those on hold for over an hour, other alarms, and the rest; "
        f"within each by the drop of the expected accuracy, then by {rank}. A name opens its day."
    )
    return section("worst", f"Need you: {count(summary['need'])}", lead, body)


def labeled(summary: Summary, served: bool = False) -> str:
    """Return what labels say, and which devices to label next; a served page takes labels of their steps."""
    found, promises = summary["labels"], summary["promises"]
    if found is None and not any(row["labeled"] for row in promises):
        return ""
    lines = [accuracy(found)] if found else []
    lines += [promised(row) for row in promises]
    body = "".join(fact(escape(f"{line[0].upper()}{line[1:]}.")) for line in lines)

    def steps(row: Summary) -> str:
        return " ".join(_asked(row, step) for step in row["newest"]) if served else count(row["steps"])

    columns = {
        "Device": lambda row: escape(row["device"]) + ("<small>needs you</small>" if row["needs"] else ""),
        "Version": lambda row: escape(row["version"]),
        "Steps asked for": _cell("steps", count),
        **({"Newest: was the answer right?": steps} if served else {}),
    }
    rows = (found or {}).get("next", ())
    body += listed(rows, columns) if rows else ""
    lead = "Labels of steps drawn at random speak for all answers; these devices have steps without one."
    return section("labels", "What labels say", lead, body)


def _asked(row: Summary, step: Summary) -> str:
    """Return a step that is asked for, with buttons that say whether its answer was right."""
    mark = {"device": row["device"], "version": row["version"], "boot": step["boot"], "seq": step["seq"]}
    said = f"step {step['seq']:,} answered {escape(step['answer_name'])}"
    choices = "".join(
        f'<button type="button" value="{value}">{word}</button>'
        for value, word in (("true", "right"), ("false", "wrong"))
    )
    return f'<span class="mark" data-mark="{escape(json.dumps(mark))}">{said} {choices}</span>'


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
