"""Sections of the fleet's page, from a summary to HTML; every name that a device chose is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tcuq.report.text import DASH, count, escape, plural

from ..verdicts.words import ALARMS, ORDER, ago, alarmed, before, figure, known, moment, named, rollout, share
from .figures import alarm_plot, interval_bar, per_moment, spark, spread_plot, style_of

Timelines = Mapping[tuple[str, str], Mapping[str, Sequence[Any]]]

FEW_CLASSES = 12
"""Rows of classes that are shown at once; the others are behind a click."""

FEW_DEVICES = 5
"""Devices at least that a histogram is drawn of."""

_HOT = ' class="hot"'


def table(name: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of HTML cells that scrolls sideways where it is too wide; keys scroll it as well.

    Columns are title and class, `n` for numbers; the first cell of a row names it.
    """
    head = "".join(f'<th scope="col"{" class=n" * (kind == "n")}>{title}</th>' for title, kind in columns)
    body = ""
    for first, *cells in rows:
        kinds = [f' class="{kind}"' if kind else "" for _, kind in columns[1:]]
        body += f'<tr><th scope="row">{first}</th>'
        body += "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, cells, strict=True)) + "</tr>"
    return scrolled(name, head, body)


def scrolled(name: str, head: str, rows: str) -> str:
    """Return a table of its rows."""
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="{name}">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def section(key: str, title: str, lead: str, body: str) -> str:
    """Return a section with its title and what it is about."""
    return (
        f'<section id="{key}" aria-labelledby="h-{key}"><h2 id="h-{key}">{title}</h2>'
        f'<p class="lead">{lead}</p>{body}</section>'
    )


def tiles(summary: Mapping[str, Any]) -> str:
    """Return the figures on top."""
    alarm, told = summary.get("alarm") or {}, summary.get("labels") or {}
    shares = f"{share(alarm['share'])}; " if known(alarm.get("share")) else ""
    most = f"at most {share(alarm['baseline'])} when clean" if known(alarm.get("baseline")) else ""
    cells = [
        ("", "Devices", count(summary.get("devices") or 0), f"{count(summary.get('steps') or 0)} steps"),
        (alarmed(summary), "In alarm", count(alarm.get("devices") or 0), shares + most),
        (named(summary), "Look degraded", count(named(summary)), "by alarm or severity, at this look"),
        ("", "Silent", count(summary.get("silent") or 0), "not heard of for long"),
        ("", "Expected accuracy", share(_accuracy(summary)), "of the last answers, estimated without labels"),
    ]
    if known(told.get("estimate")):
        low, high = told.get("interval") or (None, None)
        by_labels = f"{share(low)} to {share(high)}, by labels"
        cells.append(("", "Measured accuracy", share(told["estimate"]), by_labels))
    body = "".join(
        f"<div{_HOT if hot else ''}><dt>{name}</dt><dd><b>{value}</b><small>{more}</small></dd></div>"
        for hot, name, value, more in cells
    )
    return f'<dl class="tiles">{body}</dl>'


def _accuracy(summary: Mapping[str, Any]) -> float | None:
    """Return the expected accuracy over versions, each by its devices that report."""
    rows = [each for each in summary.get("versions") or () if known(each.get("expected_accuracy"))]
    weights = [(each.get("alarm") or {}).get("of", each["devices"]) for each in rows]
    if not sum(weights):
        return None
    total = sum(each["expected_accuracy"] * n for each, n in zip(rows, weights, strict=True))
    return float(total / sum(weights))


def over_time(summary: Mapping[str, Any]) -> str:
    """Return the share in alarm over time."""
    series = list(summary.get("over_time") or ())
    bases = [(each.get("alarm") or {}).get("baseline") for each in summary.get("versions") or ()]
    levels = sorted({float(value) for value in bases if value is not None and known(value)})
    keys = "".join(
        f'<li><span class="key version-{style_of(place)}"></span>{escape(each["version"])}</li>'
        for place, each in enumerate(series)
    )
    if levels:
        text = "clean baselines" if levels[1:] else f"clean baseline, at most {share(levels[0])}"
        keys += f'<li><span class="key level"></span>{text}</li>'
    source = (summary.get("alarm") or {}).get("baseline_from")
    why = f" The baseline: {escape(source)}." if source else ""
    columns = [(name, "") for name in ("from", "version", "heard", "with an alarm", "share at a moment")]
    rows = [
        (
            moment(each["time"][place]),
            escape(each["version"]),
            count(each["devices"][place]),
            count(each["in_alarm"][place]),
            share(per_moment(each)[place]),
        )
        for each in series
        for place in range(max(0, len(each["time"]) - 12), len(each["time"]))
    ]
    # For those who cannot see the figure.
    last = (
        f"<details><summary>The last figures as a table</summary>{table('numbers', columns, rows)}</details>"
    )
    return section(
        "over-time",
        "Devices in alarm over time",
        f"The share of devices in alarm at a moment, on average over each part of the time.{why}",
        f'<ul class="legend">{keys}</ul>{alarm_plot(series, levels)}{last if rows else ""}',
    )


def spread(summary: Mapping[str, Any]) -> str:
    """Return how the devices are spread, where the summary tells; nothing where not."""
    found = summary.get("histogram")
    if not found or (summary.get("devices") or 0) < FEW_DEVICES:
        return ""
    figures = [
        f"<figure><figcaption>By {name.replace('_', ' ')}</figcaption>"
        f"{spread_plot(each['edges'], each['counts'], name.replace('_', ' '))}</figure>"
        for name, each in found.items()
    ]
    return section(
        "spread",
        "All devices at once",
        "Each bar counts devices. The scale is logarithmic: a single device is seen beside ten thousand.",
        f'<div class="pair">{"".join(figures)}</div>',
    )


def _range(ends: Sequence[Any] | None) -> str:
    return f"<small>{share(ends[0])} to {share(ends[1])}</small>" if ends else ""


def versions(summary: Mapping[str, Any]) -> str:
    """Return versions side by side."""
    rows = [(each, each.get("alarm") or {}) for each in summary.get("versions") or ()]
    if not rows:
        return ""
    ends = [(*(alarm.get("interval") or (0, 0)), alarm.get("baseline") or 0) for _, alarm in rows]
    top = 1.1 * max(0.01, *(max(each) for each in ends))
    numbers = ("Abstained", "Flagged", "Mean risk", "Expected accuracy")
    columns = [("Version", ""), ("Devices", "n"), ("Silent", "n"), ("In alarm", "n"), ("", "wide")]
    body = [
        (
            escape(each["version"]) + _fingerprint(each),
            count(each["devices"]),
            count(each.get("silent") or 0),
            share(alarm.get("share")) + _range(alarm.get("interval")),
            interval_bar(alarm, top),
            share(each.get("abstained")),
            share(each.get("flagged")),
            figure(each.get("mean_risk")),
            share(each.get("expected_accuracy")) + _range(each.get("accuracy_band")),
        )
        for each, alarm in rows
    ]
    compared = "".join(
        f'<p class="fact{" hot" * each["worse"]}">{escape(rollout(each))}</p>'
        for each in summary.get("rollouts") or ()
    )
    return section(
        "versions",
        "Versions side by side",
        "Share of devices in alarm with its interval; the tick is the clean baseline.",
        table("versions", [*columns, *((name, "n") for name in numbers)], body) + compared,
    )


def _fingerprint(version: Mapping[str, Any]) -> str:
    found = version.get("fingerprint")
    return f'<small class="print">{escape(found)}</small>' if found and found != version["version"] else ""


def classes(summary: Mapping[str, Any]) -> str:
    """Return mean risk and abstentions by class, the highest risk first."""
    rows = [row for row in summary.get("classes") or () if row.get("steps")]
    if not rows:
        return ""
    rows.sort(key=lambda row: -(row.get("mean_risk") or 0.0))
    top = max(1e-9, rows[0].get("mean_risk") or 0.0)
    columns = [
        ("Class", ""),
        ("Version", ""),
        ("Steps", "n"),
        ("Mean risk", "n"),
        ("", "wide"),
        ("Abstained", "n"),
    ]
    lines = [
        [
            escape(row.get("name") or f"class {row['class']}"),
            escape(row["version"]),
            count(row["steps"]),
            figure(row.get("mean_risk")),
            f'<div class="bar"><i style="width:{100 * (row.get("mean_risk") or 0.0) / top:.1f}%"></i></div>',
            share(row.get("abstained")),
        ]
        for row in rows
    ]
    if len({row["version"] for row in rows}) == 1:
        columns, lines = [columns[0], *columns[2:]], [[line[0], *line[2:]] for line in lines]
    shown = table("classes", columns, lines[:FEW_CLASSES])
    if len(lines) > FEW_CLASSES:
        rest = table("classes", columns, lines[FEW_CLASSES:200])
        shown += f"<details><summary>{plural(len(lines) - FEW_CLASSES, 'more row')}</summary>{rest}</details>"
    return section(
        "classes", "Classes", "By the answer that devices gave; the highest mean risk first.", shown
    )


def silent(summary: Mapping[str, Any]) -> str:
    """Return devices that were not heard of for long."""
    number, rows = summary.get("silent") or 0, list(summary.get("silent_devices") or ())
    if not number:
        return ""
    items = "".join(
        f'<li><span class="device">{escape(row["device"])}</span> <small>{escape(row["version"])}, '
        f"{before(row.get('last_time'), summary.get('time'))}</small></li>"
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
    counts = [(name, summary.get(name) or 0, steps, meaning) for name, meaning in ORDER.items()]
    refused = sorted((summary.get("refused") or {}).items(), key=lambda pair: -pair[1])
    counts += [(f"refused: {kind}", number, steps + number, "") for kind, number in refused if number]
    rows = [
        (escape(name), count(number), share(number / of if of else None, 2), escape(meaning))
        for name, number, of, meaning in counts
    ]
    columns = (("What", ""), ("Count", "n"), ("Of steps", "n"), ("Meaning", ""))
    return section(
        "arrivals",
        "What arrived",
        "Nothing here stops the fleet; each is counted.",
        table("arrivals", columns, rows),
    )


def labels(summary: Mapping[str, Any]) -> str:
    """Return what labels say."""
    told = summary.get("labels")
    if not told:
        return ""
    said = "Not enough labels yet to estimate the accuracy."
    if known(told.get("estimate")) and told.get("interval"):
        low, high = told["interval"]
        said = (
            f"Accuracy of accepted answers {share(told['estimate'])}, with "
            f"{share(told.get('level') or 0.95, 0)} confidence {share(low)} to {share(high)}."
        )
    asked, labeled, errors = (told.get(name) or 0 for name in ("asked", "told", "errors_found"))
    rate = f" ({share(errors / labeled)} of the labels)" if labeled else ""
    return section(
        "labels",
        "Labels",
        f"About {count(told.get('per_day') or 0)} steps a day are drawn for labeling, more often where "
        "the monitor is in doubt. The estimate weighs each by its chance.",
        f'<p class="verdict">{said}</p><p class="fact">{plural(asked, "step")} asked for, '
        f"{count(labeled)} labeled, {plural(errors, 'error')} found{rate}.</p>",
    )


WORST = {
    "severity": "Severity",
    "recent_risk": "Recent risk",
    "mean_risk": "Mean risk",
    "alarm": "Alarm",
    "abstained": "Abstained",
    "steps": "Steps",
    "missing": "Missing",
    "last_time": "Last heard",
}
"""Numbers of the worst devices and their titles."""

FIND = (
    '<form class="find" role="search"><label for="find">Find a device</label>'
    '<input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="part of its name">'
    '<output id="found" for="find" aria-live="polite"></output></form><div id="matches"></div>'
)


def worst(summary: Mapping[str, Any], timelines: Timelines, served: bool) -> str:
    """Return the worst devices with their timelines."""
    rows, lead = list(summary.get("worst") or ()), "Devices that look degraded first, then by "
    # Without evidence there is no severity, and devices are ranked by their recent risk.
    if any(known(row.get("severity")) for row in rows):
        lead += "severity: how degraded their last steps looked; above 0, more likely degraded than clean."
    else:
        lead += "the mean risk of their last steps."
    none = '<p class="fact">No device has been judged yet. <code>tcuq fleet run</code> takes events in.</p>'
    shown = _worst_table(summary, rows, timelines) if rows else none
    return section("worst", "The worst devices", lead, FIND * served + shown)


def _worst_table(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], timelines: Timelines) -> str:
    lines = {key: line for key, line in timelines.items() if line["mean_risk"]}
    top = max([0.25, *(value for line in lines.values() for value in line["mean_risk"] if known(value))])
    absent = {key for key in ("severity", "recent_risk") if not any(known(row.get(key)) for row in rows)}
    columns = {key: title for key, title in WORST.items() if key not in absent}
    names = {"device": "Device", "version": "Version", "": "Mean risk over time", **columns}
    head = "".join(
        f'<th scope="col"{" class=n" * (key in columns)}>'
        + (f'<button type="button" class="sort" data-key="{key}">{title}</button>' if key else title)
        + "</th>"
        for key, title in names.items()
    )
    body = "".join(
        _worst_row(row, columns, spark(lines.get((row["version"], row["device"])), top), summary.get("time"))
        for row in rows
    )
    hint = "Shaded: in alarm. A dot marks devices that look degraded by alarm or severity."
    for line in [*lines.values()][:1]:
        first, last = moment(line["time"][0]), moment(line["time"][-1])
        hint = f"All timelines go from {first} to {last}, and from risk 0 to {figure(top, 2)}. {hint}"
    healthy = (summary.get("named") or {}).get("false_share")
    if known(healthy):
        hint += f" At most {share(healthy, 0)} of them are healthy, on average."
    return f'{scrolled("worst sortable", head, body)}<p class="hint">{hint}</p>'


def _worst_row(row: Mapping[str, Any], columns: Mapping[str, str], line: str, now: Any) -> str:
    alarm, last = int(row.get("alarm") or 0), row.get("last_time")
    since = f" <small>for {ago(row['alarm_since'], now)}</small>" if known(row.get("alarm_since")) else ""
    raised = f'<span class="alarm-{min(alarm, 3)}">{ALARMS.get(alarm, alarm)}</span>{since}'
    values = {
        "severity": figure(row.get("severity"), 2),
        "recent_risk": figure(row.get("recent_risk")),
        "mean_risk": figure(row.get("mean_risk")),
        "alarm": raised if alarm else DASH,
        "abstained": share(row.get("abstained")),
        "steps": count(int(row.get("steps") or 0)),
        "missing": count(int(row.get("missing") or 0)),
        "last_time": f'<span title="{moment(last)}">{before(last, now)}</span>',
    }
    order = {key: f"{float(row[key]):.9g}" if known(row.get(key)) else "-1" for key in columns}
    cells = "".join(
        f'<td class="n {key}" data-name="{title}" data-sort="{order[key]}">{values[key]}</td>'
        for key, title in columns.items()
    )
    dot = '<i class="dot" role="img" aria-label="looks degraded"></i>' if row.get("named") else ""
    return (
        f'<tr><th scope="row"><span class="device">{dot}{escape(row["device"])}</span></th>'
        f"<td>{escape(row['version'])}</td><td>{line}</td>{cells}</tr>"
    )
