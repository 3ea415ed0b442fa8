"""The fleet's page: one HTML file that needs nothing else, or a view of the live server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole
from tcuq.report.page import policy
from tcuq.report.text import DASH, escape

from . import sections
from .sections import Timelines, worst
from .words import alarmed, moment, named, verdict

CELLS = 60
"""Parts of the time that a timeline has."""

MOST_BYTES = 100_000_000
"""Bytes of decisions that are read for timelines, the newest: about 2 million, and a second of work."""

MOST_DEVICES = 250_000
"""Devices that a served page can search; the list of more would take a browser too long."""

BINS = 40
RISK, SEVERITY = 2**24, 2**16
"""Units of the slow mean of the risk, and of the severity, in the tallies of a device."""


def timelines(
    fleet: Any, rows: Sequence[Mapping[str, Any]], cells: int = CELLS, most: int = MOST_BYTES
) -> dict[tuple[str, str], dict[str, list[Any]]]:
    """Return mean risk and alarm over time of some devices, from the newest decisions that are kept.

    By (version, device): `time`, `mean_risk` (None where there is none) and `in_alarm`, a cell each.
    """
    wanted = {(row["version"], row["device"]): place for place, row in enumerate(rows)}
    found: list[tuple[npt.NDArray[Any], ...]] = []
    # Who writes may drop old decisions meanwhile: what was read until then is shown.
    with contextlib.suppress(OSError):
        for _, parts in fleet.commits(_first(fleet, most)) if wanted else ():
            for part in parts:
                names = {device: at for (version, device), at in wanted.items() if version == part.version}
                mine = [(at, names[name]) for at, name in enumerate(part.devices.tolist()) if name in names]
                if mine:
                    at, place = np.array(mine, dtype=np.int64).T
                    steps = part.steps[at]
                    found.append((place, part.times[at], steps["risk"], steps["alarm"] > 0))
    return _in_cells(list(wanted), found, cells)


def _first(fleet: Any, most: int) -> int:
    """Return the number of the commit from which on the decisions take so many bytes at most."""
    sizes: list[tuple[int, int]] = []
    with contextlib.suppress(OSError), os.scandir(Path(fleet.folder) / "decisions") as entries:
        for entry in entries:
            number, _, ending = entry.name.partition(".")
            if number.isdigit() and ending == "npz":
                with contextlib.suppress(OSError):
                    sizes.append((int(number), entry.stat().st_size))
    last = int(fleet.commit_number)
    first, total = last + 1, 0
    for each, size in sorted(sizes, reverse=True):
        total += size
        if total > most and first <= last:
            break
        first = each
    return first


def _in_cells(
    keys: Sequence[tuple[str, str]], found: Sequence[tuple[npt.NDArray[Any], ...]], cells: int
) -> dict[tuple[str, str], dict[str, list[Any]]]:
    if not found:
        return {}
    place, times, risk, alarm = (np.concatenate(column) for column in zip(*found, strict=True))
    timed = np.isfinite(times)
    place, times, risk, alarm = place[timed], times[timed], risk[timed], alarm[timed]
    if not len(times):
        return {}
    low, high = float(times.min()), float(times.max())
    cell = np.minimum(cells - 1, ((times - low) / max(1e-9, high - low) * cells).astype(np.int64))
    at = place * cells + cell
    size = len(keys) * cells
    counts = np.bincount(at, minlength=size)
    sums, hits = np.bincount(at, risk, size), np.bincount(at, alarm, size)
    edges = np.linspace(low, high, cells + 1)[:-1].tolist()
    lines = {}
    for number, key in enumerate(keys):
        mine = slice(number * cells, (number + 1) * cells)
        if counts[mine].any():
            means = zip(sums[mine].tolist(), counts[mine].tolist(), strict=True)
            lines[key] = {
                "time": edges,
                "mean_risk": [round(total / n, 4) if n else None for total, n in means],
                "in_alarm": (hits[mine] > 0).tolist(),
            }
    return lines


def all_devices(fleet: Any) -> dict[str, Any]:
    """Return all devices in short, as columns, for the search of a served page."""
    total = sum(len(model.devices) for model in fleet.models.values())
    if total > MOST_DEVICES:
        return {"why": f"this fleet has more than {MOST_DEVICES:,} devices: tcuq fleet status --device NAME"}
    columns: dict[str, list[Any]] = {
        key: [] for key in ("names", "version", "risk", "steps", "alarm", "last")
    }
    for number, model in enumerate(fleet.models.values()):
        rows = model.tallies.devices
        columns["names"] += list(model.devices)
        columns["version"] += [number] * len(rows)
        columns["risk"] += [round(value, 4) for value in recent_risk(rows).tolist()]
        columns["steps"] += rows["steps"].tolist()
        columns["alarm"] += rows["alarm"].tolist()
        columns["last"] += [None if t != t else round(t) for t in rows["last_time"].tolist()]
    return {**columns, "versions": list(fleet.models)}


def one_device(fleet: Any, name: str) -> list[dict[str, Any]]:
    """Return what is known of a device, one row a version; none where no version knows it."""
    found = []
    for version, model in fleet.models.items():
        slot = model.slot(name)
        if slot is None:
            continue
        row, place = model.tallies.devices[slot], model.places[slot]
        time = float(row["last_time"])
        found.append(
            {
                "device": name,
                "version": version,
                "steps": int(row["steps"]),
                "recent_risk": float(recent_risk(model.tallies.devices[slot : slot + 1])[0]),
                "alarm": int(row["alarm"]),
                "last_time": None if time != time else time,
                **{key: int(place[key]) for key in ("boot", "seq", "missing", "late", "duplicates", "held")},
            }
        )
    return found


def recent_risk(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the slow mean of the risk of each device."""
    return np.asarray(rows["recent_risk"] / RISK, dtype=np.float64)


def histograms(fleet: Any) -> dict[str, dict[str, list[Any]]]:
    """Return how the devices are spread by recent risk and, where parameters have it, by severity."""
    models = [model for model in fleet.models.values() if len(model.devices)]
    if not models:
        return {}
    risk = np.concatenate([recent_risk(model.tallies.devices) for model in models])
    found = {"recent_risk": _histogram(risk)}
    evidence = [model for model in models if model.params.evidence is not None]
    if evidence:
        rows = np.concatenate([model.tallies.devices["severity"] for model in evidence])
        found["severity"] = _histogram(rows.astype(np.float64) / SEVERITY)
    return found


def _histogram(values: npt.NDArray[np.float64]) -> dict[str, list[Any]]:
    top = max(0.1, float(values.max(initial=0.0)))
    counts, edges = np.histogram(values, BINS, (min(0.0, float(values.min(initial=0.0))), top))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


NOT_PROMISED = (
    "What is not promised: the error rate. An alarm says that the steps of a device look unlike those that "
    "its parameters were fitted to. Confident mistakes can pass unseen; labels measure them."
)

EVERY = 5.0
"""Seconds between two looks of a served page at its data, at least."""


def render(
    summary: Mapping[str, Any],
    timelines: Timelines | None = None,
    title: str = "Fleet",
    served: str | None = None,
) -> str:
    """Return the page.

    A page that is `served` keeps itself up to date and can find devices.
    """
    style = "\n" + _text("tcuq.report", "report.css") + _text("tcuq_watch.fleet", "fleet.css")
    code = f'(function () {{\n"use strict";\n{_text("tcuq_watch.fleet", "fleet.js")}}})();'
    allowed = policy(style, (code,)) + ("; connect-src 'self'" if served else "")
    about = f' data-view="{escape(served)}" data-every="{EVERY:g}"' if served else ""
    parts = "".join(
        f'<div data-part="{key}">{html}</div>' for key, html in body(summary, timelines, served).items()
    )
    return (
        f'<!doctype html>\n<html lang="en"{about}><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="tcuq {escape(VERSION)}"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>"
        f'<header><p class="kind">tcuq {DASH} fleet</p><h1>{escape(title)}</h1>{_top(summary)}</header>'
        f"<main>{parts}</main><footer><p>{escape(NOT_PROMISED)}</p>"
        f"<p>Made with tcuq {escape(VERSION)}.</p></footer>"
        f"<script>{code}</script></body></html>\n"
    )


def _top(summary: Mapping[str, Any]) -> str:
    hot = " hot" if alarmed(summary) or named(summary) else ""
    known_time = f"State of {moment(summary['time'])}" if summary.get("time") is not None else ""
    when = f'<p class="when">{known_time}<span id="state"></span></p>'
    return (
        f'<div data-part="top"><p class="verdict{hot}" role="status">{escape(verdict(summary))}</p>'
        f"{sections.tiles(summary)}{when}</div>"
    )


def body(summary: Mapping[str, Any], timelines: Timelines | None, served: str | None) -> dict[str, str]:
    """Return the HTML of each section, "" for those that have nothing to say."""
    return {
        "over-time": sections.over_time(summary),
        "worst": worst(summary, timelines or {}, served is not None),
        "spread": sections.spread(summary),
        "versions": sections.versions(summary),
        "labels": sections.labels(summary),
        "classes": sections.classes(summary),
        "silent": sections.silent(summary),
        "arrivals": sections.arrivals(summary),
    }


def parts(summary: Mapping[str, Any], timelines: Timelines | None, served: str) -> dict[str, str]:
    """Return what a served page shows, by part, when it asks again."""
    top = _top(summary).removeprefix('<div data-part="top">').removesuffix("</div>")
    return {"top": top, **body(summary, timelines, served)}


def write_page(
    path: str | Path, summary: Mapping[str, Any], timelines: Timelines | None = None, title: str = "Fleet"
) -> int:
    """Write the page, whole or not at all; return its bytes."""
    content = render(summary, timelines, title).encode()
    write_whole(path, content)
    return len(content)


def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
