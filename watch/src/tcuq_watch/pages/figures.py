"""Figures of the fleet's page: shares over time, the spread over devices, a small timeline of one device."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

from tcuq.report.plot import Axis, Plot, nice_ticks, runs
from tcuq.report.text import NBSP, escape

from ..verdicts.words import known, moment, share

COLORS = "abcdef"
"""Names of line styles, each a color and a dash pattern; versions beyond them share the last."""

DAY = 86400
SPANS = (60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, DAY, 2 * DAY, 7 * DAY)
TOPS = (0.1, 0.2, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100)
"""Ends of axes: seconds between two ticks, and percents."""


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
    days = math.ceil((high - low) / most / DAY) * DAY
    span = next((each for each in SPANS if (high - low) / each <= most), days)
    ticks: list[tuple[float, str]] = []
    for number in range(math.ceil(low / span), math.floor(high / span) + 1):
        when = datetime.fromtimestamp(number * span, tz=timezone.utc)
        whole = span >= DAY or when.hour == when.minute == 0
        # The first day needs no date: the caption tells the days.
        text = f"{when:%m-%d}" if whole and (ticks or span >= DAY) else f"{when:%H:%M}"
        ticks.append((float(number * span), text))
    return Axis(low, high, "time (UTC)", ticks=tuple(ticks))


def share_axis(top: float, label: str) -> Axis:
    """Return an axis of shares in percent, from 0."""
    top = next((each for each in TOPS if 100 * top <= each), 100) / 100
    marks = nice_ticks(0, top, 5)
    digits = max(0, -math.floor(math.log10(100 * marks[1]) + 1e-9))
    return Axis(0, top, label, ticks=tuple((value, f"{100 * value:.{digits}f}{NBSP}%") for value in marks))


def per_moment(series: Mapping[str, Any]) -> list[float | None]:
    """Return the share of devices in alarm, a moment on average where that is known; None without any.

    How many devices had an alarm at least once in an hour depends on the hour: that is no share that could be
    compared with a baseline.
    """
    hit, of = ("alarm_steps", "steps") if "alarm_steps" in series else ("in_alarm", "devices")
    return [a / b if b else None for a, b in zip(series[hit], series[of], strict=True)]


def alarm_plot(series: Sequence[Mapping[str, Any]], levels: Sequence[float]) -> str:
    """Return the share of devices in alarm over time, one line a version, and clean baselines."""
    drawn, said = [], []
    for each in series:
        middle = each["width"] / 2
        pairs = zip(each["time"], per_moment(each), strict=True)
        points = [(time + middle, value) for time, value in pairs if value is not None]
        drawn.append(points)
        if points:
            first, last = share(points[0][1]), share(points[-1][1])
            said.append(f"{each['version']}: {first} at first, {last} at last")
    times = [time for points in drawn for time, _ in points]
    if not times:
        return '<p class="fact">Nothing to draw yet: no device has sent a step with a time.</p>'
    highest = max([0.01, *(1.6 * v for v in levels), *(1.15 * v for points in drawn for _, v in points)])
    plot = Plot(
        "Share of devices in alarm over time",
        "; ".join(said) + ".",
        time_axis(min(times), max(times)),
        share_axis(min(1.0, highest), "devices in alarm"),
        "over-time",
    )
    for value in levels:
        plot.line([plot.x.low, plot.x.high], [value, value], "level")
    for place, points in enumerate(drawn):
        if points:
            when, values = zip(*points, strict=True)
            plot.line(when, values, f"version-{style_of(place)}")
    return f'<div class="reading" tabindex="0" data-series="{escape(_packed(series))}">{plot.html()}</div>'


def _packed(series: Sequence[Mapping[str, Any]]) -> str:
    """Return what the page reads out under the cursor."""
    told = [
        {
            "name": each["version"],
            "share": [round(value or 0.0, 6) for value in per_moment(each)],
            **{key: each[key] for key in ("width", "time", "devices")},
        }
        for each in series
    ]
    return json.dumps(told, separators=(",", ":"))


def spread_plot(edges: Sequence[float], counts: Sequence[int], what: str) -> str:
    """Return how many devices have which value, with a logarithmic axis so that single devices are seen."""
    heights = np.asarray(counts, dtype=float)
    if not heights.sum():
        return '<p class="fact">Nothing to draw yet.</p>'
    filled, mode = np.flatnonzero(heights).tolist(), int(heights.argmax())
    last = min(len(heights), filled[-1] + 2)
    plot = Plot(
        f"Devices by {what}",
        f"{int(heights.sum()):,} devices, most of them from {edges[mode]:.3g} "
        f"to {edges[mode + 1]:.3g}; the highest reach {edges[filled[-1] + 1]:.3g}.",
        Axis(float(edges[0]), float(edges[last]), what),
        Axis(0.5, 10.0 ** math.ceil(math.log10(max(heights.max(), 1.5))), "devices", log=True),
        "spread",
    )
    for place in filled:
        gap = 0.06 * (edges[place + 1] - edges[place])
        plot.bars([(edges[place] + gap, edges[place + 1] - gap)], [heights[place]], "count")
    return plot.html()


def spark(line: Mapping[str, Sequence[Any]] | None, top: float) -> str:
    """Return the mean risk of one device over time as a small drawing, shaded where it was in alarm."""
    if line is None or not len(line["mean_risk"]):
        return '<span class="none">no decisions kept</span>'
    risk = np.array([value if known(value) else np.nan for value in line["mean_risk"]], dtype=float)
    there, alarm = np.isfinite(risk), np.asarray(line["in_alarm"], dtype=bool)
    width, shape = 100 / len(risk), ""
    for first, end in runs(there):
        points = [
            f"{width * (place + 0.5):.1f} {30 - 28 * min(1.0, risk[place] / top):.1f}"
            for place in range(int(first), int(end))
        ]
        shape += "M" + "L".join(points) + "h0.5" * (len(points) == 1)  # a single point would not be seen
    boxes = "".join(
        f"M{width * a:.1f} 0h{width * (b - a):.1f}v32h-{width * (b - a):.1f}z" for a, b in runs(alarm)
    )
    said, values = "no steps", risk[there]
    if len(values):
        said = (
            f"Mean risk {values[0]:.2f} at first, {values.max():.2f} at most, {values[-1]:.2f} at last, "
            f"in alarm {alarm.sum()} of {len(risk)} parts of the time from {moment(line['time'][0])} on"
        )
    return (
        '<svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(said)}"><title>{escape(said)}</title>'
        f'<path class="alarm" d="{boxes}"/><path class="line risk" d="{shape}"/></svg>'
    )


def interval_bar(alarm: Mapping[str, Any], top: float) -> str:
    """Return the share in alarm with its interval, and a tick for the baseline, on a line from 0 to `top`."""
    interval, value, base = alarm.get("interval"), alarm.get("share"), alarm.get("baseline")
    if interval is None or not known(value) or not top > 0:
        return ""
    low, high, at = (100 * min(1.0, max(0.0, each / top)) for each in (*interval, value))
    tick = "" if base is None else f'<path class="base" d="M{100 * min(1.0, base / top):.1f} 0v14"/>'
    return (
        '<svg class="interval" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="axis" d="M0 7h100"/>{tick}<path class="span" d="M{low:.1f} 7H{high:.1f}"/>'
        f'<path class="spot" d="M{at:.1f} 7h0"/></svg>'
    )
