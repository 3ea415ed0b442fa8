"""What the monitor has learned of the stream: persistence, look, severity, expected accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..monitor.accuracy import accuracy_band
from ..monitor.params import Params
from .data import Cells, per_cell
from .figures import steps_axis
from .plot import SIZE, Axis, Plot, nice_ticks
from .sections import keyed, legend, section, table
from .text import count, decimal, percent, plural, short

WINDOW = 200
"""Steps over which the true accuracy is taken, to stand beside the expected one."""

CELLS = 400

Floats = npt.NDArray[np.float64]


def recent_accuracy(wrong: npt.NDArray[np.bool_], window: int = WINDOW) -> Floats:
    """Return the share of right answers in the last steps, of all so far while there are fewer."""
    right = np.concatenate([[0], np.cumsum(~wrong)])
    ends = np.arange(1, len(wrong) + 1)
    starts = np.maximum(0, ends - window)
    return np.asarray((right[ends] - right[starts]) / (ends - starts))


@dataclass(frozen=True, eq=False)
class Learned:
    """The series that a report shows; None for one that the monitor did not have."""

    persistence: Floats | None
    look: Floats | None
    severity: Floats | None
    expected: Floats | None
    band: tuple[Floats, Floats] | None
    recent: Floats | None

    @classmethod
    def of(
        cls, steps: npt.NDArray[Any], params: Params | None, wrong: npt.NDArray[np.bool_] | None
    ) -> Learned:
        """Take from decisions what they say; without parameters, what is not zero throughout."""

        def there(name: str, had: bool | None) -> Floats | None:
            values = steps[name].astype(np.float64)
            said = bool(np.isfinite(values).all() and values.any()) if had is None else had
            return values if said and bool(np.isfinite(values).all()) else None

        return cls(
            there("persistence", None if params is None else params.instant is not None),
            there("look", None),  # logs of older releases lack it
            there("severity", None if params is None else params.evidence is not None),
            there("expected_accuracy", None if params is None else params.horizon > 0),
            accuracy_band(params, steps) if params is not None and params.accuracy_error else None,
            None if wrong is None else recent_accuracy(wrong),
        )

    @property
    def any(self) -> bool:
        """Whether there is something to show."""
        return self.persistence is not None or self.severity is not None or self.expected is not None


def _cells(values: Floats) -> tuple[Floats, Cells]:
    """Return cells of a series, and where the middle of each is."""
    cells = Cells.of(values, per_cell(len(values), CELLS))
    edges = np.append(cells.starts, len(values)).astype(float)
    return (edges[:-1] + edges[1:]) / 2, cells


def _drawn(plot: Plot, values: Floats, name: str, with_range: bool = True) -> None:
    middle, cells = _cells(values)
    if with_range:
        plot.band(middle, cells.low, cells.high, name)
    plot.line(middle, cells.mean, name)


def _figure(caption: str, body: str) -> str:
    return f"<figure><figcaption>{caption}</figcaption>{body}</figure>"


def _repeats(look: Floats | None) -> str:
    """Return what is said of steps that repeat each other."""
    if look is None:
        return ""
    mean = keyed("look-mean", decimal(float(look.mean())))
    return (
        f". The mean look is {mean}: at 1 each step shows something new; near 0.125 the same again, as a "
        "camera on one object does, and the alarm counts it by as much"
    )


def _persistence(values: Floats, look: Floats | None, first: int) -> str:
    plot = Plot(
        "Persistence over time",
        f"From {decimal(float(values.min()))} to {decimal(float(values.max()))}, mean "
        f"{decimal(float(values.mean()))}.",
        steps_axis(len(values), first),
        Axis(0, 1, "persistence"),
        "medium",
    )
    _drawn(plot, values, "risk")
    last = keyed("persistence", decimal(float(values[-1])))
    mean = keyed("persistence-mean", decimal(float(values.mean())))
    return _figure(
        "How long classes stay",
        f'{plot.html()}<p class="fact">Mean {mean}, at the end {last}. 0: neighboring steps have nothing '
        "to do with each other, and each is judged alone. Near 1: classes stay, and the past counts"
        f"{_repeats(look)}.</p>",
    )


def _severity(values: Floats, first: int) -> str:
    low, high = float(min(0.0, values.min())), float(max(0.0, values.max()))
    room = 0.05 * (high - low) or 1.0
    ticks = tuple((t, short(t)) for t in nice_ticks(low - room, high + room, 5))
    plot = Plot(
        "Severity over time",
        f"From {decimal(float(values.min()), 2)} to {decimal(float(values.max()), 2)}.",
        steps_axis(len(values), first),
        Axis(low - room, high + room, "severity", ticks=ticks),
        "medium",
    )
    plot.line([0, len(values)], [0.0, 0.0], "level")
    _drawn(plot, values, "risk")
    last, most = (keyed(key, decimal(value, 2)) for key, value in _ends(values))
    return _figure(
        "How bad it is",
        f'{plot.html()}<p class="fact">At the end {last}, at worst {most}. The slow mean of the evidence '
        "of a degradation: above 0, the last steps look degraded. It ranks devices by how bad they are.</p>",
    )


def _ends(values: Floats) -> list[tuple[str, float]]:
    return [("severity", float(values[-1])), ("severity-most", float(values.max()))]


def accuracy_plot(
    expected: Floats,
    recent: Floats | None,
    axis: Axis,
    width: float = SIZE,
    height: float = SIZE,
    ticks: int = 5,
    band: tuple[Floats, Floats] | None = None,
) -> Plot:
    """Return the expected accuracy over time, in its band, beside the true one where labels are known."""
    lowest = float((expected if band is None else band[0]).min())
    lowest = lowest if recent is None else min(lowest, recent[WINDOW:].min(initial=1))
    low = max(0.0, np.floor(10 * lowest - 0.5) / 10)
    marks = tuple((t, percent(t, 0)) for t in nice_ticks(low, 1, ticks))
    plot = Plot(
        "Expected accuracy over time",
        f"At the end {percent(float(expected[-1]))}.",
        axis,
        Axis(low, 1, "accuracy", ticks=marks),
        "medium",
        width=width,
        height=height,
    )
    if band is not None:
        ends = [_cells(each) for each in band]
        plot.band(ends[0][0], ends[0][1].mean, ends[1][1].mean, "risk")
    if recent is not None:
        _drawn(plot, recent, "plain", with_range=False)
    _drawn(plot, expected, "risk", with_range=False)
    return plot


def _accuracy(found: Learned, expected: Floats, about: str, first: int) -> str:
    recent, band = found.recent, found.band
    plot = accuracy_plot(expected, recent, steps_axis(len(expected), first), band=band)
    keys, rows = [("risk", "expected, without labels" + ("" if band is None else ", 90 % band"))], []
    if recent is not None:
        keys.append(("plain", f"true, over the last {WINDOW} steps"))
    rows.append(["expected at the end", keyed("expected-accuracy", percent(float(expected[-1])))])
    if band is not None:
        low, high = (percent(float(each[-1])) for each in band)
        rows.append(["its band", keyed("accuracy-band", f"{low} to {high}")])
    if recent is not None:
        gap = np.abs(expected - recent)[min(WINDOW, len(expected) - 1) :]
        seen = min(WINDOW, len(expected))
        rows += [
            [
                f"true in the last {plural(seen, 'step')}",
                keyed("recent-accuracy", percent(float(recent[-1]))),
            ],
            ["mean distance of the two", keyed("accuracy-gap", percent(float(gap.mean())))],
        ]
    return _figure(
        f"Accuracy of the {about}s, as expected" + ("" if recent is None else " and as it was"),
        f"{legend(keys)}{plot.html()}{table(['accuracy', 'value'], rows, 'numbers')}",
    )


def learned(found: Learned, about: str, first: int) -> str:
    """Return the section, or nothing where the monitor has learned nothing."""
    parts = []
    if found.expected is not None:
        parts.append(_accuracy(found, found.expected, about, first))
    if found.persistence is not None:
        parts.append(_persistence(found.persistence, found.look, first))
    if found.severity is not None:
        parts.append(_severity(found.severity, first))
    if not parts:
        return ""
    lead = "What the monitor has found out about this stream on its own, without labels."
    body = "".join(f'<div class="pair">{"".join(parts[k : k + 2])}</div>' for k in range(0, len(parts), 2))
    return section("learned", "What the monitor has learned", lead, body)


def answers(steps: npt.NDArray[Any], wrong: dict[str, npt.NDArray[np.bool_]]) -> str:
    """Return a sentence on the steps whose answer is not the prediction; nothing where there are none."""
    other = steps["answer"] != steps["prediction"]
    number = int(other.sum())
    if not number:
        return ""
    mended, broken = (int((other & ~wrong[name]).sum()) for name in ("answer", "prediction"))
    return (
        f'<p class="fact">{keyed("changed", count(number))} answers differ from the prediction of the step: '
        f"{keyed('mended', count(mended))} of them are right where the prediction is wrong, and "
        f"{keyed('broken', count(broken))} wrong where the prediction is right.</p>"
    )
