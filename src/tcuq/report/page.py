"""One self-contained HTML page about a monitored stream."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from .._version import VERSION
from ..base.atomic_files import write_whole
from ..base.texts import text_of
from ..log.log import Log
from ..monitor.params import Params
from . import data, outcome, plot, sections
from .day import Pictures, day
from .outcome import learned
from .seen import seen
from .summary import Check, Facts, facts_of
from .text import DASH, escape, fact, folded, section

__all__ = ["NOT_PROMISED", "TITLE", "render", "write_report"]

TITLE = "Monitor report"


NOT_PROMISED = (
    "What is not promised: the error rate. Nothing here bounds how many answers that you act on are wrong, "
    "and a confident mistake can pass unseen. What is bounded, for every input, is the share of flagged "
    "steps and, unless a limit of errors comes first, how often the monitor asks. The alarm has no "
    "guaranteed delay and no guaranteed rate of false alarms."
)

SHARED = ("stream.js", "draw.js", "timeline.js", "reading.js")
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


def asset(name: str) -> str:
    """Return a script or style of the report, which other pages share."""
    return text_of(f"report/{name}")


def policy(style: str, scripts: Sequence[str], images: bool = False) -> str:
    """Return a content security policy: nothing is loaded or sent, and only these texts are run.

    Where `images` are allowed, they are part of the page.
    """
    allowed = " ".join(f"'{content_hash(text)}'" for text in scripts)
    # Positions are written as style attributes, which cannot be listed one by one; with nothing to load, they
    # can do no harm. Browsers that do not know the rules for elements and attributes take the one for both.
    styles = f"style-src 'unsafe-inline'; style-src-elem '{content_hash(style)}'"
    scripted = f"default-src 'none'; script-src {allowed}; {styles}; style-src-attr 'unsafe-inline'"
    scripted += "; img-src data:" * images
    return f"{scripted}; base-uri 'none'; form-action 'none'"


def content_hash(text: str) -> str:
    """Return the source expression of a policy that lets in exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def head(title: str, style: str, allowed: str) -> str:
    """Return the beginning of a page, up to what else belongs into its head."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="tcuq {escape(VERSION)}"><title>{escape(title)}</title>'
        f"<style>{style}</style>"
    )


def verdict(checks: Sequence[Check]) -> str:
    """Return the whole verdict and its checks, each with a state that words, shape and color tell."""
    rows = "".join(
        f'<div class="check {each.state.lower()}"><dt><b>{each.state}</b> {escape(each.name)}</dt><dd>'
        f"{escape(each.why)}{f'<br><i>{escape(each.todo)}</i>' * bool(each.todo)}</dd></div>"
        for each in checks
    )
    return f'<dl class="checks" data-key="checks">{rows}</dl>' if checks else ""


def document(facts: Facts, title: str, checks: Sequence[Check], body: str) -> str:
    """Return the page around its sections."""
    # "<" could end the element early; JSON has an escape for it.
    content = json.dumps(packed(facts), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    code = "".join(asset(name) for name in SCRIPTS)
    code = f'(function () {{\n"use strict";\n{code}}})();'
    style = f"\n{asset('report.css')}"
    # What must not be relied on must not look like a result.
    warned = ' class="warned"' * any(each.state == "FAIL" for each in checks)
    allowed = policy(style, (FIRST, code, LAST), "<img " in body)
    return (
        f"{head(title, style, allowed)}<script>{FIRST}</script></head><body>"
        f'<svg class="defs" aria-hidden="true">{plot.HATCHES}</svg>'
        f'<header{warned}><p class="kind">tcuq {DASH} report of a monitored stream</p>'
        f'<h1>{escape(title)}</h1>{verdict(checks)}<p class="verdict" data-key="verdict">'
        f"{escape(sections.verdict(facts))}</p></header>"
        f"<main>{body}</main><footer><p>{escape(NOT_PROMISED)}</p>"
        "<p>Steps are counted from 0, the first step of the monitor. "
        f"Made with tcuq {escape(VERSION)}.</p></footer>"
        f'<script type="application/json" id="tcuq-data">{content}</script>'
        f"<script>{code}</script><script>{LAST}</script></body></html>\n"
    )


def packed(facts: Facts) -> dict[str, Any]:
    """Return what the scripts of the page draw from."""
    content = data.pack_timeline(facts.steps, facts.bits, facts.wrong) | {
        "first": facts.first,
        "top": plot.risk_top(facts.steps),
        "reasons": data.reasons(),
        "shifts": facts.shifts,
        "names": facts.names,
        "about": facts.about,
        "stretches": data.pack_stretches(facts.log),
    }
    if facts.signals is not None and facts.columns:
        content["signals"] = data.pack_signals(facts.signals, facts.columns)
    return content


def render(
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
    names: Sequence[str] | None = None,
    checks: Sequence[Check] = (),
    sighted: bool = False,
    pictures: Pictures | None = None,
) -> str:
    """Return the report as one HTML page that needs nothing else.

    Parameters
    ----------
    decisions : structured array of `tcuq.STEP_DTYPE`
        As `Monitor.run` or `tcuq.monitor.monitor.run_over` gives it.
    params : Params, optional
        Adds the bounds, the coefficients and the table of settings.
    log : Log, optional
        Of the same length; its labels, known shifts and segments are used where it has them.
    signals : array of shape (T, len(SIGNALS)), optional
        In registry order. Left out, they are computed again when both params and log are given.
    title : str, optional
        Heading of the page.
    first : int, default 0
        Number of the first step: above 0 for a monitor that had run before. Its debt there is not
        known, so the flag rate is then held against the bound for any n consecutive steps.
    names : sequence of str, optional
        Names of the classes, "" where one is not known; those of params or log go before.
    checks : sequence of Check, optional
        The verdict on the monitor. One of state "FAIL" is shown as a failure, and the figures beside it as
        not to be relied on.
    sighted : bool, default False
        Without params: whether the alarm measured a distance from clean data (`Params.sight`), as
        `Decisions.sighted` tells of a file.
    pictures : mapping of str to array of uint8, optional
        What the device saw: a gray picture of shape (height, width) for kinds of shift by name.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=3, warmup=0)
    >>> page = render(Monitor(params).run(np.full((5, 3), 1 / 3)), params, title="Door <2>")
    >>> "<h1>Door &lt;2&gt;</h1>" in page
    True
    """
    facts = facts_of(decisions, params, log, signals, first, names, sighted)
    parts = [day(facts, pictures or {}, sections.tiles(facts)), sections.timeline(facts)]
    more = [learned(facts), sections.signals(facts), sections.rates(facts)]
    if log is not None and facts.errors is not None:
        parts.append(outcome.labeled(facts, log, facts.errors))
        more.append(outcome.by_decision(facts, log, facts.errors))
    elif log is not None and log.unlabeled:
        parts.append(section("labels", "Against the true labels", "", fact(f"Left out: {log.partly}.")))
    if facts.response is not None:
        more.append(outcome.delays(facts.response, first))
    if params is not None:
        more.append(outcome.left_out(params.notes.get("fit")))
    more += [seen(facts), sections.reasons(facts)]
    if params is not None:
        more.append(section("settings", "Settings", "", sections.settings(params)))
    parts.append(folded("For experts: signals, rates and their bounds, delays, settings", "".join(more)))
    return document(facts, title or TITLE, checks, "".join(parts))


def write_report(
    path: str | Path,
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
    names: Sequence[str] | None = None,
    sighted: bool = False,
) -> None:
    """Write the report to a file, whole or not at all; see `render`.

    Parameters
    ----------
    path : path
        File to write, ``report.html``, say.
    decisions, params, log, signals, title, first, names, sighted
        As of `render`.
    """
    page = render(decisions, params, log, signals, title, first=first, names=names, sighted=sighted)
    write_whole(path, page)
