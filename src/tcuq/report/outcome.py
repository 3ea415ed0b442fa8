"""What the labels and the known shifts of a log tell about the decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import metrics
from ..monitor.log import Log
from . import figures
from .learned import answers
from .summary import Facts, Response, Share
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

SHOWN_DELAYS = 60
SIDES = {1: "rise", 2: "fall", 3: "rise and fall"}


def accuracy(shares: dict[str, dict[str, Share]]) -> str:
    """Return accuracy by decision, of answers and of predictions where both are told."""
    rows = []
    for place, (what, parts) in enumerate(shares.items()):
        prefix = "" if place == 0 else f"{what}-"
        for name, part in parts.items():
            rate, span, drawn = "none", "", ""
            if part.of:
                low, high = part.interval()
                span = f"{percent(low)}{NBSP}{DASH}{NBSP}{percent(high)}"
                rate, drawn = percent(part.rate), figures.interval(part)
            cells = {"steps": count(part.of), "right": count(part.hits), "accuracy": rate, "interval": span}
            rows.append(
                [
                    escape(f"{name}, {what}s" if len(shares) > 1 else name),
                    *(keyed(f"{prefix}{name}-{key}", words) for key, words in cells.items()),
                    drawn,
                ]
            )
    titles = ["steps", "count", "right", "accuracy", "95 % interval (Wilson)", ""]
    return table(titles, rows, "numbers intervals") + fact(
        "The intervals take steps as independent. Neighboring steps of a stream are not, "
        "so these are too narrow."
    )


def labeled(facts: Facts, log: Log, errors: dict[str, npt.NDArray[np.bool_]]) -> str:
    """Return what the labels tell."""
    # What the risk speaks of comes first; predictions only where answers differ from them.
    about = [facts.about, *(["prediction"] if facts.corrects else [])]
    shares = {name: facts.shares(name) or {} for name in about}
    kept = shares[facts.about]["accepted"]
    point = kept.of / len(facts.steps), 1 - kept.rate if kept.of else 0.0
    # The confidence is that of the prediction, whatever the answer is.
    sure = np.clip(log.confidence(), 0.0, 1.0)
    own = metrics.risk_coverage(facts.steps["risk"], errors[facts.about])
    plain = metrics.risk_coverage(1 - sure, errors["prediction"])
    names = ["risk of the monitor", f"1 {DASH} largest posterior"]
    if facts.corrects:
        names = [f"{names[0]}, {facts.about}s", f"{names[1]}, predictions"]
    areas = [decimal(float(curve.error.mean()), 4) for curve in (own, plain)]
    keys = [
        ("risk", f"{names[0]}, area {areas[0]}"),
        ("plain", f"{names[1]}, area {areas[1]}"),
        ("spot", f"where the monitor worked: {percent(point[0])} kept, {percent(point[1])} wrong"),
    ]
    area_rows = [[names[0], keyed("aurc", areas[0])], [names[1], keyed("aurc-plain", areas[1])]]
    body = (
        accuracy(shares)
        + answers(facts, errors)
        + pair(
            figure(
                "Error rate of the kept steps",
                legend(keys)
                + figures.coverage_curves(own, plain, point)
                + fact(
                    "A curve sorts the whole stream at once; the monitor decides step by step, with a "
                    "threshold that adapts, so its point need not lie on the curve."
                )
                + table(["score", "area under the curve (lower is better)"], area_rows),
            ),
            _calibration(metrics.reliability(sure, ~errors["prediction"])),
        )
    )
    lead = (
        "The log has true labels, which the monitor never saw. A label below 0 means unknown or none of the "
        "classes and counts as an error. Tied scores share their errors evenly."
    )
    return section("labels", "Against the true labels", lead, body)


def _calibration(bins: metrics.Reliability) -> str:
    """Return confidence against accuracy."""
    gaps = np.nan_to_num(np.abs(bins.accuracy - bins.confidence))
    error = float((bins.count / max(1, int(bins.count.sum())) * gaps).sum())
    rows = [
        [
            f"{decimal(low, 2)} {DASH} {decimal(high, 2)}",
            count(int(steps)),
            *("" if np.isnan(mean) else decimal(float(mean)) for mean in means),
        ]
        for low, high, steps, *means in zip(
            bins.low, bins.high, bins.count, bins.confidence, bins.accuracy, strict=True
        )
    ]
    keys = [("accuracy", "accuracy in the bin"), ("dot", "at its mean confidence"), ("level", "calibrated")]
    return figure(
        "Confidence against accuracy",
        legend(keys)
        + figures.reliability(bins, error)
        + fact(f"Expected calibration error {keyed('ece', decimal(error, 4))}")
        + "<details><summary>Numbers of the bins</summary>"
        + table(["confidence", "steps", "mean confidence", "accuracy"], rows)
        + "</details>",
    )


def found_tile(response: Response, key: str) -> str:
    """Return how many shifts the alarm was raised for, and how soon if that is at least half of them."""
    share, before = response.found, response.number("already raised")
    notes = ["fewer than half: no median delay" if share.hits else "the alarm was raised in none"]
    if response.median is not None:
        notes = [f"median delay {short(response.median)} steps"]
    notes += [f"{count(before)} more began with the alarm on"] if before else []
    shown = f"{count(share.hits)} of {count(share.of)}"
    return tile("Shifts found", shown, key, "; ".join(notes))


def _kinds(response: Response) -> str:
    """Return a table with one row for each kind of shift."""
    rows = []
    for kind, part in response.by_kind().items():
        length = sum(d.end - d.start for d in part.delays)
        under = sum(d.under for d in part.delays) / length
        share = part.found
        shown = f"{count(share.hits)} of {count(share.of)}" if share.of else ""
        median = "" if part.median is None else short(part.median)
        already = count(part.number("already raised"))
        rows.append([escape(kind), count(length), shown, already, median, percent(under)])
    titles = ["kind of shift", "steps", "found", "alarm on before", "median delay", "steps with the alarm on"]
    return table(titles, rows, "numbers kinds")


def delays(response: Response, first: int = 0) -> str:
    """Return how long the alarm took after each known shift; `first` numbers the first step."""
    rate = response.false_rate
    missed = response.number("not raised")
    tiles = (
        found_tile(response, "shifts-found")
        + tile("Missed", count(missed), "missed", f"of {plural(len(response.delays), 'known shift')}")
        + tile(
            "False alarms",
            "none" if rate is None else f"{rate:.2f}",
            "false-rate",
            f"per 1,000 clean steps ({count(response.false_alarms)} in {count(response.clean_steps)})",
        )
    )
    rows = []
    for d in response.delays[:SHOWN_DELAYS]:
        delay = "" if d.steps is None else count(d.steps)
        rows.append(
            [
                escape(d.kind),
                f"{count(first + d.start)} {DASH} {count(first + d.end - 1)}",
                count(d.end - d.start),
                d.outcome,
                SIDES.get(d.side, ""),
                delay,
            ]
        )
    more = len(response.delays) - len(rows)
    rest = fact(f"and {plural(more, 'more shift')}") if more > 0 else ""
    titles = ["kind", "shifted steps", "length", "alarm", "side", "delay in steps"]
    body = f'<dl class="tiles">{tiles}</dl>'
    if rows:
        body += _kinds(response) + table(titles, rows, "numbers delays") + rest
    lead = (
        "Stretches of different kinds count on their own. Delay counts from the first shifted step; 0 is an "
        "alarm at that very step. A shift is missed when it ends without an alarm. An alarm that begins at a "
        "clean step is false."
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

    rows = [
        [
            escape(str(name)),
            *(number(row, key) for key in ("stretches", "found", "delay")),
            number(row, "on", True),
        ]
        for name, row in kinds.items()
    ]
    titles = ["kind left out", "stretches", "found", "median delay", "steps with the alarm on"]
    lead = (
        "The alarm was fitted again without each kind of shift that costs accuracy, then tried on it. It "
        f"found {number(notes, 'found')} of {number(notes, 'kinds')} kinds, and was on for "
        f"{number(notes, 'on_shifted', True)} of harmful and {number(notes, 'on_clean', True)} of clean time."
    )
    return section("left-out", "Kinds of shift that the fit left out in turn", lead, table(titles, rows))
