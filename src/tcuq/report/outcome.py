"""What the monitor has learned of the stream; what the labels and known shifts of a log tell of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import metrics
from ..labels.accuracy import accuracy_band
from ..log.log import Log
from .data import Cells
from .plot import CELLS, WINDOW, Axis, Plot, accuracy_plot, axis_top, nice_ticks, recent_accuracy, steps_axis
from .summary import HARM, IN_TIME, Facts, Response, Share
from .text import (
    DASH,
    NBSP,
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
    short,
    table,
    tile,
)

Floats = npt.NDArray[np.float64]

CURVE_POINTS = 240


def _series(facts: Facts, name: str, had: bool | None) -> Floats | None:
    """Return a field of all steps; None where the monitor had none, or where nobody knows and all are 0."""
    values = facts.steps[name].astype(np.float64)
    shown = np.isfinite(values).all() and (values.any() if had is None else had)
    return values if shown else None


def _course(values: Floats, first: int, up: Axis, problem: str, caption: str, words: str) -> str:
    """Return the figure of what the monitor has learned, step by step."""
    title = f"{up.label.capitalize()} over time"
    plot = Plot(title, problem, steps_axis(len(values), first), up, "medium")
    if up.low < 0:
        plot.line([0, len(values)], [0.0, 0.0], "level")
    plot.cells(Cells.most(values, CELLS), "risk")
    return figure(caption, plot.html() + fact(f"{words}."))


def _persistence(values: Floats, novelty: Floats | None, first: int) -> str:
    low, high, mean, last = (
        decimal(float(v)) for v in (values.min(), values.max(), values.mean(), values[-1])
    )
    words = (
        f"Mean {keyed('persistence-mean', mean)}, at the end {keyed('persistence', last)}. 0: neighboring "
        "steps have nothing to do with each other, and each is judged alone. Near 1: classes stay, and the "
        "past counts"
    )
    if novelty is not None:
        words += (
            f". The mean novelty is {keyed('novelty-mean', decimal(float(novelty.mean())))}: at 1 each step "
            "shows something new; near 0.125 the same again, as a camera on one object does, and the alarm "
            "counts it by as much"
        )
    problem = f"From {low} to {high}, mean {mean}."
    return _course(values, first, Axis(0, 1, "persistence"), problem, "How long classes stay", words)


def _degradation(values: Floats, first: int) -> str:
    low, high = float(min(0.0, values.min())), float(max(0.0, values.max()))
    room = 0.05 * (high - low) or 1.0
    ticks = tuple((t, short(t)) for t in nice_ticks(low - room, high + room, 5))
    least, most, last = (decimal(float(v), 2) for v in (values.min(), values.max(), values[-1]))
    words = (
        f"At the end {keyed('degradation', last)}, at worst {keyed('degradation-most', most)}. The slow mean "
        "of the evidence of a degradation: above 0, the last steps look degraded. It ranks devices by how "
        "bad they are"
    )
    up = Axis(low - room, high + room, "degradation", ticks=ticks)
    return _course(values, first, up, f"From {least} to {most}.", "How bad it is", words)


def _accuracy(facts: Facts, expected: Floats) -> str:
    recent = None if facts.wrong is None else recent_accuracy(facts.wrong)
    band = None
    if facts.params is not None and facts.params.accuracy_error:
        band = accuracy_band(facts.params, facts.steps)
    plot = accuracy_plot(expected, recent, steps_axis(len(expected), facts.first), band=band)
    keys = [("risk", "expected, without labels" + ("" if band is None else ", 90 % band"))]
    rows = [["expected at the end", keyed("expected-accuracy", percent(float(expected[-1])))]]
    caption = f"Accuracy of the {facts.about}s, as expected"
    if band is not None:
        low, high = (percent(float(end[-1])) for end in band)
        rows.append(["its band", keyed("accuracy-band", f"{low} to {high}")])
    if recent is not None:
        caption += " and as it was"
        keys.append(("plain", f"true, over the last {WINDOW} steps"))
        gap = np.abs(expected - recent)[min(WINDOW, len(expected) - 1) :]
        seen = plural(min(WINDOW, len(expected)), "step")
        rows += [
            [f"true in the last {seen}", keyed("recent-accuracy", percent(float(recent[-1])))],
            ["mean distance of the two", keyed("accuracy-gap", percent(float(gap.mean())))],
        ]
    return figure(caption, legend(keys) + plot.html() + table(["accuracy", "value"], rows))


def learned(facts: Facts) -> str:
    """Return the section, or nothing where the monitor has learned nothing."""
    params, parts = facts.params, []
    expected = _series(facts, "expected_accuracy", None if params is None else params.horizon > 0)
    persistence = _series(facts, "persistence", None if params is None else params.instant is not None)
    # With sight it is a distance, which is above 0 on clean data too.
    had = False if facts.sighted else None if params is None else params.evidence is not None
    degradation = _series(facts, "degradation", had)
    if expected is not None:
        parts.append(_accuracy(facts, expected))
    if persistence is not None:
        novelty = _series(facts, "novelty", None)  # logs of older releases lack it
        parts.append(_persistence(persistence, novelty, facts.first))
    if degradation is not None:
        parts.append(_degradation(degradation, facts.first))
    if not parts:
        return ""
    lead = "What the monitor has found out about this stream on its own, without labels."
    body = "".join(pair(*parts[k : k + 2]) for k in range(0, len(parts), 2))
    return section("learned", "What the monitor has learned", lead, body)


def answers(facts: Facts, errors: dict[str, npt.NDArray[np.bool_]]) -> str:
    """Return a sentence on the steps whose answer is not the prediction; nothing where there are none."""
    if not facts.corrects:
        return ""
    other = facts.steps["answer"] != facts.steps["prediction"]
    mended, broken = (int((other & ~errors[name]).sum()) for name in ("answer", "prediction"))
    return fact(
        f"{keyed('changed', count(int(other.sum())))} answers differ from the prediction of the step: "
        f"{keyed('mended', count(mended))} of them are right where the prediction is wrong, and "
        f"{keyed('broken', count(broken))} wrong where the prediction is right."
    )


SHOWN_DELAYS = 60


def accuracy(shares: dict[str, dict[str, Share]]) -> str:
    """Return accuracy by decision, of answers and of predictions where both are told."""
    rows = []
    for place, (what, parts) in enumerate(shares.items()):
        prefix = "" if place == 0 else f"{what}-"
        for name, part in parts.items():
            rate, span = "none", ""
            if part.of:
                low, high = metrics.wilson(part.hits, part.of)
                span = f"{percent(low)}{NBSP}{DASH}{NBSP}{percent(high)}"
                rate = percent(part.rate)
            cells = {"steps": count(part.of), "right": count(part.hits), "accuracy": rate, "interval": span}
            heading = escape(f"{name}, {what}s" if len(shares) > 1 else name)
            rows.append([heading, *(keyed(f"{prefix}{name}-{key}", words) for key, words in cells.items())])
    titles = ["steps", "count", "right", "accuracy", "95 % interval (Wilson)"]
    return table(titles, rows, "numbers") + fact(
        "The intervals take steps as independent. Neighboring steps of a stream are not, "
        "so these are too narrow."
    )


def labeled(facts: Facts, log: Log, errors: dict[str, npt.NDArray[np.bool_]]) -> str:
    """Return what the labels tell."""
    # What the risk speaks of comes first; predictions only where answers differ from them.
    about = [facts.about, *(["prediction"] if facts.corrects else [])]
    shares = {name: facts.shares(name) or {} for name in about}
    kept = shares[facts.about]["act"]
    # The confidence is that of the prediction, whatever the answer is.
    sure = np.clip(log.confidence(), 0.0, 1.0)
    own = metrics.risk_coverage(facts.steps["risk"], errors[facts.about])
    plain = metrics.risk_coverage(1 - sure, errors["prediction"])
    acted = kept.of / len(facts.steps)
    wrong = (1 - kept.rate, facts.by_confidence(kept.of)) if kept.of else (0.0, 0.0)
    reached = f"{percent(acted)} acted on"
    names = ["risk of the monitor", f"1 {DASH} largest posterior"]
    if facts.corrects:
        names = [f"{names[0]}, {facts.about}s", f"{names[1]}, predictions"]
    areas = [decimal(float(curve.error.mean()), 4) for curve in (own, plain)]
    keys = [
        ("risk", f"{names[0]}, area {areas[0]}"),
        ("plain", f"{names[1]}, area {areas[1]}"),
        ("spot", f"tcuq as run: {reached}, {percent(wrong[0])} wrong"),
        ("plain spot", f"confidence: {reached}, {percent(wrong[1])} wrong, limit chosen afterwards"),
    ]
    area_rows = [[names[0], keyed("aurc", areas[0])], [names[1], keyed("aurc-plain", areas[1])]]
    curves = legend(keys) + _coverage_curves(own, plain, acted, wrong)
    curves += fact(
        "A curve sorts the whole stream at once, safest first; as run, the monitor decides step by step and "
        "holds while the alarm is on, so its point need not lie on its curve."
    )
    curves += table(["score", "area under the curve (lower is better)"], area_rows)
    parts = [figure("Wrong answers by share acted on", curves)]
    if len(log) >= WINDOW and facts.expected is not None:
        parts.append(_expected(facts.expected, errors["answer"], log.shifted))
    lead = (
        "The log has true labels, which the monitor never saw. A label below 0 means unknown or none of the "
        "classes and counts as an error. Tied scores share their errors evenly."
    )
    return section("labels", "Does it pay, and can you trust the expected accuracy?", lead, pair(*parts))


def by_decision(facts: Facts, log: Log, errors: dict[str, npt.NDArray[np.bool_]]) -> str:
    """Return accuracy by decision, and confidence against accuracy."""
    about = [facts.about, *(["prediction"] if facts.corrects else [])]
    sure = np.clip(log.confidence(), 0.0, 1.0)
    body = accuracy({name: facts.shares(name) or {} for name in about}) + answers(facts, errors)
    body += _calibration(metrics.reliability(sure, ~errors["prediction"]))
    return section("decisions", "Accuracy by decision and by confidence", "", body)


def _expected(expected: Floats, wrong: npt.NDArray[np.bool_], shifted: Any) -> str:
    """Return expected against true accuracy, a dot for each span of steps."""
    starts = np.arange(0, len(expected), WINDOW)
    sizes = np.diff([*starts, len(expected)])
    guess, right = (np.add.reduceat(each, starts) / sizes for each in (expected, (~wrong).astype(np.float64)))
    bad = np.zeros(len(starts), bool) if shifted is None else np.add.reduceat(shifted.astype(int), starts) > 0
    off = np.abs(guess - right)
    words = ", ".join(
        f"{name} {100 * float(off[here].mean()):.0f} points"
        for name, here in (("with known shifts", bad), ("clean", ~bad))
        if here.any()
    )
    ticks = tuple((k / 4, f"{25 * k} %") for k in range(5))
    across, up = Axis(0, 1, "expected", ticks=ticks), Axis(0, 1, "really right", ticks=ticks)
    plot = Plot("Expected against true accuracy", f"Mean distance: {words}.", across, up, "medium")
    plot.line([0, 1], [0, 1], "level")
    plot.dots(guess[~bad], right[~bad], "spot")
    plot.dots(guess[bad], right[bad], "held")
    keys = [("spot", f"{WINDOW} clean steps"), ("spot held", "with known shifts")]
    return figure(
        "Accuracy, expected and true", legend(keys) + plot.html() + fact(f"Mean distance: {words}.")
    )


def _coverage_curves(
    own: metrics.RiskCoverage, plain: metrics.RiskCoverage, acted: float, wrong: tuple[float, float]
) -> str:
    """Return both risk-coverage curves, and what monitor and confidence got wrong at the share acted on."""
    start = len(own.error) // 50
    highest = max(float(own.error[start:].max()), float(plain.error[start:].max()), *wrong, 0.02)
    top = axis_top(min(1.0, 1.08 * highest))
    quarters = tuple((k / 4, f"{25 * k} %") for k in range(5))
    rates = tuple((t, percent(t, 0 if top >= 0.05 else 1)) for t in nice_ticks(0, top, 5))
    areas = [decimal(float(curve.error.mean()), 4) for curve in (own, plain)]
    plot = Plot(
        "Wrong answers among the steps acted on, against the share acted on",
        f"Area {areas[0]} for the risk and {areas[1]} for plain confidence.",
        Axis(0, 1, "share of steps acted on", ticks=quarters),
        Axis(0, top, "wrong of those", ticks=rates),
        "medium",
    )
    for curve, name in ((plain, "plain"), (own, "risk")):
        shown = np.unique(np.rint(np.linspace(0, len(curve.error) - 1, CURVE_POINTS)).astype(np.int64))
        plot.line(curve.coverage[shown], curve.error[shown], name)
    for rate, name in zip(wrong, ("spot", "plain"), strict=True):
        plot.dots([acted], [rate], name)
    return plot.html()


def _calibration(bins: metrics.Reliability) -> str:
    """Return confidence against accuracy."""
    gaps = np.nan_to_num(np.abs(bins.accuracy - bins.confidence))
    error = float((bins.count / max(1, int(bins.count.sum())) * gaps).sum())
    rows = []
    columns = (bins.low, bins.high, bins.count, bins.confidence, bins.accuracy)
    for low, high, steps, *means in zip(*columns, strict=True):
        shown = ("" if np.isnan(mean) else decimal(float(mean)) for mean in means)
        rows.append([f"{decimal(low, 2)} {DASH} {decimal(high, 2)}", count(int(steps)), *shown])
    words = fact(f"Expected calibration error {keyed('ece', decimal(error, 4))}")
    titles = ["confidence", "steps", "mean confidence", "accuracy"]
    return figure("Confidence against accuracy", words + table(titles, rows))


def found_tile(response: Response, key: str) -> str:
    """Return how many shifts the alarm found in time, and what became of the others."""
    found = response.found
    shown = f"{count(found.hits)} of {count(found.of)}" if found.of else "none to find"
    others = response.words.removeprefix(f"{found.hits:,} in time").removeprefix(", ")
    return tile("Shifts found in time", shown, key, f"within {IN_TIME} steps{'; ' * bool(others)}{others}")


def delays(response: Response, first: int = 0) -> str:
    """Return how long the alarm took after each known shift; `first` numbers the first step."""
    rate, median = response.false_rate, response.median
    clean = f"per 1,000 clean steps ({count(response.false_alarms)} in {count(response.clean_steps)})"
    tiles = found_tile(response, "shifts-found")
    shown = "none" if median is None else short(median)
    tiles += tile("Median delay", shown, "delay", "steps, in time or late")
    tiles += tile("False alarms", "none" if rate is None else f"{rate:.2f}", "false-rate", clean)
    rows = []
    for d in response.delays[:SHOWN_DELAYS]:
        span = f"{count(first + d.start)} {DASH} {count(first + d.end - 1)}"
        taken = "" if d.steps is None else count(d.steps)
        rows.append([escape(d.kind), span, count(d.end - d.start), d.outcome, taken])
    more = len(response.delays) - len(rows)
    rest = fact(f"and {plural(more, 'more shift')}") if more > 0 else ""
    titles = ["type", "shifted steps", "length", "alarm", "delay in steps"]
    body = f'<dl class="tiles">{tiles}</dl>'
    if rows:
        body += table(titles, rows, "numbers delays") + rest
    lead = (
        "Stretches of different types count separately. Delay counts from the first shifted step; 0 is an "
        "alarm at that very step. A shift is missed when it ends without an alarm. It is without harm if its "
        f"type makes the model less than {percent(HARM, 0)} of the steps worse than on clean input; without "
        "labels, all count as harmful. An alarm that begins at a clean step is false."
    )
    return section("delays", "Alarm against known shifts", lead, body)


def left_out(fit: Any) -> str:
    """Return what the fit found of each kind of shift that its alarm had not seen, where its notes say so."""
    notes = fit.get("left_out") if isinstance(fit, Mapping) else None
    kinds = notes.get("by_kind") if isinstance(notes, Mapping) else None
    if not isinstance(kinds, Mapping) or not isinstance(notes, Mapping):
        return ""

    def number(row: Any, key: str, percents: bool = False) -> str:
        value = row.get(key) if isinstance(row, Mapping) else None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return ""
        return percent(value) if percents else short(value)

    rows = []
    for name, row in kinds.items():
        figures = (number(row, key) for key in ("stretches", "found", "delay"))
        rows.append([escape(str(name)), *figures, number(row, "on", True)])
    titles = ["unseen type", "stretches", "found", "median delay", "steps with the alarm on"]
    lead = (
        "The alarm was fitted again without each shift type that costs accuracy, then tried on it. It "
        f"found {number(notes, 'found')} of {number(notes, 'kinds')} types, and was on for "
        f"{number(notes, 'on_shifted', True)} of harmful and {number(notes, 'on_clean', True)} of clean time."
    )
    return section("left-out", "Shift types that the fit had not seen", lead, table(titles, rows))
