"""What the monitor has learned of the stream: persistence, look, severity, expected accuracy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..monitor.accuracy import accuracy_band
from .data import Cells, per_cell
from .figures import steps_axis
from .plot import SIZE, Axis, Plot, nice_ticks
from .summary import Facts
from .text import count, decimal, fact, figure, keyed, legend, pair, percent, plural, section, short, table

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


def _series(facts: Facts, name: str, had: bool | None) -> Floats | None:
    """Return a field of all steps; None where the monitor had none, or where nobody knows and all are 0."""
    values = facts.steps[name].astype(np.float64)
    shown = np.isfinite(values).all() and (values.any() if had is None else had)
    return values if shown else None


def _cells(values: Floats) -> Cells:
    return Cells.of(values, per_cell(len(values), CELLS))


def _persistence(values: Floats, look: Floats | None, first: int) -> str:
    plot = Plot(
        "Persistence over time",
        f"From {decimal(float(values.min()))} to {decimal(float(values.max()))}, mean "
        f"{decimal(float(values.mean()))}.",
        steps_axis(len(values), first),
        Axis(0, 1, "persistence"),
        "medium",
    )
    plot.cells(_cells(values), "risk")
    last = keyed("persistence", decimal(float(values[-1])))
    mean = keyed("persistence-mean", decimal(float(values.mean())))
    words = (
        f"Mean {mean}, at the end {last}. 0: neighboring steps have nothing to do with each other, and each "
        "is judged alone. Near 1: classes stay, and the past counts"
    )
    if look is not None:
        words += (
            f". The mean look is {keyed('look-mean', decimal(float(look.mean())))}: at 1 each step shows "
            "something new; near 0.125 the same again, as a camera on one object does, and the alarm counts "
            "it by as much"
        )
    return figure("How long classes stay", plot.html() + fact(f"{words}."))


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
    plot.cells(_cells(values), "risk")
    last = keyed("severity", decimal(float(values[-1]), 2))
    most = keyed("severity-most", decimal(float(values.max()), 2))
    words = (
        f"At the end {last}, at worst {most}. The slow mean of the evidence of a degradation: above 0, the "
        "last steps look degraded. It ranks devices by how bad they are."
    )
    return figure("How bad it is", plot.html() + fact(words))


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
        low_end, high_end = (_cells(end) for end in band)
        plot.band(low_end.middle, low_end.mean, high_end.mean, "risk")
    for values, name in ((recent, "plain"), (expected, "risk")):
        if values is not None:
            cells = _cells(values)
            plot.line(cells.middle, cells.mean, name)
    return plot


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
    severity = _series(facts, "severity", None if params is None else params.evidence is not None)
    if expected is not None:
        parts.append(_accuracy(facts, expected))
    if persistence is not None:
        look = _series(facts, "look", None)  # logs of older releases lack it
        parts.append(_persistence(persistence, look, facts.first))
    if severity is not None:
        parts.append(_severity(severity, facts.first))
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
