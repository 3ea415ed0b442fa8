"""Sections of the fleet's page, from a summary to HTML; every name that a device chose is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tcuq.report.text import DASH, count, escape, plural

from ..verdicts.words import ALARMS, ORDER, ago, alarmed, before, figure, known, moment, named, rollout, share
from .figures import alarm_plot, interval_bar, spark, spread_plot, style_of

Timelines = Mapping[tuple[str, str], Mapping[str, Sequence[Any]]]

FEW_CLASSES = 12
"""Rows of classes that are shown at once; the others are behind a click."""

FEW_DEVICES = 5
"""Devices at least that a histogram is drawn of."""

HISTOGRAMS = {
    "recent_risk": "recent risk",
    "mean_risk": "mean risk",
    "severity": "severity",
}
"""What a histogram of devices may be of."""


_HOT = ' class="hot"'


def tiles(summary: Mapping[str, Any]) -> str:
    """Return the figures on top."""
    devices, alarm = summary.get("devices") or 0, summary.get("alarm") or {}
    told = summary.get("labels") or {}
    cells = [
        ("Devices", count(devices), f"{count(summary.get('steps') or 0)} steps"),
        (
            "In alarm",
            count(alarm.get("devices") or 0),
            (f"{share(alarm['share'])}; " if known(alarm.get("share")) else "")
            + (f"at most {share(alarm['baseline'])} when clean" if known(alarm.get("baseline")) else ""),
        ),
        ("Look degraded", count(named(summary)), "by alarm or severity, at this look"),
        ("Silent", count(summary.get("silent") or 0), "not heard of for long"),
        ("Expected accuracy", share(_accuracy(summary)), "of the last answers, estimated without labels"),
    ]
    if told and known(told.get("estimate")):
        interval = told.get("interval") or (None, None)
        cells.append(
            (
                "Measured accuracy",
                share(told["estimate"]),
                f"{share(interval[0])} to {share(interval[1])}, by labels",
            )
        )
    hot = {"In alarm": alarmed(summary), "Look degraded": named(summary) > 0}
    body = "".join(
        f"<div{_HOT * hot.get(name, False)}><dt>{name}</dt><dd><b>{value}</b><small>{more}</small></dd></div>"
        for name, value, more in cells
    )
    return f'<dl class="tiles">{body}</dl>'


def _accuracy(summary: Mapping[str, Any]) -> float | None:
    """Return the expected accuracy over versions, each by its devices that report."""
    rows = [each for each in summary.get("versions") or () if known(each.get("expected_accuracy"))]
    weights = [(each.get("alarm") or {}).get("of", each["devices"]) for each in rows]
    total = sum(weights)
    if not total:
        return None
    return float(sum(each["expected_accuracy"] * n for each, n in zip(rows, weights, strict=True)) / total)


def over_time(summary: Mapping[str, Any]) -> str:
    """Return the share in alarm over time."""
    series = list(summary.get("over_time") or ())
    baselines = {
        each["version"]: (each.get("alarm") or {}).get("baseline") for each in summary.get("versions") or ()
    }
    keys = "".join(
        f'<li><span class="key version-{style_of(place)}"></span>{escape(each["version"])}</li>'
        for place, each in enumerate(series)
    )
    level = next((value for value in baselines.values() if known(value)), None)
    if level is not None:
        differ = len({value for value in baselines.values() if known(value)}) > 1
        text = "clean baselines" if differ else f"clean baseline, at most {share(level)}"
        keys += f'<li><span class="key level"></span>{text}</li>'
    source = (summary.get("alarm") or {}).get("baseline_from")
    why = f" The baseline: {escape(source)}." if source else ""
    return section(
        "over-time",
        "Devices in alarm over time",
        f"The share of devices in alarm at a moment, on average over each part of the time.{why}",
        f'<ul class="legend">{keys}</ul>{alarm_plot(series, baselines)}{_numbers_over_time(series)}',
    )


def _numbers_over_time(series: Sequence[Mapping[str, Any]]) -> str:
    """Return the last figures as a table, for those who cannot see the figure."""
    rows = []
    for each in series:
        for place in range(max(0, len(each["time"]) - 12), len(each["time"])):
            heard, hit = each["devices"][place], each["in_alarm"][place]
            at_once = each["alarm_steps"][place] if "alarm_steps" in each else hit
            of = each["steps"][place] if "alarm_steps" in each else heard
            rows.append(
                f"<tr><th scope='row'>{moment(each['time'][place])}</th><td>{escape(each['version'])}</td>"
                f"<td>{count(heard)}</td><td>{count(hit)}</td>"
                f"<td>{share(at_once / of if of else None)}</td></tr>"
            )
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("from", "version", "heard", "with an alarm", "share at a moment")
    )
    return (
        "<details><summary>The last figures as a table</summary>"
        f"{scrolled('numbers', head, ''.join(rows))}</details>"
    )


def spread(summary: Mapping[str, Any]) -> str:
    """Return how the devices are spread, where the summary tells; nothing where not."""
    found = summary.get("histogram")
    if not found or (summary.get("devices") or 0) < FEW_DEVICES:
        return ""
    named = {found.get("of", "mean_risk"): found} if "edges" in found else found
    figures = [
        f"<figure><figcaption>By {HISTOGRAMS.get(name, name)}</figcaption>"
        f"{spread_plot(each['edges'], each['counts'], HISTOGRAMS.get(name, name))}</figure>"
        for name, each in named.items()
        if each
    ]
    return section(
        "spread",
        "All devices at once",
        "Each bar counts devices. The scale is logarithmic: a single device is seen beside ten thousand.",
        f'<div class="pair">{"".join(figures)}</div>',
    )


def _band(version: Mapping[str, Any]) -> str:
    low, high = version.get("accuracy_band") or (None, None)
    return "" if low is None else f"<small>{share(low)} to {share(high)}</small>"


def versions(summary: Mapping[str, Any]) -> str:
    """Return versions side by side."""
    rows = list(summary.get("versions") or ())
    if not rows:
        return ""
    highest = [(each.get("alarm") or {}).get("interval") or (0, 0) for each in rows]
    bases = [(each.get("alarm") or {}).get("baseline") or 0 for each in rows]
    top = 1.1 * max([*(high for _, high in highest), *bases, 0.01])
    titles = (
        "Version",
        "Devices",
        "Silent",
        "In alarm",
        "",
        "Abstained",
        "Flagged",
        "Mean risk",
        "Expected accuracy",
    )
    head = "".join(
        f'<th scope="col"{" class=n" if place else ""}>{name}</th>' for place, name in enumerate(titles)
    )
    body = ""
    for each in rows:
        alarm = each.get("alarm") or {}
        low, high = alarm.get("interval") or (None, None)
        body += (
            f'<tr><th scope="row">{escape(each["version"])}{_print(each)}</th>'
            f'<td class="n">{count(each["devices"])}</td><td class="n">{count(each.get("silent") or 0)}</td>'
            f'<td class="n">{share(alarm.get("share"))}<small>{share(low)} to {share(high)}</small></td>'
            f'<td class="wide">{interval_bar(alarm, top)}</td>'
            f'<td class="n">{share(each.get("abstained"))}</td>'
            f'<td class="n">{share(each.get("flagged"))}</td>'
            f'<td class="n">{figure(each.get("mean_risk"))}</td>'
            f'<td class="n">{share(each.get("expected_accuracy"))}{_band(each)}</td></tr>'
        )
    compared = "".join(
        f'<p class="fact{" hot" * each["worse"]}">{escape(rollout(each))}</p>'
        for each in summary.get("rollouts") or ()
    )
    return section(
        "versions",
        "Versions side by side",
        "Share of devices in alarm with its interval; the tick is the clean baseline.",
        scrolled("versions", head, body) + compared,
    )


def _print(version: Mapping[str, Any]) -> str:
    found = version.get("fingerprint")
    return f'<small class="print">{escape(found)}</small>' if found and found != version["version"] else ""


def classes(summary: Mapping[str, Any]) -> str:
    """Return mean risk and abstentions by class, the highest risk first."""
    rows = sorted(summary.get("classes") or (), key=lambda row: -(row.get("mean_risk") or 0.0))
    rows = [row for row in rows if row.get("steps")]
    if not rows:
        return ""
    top = max([*(row.get("mean_risk") or 0.0 for row in rows), 1e-9])
    several = len({row["version"] for row in rows}) > 1
    lines = [_class_row(row, top, several) for row in rows]
    shown = _class_table(lines[:FEW_CLASSES], several)
    if len(lines) > FEW_CLASSES:
        rest = _class_table(lines[FEW_CLASSES:200], several)
        shown += f"<details><summary>{plural(len(lines) - FEW_CLASSES, 'more row')}</summary>{rest}</details>"
    return section(
        "classes", "Classes", "By the answer that devices gave; the highest mean risk first.", shown
    )


def _class_row(row: Mapping[str, Any], top: float, several: bool) -> str:
    name = row.get("name") or f"class {row['class']}"
    width = 100 * (row.get("mean_risk") or 0.0) / top
    version = f"<td>{escape(row['version'])}</td>" if several else ""
    return (
        f'<tr><th scope="row">{escape(name)}</th>{version}<td class="n">{count(row["steps"])}</td>'
        f'<td class="n">{figure(row.get("mean_risk"))}</td>'
        f'<td class="wide"><div class="bar"><i style="width:{width:.1f}%"></i></div></td>'
        f'<td class="n">{share(row.get("abstained"))}</td></tr>'
    )


def _class_table(lines: Sequence[str], several: bool) -> str:
    titles = ["Class", *(["Version"] if several else []), "Steps", "Mean risk", "", "Abstained"]
    head = "".join(
        f'<th scope="col"{" class=n" if name in ("Steps", "Mean risk", "Abstained") else ""}>{name}</th>'
        for name in titles
    )
    return scrolled("classes", head, "".join(lines))


def silent(summary: Mapping[str, Any]) -> str:
    """Return devices that were not heard of for long."""
    number, rows = summary.get("silent") or 0, list(summary.get("silent_devices") or ())
    if not number:
        return ""
    now = summary.get("time")
    items = "".join(
        f'<li><span class="device">{escape(row["device"])}</span> <small>{escape(row["version"])}, '
        f"{before(row.get('last_time'), now)}</small></li>"
        for row in rows
    )
    more = f'<p class="hint">and {count(number - len(rows))} more</p>' if number > len(rows) else ""
    return section(
        "silent",
        "Silent devices",
        f"{plural(number, 'device')} sent nothing for long, measured by how often they used to send.",
        f'<ul class="names">{items}</ul>{more}',
    )


def arrivals(summary: Mapping[str, Any]) -> str:
    """Return what was missing, late, sent again or refused."""
    steps = summary.get("steps") or 0
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="n">{count(summary.get(name) or 0)}</td>'
        f'<td class="n">{share((summary.get(name) or 0) / steps if steps else None, 2)}</td>'
        f"<td>{escape(meaning)}</td></tr>"
        for name, meaning in ORDER.items()
    )
    refused = sorted((summary.get("refused") or {}).items(), key=lambda pair: -pair[1])
    rows += "".join(
        f'<tr><th scope="row">refused: {escape(kind)}</th><td class="n">{count(number)}</td>'
        f'<td class="n">{share(number / (steps + number) if steps + number else None, 2)}</td><td></td></tr>'
        for kind, number in refused
        if number
    )
    head = '<th scope="col">What</th><th scope="col" class="n">Count</th>'
    head += '<th scope="col" class="n">Of steps</th><th scope="col">Meaning</th>'
    return section(
        "arrivals",
        "What arrived",
        "Nothing here stops the fleet; each is counted.",
        scrolled("arrivals", head, rows),
    )


def labels(summary: Mapping[str, Any]) -> str:
    """Return what labels say."""
    told = summary.get("labels")
    if not told:
        return ""
    level = share(told.get("level") or 0.95, 0)
    if known(told.get("estimate")) and told.get("interval"):
        low, high = told["interval"]
        said = f"Accuracy of accepted answers {share(told['estimate'])}, with {level} confidence "
        said += f"{share(low)} to {share(high)}."
    else:
        said = "Not enough labels yet to estimate the accuracy."
    asked, known_labels = told.get("asked") or 0, told.get("told") or 0
    errors = told.get("errors_found") or 0
    rate = f" ({share(errors / known_labels)} of the labels)" if known_labels else ""
    return section(
        "labels",
        "Labels",
        f"About {count(told.get('per_day') or 0)} steps a day are drawn for labeling, more often where "
        "the monitor is in doubt. The estimate weighs each by its chance.",
        f'<p class="verdict">{said}</p><p class="fact">{plural(asked, "step")} asked for, '
        f"{count(known_labels)} labeled, {plural(errors, 'error')} found{rate}.</p>",
    )


def scrolled(name: str, head: str, rows: str) -> str:
    """Return a table that scrolls sideways where it is too wide; keys scroll it as well."""
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
        f'<table class="{name}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def section(key: str, title: str, lead: str, body: str) -> str:
    """Return a section with its title and what it is about."""
    return (
        f'<section id="{key}" aria-labelledby="h-{key}"><h2 id="h-{key}">{title}</h2>'
        f'<p class="lead">{lead}</p>{body}</section>'
    )


WORST = (
    ("device", "Device", ""),
    ("version", "Version", ""),
    ("", "Mean risk over time", ""),
    ("severity", "Severity", "n"),
    ("recent_risk", "Recent risk", "n"),
    ("mean_risk", "Mean risk", "n"),
    ("alarm", "Alarm", "n"),
    ("abstained", "Abstained", "n"),
    ("steps", "Steps", "n"),
    ("missing", "Missing", "n"),
    ("last_time", "Last heard", "n"),
)
"""Columns of the worst devices: key, title, and whether it is a number."""


def worst(summary: Mapping[str, Any], timelines: Timelines, served: bool) -> str:
    """Return the worst devices with their timelines."""
    rows, now = list(summary.get("worst") or ()), summary.get("time")
    lines = {key: line for key, line in timelines.items() if line["mean_risk"]}
    highest = [value for line in lines.values() for value in line["mean_risk"] if known(value)]
    top = max([*highest, 0.25])
    # Without evidence there is no severity, and devices are ranked by their recent risk.
    severe = any(known(row.get("severity")) for row in rows)
    none = {key for key in ("severity", "recent_risk") if not any(known(row.get(key)) for row in rows)}
    columns = [each for each in WORST if each[0] not in none]
    head = "".join(
        f'<th scope="col"{" class=n" if kind else ""}>'
        + (f'<button type="button" class="sort" data-key="{key}">{title}</button>' if key else title)
        + "</th>"
        for key, title, kind in columns
    )
    body = "".join(
        _worst_row(row, columns, spark(lines.get((row["version"], row["device"])), top), now) for row in rows
    )
    find = _FIND if served else ""
    if not rows:
        table = (
            '<p class="fact">No device has been judged yet. <code>tcuq fleet run</code> takes events in.</p>'
        )
    else:
        table = (
            f"{scrolled('worst sortable', head, body)}"
            f'<p class="hint">{_scales(lines, top)}Shaded: in alarm. '
            f"A dot marks devices that look degraded by alarm or severity.{_false(summary)}</p>"
        )
    return section(
        "worst",
        "The worst devices",
        "Devices that look degraded first, then by severity: how degraded their last steps looked; above 0, "
        "more likely degraded than clean."
        if severe
        else "Devices that look degraded first, then by the mean risk of their last steps.",
        find + table,
    )


def _false(summary: Mapping[str, Any]) -> str:
    """Say how many of the devices that are named are healthy."""
    most = (summary.get("named") or {}).get("false_share")
    return f" At most {share(most, 0)} of them are healthy, on average." if known(most) else ""


def _scales(lines: Timelines, top: float) -> str:
    """Say what the timelines have in common."""
    for line in lines.values():
        first, last = line["time"][0], line["time"][-1]
        return (
            f"All timelines go from {moment(first)} to {moment(last)}, and from risk 0 to {figure(top, 2)}. "
        )
    return ""


_FIND = (
    '<form class="find" role="search"><label for="find">Find a device</label>'
    '<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="part of its name">'
    '<output id="found" for="find" aria-live="polite"></output></form><div id="matches"></div>'
)


def _worst_row(row: Mapping[str, Any], columns: Sequence[tuple[str, str, str]], line: str, now: Any) -> str:
    alarm = int(row.get("alarm") or 0)
    said = ALARMS.get(alarm, str(alarm))
    since = (
        f" <small>for {ago(row.get('alarm_since'), now)}</small>"
        if alarm and known(row.get("alarm_since"))
        else ""
    )
    dot = '<i class="dot" role="img" aria-label="looks degraded"></i>' if row.get("named") else ""
    values = {
        "severity": figure(row.get("severity"), 2),
        "recent_risk": figure(row.get("recent_risk")),
        "mean_risk": figure(row.get("mean_risk")),
        "alarm": f'<span class="alarm-{min(alarm, 3)}">{said}</span>{since}' if alarm else DASH,
        "abstained": share(row.get("abstained")),
        "steps": count(int(row.get("steps") or 0)),
        "missing": count(int(row.get("missing") or 0)),
        "last_time": f'<span title="{moment(row.get("last_time"))}">{before(row.get("last_time"), now)}'
        "</span>",
    }
    cells = "".join(
        f'<td class="n {key}" data-name="{title}" data-sort="{_number(row.get(key))}">{values[key]}</td>'
        for key, title, kind in columns
        if kind
    )
    return (
        f'<tr><th scope="row"><span class="device">{dot}{escape(row["device"])}</span></th>'
        f"<td>{escape(row['version'])}</td><td>{line}</td>{cells}</tr>"
    )


def _number(value: Any) -> str:
    return f"{float(value):.9g}" if known(value) else "-1"
