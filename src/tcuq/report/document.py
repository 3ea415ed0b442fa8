"""The HTML document around the parts of a report; it loads nothing and runs its own scripts alone."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from .._version import VERSION
from ..monitor.params import Params
from . import figures, sections
from .text import DASH, escape

NOT_PROMISED = (
    "What is not promised: the error rate. Nothing here bounds how many accepted steps are wrong, and a "
    "confident mistake can pass unseen. What is bounded, for every input, is the share of flagged steps and "
    "the number of abstentions. The alarm has no guaranteed delay and no guaranteed rate of false alarms."
)

SHARED = ("stream.js", "draw.js", "timeline.js", "view.js", "reading.js", "gestures.js")
"""Scripts that the live page runs as well."""

SCRIPTS = (*SHARED, "report.js")
"""In this order, in one scope."""

# Before the first paint, so that the static figures never flash up and nothing moves.
FIRST = 'document.documentElement.classList.add("scripted")'

# Also when the script could not even be read, the static figures come back.
LAST = (
    'if (!document.documentElement.getAttribute("data-ready")) '
    'document.documentElement.classList.remove("scripted")'
)


def _script(packed: dict[str, Any]) -> str:
    # "<" could end the element early; JSON has an escape for it.
    return json.dumps(packed, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def asset(name: str) -> str:
    """Return a script or style of the report, which other pages share."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def policy(style: str, scripts: Sequence[str]) -> str:
    """Return a content security policy: nothing is loaded or sent, and only these texts are run.

    Positions are written as style attributes, which cannot be listed one by one; with nothing to load,
    they can do no harm.
    """
    allowed = " ".join(f"'{content_hash(text)}'" for text in scripts)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {allowed}",
            "style-src 'unsafe-inline'",  # for browsers that do not know the next two
            f"style-src-elem '{content_hash(style)}'",
            "style-src-attr 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def content_hash(text: str) -> str:
    """Return the source expression of a policy that lets in exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def document(
    title: str, sentence: str, tiles: str, body: str, params: Params | None, packed: dict[str, Any]
) -> str:
    """Return the page around its parts."""
    settings = "" if params is None else f"<h2>Settings</h2>{sections.settings(params)}"
    code = "".join(asset(name) for name in SCRIPTS)
    code = f'(function () {{\n"use strict";\n{code}}})();'
    style = f"\n{asset('report.css')}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, (FIRST, code, LAST))}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="tcuq {escape(VERSION)}"><title>{escape(title)}</title>'
        f"<style>{style}</style>"
        f"<script>{FIRST}</script></head><body>"
        f'<svg class="defs" aria-hidden="true">{figures.HATCHES}</svg>'
        f'<header><p class="kind">tcuq {DASH} report of a monitored stream</p>'
        f'<h1>{escape(title)}</h1><p class="verdict" data-key="verdict">{escape(sentence)}</p>'
        f"{tiles}</header>"
        f"<main>{body}</main><footer>{settings}<p>{escape(NOT_PROMISED)}</p>"
        "<p>Steps are counted from 0, the first step of the monitor. "
        f"Made with tcuq {escape(VERSION)}.</p></footer>"
        f'<script type="application/json" id="tcuq-data">{_script(packed)}</script>'
        f"<script>{code}</script><script>{LAST}</script></body></html>\n"
    )
