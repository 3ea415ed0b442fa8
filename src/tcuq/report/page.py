"""One self-contained HTML page about a monitored stream."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._version import VERSION
from ..base.checks import integer
from ..base.whole_files import write_whole
from ..monitor.log import Log
from ..monitor.monitor import signal_columns
from ..monitor.params import Params
from . import data, figures, outcome, sections, summary
from .inputs import checked, recomputed
from .text import DASH, aim, count, escape, percent, plural, short, times

TITLE = "Monitor report"

NOT_PROMISED = (
    "What is not promised: the error rate. Nothing here bounds how many accepted steps are wrong, and a "
    "confident mistake can pass unseen. What is bounded, for every input, is the share of flagged steps and "
    "the number of abstentions. The alarm has no guaranteed delay and no guaranteed rate of false alarms."
)

SPOKEN = (
    "Risk and threshold over time. Arrow keys move the reading line, with Shift they pan; plus and minus "
    "zoom, N goes to the next alarm, P to the previous one, 0 shows the whole stream."
)
HINT = (
    "Drag to zoom, Shift and drag to pan, wheel or pinch to zoom, double click for the whole stream. "
    "The strip below the timeline shows where you are and can be dragged."
)


def _script(packed: dict[str, Any]) -> str:
    # "<" could end the element early; JSON has an escape for it.
    return json.dumps(packed, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _timeline(
    decisions: npt.NDArray[Any],
    log: Log | None,
    wrong: npt.NDArray[np.bool_] | None,
    top: float,
    first: int,
    evidence: bool,
) -> str:
    kinds = ["range", "risk", "threshold", "abstain", "rise", *([] if evidence else ["fall"])]
    words = {**sections.LEGENDS, **({"rise": sections.EVIDENCE_LEGEND} if evidence else {})}
    if log is not None and log.shifted is not None:
        kinds.append("shift")
    if log is not None and len(log.pieces()) > 1:
        kinds.append("border")
    buttons = "".join(
        f'<button type="button" data-act="{act}" title="{hint}">{name}</button>'
        for act, name, hint in (
            ("in", "Zoom in", "Key +"),
            ("out", "Zoom out", "Key -"),
            ("left", "Earlier", "Shift and left arrow"),
            ("right", "Later", "Shift and right arrow"),
            ("alarm", "Next alarm", "Key N"),
            ("reset", "Whole stream", "Key 0 or double click"),
        )
    )
    lanes = 3 + (wrong is not None) + ("shift" in kinds)
    body = (
        sections.legend((kind, words[kind]) for kind in kinds)
        + f'<div class="live controls"><div class="buttons">{buttons}</div><p id="range"></p></div>'
        + f'<div class="live stage" id="stage" style="--lanes:{lanes}" tabindex="0" role="application" '
        + f'aria-roledescription="zoomable chart" aria-label="{SPOKEN}"><canvas></canvas></div>'
        + '<div class="live overview" id="overview" aria-hidden="true"><canvas></canvas>'
        + f'<div class="window"><i></i><i></i></div></div><p class="live hint">{HINT}</p>'
        + '<div id="spoken" class="unseen" aria-live="polite"></div>'
        + f'<div class="static">{figures.timeline(decisions, log, wrong, top, first)}</div>'
    )
    lead = (
        "A step is flagged where its risk reaches the threshold, and abstained where the budget also allows "
        f"it. The alarm {'adds up evidence' if evidence else 'compares the risk with a frozen level'}, so a "
        "threshold that adapts cannot hide a lasting change."
    )
    return sections.section("timeline", "Timeline", lead, body)


def _tiles(
    steps: int,
    flagged: summary.Share,
    abstained: summary.Share,
    alarm: npt.NDArray[Any],
    params: Params | None,
    shares: dict[str, summary.Share] | None,
    response: summary.Response | None,
) -> str:
    alarms, under = len(summary.onsets(alarm)), float((alarm != 0).mean())
    tiles = [
        sections.tile("Steps", count(steps), "steps", "one inference each"),
        sections.tile(
            "Flagged",
            percent(flagged.rate),
            "flagged",
            f"aim {aim(params.level)}" if params else f"{count(flagged.hits)} steps",
        ),
        sections.tile(
            "Abstained",
            percent(abstained.rate),
            "abstained",
            f"budget {aim(params.budget)}" if params else f"{count(abstained.hits)} steps",
        ),
        sections.tile("Alarm raised", times(alarms), "alarms", f"{percent(under)} of the time"),
    ]
    if shares is not None:
        kept, left = shares["accepted"], shares["abstained"]
        note = f"{percent(left.rate)} when abstained" if left.of else f"{percent(shares['all'].rate)} of all"
        shown = percent(kept.rate) if kept.of else "none"
        tiles.append(sections.tile("Right when accepted", shown, "accepted", note))
    if response is not None and response.delays:
        missed = response.number("not raised")
        value = "none" if response.median is None else f"{short(response.median)} steps"
        tiles.append(
            sections.tile(
                "Median alarm delay",
                value,
                "delay",
                f"{missed} of {plural(len(response.delays), 'shift')} missed",
            )
        )
    return f'<dl class="tiles">{"".join(tiles)}</dl>'


def render(
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
) -> str:
    """Return the report as one HTML page that needs nothing else.

    Parameters
    ----------
    decisions : structured array of `tcuq.STEP_DTYPE`
        As `Monitor.run` or `tcuq.monitor.log.watch` gives it.
    params : Params, optional
        Adds the bounds, the coefficients and the table of settings.
    log : Log, optional
        Of the same length; its labels, known shifts and segments are used where it has them.
    signals : array of shape (T, 15), optional
        In registry order. Left out, they are computed again when both params and log are given.
    title : str, optional
    first : int
        Number of the first step: above 0 for a monitor that had run before. Its debt there is not
        known, so the flag rate is then held against the bound for any n consecutive steps.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=3, warmup=0)
    >>> page = render(Monitor(params).run(np.full((5, 3), 1 / 3)), params, title="Door <2>")
    >>> "<h1>Door &lt;2&gt;</h1>" in page
    True
    """
    steps, values = checked(decisions, params, log, signals)
    why = ""
    if values is None:
        values, why = recomputed(steps, params, log, integer("first", first, 0, 2**53))
    label = None if log is None else log.labels
    wrong = None if label is None else np.asarray(steps["label"] != label)
    abstain, flagged = steps["abstain"].astype(bool), steps["flagged"].astype(bool)
    top = figures.risk_top(steps)
    packed = data.pack_timeline(steps, log, wrong)
    packed |= {
        "first": first,
        "top": top,
        "reasons": data.reasons(),
        "shifts": log is not None and log.shifted is not None,
    }

    evidence = params is not None and params.evidence is not None
    parts = [_timeline(steps, log, wrong, top, first, evidence)]
    if values is not None:
        columns = (
            [int(c) for c in np.flatnonzero(values.any(axis=0))] if params is None else signal_columns(params)
        )
        if columns:
            packed["signals"] = data.pack_signals(values, columns)
            parts.append(sections.signals(values, columns, params, first))
    elif why:
        parts.append(f'<p class="fact">{escape(why)}</p>')
    rate = summary.flag_rate(flagged, params, first)
    parts.append(sections.rates(rate, summary.windows(abstain, params), params, first))

    shares = None
    if log is not None and wrong is not None:
        shares = {
            "all": summary.share(~wrong),
            "accepted": summary.share(~wrong, ~abstain),
            "abstained": summary.share(~wrong, abstain),
        }
        kept = shares["accepted"]
        sure = np.clip(log.confidence(), 0.0, 1.0)
        parts.append(
            outcome.labeled(
                shares,
                summary.risk_coverage(steps["risk"], wrong),
                summary.risk_coverage(1 - sure, wrong),
                (kept.of / len(steps), 1 - kept.rate if kept.of else 0.0),
                summary.reliability(sure, ~wrong),
            )
        )
    response = None if log is None else summary.response(steps["alarm"], log)
    if response is not None:
        parts.append(outcome.delays(response, first))
    parts.append(sections.reasons(steps["reason"][abstain].astype(np.uint8)))
    tiles = _tiles(
        len(steps), summary.share(flagged), summary.share(abstain), steps["alarm"], params, shares, response
    )
    sentence = sections.verdict(
        len(steps),
        float(flagged.mean()),
        float(abstain.mean()),
        len(summary.onsets(steps["alarm"])),
        params,
        shares,
    )
    return _document(title or TITLE, sentence, tiles, "".join(parts), params, packed)


def _document(
    title: str, sentence: str, tiles: str, body: str, params: Params | None, packed: dict[str, Any]
) -> str:
    settings = "" if params is None else f"<h2>Settings</h2>{sections.settings(params)}"
    code = "".join(_asset(name) for name in ("stream.js", "draw.js", "timeline.js", "report.js"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="tcuq {escape(VERSION)}"><title>{escape(title)}</title>'
        f"<style>\n{_asset('report.css')}</style>"
        # Before the first paint, so that the static figures never flash up and nothing moves.
        '<script>document.documentElement.classList.add("scripted")</script></head><body>'
        f'{figures.HATCHES}<header><p class="kind">tcuq {DASH} report of a monitored stream</p>'
        f'<h1>{escape(title)}</h1><p class="verdict" data-key="verdict">{escape(sentence)}</p>'
        f"{tiles}</header>"
        f"<main>{body}</main><footer>{settings}<p>{escape(NOT_PROMISED)}</p>"
        "<p>Steps are counted from 0, the first step of the monitor. "
        f"Made with tcuq {escape(VERSION)}.</p></footer>"
        f'<script type="application/json" id="tcuq-data">{_script(packed)}</script>'
        f'<script>(function () {{\n"use strict";\n{code}}})();</script>'
        # Also when the script could not even be read, the static figures come back.
        '<script>if (!document.documentElement.getAttribute("data-ready")) '
        'document.documentElement.classList.remove("scripted")</script></body></html>\n'
    )


def write_report(
    path: str | Path,
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
) -> None:
    """Write the report to a file, whole or not at all; see `render`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=3, warmup=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(Path(folder) / "report.html", Monitor(params).run(np.full((5, 3), 1 / 3)), params)
    ...     (Path(folder) / "report.html").read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    write_whole(path, render(decisions, params, log, signals, title, first=first))
