"""Figures of the fleet's page: the share in alarm over time, and a small timeline of one device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

from tcuq.report.markup import fact, legend
from tcuq.report.plot import Axis, Plot, axis_top, nice_ticks, runs

from ..verdicts.words import share

STYLES = "abcdef"
"""Names of line styles, each a color and a dash pattern; versions beyond them share the last."""

DAY = 86400
SPANS = (60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, DAY, 2 * DAY, 7 * DAY)
"""Seconds between two ticks."""


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
    span = next((span for span in SPANS if (high - low) / span <= most), days)
    ticks: list[tuple[float, str]] = []
    for seconds in range(math.ceil(low / span) * span, math.floor(high) + 1, span):
        when = datetime.fromtimestamp(seconds, tz=timezone.utc)
        # The first day needs no date: the header tells the day.
        dated = span >= DAY or (ticks and seconds % DAY == 0)
        ticks.append((float(seconds), f"{when:%m-%d}" if dated else f"{when:%H:%M}"))
    return Axis(low, high, "time (UTC)", ticks=tuple(ticks))


def per_moment(series: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return time and share of devices in alarm, a moment on average where that is known.

    How many devices had an alarm at least once in an hour depends on the hour: that is no share that could be
    compared with a baseline.
    """
    hit, of = ("alarm_steps", "steps") if "alarm_steps" in series else ("in_alarm", "devices")
    rows = zip(series["time"], series[hit], series[of], strict=True)
    return [(time + series["width"] / 2, hits / count) for time, hits, count in rows if count]


def alarm_plot(series: Sequence[Mapping[str, Any]], levels: Sequence[float]) -> str:
    """Return the share of devices in alarm over time, one line a version, and clean baselines."""
    lines = {each["version"]: per_moment(each) for each in series}
    points = [point for line in lines.values() for point in line]
    if not points:
        return fact("Nothing to draw yet: no device has sent a step with a time.")
    times, shares = zip(*points, strict=True)
    top = axis_top(max(1.15 * max(shares), *(1.6 * level for level in levels), 0.01))
    plot = Plot(
        "Share of devices in alarm over time",
        "; ".join(f"{name}: {share(line[-1][1])} at last" for name, line in lines.items() if line),
        time_axis(min(times), max(times)),
        Axis(0, top, "devices in alarm", ticks=tuple((t, share(t, 0)) for t in nice_ticks(0, top, 5))),
        "over-time",
    )
    keys = []
    for level in levels:
        plot.line([plot.x.low, plot.x.high], [level, level], "level")
    for place, (name, line) in enumerate(lines.items()):
        style = f"version-{STYLES[min(place, len(STYLES) - 1)]}"
        keys.append((style, name))
        if line:
            plot.line([time for time, _ in line], [value for _, value in line], style)
    if levels:
        keys.append(("level", f"clean baseline, at most {', '.join(map(share, levels))}"))
    return legend(keys) + plot.html()


def spark(line: Mapping[str, Sequence[Any]] | None, top: float) -> str:
    """Return the mean risk of one device over time as a small drawing, shaded where it was in alarm."""
    if line is None:
        return '<span class="none">no decisions kept</span>'
    risk = np.array(line["mean_risk"], dtype=float)
    width, shape = 100 / len(risk), ""
    for first, end in runs(np.isfinite(risk)):
        places = range(int(first), int(end))
        points = [f"{width * (k + 0.5):.1f} {30 - 28 * min(1.0, risk[k] / top):.1f}" for k in places]
        shape += "M" + "L".join(points) + "h0.5"  # a single point would not be seen
    boxes = "".join(
        f"M{width * a:.1f} 0h{width * (b - a):.1f}v32h-{width * (b - a):.1f}z"
        for a, b in runs(np.array(line["in_alarm"]))
    )
    return (
        '<svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="alarm" d="{boxes}"/><path class="line risk" d="{shape}"/></svg>'
    )
