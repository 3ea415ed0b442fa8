"""One stream over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import number
from tcuq.metrics.inputs import flags, wholes

from ..detection.events import WINDOW, finite, pieces, smooth, windowed_accuracy
from .style import COLORS, drawable, labeled, legend_beside, new_figure, same_steps, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TINTS = ("#DDDDDD", "#F6DFC4", "#D3E8DC", "#EAD9E6")


def _shade(axis: Axes, kinds: npt.NDArray[np.int64], names: Sequence[str], label: bool) -> None:
    """Tint shifted stretches, a tint a kind while there are enough of them."""
    present = np.unique(kinds[kinds > 0]).tolist()
    several = len(present) <= len(TINTS)
    named: set[str] = set()
    edges = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    for start, stop in pairwise(edges):
        kind = int(kinds[start])
        if kind:
            tint = TINTS[present.index(kind)] if several else TINTS[0]
            text = drawable("names", names[kind]) if several and kind < len(names) else "shifted"
            axis.axvspan(
                start - 0.5,
                stop - 0.5,
                color=tint,
                linewidth=0,
                zorder=0,
                label=labeled(text) if label and text not in named else None,
            )
            named.add(text)


def _ticks(
    axis: Axes, at: npt.NDArray[np.int64], height: float, width: float, color: str, label: str
) -> None:
    """Mark steps by upright ticks at a height of the axis."""
    if len(at):
        axis.plot(
            at,
            np.full(len(at), height),
            transform=axis.get_xaxis_transform(),
            linestyle="none",
            marker="|",
            markersize=7,
            markeredgewidth=width,
            color=color,
            clip_on=False,
            label=labeled(label),
        )


def _steps_of(alarms: npt.ArrayLike, steps: int) -> npt.NDArray[np.int64]:
    """Return the steps with an alarm, from steps or from a boolean for each."""
    given = np.asarray(alarms)
    if given.dtype.kind == "b":
        held = flags("alarms", given)
        same_steps("alarms", held, steps)
        return np.flatnonzero(held)
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"alarms has dtype {given.dtype}, expected whole steps or a boolean a step")
    return wholes("alarms", given, low=0, high=steps - 1)


def _parts(steps: int, segments: npt.ArrayLike | None, values: npt.NDArray[np.float64]) -> Any:
    """Put a gap between independent segments, so that no line joins them."""
    starts = [piece.start for piece in pieces(steps, segments)][1:]
    return np.insert(np.arange(float(steps)), starts, math.nan), np.insert(values, starts, math.nan)


def stream_figure(
    risk: npt.ArrayLike,
    right: npt.ArrayLike,
    kinds: npt.ArrayLike | None = None,
    *,
    names: Sequence[str] = (),
    threshold: npt.ArrayLike | None = None,
    alarms: npt.ArrayLike = (),
    abstain: npt.ArrayLike | None = None,
    accuracy_limit: float | None = None,
    m: int = WINDOW,
    segments: npt.ArrayLike | None = None,
    title: str = "",
) -> Figure:
    """Draw one stream over time: risk above, accuracy below, shifted stretches tinted.

    Examples
    --------
    >>> figure = stream_figure([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 1], [0, 0, 1, 1], names=("clean", "fog"), m=2)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['fog', 'risk, mean of 2 steps']
    """
    with style():
        values = smooth(risk, m, segments)
        steps = len(values)
        if not steps:
            raise ValueError("risk has 0 entries, expected at least 1")
        shift = wholes("kinds", np.zeros(steps, int) if kinds is None else kinds, low=0)
        hits = flags("right", right)
        same_steps("right", hits, steps)
        same_steps("kinds", shift, steps)
        raised = _steps_of(alarms, steps)
        figure, (upper, lower) = new_figure(9.0, 4.6, (3, 2))
        for axis in (upper, lower):
            _shade(axis, shift, names, label=axis is upper)
        upper.plot(
            *_parts(steps, segments, values),
            color=COLORS[0],
            linewidth=1.2,
            label=labeled(f"risk, mean of {m} steps"),
        )
        if threshold is not None:
            level = np.asarray(threshold)
            line = finite("threshold", np.full(steps, level) if level.ndim == 0 else level)
            same_steps("threshold", line, steps)
            dashes = (0, (4, 2))
            upper.plot(line, color="#000000", linewidth=1.0, linestyle=dashes, label=labeled("threshold"))
        _ticks(upper, raised, 1.03, 0.9, COLORS[1], "alarm")
        if abstain is not None:
            held = flags("abstain", abstain)
            same_steps("abstain", held, steps)
            _ticks(upper, np.flatnonzero(held), 0.02, 0.35, COLORS[3], "abstained")
        lower.plot(
            *_parts(steps, segments, windowed_accuracy(hits, m, segments).value),
            color=COLORS[2],
            linewidth=1.2,
            label=labeled(f"accuracy, last {m} steps"),
        )
        if accuracy_limit is not None:
            lower.axhline(
                number("accuracy_limit", accuracy_limit, -100, 100),
                color="#000000",
                linewidth=1.0,
                linestyle=(0, (1, 1.5)),
                label=labeled("drop limit"),
            )
        upper.set_ylabel("risk")
        lower.set_ylabel("accuracy")
        lower.set_ylim(-0.02, 1.02)
        lower.set_xlabel("step")
        lower.set_xlim(0, max(1, steps - 1))
        lower.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if title:
            upper.set_title(drawable("title", title), pad=12)
        for axis in (upper, lower):
            legend_beside(axis)
    return figure
