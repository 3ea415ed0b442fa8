"""What a device would do with each step: act on the answer, ask again, or hold until the alarm clears."""

from __future__ import annotations

import numpy as np

from ..log.class_names import shift_shown
from .data import SHIFTED, Cells, flag_bits, pack_stretches, per_cell
from .plot import Axis, Plot, runs, steps_axis
from .summary import Facts
from .text import count, escape, legend, percent, section, short, table

WORDS = {"act": "act on the answer", "ask": "ask: not sure", "hold": "hold: the alarm is on"}
CELLS = 240
NAMED = 10
"""Stretches of known shifts up to which the drawing names each one."""


def acted(facts: Facts) -> str:
    """Return the three shares over time, and what came of them by kind of shift."""
    each, steps = facts.choices, len(facts.steps)
    stretches = pack_stretches(facts.log)
    across = steps_axis(steps, facts.first)
    if 0 < len(stretches) <= NAMED:
        across = Axis(0, steps, ticks=tuple(((start + stop) / 2, kind) for start, stop, kind in stretches))
    plot = Plot(
        "Act, ask and hold over time",
        ", ".join(f"{name} {percent(float(hits.mean()))}" for name, hits in each.items()),
        across,
        Axis(0, 1, "share of steps", ticks=((0.0, "0"), (0.5, percent(0.5, 0)), (1.0, percent(1.0, 0)))),
        "short-stack",
        grid=False,
    )
    below = 0.0 * Cells.of(each["act"], per_cell(steps, CELLS)).mean
    for name, hits in each.items():
        cells = Cells.of(hits, per_cell(steps, CELLS))
        plot.band(cells.middle, below, below + cells.mean, name)
        below = below + cells.mean
    keys = list(WORDS.items())
    if facts.shifts:
        keys.append(("shift", "known shift"))
        plot.boxes(runs(flag_bits(facts.steps, facts.log) & SHIFTED), 1.03, 1.09, "shift rim")
    lead = (
        "What a device can do with each step: act on the answer, ask again where the monitor is not sure, "
        "hold while the alarm is on."
    )
    return section("acted", "Act, ask or hold", lead, legend(keys) + plot.html() + _by_kind(facts))


def _by_kind(facts: Facts) -> str:
    log, errors, response, each = facts.log, facts.errors, facts.response, facts.choices
    if log is None or (errors is None and response is None):
        return ""
    rows = [("all", np.ones(len(facts.steps), dtype=bool))]
    if log.kinds is not None and log.kinds.any():
        rows.append(("clean", log.kinds == 0))
        kinds = np.unique(log.kinds[log.kinds > 0]).tolist()
        rows += [(shift_shown(kind, log.shift_names), log.kinds == kind) for kind in kinds]
    shifts = {} if response is None else response.by_kind()
    titles = ["input", "steps", "act", "ask", "hold"]
    titles += [] if errors is None else ["model wrong", "wrong when acting"]
    titles += ["alarm", "median delay"] if shifts else []
    cells = []
    for name, here in ((name, here) for name, here in rows if here.any()):
        cells.append([escape(name), count(int(here.sum()))])
        cells[-1] += [percent(float(hits[here].mean())) for hits in each.values()]
        if errors is not None:
            wrong = errors[facts.about][here & each["act"]]
            acting = f"{percent(float(wrong.mean()))} of {count(len(wrong))}" if len(wrong) else ""
            cells[-1] += [percent(float(errors["prediction"][here].mean())), acting]
        if shifts:
            words, median = (shifts[name].words, shifts[name].median) if name in shifts else ("", None)
            cells[-1] += [words, "" if median is None else short(median)]
    return table(titles, cells, "numbers")
