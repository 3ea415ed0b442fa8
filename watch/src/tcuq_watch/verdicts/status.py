"""A summary of a fleet as text that fits a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from tcuq.base.errors import one_line
from tcuq.report.text import NBSP, count, plural

from .words import (
    ALARMS,
    accuracies,
    accuracy,
    ago,
    blind,
    comparable,
    figure,
    in_common,
    known,
    moment,
    next_to_label,
    promised,
    rollout,
    share,
    state,
    verdict,
)

WORST, WIDTH, NAME = 10, 79, 20  # devices that are listed, columns of a terminal, characters of a name
LONGEST = 1000  # characters of a line


def status_text(summary: Mapping[str, Any]) -> str:
    """Return the summary for a terminal of 80 columns."""
    lines = textwrap.wrap(verdict(summary), WIDTH)
    if summary["devices"]:
        lines.append(
            f"{plural(summary['devices'], 'device')}, {count(summary['silent'])} silent; "
            f"{plural(summary['steps'], 'step')} up to {moment(summary['time'])}"
        )
        lines += [line for text in blind(summary) for line in textwrap.wrap(text, WIDTH)]
        lines += ["", *_worst(summary), "", *_versions(summary), "", *_events(summary)]
    if any(summary["refused"].values()):
        kinds = sorted(summary["refused"].items(), key=lambda pair: -pair[1])
        refused = f"refused: {', '.join(f'{number:,} {kind}' for kind, number in kinds if number)}"
        lines += textwrap.wrap(refused, WIDTH, subsequent_indent="  ")
    return _shown(lines)


def _shown(lines: Sequence[str]) -> str:
    """Return lines as a terminal may show them: names of a folder may hold anything."""
    return "\n".join(one_line(line.replace(NBSP, " "), LONGEST) for line in lines)


def table(rows: Sequence[Mapping[str, str]], left: int) -> list[str]:
    """Return aligned lines under the names of columns: the first ones to the left, the rest to the right."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            f"{cell:{'<' if place < left else '>'}{width}}"
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _short(name: str) -> str:
    name = one_line(name, LONGEST)
    return name if len(name) <= NAME else f"{name[: NAME - 3]}..."


def _versions(summary: Mapping[str, Any]) -> list[str]:
    rows = []
    for version in summary["versions"]:
        alarm, band = version["alarm"], version["accuracy_band"]
        columns = {
            "version": _short(version["version"]),
            "devices": count(version["devices"]),
            "in alarm": share(alarm["share"]) + " !" * alarm["unhealthy"],
            "healthy": f"<= {share(alarm['baseline'])}" if comparable(alarm) else "unknown",
            "abstained": share(version["abstained"]),
            "mean risk": figure(version["mean_risk"]),
            "expected": share(version["expected_accuracy"]),
        }
        columns["expected"] += f" ({share(band[0])} to {share(band[1])})" if band else ""
        rows.append(columns)
    compared = [rollout(pair) for pair in summary["rollouts"] if not pair["worse"]]  # else it is on top
    return [*table(rows, 1), *(line for text in compared for line in textwrap.wrap(text, WIDTH))]


def _worst(summary: Mapping[str, Any]) -> list[str]:
    now, listed = summary["time"], summary["worst"][:WORST]
    rows = []
    for row in listed:
        word, judged, since = state(row, summary["alarm"])
        columns = {
            "device": _short(row["device"]),
            "state": word,
            "since": ago(since, now) if known(since) else "-",
            "expected accuracy": accuracies(row),
            "likely": judged.partition(":")[0] or "-",
            "version": _short(row["version"]),
        }
        rows.append(columns)
    more = summary["need"] - len(listed)
    also = [f"{count(more)} more need you: tcuq fleet page lists all, and so does --json"] if more > 0 else []
    also += textwrap.wrap(in_common(summary), WIDTH)
    lines = table(rows, 6)
    why = ["", *(f"    {row['moved']}" if row["moved"] else "" for row in listed)]
    both = zip(lines, why, strict=False)
    return [*(line for pair in both for line in pair if line), *also]


def _order(counts: Mapping[str, Any]) -> str:
    names = {"missing": "missing", "late": "late", "duplicates": "repeated", "held": "held"}
    return ", ".join(f"{counts[name]:,} {word}" for name, word in names.items())


def _events(summary: Mapping[str, Any]) -> list[str]:
    events = f"events: {_order(summary)}; {plural(summary['reboots'], 'reboot')}"
    lines = textwrap.wrap(events, WIDTH, subsequent_indent="  ")
    if labels := summary["labels"]:
        returned = f"{count(labels['told'])} of {count(labels['asked'])} asked for came back"
        lines.append(f"labels: {returned}, {plural(labels['errors_found'], 'error')} found;")
        lines.append(f"  {accuracy(labels)}")
        lines += textwrap.wrap(next_to_label(labels), WIDTH, initial_indent="  ", subsequent_indent="    ")
    for row in summary["promises"]:
        lines += textwrap.wrap(f"labels: {promised(row)}", WIDTH, subsequent_indent="  ")
    return lines


def device_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what is known of one device, a paragraph a version."""
    lines: list[str] = []
    for row in rows:
        steps = plural(row["steps"], "step")
        alarm = ALARMS[row["alarm"]] + (f": {row['moved']}" if row["moved"] else "")
        lines += [
            f"{row['device']}, version {row['version']}: {steps}, last heard {moment(row['last_time'])}",
            f"  {alarm}; recent risk {figure(row['recent_risk'])}; boot {row['boot']}, seq {row['seq']}",
            f"  {_order(row)}",
        ]
    return _shown(lines)
