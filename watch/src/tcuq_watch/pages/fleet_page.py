"""The fleet's page: one HTML file that needs nothing else, or a view of the live server."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole
from tcuq.report.page import asset, policy
from tcuq.report.text import DASH, count, escape, plural

from ..verdicts.words import ALARMS, alarmed, figure, moment, named, verdict
from . import sections
from .live_page import closed, own
from .sections import Timelines

CELLS = 60
"""Parts of the time that a timeline has."""

MOST_BYTES = 20_000_000
"""Bytes of decisions that are read for timelines, the newest: about 2 million, and a second of work."""

MATCHES = 20
"""Devices that a search shows."""

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
    taken: list[tuple[npt.NDArray[Any], ...]] = []
    # Who writes may drop old decisions meanwhile: what was read until then is shown.
    with contextlib.suppress(OSError):
        for _, parts in fleet.commits(fleet.store.recent(most)) if wanted else ():
            for part in parts:
                places = [wanted.get((part.version, name), -1) for name in part.devices.tolist()]
                place = np.array(places, dtype=np.int64)
                mine = (place >= 0) & np.isfinite(part.times)
                steps = part.steps[mine]
                taken.append((place[mine], part.times[mine], steps["risk"], steps["alarm"] > 0))
    columns = [np.concatenate(column) for column in zip(*taken, strict=True)]
    return _in_cells(list(wanted), *columns, cells=cells) if taken and len(columns[0]) else {}


def _in_cells(
    keys: Sequence[tuple[str, str]],
    place: npt.NDArray[np.int64],
    times: npt.NDArray[np.float64],
    risk: npt.NDArray[Any],
    alarm: npt.NDArray[np.bool_],
    *,
    cells: int,
) -> dict[tuple[str, str], dict[str, list[Any]]]:
    low, high = float(times.min()), float(times.max())
    cell = np.minimum(cells - 1, ((times - low) / max(1e-9, high - low) * cells).astype(np.int64))
    at, shape = place * cells + cell, (len(keys), cells)
    counts, sums, hits = (
        np.bincount(at, weights, len(keys) * cells).reshape(shape) for weights in (None, risk, alarm)
    )
    edges = np.linspace(low, high, cells + 1)[:-1].tolist()
    return {
        key: {
            "time": edges,
            "mean_risk": [
                round(a / n, 4) if n else None for a, n in zip(sums[row], counts[row], strict=True)
            ],
            "in_alarm": (hits[row] > 0).tolist(),
        }
        for row, key in enumerate(keys)
        if counts[row].any()
    }


def find_devices(fleet: Any, text: str) -> dict[str, str]:
    """Return devices with a text in their names as a table: first the name itself, then its beginnings."""
    wanted, hits = text.strip().lower(), []
    for version, model in fleet.models.items():
        for name in model.devices:
            at = name.lower().find(wanted)
            if at >= 0:
                hits.append((len(name) > len(wanted), at > 0, name, version))
    if not hits:
        return {"said": "no device has that in its name", "html": ""}
    rows = []
    for *_, name, version in sorted(hits)[:MATCHES]:
        [found] = one_device(fleet, name, version)
        alarm = ALARMS[found["alarm"]] if found["alarm"] else DASH
        cells = (figure(found["recent_risk"]), alarm, count(found["steps"]), moment(found["last_time"]))
        rows.append((escape(name), escape(version), *cells))
    numbers = ("Recent risk", "Alarm", "Steps", "Last heard")
    columns = [("Device", ""), ("Version", ""), *((title, "n") for title in numbers)]
    more = f"The first {MATCHES} of {count(len(hits))}" if len(hits) > MATCHES else ""
    return {
        "said": plural(len(hits), "device"),
        "html": f'<p class="hint">{more}</p>' * bool(more) + sections.table("matches", columns, rows),
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
                "last_time": None if time != time else time,
                **{key: int(place[key]) for key in ("boot", "seq", "missing", "late", "duplicates", "held")},
            }
        )
    return rows


def histograms(fleet: Any) -> dict[str, dict[str, list[Any]]]:
    """Return how the devices are spread by recent risk and, where parameters have it, by severity."""
    made = {}
    for name, unit in (("recent_risk", RISK), ("severity", SEVERITY)):
        parts = [
            model.tallies.devices[name] / unit
            for model in fleet.models.values()
            if len(model.devices) and (name != "severity" or model.params.evidence is not None)
        ]
        if parts:
            values = np.concatenate(parts)
            counts, edges = np.histogram(values, BINS, (min(0.0, values.min()), max(0.1, values.max())))
            made[name] = {"edges": edges.tolist(), "counts": counts.tolist()}
    return made


NOT_PROMISED = (
    "What is not promised: the error rate. An alarm says that the steps of a device look unlike those that "
    "its parameters were fitted to. Confident mistakes can pass unseen; labels measure them."
)

EVERY = 5.0
"""Seconds between two looks of a served page at its data, at least."""


def page(
    summary: Mapping[str, Any],
    timelines: Timelines | None = None,
    title: str = "Fleet",
    served: str | None = None,
) -> tuple[str, str]:
    """Return the page and its content security policy.

    A page that is `served` under that name keeps itself up to date and can find devices.
    """
    style = "\n" + asset("report.css") + own("fleet.css")
    code = closed(own("fleet.js"))
    allowed = policy(style, (code,)) + ("; connect-src 'self'" if served else "")
    about = f' data-view="{escape(served)}" data-every="{EVERY:g}"' if served else ""
    top, *body = (
        f'<div data-part="{key}">{html}</div>' for key, html in parts(summary, timelines, served).items()
    )
    return (
        f'<!doctype html>\n<html lang="en"{about}><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="tcuq {escape(VERSION)}"><title>{escape(title)}</title>'
        f"<style>{style}</style></head><body>"
        f'<header><p class="kind">tcuq {DASH} fleet</p><h1>{escape(title)}</h1>{top}</header>'
        f"<main>{''.join(body)}</main><footer><p>{escape(NOT_PROMISED)}</p>"
        f"<p>Made with tcuq {escape(VERSION)}.</p></footer>"
        f"<script>{code}</script></body></html>\n"
    ), allowed


def parts(summary: Mapping[str, Any], timelines: Timelines | None, served: str | None) -> dict[str, str]:
    """Return the HTML of each part of the page, "" for those that have nothing to say."""
    hot = " hot" if alarmed(summary) or named(summary) else ""
    when = f"State of {moment(summary['time'])}" if summary.get("time") is not None else ""
    return {
        "top": f'<p class="verdict{hot}" role="status">{escape(verdict(summary))}</p>'
        f'{sections.tiles(summary)}<p class="when">{when}<span id="state"></span></p>',
        "over-time": sections.over_time(summary),
        "worst": sections.worst(summary, timelines or {}, served is not None),
        "spread": sections.spread(summary),
        "versions": sections.versions(summary),
        "labels": sections.labels(summary),
        "classes": sections.classes(summary),
        "silent": sections.silent(summary),
        "arrivals": sections.arrivals(summary),
    }


def write_page(
    path: str | Path, summary: Mapping[str, Any], timelines: Timelines | None = None, title: str = "Fleet"
) -> int:
    """Write the page, whole or not at all; return its bytes."""
    content = page(summary, timelines, title)[0].encode()
    write_whole(path, content)
    return len(content)
