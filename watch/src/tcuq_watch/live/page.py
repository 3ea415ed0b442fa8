"""The live page: one document, its style and scripts inside, and the policy that lets in these alone."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from tcuq._version import VERSION
from tcuq.monitor.alarm import alarm_words
from tcuq.monitor.signals import DESCRIPTION
from tcuq.report.markup import legend
from tcuq.report.page import SHARED, asset, content_hash
from tcuq.report.text import DASH, escape

SCRIPTS = (
    "steps.js",
    "connection.js",
    "remarks.js",
    "panel.js",
    "saving.js",
    "wrong.js",
    "following.js",
    "live.js",
)
"""In this order, after those of the report, in one scope."""

LEGEND = (
    ("risk", "risk (shade: lowest to highest)"),
    ("threshold", "threshold"),
    ("abstain", "not sure: abstained"),
    ("rise", f"alarm: {alarm_words(1)}"),
    ("fall", f"alarm: {alarm_words(2)}"),
)

BUTTONS = (
    ("in", "Zoom in", "Key +"),
    ("out", "Zoom out", "Key -"),
    ("left", "Earlier", "Shift and left arrow"),
    ("right", "Later", "Shift and right arrow"),
    ("alarm", "Next alarm", "Key N"),
    ("whole", "Everything", "Key 0 or double click"),
    ("csv", "Save CSV", "Key C: the steps in view"),
    ("png", "Save picture", "Key S: the plot as PNG"),
)

KEYS = (
    ("Space", "pause, and back to live"),
    ("L or Esc", "back to live"),
    ("W", "this was wrong: the selected step, or the last"),
    ("+ and -, wheel", "zoom"),
    ("drag", "zoom into a range; with Shift, or a finger, move"),
    ("click", "select a step"),
    ("arrows", "select the next step; with Shift, move"),
    ("N and P", "next and previous alarm"),
    ("0", "everything that the page holds"),
    ("C and S", "save the steps in view as CSV, the plot as a picture"),
)

SPOKEN = (
    "Risk and threshold of the last steps. Space pauses. Left and right arrow read steps, with Shift they "
    "move. Plus and minus zoom. N and P go to alarms. L goes back to live. W marks a step as wrong."
)

ROWS = (
    ("persistence", "Persistence", "how long classes stay: 1 is for long"),
    ("accuracy", "Expected accuracy", "of the last answers, estimated without labels"),
)

TILES = (
    ("Steps", "count-steps", "rate"),
    ("Flagged", "count-flagged", "aim-flagged"),
    ("Abstained", "count-abstained", "aim-abstained"),
    ("Alarms", "count-alarms", "alarm-note"),
    ("Troubles", "count-troubles", "troubles"),
    ("Marked wrong", "count-marks", "mark-note"),
)


@cache
def _style() -> str:
    return "\n" + asset("report.css") + _own("live.css")


@cache
def _code() -> str:
    code = "".join([*(asset(name) for name in SHARED), *(_own(name) for name in SCRIPTS)])
    return f'(function () {{\n"use strict";\n{code}}})();'


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _policy() -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{content_hash(_code())}'",
            f"style-src '{content_hash(_style())}'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def own_policy(page: str) -> str:
    """Return the content security policy that a page names in its head, made fit for a header; "" if none.

    A policy that lets in any script is none. The page may ask this server for data, and nobody may frame it.

    Examples
    --------
    >>> meta = '<meta http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;">'
    >>> own_policy(f"<head>{meta}<script>")
    "default-src 'none'; connect-src 'self'; frame-ancestors 'none'"
    >>> own_policy(f"<head><script></script>{meta}")
    ''
    """
    head = page[: (re.search(r"<script|<body|</head", page, re.I) or re.search("$", page)).start()]  # type: ignore[union-attr]
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', head, re.I)
    if found is None:
        return ""
    parts = [" ".join(part.split()) for part in html.unescape(found[1]).split(";") if part.strip()]
    named = {part.split()[0].lower(): part for part in parts}
    scripts = named.get("script-src", named.get("default-src", "'unsafe-inline'"))
    if "unsafe" in scripts or not all(part.isascii() and part.isprintable() for part in parts):
        return ""
    named.setdefault("connect-src", "connect-src 'self'")
    named["frame-ancestors"] = "frame-ancestors 'none'"
    return "; ".join(named.values())


def live_page(views: Sequence[tuple[str, str]] = ()) -> tuple[str, str]:
    """Return the page and its content security policy."""
    links = "".join(f'<a href="/{escape(name)}">{escape(title)}</a>' for name, title in views)
    meanings = json.dumps(DESCRIPTION).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en" class="scripted"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>tcuq live</title><style>{_style()}</style></head><body>"
        f'{_header(links)}<main><div class="side">{_answer()}{_reason()}{_events()}</div>'
        f'<div class="wide">{_plot()}{_counts()}</div></main>'
        "<footer><p>The page holds the last 262,144 steps; the server holds fewer, for pages that are opened "
        f"later. tcuq {escape(VERSION)}.</p></footer>{_dialog()}"
        f'<script type="application/json" id="meanings">{meanings}</script>'
        f"<script>{_code()}</script></body></html>\n"
    ), _policy()


def _header(links: str) -> str:
    nav = f'<nav aria-label="Other pages">{links}</nav>' if links else ""
    return (
        f'<header><div class="names"><p class="kind">tcuq {DASH} live</p><h1 id="title">Live</h1>'
        f'<p class="source" id="source"></p>{nav}</div>'
        '<div class="pills"><p id="alarm" class="state alarm" role="status" aria-live="assertive">'
        '<i aria-hidden="true"></i><span id="alarm-word">No alarm</span></p>'
        '<p class="state link" role="status"><i aria-hidden="true"></i>'
        '<span id="state">connecting…</span></p></div></header>'
        "<noscript><p>This page needs scripts; it runs its own alone.</p></noscript>"
    )


def _answer() -> str:
    values = "".join(
        f'<div><dt>{name}</dt><dd id="{key}">{DASH}</dd></div>'
        for name, key in (
            ("Risk", "risk"),
            ("Threshold", "threshold"),
            ("Persistence", "persistence"),
            ("Expected accuracy", "accuracy"),
        )
    )
    return (
        '<section id="now" class="now" aria-label="Answer"><p class="which" id="which">No step yet</p>'
        f'<p class="answer" id="answer">{DASH}</p>'
        '<div class="verdict-now"><p class="decision"><i aria-hidden="true"></i>'
        f'<span id="decision">{DASH}</span></p>'
        '<p class="notes" id="notes"></p></div>'
        '<div class="gauge" id="gauge" aria-hidden="true"><i></i><b></b></div>'
        f'<dl class="values">{values}</dl>'
        '<button type="button" class="wrong" data-act="wrong" title="Key W" hidden>This was wrong…</button>'
        '<p class="marked" id="marked" role="status"></p></section>'
    )


def _plot() -> str:
    buttons = "".join(
        f'<button type="button" data-act="{act}" title="{hint}">{name}</button>'
        for act, name, hint in BUTTONS
    )
    rows = "".join(
        f'<div class="signal" data-signal="{key}"><div class="what"><b>{name}</b>'
        f'<span class="meaning">{meaning}</span><output></output></div>'
        '<div class="chart"><canvas></canvas></div></div>'
        for key, name, meaning in ROWS
    )
    keys = "".join(f"<div><dt>{name}</dt><dd>{what}</dd></div>" for name, what in KEYS)
    return (
        '<section class="timeline" aria-label="Plot"><div class="controls"><div class="buttons">'
        '<button type="button" class="pause" data-act="pause" title="Space" aria-pressed="false">'
        f'<i aria-hidden="true"></i><span id="pause-word">Pause</span></button>{buttons}</div>'
        f'<p id="range"></p></div>{legend(LEGEND)}'
        '<div class="stage" id="stage" tabindex="0" role="application" aria-roledescription="moving chart" '
        f'aria-label="{SPOKEN}"><canvas></canvas><p id="waiting">Waiting for the first step…</p></div>{rows}'
        '<div class="overview" id="overview" aria-hidden="true"><canvas></canvas>'
        '<div class="window"><i></i><i></i></div></div>'
        f'<details class="help"><summary>Keys and gestures</summary><dl>{keys}</dl></details>'
        '<div id="spoken" class="unseen" aria-live="polite"></div></section>'
    )


def _reason() -> str:
    return (
        '<section class="reasons-now"><h2>Why not sure</h2><p class="lead" id="reason" hidden></p>'
        '<p class="lead" id="no-reason">No step was flagged yet.</p>'
        '<ul class="bars" id="bars" hidden></ul></section>'
    )


def _counts() -> str:
    tiles = "".join(
        f'<div><dt>{name}</dt><dd><b id="{key}">0</b><small id="{small}"></small></dd></div>'
        for name, key, small in TILES
    )
    return f'<section class="counts" aria-label="Counts"><dl class="tiles">{tiles}</dl></section>'


def _events() -> str:
    return (
        '<section class="events"><h2>Events</h2><ol id="remarks"><li>Nothing yet.</li></ol>'
        '<p class="hint" id="saved"></p></section>'
    )


def _dialog() -> str:
    return (
        '<dialog id="wrong" aria-labelledby="asked"><h2 id="asked"></h2>'
        '<input id="search" type="text" autocomplete="off" spellcheck="false" placeholder="Search a class" '
        'role="combobox" aria-expanded="true" aria-controls="classes" aria-label="True class">'
        '<ul id="classes" role="listbox" aria-label="Classes"></ul><p class="hint" id="keys"></p>'
        '<p class="failed" id="failed" role="alert"></p><div class="buttons">'
        '<button type="button" id="unknown" title="Key ?">I do not know, but it was wrong</button>'
        '<button type="button" id="cancel" title="Esc">Cancel</button></div></dialog>'
    )
