"""The section on what the alarm saw: what moved, and the gauges of the input over time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from ..monitor.steps import NOT_MOVED, moved_name
from .data import FALL, RISE, Cells
from .plot import Axis, Plot, nice_ticks, runs, steps_axis
from .summary import Facts
from .text import count, escape, fact, figure, keyed, legend, pair, percent, section, short, table

CELLS = 240
CLEAN = 2.0
"""Deviations of a gauge on clean data that are shaded."""


def seen(facts: Facts) -> str:
    """Return the section; nothing where the monitor sees no input and its log has no gauges."""
    sight = None if facts.params is None else facts.params.sight
    log = facts.log
    known = facts.sighted
    drawn = [] if log is None or log.gauges is None else [_gauge(facts, name) for name in _names(facts)]
    if not known and not drawn:
        return ""
    what = "the outputs, and of gauges of the input where it reads some,"
    if sight is not None:
        what = "gauges of the input and of the outputs" if sight.gauges else "the outputs"
    lead = f"The alarm compares slow means of {what} with the clean log."
    if not known:
        lead = "What the input was like. This monitor's alarm does not read it."
    body = _moved(facts) if known else ""
    if known and sight is not None and sight.gauges and not drawn:
        body += fact("The gauges are not shown: no log of this run has them.")
    if drawn:
        keys = [("risk", "gauge"), ("rise", "hold")]
        body += legend(keys if sight is None else [*keys, ("envelope", "clean log")])
    body += "".join(pair(*drawn[k : k + 2]) for k in range(0, len(drawn), 2))
    return section("seen", "What the alarm saw", lead, body)


def _names(facts: Facts) -> tuple[str, ...]:
    """Return the gauges that are shown: those that the monitor reads, else all of the log."""
    log, sight = facts.log, None if facts.params is None else facts.params.sight
    own = () if log is None else log.names_of_gauges
    return tuple(name for name in sight.gauges if name in own) if sight is not None else own


def _moved(facts: Facts) -> str:
    """Return how often each number moved most, while a step said `changed` and under an alarm."""
    sight = None if facts.params is None else facts.params.sight
    codes, held = facts.steps["moved"], facts.steps["alarm"] != 0
    hits = Counter(codes[codes != NOT_MOVED].tolist())
    if not hits:
        return fact("No step was unlike the clean log.")
    rows = []
    for code, steps in sorted(hits.items(), key=lambda found: (-found[1], found[0])):
        under = int((held & (codes == code)).sum())
        name = moved_name(code, sight)
        rows.append([escape(name), keyed(f"moved-{code}", count(steps)), percent(under / steps)])
    return table(["what moved most", "steps", "of them on hold"], rows)


def _gauge(facts: Facts, name: str) -> str:
    """Return a gauge over time, with its clean range and where the alarm was on."""
    assert facts.log is not None
    gauges = facts.log.gauges_named([name])
    assert gauges is not None
    values: npt.NDArray[np.float64] = gauges[:, 0].astype(np.float64)
    cells = Cells.most(values, CELLS)
    low, high, steps = float(cells.mean.min()), float(cells.mean.max()), len(values)
    clean = None
    sight = None if facts.params is None else facts.params.sight
    if sight is not None:
        place = sight.gauges.index(name)
        clean = tuple(sight.means[place] + side * CLEAN * sight.deviations[place] for side in (-1, 1))
        low, high = min(low, clean[0]), max(high, clean[1])
    room = 0.05 * (high - low) or 1.0
    low, high = low - room, high + room
    ticks = tuple((t, short(t)) for t in nice_ticks(low, high, 4))
    problem = f"From {short(float(values.min()))} to {short(float(values.max()))}."
    plot = Plot(name, problem, steps_axis(steps, facts.first), Axis(low, high, name, ticks=ticks), "small")
    if clean is not None:
        plot.band([0, steps], np.full(2, clean[0]), np.full(2, clean[1]), "envelope")
    plot.boxes(runs(facts.bits & (RISE | FALL)), low, high, "rise tint")
    plot.line(cells.middle, cells.mean, "risk")
    return figure(escape(name), plot.html())
