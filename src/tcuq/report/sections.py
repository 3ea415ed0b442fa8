"""The sections of the page, from figures to HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .. import metrics
from ..monitor.alarm import alarm_words
from ..monitor.params import Params
from ..monitor.signals import MEANING, SIGNALS
from ..monitor.steps import reason_names
from .data import BORDER, FALL, Cells
from .describe import describe_params, render
from .outcome import found_tile
from .plot import Axis, Plot, axis_top, lane_plots, risk_plot, steps_axis, unmarked
from .summary import Facts, FlagRate, flag_rate, share, window_lengths
from .text import (
    aim,
    count,
    decimal,
    escape,
    fact,
    figure,
    keyed,
    legend,
    pair,
    percent,
    plural,
    section,
    table,
    tile,
    times,
)

LEGENDS = {
    "range": "range of the risk",
    "risk": "mean risk",
    "threshold": "threshold",
    "abstain": "ask",
    "shift": "known shift",
    "border": "segment border",
}


CELLS, SIGNAL_CELLS, CURVE_POINTS = 240, 250, 240

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
    kinds = ["range", "risk", "threshold", "abstain", "rise"]
    kinds += ["fall"] * bool((facts.bits & FALL).any())
    alarms = {
        side: f"hold: {alarm_words(raised, facts.params)}" for raised, side in ((1, "rise"), (2, "fall"))
    }
    words = {**LEGENDS, **alarms}
    kinds += ["shift"] * facts.shifts + ["border"] * bool((facts.bits & BORDER).any())
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
    steps, first = len(facts.steps), facts.first
    # As it is shown where scripts do not run, and in print.
    drawn = [risk_plot(facts, steps_axis(steps, first, "")), *lane_plots(facts, unmarked(steps))]
    drawn[-1].x, drawn[-1].kind = steps_axis(steps, first), "lane last"
    still = "".join(each.html() for each in drawn)
    lanes = 3 + (facts.wrong is not None) + ("shift" in kinds)
    body = (
        legend((kind, words[kind]) for kind in kinds)
        + f'<div class="live controls"><div class="buttons">{buttons}</div><p id="range"></p></div>'
        + f'<div class="live stage" id="stage" style="--lanes:{lanes}" tabindex="0" role="application" '
        + f'aria-roledescription="zoomable chart" aria-label="{SPOKEN}"><canvas></canvas></div>'
        + '<div class="live overview" id="overview" aria-hidden="true"><canvas></canvas>'
        + f'<div class="window"><i></i><i></i></div></div><p class="live hint">{HINT}</p>'
        + '<div id="spoken" class="unseen" aria-live="polite"></div>'
        + f'<div class="static">{still}</div>'
    )
    lead = "A step is flagged where its risk reaches the threshold, and asks where the budget also allows it."
    if facts.params is not None:  # else nobody knows what the alarm looks at
        how = "adds up evidence" if facts.evidence else "compares the risk with a frozen reference"
        if facts.params.sight is not None:
            what = "gauges of the input and outputs" if facts.params.sight.gauges else "the outputs"
            how = f"measures how far {what} are from the clean log"
        lead += f" The alarm {how}, so a threshold that adapts cannot hide a lasting change."
    if facts.corrects:
        lead += " The risk speaks of the answer: the prediction, or what the last steps make more likely."
    return section("timeline", "Timeline", lead, body)


def tiles(facts: Facts) -> str:
    """Return the main figures."""
    each = {name: share(hits) for name, hits in facts.choices.items()}
    response, shares, acted = facts.response, facts.shares(facts.about), f"{count(each['act'].hits)} steps"
    if shares is not None and shares["act"].of:
        acted = f"{percent(1 - shares['act'].rate)} of those wrong"
    asked = "not sure" if facts.params is None else f"limit {aim(facts.params.budget)}"
    asked += ", but for errors" * _errors_first(facts.params)
    notes = {"act": acted, "ask": asked, "hold": f"alarm raised {times(facts.alarms)}"}
    parts = [tile("Steps", count(len(facts.steps)), "steps", "one inference each")]
    parts += [tile(name.capitalize(), percent(part.rate), name, notes[name]) for name, part in each.items()]
    if response is not None and response.delays:
        parts.append(found_tile(response, "found"))
    return f'<dl class="tiles">{"".join(parts)}</dl>'


def signals(facts: Facts) -> str:
    """Return one row a signal: what it means, and how it went."""
    if facts.signals is None or not facts.columns:
        return fact(escape(facts.why)) if facts.why else ""
    params, rows = facts.params, []
    for column in facts.columns:
        name, about = SIGNALS[column], ""
        if params is not None and name in params.coef:
            coef, mean = params.coef[name], params.clean_means[name]
            sign = "+" if coef > 0 else ""
            words = f"coefficient {sign}{decimal(coef, 2)}, clean mean {decimal(mean, 2)}"
            about = f'<span class="facts">{words}</span>'
        last = column == facts.columns[-1]
        drawn = _signal(facts.signals[:, column], name, last, facts.first)
        rows.append(
            f'<div class="signal{" last" if last else ""}" data-signal="{name}">'
            f'<div class="what"><b>{name}</b> <span class="meaning">{escape(MEANING[name])}</span>'
            f"{about}<output></output></div>"
            f'<div class="live chart"><canvas role="img" aria-label="Signal {name} over time"></canvas></div>'
            f'<div class="static">{drawn}</div></div>'
        )
    lead = (
        "What the risk is made of, each from 0 to 1: mean and range. A reason names the signal that stands "
        "furthest above its clean mean. The time axis follows the zoom above."
    )
    return section("signals", "Signals", lead, f'<div class="signals">{"".join(rows)}</div>')


def _signal(values: npt.NDArray[np.float64], name: str, last: bool, first: int) -> str:
    steps, up = len(values), Axis(0, 1, ticks=((0.0, "0"), (1.0, "1")))
    axis, kind = (steps_axis(steps, first), "row last") if last else (unmarked(steps), "row")
    plot = Plot(f"Signal {name} over time", f"Range and mean of {name}.", axis, up, kind)
    plot.cells(Cells.most(values, SIGNAL_CELLS), "risk")
    return plot.html()


def rates(facts: Facts) -> str:
    """Return the measured rates against what bounds them."""
    params = facts.params
    flags = flag_rate(facts.steps["flagged"] != 0, params, facts.first)
    keys = [("risk", "flagged")]
    if params is not None:
        keys += [("level", "level"), ("bound", "most and least that any input can reach")]
    chart = legend(keys) + figure("Share of steps flagged so far", _running_rate(flags, params))
    titles = ["any n steps", "most abstentions"]
    lengths = window_lengths(len(facts.steps))
    worst = metrics.worst_window(facts.steps["abstain"] != 0, lengths).tolist()
    rows = [[count(n), keyed(f"window-{n}", count(most))] for n, most in zip(lengths, worst, strict=True)]
    if params is None or flags.debt is None:
        lead = "Measured only: the bounds follow from the parameters, which were not given."
        return section("rates", "Rates", lead, chart + table(titles, rows))
    lead = (
        "Two promises hold for every input, however odd: the flag rate closes in on its level, and no "
        "stretch of steps holds more abstentions than the budget allows. Here is how close they came."
    )
    if _errors_first(params):
        lead = (
            "For every input, however odd, the flag rate closes in on its level. Abstentions may exceed the "
            "budget, as the error limit comes first."
        )
    else:
        titles += ["allowed", "bound"]
        p = params.integers()
        for row, n, most in zip(rows, lengths, worst, strict=True):
            bound = min(n, p["burst"] + p["budget_num"] * n // p["budget_den"])
            row += [count(bound), "kept" if most <= bound else "NOT kept"]
    if flags.resumed:
        lead += (
            f" This log begins at step {count(facts.first)} of a monitor that had run before. Its debt there "
            "is not known, so the flags are held against the wider bound for any n consecutive steps."
        )
    body = chart + pair(_debt(flags, flags.debt, params, facts.first), table(titles, rows))
    return section("rates", "Rates against their bounds", lead, body)


def _running_rate(flags: FlagRate, params: Params | None) -> str:
    """Return the plot of the running flag rate against its level and envelope."""
    steps = len(flags.running)
    times = np.unique(np.rint(np.geomspace(1, steps, CURVE_POINTS)).astype(np.int64))
    # Min and max between the points drawn: no excursion can hide.
    low = np.minimum.reduceat(flags.running, times - 1)
    high = np.maximum.reduceat(flags.running, times - 1)
    settled = flags.running[min(steps, 30) - 1 :]
    level = 0.0 if params is None else params.level
    top = axis_top(max(2.5 * level, 1.1 * float(settled.max()), 0.05))
    plot = Plot(
        "Running flag rate",
        f"After {count(steps)} steps {percent(float(flags.running[-1]))} were flagged.",
        Axis(1, max(steps, 2), "steps so far (logarithmic)", log=True),
        Axis(0, top, "share flagged"),
        "medium",
    )
    if params is not None:
        under, over = (level + flags.reach[side] / times for side in (0, 1))
        under, over = np.maximum(0, under), np.minimum(1, over)
        plot.band(times, under, over, "envelope")
        plot.line(times, over, "bound")
        plot.line(times, under, "bound")
        plot.line([1, max(steps, 2)], [level] * 2, "level")
    plot.band(times, low, high, "risk")
    plot.line(times, flags.running[times - 1], "risk")
    return plot.html()


def _errors_first(params: Params | None) -> bool:
    """Tell whether steps may abstain beyond the budget, to keep to the limit of errors."""
    return params is not None and params.feedback is not None and params.feedback.above_budget


def _debt(flags: FlagRate, debt: tuple[float, float], params: Params, first: int) -> str:
    """Return the table of the flag rate and its bounds."""
    low, high = flags.reach
    steps = len(flags.running)
    # Early on the bound says less than that a share lies between 0 and 1.
    reach = min(max(-low, high) / steps, max(params.level, 1 - params.level))
    since, where, lost = "", "at every step", "not from the first step on"
    if flags.resumed:
        since, where, lost = f" since step {count(first)}", "in every window", "steps are missing"
    verdict = f"kept {where}" if flags.kept else f"NOT kept: other parameters, or {lost}"
    spans = [f"{decimal(least, 1)} to {decimal(most, 1)}" for least, most in (debt, (low, high))]
    rows = [
        ["level", aim(params.level)],
        [f"measured after {plural(steps, 'step')}", keyed("flag-rate", percent(float(flags.running[-1]), 2))],
        ["largest distance possible by then", keyed("flag-bound", percent(reach, 2))],
        [f"flags above the level{since}, least and most", keyed("debt", spans[0])],
        [f"flags above the level{since}, bounds", keyed("debt-bounds", spans[1])],
        ["bound", keyed("flag-kept", verdict)],
    ]
    return table(["flag rate", "value"], rows)


def reasons(facts: Facts) -> str:
    """Return how often each reason to ask came."""
    codes = facts.steps["reason"][facts.choices["ask"]]
    lead = "The signal that stood out most, weighted by its coefficient, at each step that asks."
    if not len(codes):
        return section("reasons", "Reasons to ask", lead, fact("No step asks."))
    counts = sorted(Counter(codes.tolist()).items(), key=lambda pair: (-pair[1], pair[0]))
    items = []
    for code, number in counts:
        name = reason_names([code])[0] or "none"
        meaning = MEANING.get(name, "no signal stood above its clean mean")
        width = 100 * number / counts[0][1]
        items.append(
            f'<li><span class="name">{name}</span><span class="meaning">{escape(meaning)}</span>'
            f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
            f'<span class="number">{keyed(f"reason-{name}", count(number))} '
            f"<small>{percent(number / len(codes))}</small></span></li>"
        )
    return section("reasons", "Reasons to ask", lead, f'<ol class="reasons">{"".join(items)}</ol>')


def settings(params: Params) -> str:
    """Return the parameters in words: as `tcuq inspect` shows them, and what the fit found."""
    notes = {name: value for name, value in params.notes.items() if not isinstance(value, (Mapping, list))}
    lines = [render(describe_params(params)), "", *(f"{name}: {value}" for name, value in notes.items())]
    lines += [str(params)] if isinstance(params.notes.get("fit"), Mapping) else []
    return f'<pre class="settings">{escape(chr(10).join(lines))}</pre>'


def verdict(facts: Facts) -> str:
    """Return the whole stream in one sentence."""
    part = {name: percent(float(hits.mean())) for name, hits in facts.choices.items()}
    text, shares = f"Acted on {part['act']} of {plural(len(facts.steps), 'step')}", facts.shares(facts.about)
    if shares is None or not (act := shares["act"]).of:
        raised = f"raised {times(facts.alarms)}" if facts.alarms else "never raised"
        return f"{text}, asked on {part['ask']}, held on {part['hold']}. The alarm was {raised}."
    alone, sure = (percent(facts.by_confidence(kept)) for kept in (len(facts.steps), act.of))
    text += f": {percent(1 - act.rate)} of those were wrong. The model alone: {alone} wrong"
    return f"{text}; its confidence at the same share: {sure} (limit chosen afterwards)."
