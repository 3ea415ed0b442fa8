"""What a report says, computed once, and the top of the page that shows it: timeline and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from ..monitor.alarm import alarm_words
from ..monitor.class_names import checked_name
from ..monitor.log import Log
from ..monitor.monitor import signal_columns
from ..monitor.params import Params
from . import data, figures, sections, summary
from .data import checked, recomputed
from .outcome import found_tile
from .text import aim, count, percent, times

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Facts:
    """A monitored stream, and what follows from it."""

    steps: npt.NDArray[Any]
    params: Params | None
    log: Log | None
    first: int  # number of the first step
    signals: npt.NDArray[np.float64] | None
    why: str  # the signals are not shown
    errors: dict[str, Bools] | None  # of "prediction" and "answer"; None without labels
    counted: dict[str, dict[str, summary.Share]] | None
    response: summary.Response | None
    names: tuple[str, ...] | None = None

    @property
    def about(self) -> str:
        """What the risk speaks of, and accuracy is told of: ``"prediction"`` or ``"answer"``."""
        return "answer" if self.params is None else self.params.about

    @property
    def wrong(self) -> Bools | None:
        """Steps at which that is not the true class; None without labels."""
        return None if self.errors is None else self.errors[self.about]

    @property
    def shares(self) -> dict[str, summary.Share] | None:
        """Right ones among all, accepted and abstained steps; None without labels."""
        return None if self.counted is None else self.counted[self.about]

    @property
    def corrects(self) -> bool:
        """Whether some answer is not the prediction of its step."""
        return bool((self.steps["answer"] != self.steps["prediction"]).any())

    @property
    def abstained(self) -> Bools:
        """Whether each step abstains."""
        return np.asarray(self.steps["abstain"].astype(bool))

    @property
    def flagged(self) -> Bools:
        """Whether each step is flagged."""
        return np.asarray(self.steps["flagged"].astype(bool))

    @property
    def evidence(self) -> bool:
        """Whether the alarm sums evidence rather than risk."""
        return self.params is not None and self.params.evidence is not None

    @property
    def shifts(self) -> bool:
        """Whether the log knows which steps are shifted."""
        return self.log is not None and self.log.shifted is not None

    @property
    def top(self) -> float:
        """Upper end of the risk axis."""
        return figures.risk_top(self.steps)

    @property
    def columns(self) -> list[int]:
        """Numbers of the signals that are shown."""
        if self.signals is None:
            return []
        if self.params is not None:
            return signal_columns(self.params)
        return [int(column) for column in np.flatnonzero(self.signals.any(axis=0))]

    def packed(self) -> dict[str, Any]:
        """Return what the scripts of the page draw from."""
        found = data.pack_timeline(self.steps, self.log, self.wrong)
        found |= {"first": self.first, "top": self.top, "reasons": data.reasons(), "shifts": self.shifts}
        found |= {"names": self.names, "about": self.about, "stretches": data.pack_stretches(self.log)}
        if self.signals is not None and self.columns:
            found["signals"] = data.pack_signals(self.signals, self.columns)
        return found


def facts_of(
    decisions: npt.NDArray[Any],
    params: Params | None,
    log: Log | None,
    signals: npt.ArrayLike | None,
    first: int,
    names: Sequence[str] | None = None,
) -> Facts:
    """Check the inputs of a report and compute what it says; arguments are those of `tcuq.report.render`."""
    steps, values = checked(decisions, params, log, signals)
    why = ""
    if values is None:
        values, why = recomputed(steps, params, log, integer("first", first, 0, 2**53))
    errors = counted = None
    if log is not None and log.labels is not None:
        errors = {name: np.asarray(steps[name] != log.labels) for name in ("answer", "prediction")}
        counted = {name: _counted(wrong, steps["abstain"].astype(bool)) for name, wrong in errors.items()}
    response = None if log is None else summary.response(steps["alarm"], log)
    named = _names(params, log, names)
    return Facts(steps, params, log, first, values, why, errors, counted, response, named)


def _counted(wrong: Bools, abstained: Bools) -> dict[str, summary.Share]:
    return {
        "all": summary.share(~wrong),
        "accepted": summary.share(~wrong, ~abstained),
        "abstained": summary.share(~wrong, abstained),
    }


def _names(params: Params | None, log: Log | None, names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the names of the classes: those of the parameters, of the log, or those given."""
    if params is not None and params.names is not None:
        return params.names
    if log is not None and log.names is not None:
        return log.names
    # A decision file tells the names of those classes alone that it answers with.
    return None if names is None else tuple(name and checked_name(name, k) for k, name in enumerate(names))


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
    summed = None if facts.params is None else facts.evidence
    alarms = {side: f"alarm: {alarm_words(level, summed)}" for level, side in ((1, "rise"), (2, "fall"))}
    words = {**sections.LEGENDS, **alarms}
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
    if facts.corrects:
        lead += " The risk speaks of the answer: the prediction, or what the last steps make more likely."
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
        what = f"{facts.about.capitalize()}s right when accepted" if facts.corrects else "Right when accepted"
        tiles.append(sections.tile(what, shown, "accepted", note))
    if response is not None and response.delays:
        tiles.append(found_tile(response, "found"))
    return f'<dl class="tiles">{"".join(tiles)}</dl>'
