"""The fleet's page: one HTML file that needs nothing else, or a view of the live server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from tcuq._version import VERSION
from tcuq.base.whole_files import write_whole
from tcuq.report.document import policy
from tcuq.report.text import DASH, escape

from . import sections
from .sections import Timelines
from .words import alarmed, moment, named, verdict
from .worst_devices import worst

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

    Examples
    --------
    >>> page = render({"devices": 0}, title="Doors <2>")
    >>> "<h1>Doors &lt;2&gt;</h1>" in page, "No device has sent anything yet." in page
    (True, True)
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
