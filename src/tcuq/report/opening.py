"""The first screen of a report: the tiles with its main figures, and the timeline."""

from __future__ import annotations

from . import figures, sections, summary
from .facts import Facts
from .text import aim, count, percent, plural, short, times

SPOKEN = (
    "Risk and threshold over time. Arrow keys move the reading line, with Shift they pan; plus and minus "
    "zoom, N goes to the next alarm, P to the previous one, 0 shows the whole stream."
)
HINT = (
    "Drag to zoom, Shift and drag to pan, wheel or pinch to zoom, double click for the whole stream. "
    "The strip below the timeline shows where you are and can be dragged."
)


def timeline(facts: Facts) -> str:
    """Return the chart of risk and threshold, which can be zoomed, and the same as a still figure."""
    kinds = ["range", "risk", "threshold", "abstain", "rise", *([] if facts.evidence else ["fall"])]
    words = {**sections.LEGENDS, **({"rise": sections.EVIDENCE_LEGEND} if facts.evidence else {})}
    if facts.shifts:
        kinds.append("shift")
    if facts.log is not None and len(facts.log.pieces()) > 1:
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
    drawn = figures.timeline(facts.steps, facts.log, facts.wrong, facts.top, facts.first)
    lanes = 3 + (facts.wrong is not None) + ("shift" in kinds)
    body = (
        sections.legend((kind, words[kind]) for kind in kinds)
        + f'<div class="live controls"><div class="buttons">{buttons}</div><p id="range"></p></div>'
        + f'<div class="live stage" id="stage" style="--lanes:{lanes}" tabindex="0" role="application" '
        + f'aria-roledescription="zoomable chart" aria-label="{SPOKEN}"><canvas></canvas></div>'
        + '<div class="live overview" id="overview" aria-hidden="true"><canvas></canvas>'
        + f'<div class="window"><i></i><i></i></div></div><p class="live hint">{HINT}</p>'
        + '<div id="spoken" class="unseen" aria-live="polite"></div>'
        + f'<div class="static">{drawn}</div>'
    )
    how = "adds up evidence" if facts.evidence else "compares the risk with a frozen level"
    lead = (
        "A step is flagged where its risk reaches the threshold, and abstained where the budget also allows "
        f"it. The alarm {how}, so a threshold that adapts cannot hide a lasting change."
    )
    return sections.section("timeline", "Timeline", lead, body)


def tiles(facts: Facts) -> str:
    """Return the main figures."""
    flagged, abstained = summary.share(facts.flagged), summary.share(facts.abstained)
    alarm, params, shares, response = facts.steps["alarm"], facts.params, facts.shares, facts.response
    alarms, under = len(summary.onsets(alarm)), float((alarm != 0).mean())
    tiles = [
        sections.tile("Steps", count(len(facts.steps)), "steps", "one inference each"),
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
