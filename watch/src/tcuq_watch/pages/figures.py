"""Figures of the fleet's page: shares over time, the spread over devices, a small timeline of one device."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.report.plot import Axis, Plot, nice_ticks, runs
from tcuq.report.text import NBSP, escape

from ..verdicts.words import known, moment, share

COLORS = ("a", "b", "c", "d", "e", "f")
"""Names of line styles, each a color and a dash pattern; versions beyond them share the last."""

_SPANS = (60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400)


_TOPS = (
    0.001,
    0.002,
    0.005,
    0.01,
    0.015,
    0.02,
    0.03,
    0.04,
    0.05,
    0.06,
    0.08,
    0.1,
    0.15,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.8,
)


def style_of(place: int) -> str:
    """Return the line style of a version by its place."""
    return COLORS[min(place, len(COLORS) - 1)]


def time_axis(low: float, high: float, most: int = 6) -> Axis:
    """Return an axis of times, with ticks at round hours or days.

    Examples
    --------
    >>> [text for _, text in time_axis(0, 86400, 4).ticks]
    ['00:00', '06:00', '12:00', '18:00', '01-02']
    """
    if not high > low:
        low, high = low - 1800, low + 1800
    span = next((each for each in _SPANS if (high - low) / each <= most), None)
    if span is None:
        span = math.ceil((high - low) / most / 86400) * 86400
    ticks: list[tuple[float, str]] = []
    for number in range(math.ceil(low / span), math.floor(high / span) + 1):
        when = datetime.fromtimestamp(number * span, tz=timezone.utc)
        whole = span >= 86400 or when.hour == when.minute == 0
        # The first day needs no date: the caption tells the days.
        text = f"{when:%m-%d}" if whole and (ticks or span >= 86400) else f"{when:%H:%M}"
        ticks.append((float(number * span), text))
    return Axis(low, high, "time (UTC)", ticks=tuple(ticks))


def share_axis(top: float, label: str) -> Axis:
    """Return an axis of shares in percent, from 0."""
    top = next((each for each in _TOPS if top <= each), 1.0)
    marks = nice_ticks(0, top, 5)
    digits = max(0, -math.floor(math.log10(100 * marks[1]) + 1e-9))
    return Axis(0, top, label, ticks=tuple((value, f"{100 * value:.{digits}f}{NBSP}%") for value in marks))


def alarm_plot(series: Sequence[Mapping[str, Any]], baselines: Mapping[str, float | None]) -> str:
    """Return the share of devices in alarm over time, one line a version, and the clean baseline.

    A baseline line is drawn for each that differs.
    """
    drawn = [_shares(each) for each in series]
    times = np.concatenate([each[0] for each in drawn]) if drawn else np.zeros(0)
    if not times.size:
        return '<p class="fact">Nothing to draw yet: no device has sent a step with a time.</p>'
    lines = sorted({value for value in baselines.values() if known(value) and value is not None})
    top = max(
        [1.15 * float(values.max()) for _, values in drawn if values.size] + [1.6 * v for v in lines] + [0.01]
    )
    plot = Plot(
        "Share of devices in alarm over time",
        _described(series, drawn),
        time_axis(float(times.min()), float(times.max())),
        share_axis(min(1.0, top), "devices in alarm"),
        "over-time",
    )
    for value in lines:
        plot.line([plot.x.low, plot.x.high], [value, value], "level")
    for place, (when, values) in enumerate(drawn):
        if when.size:
            plot.line(when, values, f"version-{style_of(place)}")
    return f'<div class="reading" tabindex="0" data-series="{escape(_packed(series))}">{plot.html()}</div>'


def _shares(each: Mapping[str, Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return times and the share of devices in alarm, a moment on average where that is known.

    How many devices had an alarm at least once in an hour depends on the hour: that is no share that could be
    compared with a baseline.
    """
    hit, of = ("alarm_steps", "steps") if "alarm_steps" in each else ("in_alarm", "devices")
    whole = np.asarray(each[of], dtype=float)
    there = whole > 0
    times = np.asarray(each["time"], dtype=float)[there] + each["width"] / 2
    return times, np.asarray(each[hit], dtype=float)[there] / whole[there]


def _every_share(each: Mapping[str, Any]) -> list[float]:
    hit, of = ("alarm_steps", "steps") if "alarm_steps" in each else ("in_alarm", "devices")
    return [a / b if b else 0.0 for a, b in zip(each[hit], each[of], strict=True)]


def _packed(series: Sequence[Mapping[str, Any]]) -> str:
    """Return what the page reads out under the cursor."""
    return json.dumps(
        [
            {
                "name": each["version"],
                "width": each["width"],
                "time": each["time"],
                "devices": each["devices"],
                "share": [round(value, 6) for value in _every_share(each)],
            }
            for each in series
        ],
        separators=(",", ":"),
    )


def _described(series: Sequence[Mapping[str, Any]], drawn: Sequence[tuple[Any, Any]]) -> str:
    said = [
        f"{each['version']}: {share(float(values[0]))} at first, {share(float(values[-1]))} at last"
        for each, (_, values) in zip(series, drawn, strict=True)
        if values.size
    ]
    return "; ".join(said) + "."


def spread_plot(edges: Sequence[float], counts: Sequence[int], what: str) -> str:
    """Return how many devices have which value, with a logarithmic axis so that single devices are seen."""
    heights = np.asarray(counts, dtype=float)
    if not heights.sum():
        return '<p class="fact">Nothing to draw yet.</p>'
    filled = np.flatnonzero(heights)
    last = min(len(heights), int(filled[-1]) + 2)
    top = 10 ** math.ceil(math.log10(max(heights.max(), 1.5)))
    plot = Plot(
        f"Devices by {what}",
        f"{int(heights.sum()):,} devices, most of them from {edges[int(heights.argmax())]:.3g} "
        f"to {edges[int(heights.argmax()) + 1]:.3g}; the highest reach {edges[int(filled[-1]) + 1]:.3g}.",
        Axis(float(edges[0]), float(edges[last]), what),
        Axis(0.5, float(top), "devices", log=True),
        "spread",
    )
    for place in filled.tolist():
        gap = 0.06 * (edges[place + 1] - edges[place])
        plot.bars([(edges[place] + gap, edges[place + 1] - gap)], [heights[place]], "count")
    return plot.html()


def spark(line: Mapping[str, Sequence[Any]] | None, top: float) -> str:
    """Return the mean risk of one device over time as a small drawing, shaded where it was in alarm."""
    if line is None or not len(line["mean_risk"]):
        return '<span class="none">no decisions kept</span>'
    risk = [value if known(value) else None for value in line["mean_risk"]]
    there = [value for value in risk if value is not None]
    count = len(risk)
    shape, pen_up = [], True
    for place, value in enumerate(risk):
        if value is None:
            pen_up = True
            continue
        x = 100 * (place + 0.5) / count
        shape.append(f"{'M' if pen_up else 'L'}{x:.1f} {30 - 28 * min(1.0, value / top):.1f}")
        if pen_up and (place + 1 == count or risk[place + 1] is None):
            shape.append("h0.5")  # a single point would not be seen
        pen_up = False
    boxes = "".join(
        f"M{100 * a / count:.1f} 0h{100 * (b - a) / count:.1f}v32h-{100 * (b - a) / count:.1f}z"
        for a, b in runs(np.asarray(line["in_alarm"], dtype=bool))
    )
    hit = int(np.asarray(line["in_alarm"], dtype=bool).sum())
    said = (
        f"Mean risk {there[0]:.2f} at first, {max(there):.2f} at most, {there[-1]:.2f} at last, "
        f"in alarm {hit} of {count} parts of the time from {moment(line['time'][0])} on"
        if there
        else "no steps"
    )
    return (
        '<svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(said)}"><title>{escape(said)}</title>'
        f'<path class="alarm" d="{boxes}"/><path class="line risk" d="{"".join(shape)}"/></svg>'
    )


def interval_bar(alarm: Mapping[str, Any], top: float) -> str:
    """Return the share in alarm with its interval, and a tick for the baseline, on a line from 0 to `top`."""
    interval, value, base = alarm.get("interval"), alarm.get("share"), alarm.get("baseline")
    if interval is None or value is None or not known(value) or not top > 0:
        return ""
    low, high, at = (100 * min(1.0, max(0.0, each / top)) for each in (*interval, value))
    tick = "" if base is None else f'<path class="base" d="M{100 * min(1.0, base / top):.1f} 0v14"/>'
    return (
        '<svg class="interval" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="axis" d="M0 7h100"/>{tick}<path class="span" d="M{low:.1f} 7H{high:.1f}"/>'
        f'<path class="spot" d="M{at:.1f} 7h0"/></svg>'
    )
