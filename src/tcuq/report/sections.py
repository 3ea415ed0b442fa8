"""The sections of the page, from figures to HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..monitor.alarm import AlarmSide
from ..monitor.params import Params
from ..monitor.signals import DESCRIPTION, SIGNALS
from . import figures
from .summary import FlagRate, Share, Window
from .text import NBSP, aim, count, decimal, escape, percent, plural, short, times

LEGENDS = {
    "range": "range of the risk",
    "risk": "mean risk",
    "threshold": "threshold",
    "abstain": "abstained",
    "shift": "known shift",
    "border": "segment border",
}


def legend(items: Iterable[tuple[str, str]]) -> str:
    """Return a legend; each item is a kind of swatch and its words."""
    parts = (f'<li><i class="key {kind}"></i>{escape(words)}</li>' for kind, words in items)
    return f'<ul class="legend">{"".join(parts)}</ul>'


def section(name: str, heading: str, lead: str, body: str) -> str:
    """Return a section with a heading and a sentence about it."""
    return (
        f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{escape(heading)}</h2>'
        f'<p class="lead">{escape(lead)}</p>{body}</section>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], name: str = "") -> str:
    """Return a table; cells are HTML, the first of a row is its heading."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    whole = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table">'
        f'<table class="{name}">{whole}</table></div>'
    )


def keyed(key: str, words: str) -> str:
    """Return a number with a name that scripts and tests can find it by."""
    return f'<span data-key="{key}">{escape(words)}</span>'


def tile(name: str, value: str, key: str, note: str) -> str:
    """Return a key figure."""
    return (
        f"<div><dt>{escape(name)}</dt><dd><b>{keyed(key, value)}</b><small>{escape(note)}</small></dd></div>"
    )


def signals(
    values: npt.NDArray[np.float64], columns: list[int], params: Params | None, first: int = 0
) -> str:
    """Return one row a signal: what it means, and how it went."""
    rows = []
    for column in columns:
        name = SIGNALS[column]
        facts = ""
        if (
            params is not None
            and params.coef is not None
            and params.clean_means is not None
            and name in params.coef
        ):
            coef, mean = params.coef[name], params.clean_means[name]
            sign = "+" if coef > 0 else ""
            words = f"coefficient {sign}{decimal(coef, 2)}, clean mean {decimal(mean, 2)}"
            facts = f'<span class="facts">{words}</span>'
        last = column == columns[-1]
        rows.append(
            f'<div class="signal{" last" if last else ""}" data-signal="{name}">'
            f'<div class="what"><b>{name}</b> <span class="meaning">{escape(DESCRIPTION[name])}</span>'
            f"{facts}<output></output></div>"
            f'<div class="live chart"><canvas role="img" aria-label="Signal {name} over time"></canvas></div>'
            f'<div class="static">{figures.signal(values[:, column], name, last, first)}</div></div>'
        )
    lead = (
        "What the risk is made of, each from 0 to 1: mean and range. A reason names the signal that stands "
        "furthest above its clean mean. The time axis follows the zoom above."
    )
    return section("signals", "Signals", lead, f'<div class="signals">{"".join(rows)}</div>')


def rates(flags: FlagRate, windows: list[Window], params: Params | None, first: int = 0) -> str:
    """Return the measured rates against what bounds them."""
    steps = len(flags.running)
    final = percent(float(flags.running[-1]), 2)
    keys = [("risk", "flagged"), ("measured", "abstained")]
    if params is not None:
        keys += [("level", "level or budget"), ("bound", "most and least that any input can reach")]
    charts = (
        f'<div class="pair"><figure><figcaption>Share of steps flagged so far</figcaption>'
        f"{figures.running_rate(flags)}</figure><figure><figcaption>Most abstentions in any n consecutive "
        f"steps, as a share of n</figcaption>"
        f"{figures.worst_windows(windows, params.budget if params else None)}</figure></div>"
    )
    rows: list[list[str]] = []
    if params is None or flags.debt is None or flags.bounds is None:
        lead = "Measured only: the bounds follow from the parameters, which were not given."
        rows = [[count(w.steps), keyed(f"window-{w.steps}", count(w.most))] for w in windows]
        wide = table(["any n steps", "most abstentions"], rows, "numbers")
        return section(
            "rates", "Rates", lead, legend(keys) + charts + f'<div class="pair">{wide}<div></div></div>'
        )
    low, high = flags.reach
    # Early on the bound says less than that a share lies between 0 and 1.
    reach = min(max(-low, high) / steps, max(params.level, 1 - params.level))
    lead = (
        "Two promises hold for every input, however odd: the flag rate closes in on its level, and no "
        "stretch of steps holds more abstentions than the budget allows. Here is how close they came."
    )
    verdict = (
        "held at every step" if flags.held else "NOT held: other parameters, or not from the first step on"
    )
    since = ""
    if flags.resumed:
        lead += (
            f" This log begins at step {count(first)} of a monitor that had run before. Its debt there is "
            "not known, so the flags are held against the wider bound for any n consecutive steps."
        )
        verdict = "held in every window" if flags.held else "NOT held: other parameters, or steps are missing"
        since = f" since step {count(first)}"
    debt = table(
        ["flag rate", "value"],
        [
            ["level", aim(params.level)],
            [f"measured after {plural(steps, 'step')}", keyed("flag-rate", final)],
            ["largest distance possible by then", keyed("flag-bound", percent(reach, 2))],
            [
                f"flags above the level{since}, least and most",
                keyed("debt", f"{decimal(flags.debt[0], 1)} to {decimal(flags.debt[1], 1)}"),
            ],
            [
                f"flags above the level{since}, bounds",
                keyed("debt-bounds", f"{decimal(low, 1)} to {decimal(high, 1)}"),
            ],
            ["bound", keyed("flag-held", verdict)],
        ],
        "numbers",
    )
    for w in windows:
        bound = w.bound if w.bound is not None else w.steps
        state = "held" if w.most <= bound else "NOT held"
        rows.append([count(w.steps), keyed(f"window-{w.steps}", count(w.most)), count(bound), state])
    wide = table(["any n steps", "most abstentions", "allowed", "bound"], rows, "numbers")
    return section(
        "rates",
        "Rates against their bounds",
        lead,
        legend(keys) + charts + f'<div class="pair">{debt}{wide}</div>',
    )


def reasons(codes: npt.NDArray[np.uint8]) -> str:
    """Return how often each signal was the reason to abstain."""
    lead = "The signal that stood out most, weighted by its coefficient, at each abstained step."
    if not len(codes):
        return section("reasons", "Reasons to abstain", lead, '<p class="fact">No step was abstained.</p>')
    counts = np.bincount(codes, minlength=256)
    items = []
    for code in np.argsort(-counts, kind="stable"):
        number = int(counts[code])
        if not number:
            break
        known = code < len(SIGNALS)
        name = SIGNALS[code] if known else "none"
        meaning = DESCRIPTION[name] if known else "no signal stood above its clean mean"
        width = 100 * number / int(counts.max())
        items.append(
            f'<li><span class="name">{name}</span><span class="meaning">{escape(meaning)}</span>'
            f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
            f'<span class="number">{keyed(f"reason-{name}", count(number))} '
            f"<small>{percent(number / len(codes))}</small></span></li>"
        )
    return section("reasons", "Reasons to abstain", lead, f'<ol class="reasons">{"".join(items)}</ol>')


def _side(side: AlarmSide | None, mean: float, sign: int) -> str:
    if side is None:
        return "off"
    word = "above" if sign > 0 else "below"
    edge = min(1.0, max(0.0, mean + sign * side.allowance))
    return (
        f"risk {word} {decimal(edge)} adds up; raised at a sum of {short(side.limit)}, "
        f"sum stops at {short(side.cap)}, cleared at 0"
    )


def _rise(params: Params) -> str:
    side, head = params.alarm.rise, params.evidence
    if head is None or side is None:
        return _side(side, params.alarm.mean, 1)
    above = f" above {short(head.allowance)}" if head.allowance else ""
    return (
        f"evidence{above} adds up, at most {short(head.clip)} a step; raised at a sum of "
        f"{short(side.limit)} for at least {params.alarm.hold} steps, sum stops at {short(side.cap)}, "
        f"cleared at {short(side.clear)}"
    )


def settings(params: Params) -> str:
    """Return the parameters in words."""
    lags = ", ".join(str(lag) for lag in params.lags) or "none"
    rows = [
        ("classes", count(params.classes)),
        ("features", count(params.features) if params.features else "none: posteriors only"),
        ("signals", f"{', '.join(params.signals)} (profile {params.profile})"),
        ("looks back", f"{lags} steps" if params.depth else "no"),
        ("risk", f"{aim(params.blend)} weighted signals, {aim(1 - params.blend)} low {params.anchor}"),
        ("flag level", f"{aim(params.level)} of steps; threshold {decimal(params.reference)} when on target"),
        (
            "threshold moves",
            f"{short(params.slope)} a flag above or below the level, {short(params.steep_slope)} beyond "
            f"{short(params.knee)} flags",
        ),
        ("abstention budget", f"{aim(params.budget)} of steps, at most {count(params.burst)} at once"),
        ("warm-up", f"{count(params.warmup)} steps that never abstain"),
        ("clean risk", decimal(params.alarm.mean)),
        ("alarm, rise", _rise(params)),
        ("alarm, fall", _side(params.alarm.fall, params.alarm.mean, -1)),
        ("memory", f"{count(params.ring_bytes)} bytes of past, {count(params.state_bytes)} bytes saved"),
    ]
    if params.instant is not None:
        speaks = "the prediction"
        if params.about == "answer":
            speaks = "the answer, which may differ from the prediction"
        rows.insert(5, ("risk is about", speaks))
    if params.horizon:
        rows.append(("expected accuracy", f"over about {count(params.horizon)} steps"))
    if params.names is not None:
        rows.insert(1, ("names", ", ".join(f"{k} {name}" for k, name in enumerate(params.names[:40]))))
        rows[1] = (rows[1][0], rows[1][1] + (", ..." if len(params.names) > 40 else ""))
    told = {name: value for name, value in params.notes.items() if not isinstance(value, (Mapping, list))}
    rows += [(f"note: {name}", str(value)) for name, value in told.items()]
    if isinstance(params.notes.get("fit"), Mapping):
        rows += [("fit", line) for line in str(params).splitlines()]
    return table(["setting", "value"], [[escape(a), escape(b)] for a, b in rows], "settings")


def verdict(
    steps: int,
    flagged: float,
    abstained: float,
    alarms: int,
    params: Params | None,
    shares: dict[str, Share] | None,
    what: str = "steps",
) -> str:
    """Return the whole stream in one sentence; `what` was right or wrong: steps, answers or predictions."""
    flag_aim = f" (aim {aim(params.level)})" if params else ""
    budget = f" (budget {aim(params.budget)})" if params else ""
    text = (
        f"{plural(steps, 'step')}; {percent(flagged)} flagged{flag_aim}, {percent(abstained)} "
        f"abstained{budget}, alarm raised {times(alarms)}"
    )
    if shares is not None:
        kept, left = shares["accepted"], shares["abstained"]
        if kept.of and left.of:
            text += f"; accuracy of accepted {what} {percent(kept.rate)} against "
            text += f"{percent(left.rate)} of abstained ones"
        else:
            text += f"; accuracy {percent(shares['all'].rate)}"
    return text.replace("alarm raised never", f"no{NBSP}alarm raised") + "."
