"""One self-contained HTML page about a monitored stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.atomic_files import write_whole
from ..base.checks import integer
from ..monitor.alarm import alarm_words
from ..monitor.class_names import checked_name
from ..monitor.log import Log
from ..monitor.monitor import signal_columns
from ..monitor.params import Params
from . import data, figures, outcome, sections, summary
from .data import checked, recomputed
from .document import NOT_PROMISED, document
from .learned import Learned, learned
from .learned import answers as learned_answers
from .outcome import found_tile
from .text import aim, count, escape, percent, times

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


__all__ = ["NOT_PROMISED", "TITLE", "render", "write_report"]

TITLE = "Monitor report"


def render(
    decisions: npt.NDArray[Any],
    params: Params | None = None,
    log: Log | None = None,
    signals: npt.ArrayLike | None = None,
    title: str | None = None,
    *,
    first: int = 0,
    names: Sequence[str] | None = None,
    verdict: str = "",
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
    signals : array of shape (T, 17), optional
        In registry order. Left out, they are computed again when both params and log are given.
    title : str, optional
        Heading of the page.
    first : int, default 0
        Number of the first step: above 0 for a monitor that had run before. Its debt there is not
        known, so the flag rate is then held against the bound for any n consecutive steps.
    names : sequence of str, optional
        Names of the classes, "" where one is not known; those of params or log go before.
    verdict : str, optional
        A sentence that is known from elsewhere, to stand before the one on the stream.

    Returns
    -------
    str
        HTML with its styles and scripts.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Monitor, Params
    >>> params = Params(classes=3, warmup=0)
    >>> page = render(Monitor(params).run(np.full((5, 3), 1 / 3)), params, title="Door <2>")
    >>> "<h1>Door &lt;2&gt;</h1>" in page
    True
    """
    facts = facts_of(decisions, params, log, signals, first, names)
    parts = [timeline(facts), *_learned(facts), *_signals(facts), _rates(facts)]
    parts += [*_outcome(facts), _reasons(facts)]
    sentence = " ".join(filter(None, (verdict, _verdict(facts))))
    return document(title or TITLE, sentence, tiles(facts), "".join(parts), facts.params, facts.packed())


def _signals(facts: Facts) -> list[str]:
    if facts.signals is None:
        return [f'<p class="fact">{escape(facts.why)}</p>'] if facts.why else []
    columns = facts.columns
    return [sections.signals(facts.signals, columns, facts.params, facts.first)] if columns else []


def _learned(facts: Facts) -> list[str]:
    found = Learned.of(facts.steps, facts.params, facts.wrong)
    return [learned(found, facts.about, facts.first)] if found.any else []


def _rates(facts: Facts) -> str:
    flags = summary.flag_rate(facts.flagged, facts.params, facts.first)
    return sections.rates(flags, summary.windows(facts.abstained, facts.params), facts.params, facts.first)


def _outcome(facts: Facts) -> list[str]:
    """Return what labels and known shifts tell, where the log has them."""
    parts = []
    if facts.log is not None and facts.errors is not None and facts.counted is not None:
        kept, sure = facts.counted[facts.about]["accepted"], np.clip(facts.log.confidence(), 0.0, 1.0)
        counted = {name: facts.counted[name] for name in _told(facts)}
        changed = learned_answers(facts.steps, facts.errors)
        # The confidence is that of the prediction, whatever the answer is.
        parts.append(
            outcome.labeled(
                counted,
                changed,
                summary.risk_coverage(facts.steps["risk"], facts.errors[facts.about]),
                summary.risk_coverage(1 - sure, facts.errors["prediction"]),
                (kept.of / len(facts.steps), 1 - kept.rate if kept.of else 0.0),
                summary.reliability(sure, ~facts.errors["prediction"]),
            )
        )
    if facts.response is not None:
        parts.append(outcome.delays(facts.response, facts.first))
    if facts.params is not None:
        parts.append(outcome.left_out(facts.params.notes.get("fit")))
    return parts


def _told(facts: Facts) -> list[str]:
    """Return of what accuracy is told, what the risk speaks of first: one where answers are predictions."""
    return [facts.about, *(["prediction"] if facts.corrects else [])]


def _reasons(facts: Facts) -> str:
    return sections.reasons(facts.steps["reason"][facts.abstained].astype(np.uint8))


def _verdict(facts: Facts) -> str:
    return sections.verdict(
        len(facts.steps),
        float(facts.flagged.mean()),
        float(facts.abstained.mean()),
        len(summary.onsets(facts.steps["alarm"])),
        facts.params,
        facts.shares,
        f"{facts.about}s" if facts.corrects else "steps",
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
    names: Sequence[str] | None = None,
) -> None:
    """Write the report to a file, whole or not at all; see `render`.

    Parameters
    ----------
    path : path
        File to write, ``report.html``, say.
    decisions : structured array of `tcuq.STEP_DTYPE`
        As `Monitor.run` gives it.
    params : Params, optional
        Adds the bounds, the coefficients and the table of settings.
    log : Log, optional
        Of the same length; its labels, known shifts and segments are used where it has them.
    signals : array of shape (T, 17), optional
        In registry order; computed again when left out and both params and log are given.
    title : str, optional
        Heading of the page.
    first : int, default 0
        Number of the first step: above 0 for a monitor that had run before.
    names : sequence of str, optional
        Names of the classes; those of params or log go before.

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
    write_whole(path, render(decisions, params, log, signals, title, first=first, names=names))
