"""The alarm: shifts found and how late, clean steps spent under it, and false alarms on clean data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tcuq.metrics.inputs import Bools, Floats
from tcuq.monitor.params import Params

from ...detection.events import stretches
from .drawn import Value, draw, mean_of, median_of
from .fits import RUN_LENGTH, Monitors, said
from .lines import Line, line
from .poisson import poisson_interval
from .units import Names, Shown, Unit

COSTLY = 0.1
"""Accuracy that a shift has to cost, at least, to be one that an alarm should find."""
WITH, WITHOUT = "with labels", "without labels"
FOUND, ALREADY, DELAY, CLEAR = "shifts found", "alarm already on", "median delay", "median steps to clear"
CLEAN_ON, SHIFTED_ON, COSTLY_ON = "clean steps on", "shifted steps on", "costly steps on"
SHIFTS, COUNT, RATE = "costly shifts", "false alarms", "false alarms to those asked for"
CLEAN_STREAM = "clean"


class Episodes(NamedTuple):
    """Shifts that begin after a clean step, one entry each.

    Parameters
    ----------
    already : array of booleans
        The alarm was on at the step before.
    delays : array of floats
        Steps from the start to the alarm, 0 at the very first; infinite where there is none in the stretch.
    clears : array of floats
        Steps from the first clean step after it to one without alarm; infinite where the next shift begins
        before; NaN where the alarm was off at its last step, or the stream ends first.
    sources : array of str
        What was shown.
    """

    already: Bools
    delays: Floats
    clears: Floats
    sources: Names


def episodes(on: Bools, shifted: Bools, sources: Names) -> Episodes:
    """Compare an alarm with the shifts of a stream.

    Parameters
    ----------
    on, shifted : arrays of T booleans
    sources : array of T str

    Examples
    --------
    >>> shifted = np.array([0, 1, 1, 1, 0, 0, 1, 1, 0], bool)
    >>> on = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0], bool)
    >>> found = episodes(on, shifted, np.where(shifted, "fog/1", "clean"))
    >>> found.delays.tolist(), found.clears.tolist(), found.already.tolist()
    ([1.0, inf], [1.0, nan], [False, False])
    """
    found = stretches(shifted.astype(np.int64))
    already, delays, clears = [], [], []
    for part in found:
        start, stop = int(part.start), int(part.stop)
        raised = np.flatnonzero(on[start:stop])
        already.append(bool(on[start - 1]))
        delays.append(float(raised[0]) if len(raised) else math.inf)
        later = np.flatnonzero(shifted[stop:])
        end = stop + int(later[0]) if len(later) else len(on)
        quiet = np.flatnonzero(~on[stop:end])
        if not on[stop - 1] or stop == len(on):
            clears.append(math.nan)
        elif len(quiet):
            clears.append(float(quiet[0]))
        else:
            clears.append(math.inf if len(later) else math.nan)
    return Episodes(
        np.array(already, dtype=bool),
        np.array(delays, dtype=np.float64),
        np.array(clears, dtype=np.float64),
        np.array([sources[part.start] for part in found], dtype=np.str_),
    )


def costs(units: Sequence[Unit]) -> dict[str, float]:
    """Return the accuracy of the label that each source costs, from shuffled streams of all networks."""
    right: dict[str, list[Bools]] = {}
    for unit in units:
        for shown in unit.kinds.values():
            good = ~shown.log.errors()
            for source in np.unique(shown.sources):
                right.setdefault(str(source), []).append(good[shown.sources == source])
    means = {source: float(np.concatenate(each).mean()) for source, each in right.items()}
    return {source: means["clean"] - mean for source, mean in means.items()}


def costly_sources(found: Mapping[str, float]) -> list[str]:
    """Return the sources that cost enough to be found.

    Examples
    --------
    >>> costly_sources({"clean": 0.0, "fog/1": 0.02, "fog/5": 0.3})
    ['fog/5']
    """
    return [source for source, cost in found.items() if cost >= COSTLY]


def alarming(task: str, units: Sequence[Unit], fits: Sequence[Monitors]) -> list[Line]:
    """Return what the alarm does on every stream and on clean data, fitted with labels and without."""
    worse = costly_sources(costs(units))
    lines = []
    for row in (WITH, WITHOUT):
        given = [fit.answer if row == WITH else fit.bare for fit in fits]
        for stream in units[0].streams:
            shown = [unit.streams[stream] for unit in units]
            lines += on_stream(task, stream, row, shown, given, worse)
        lines += on_clean(task, row, units, given)
    return lines


def on_stream(
    task: str, stream: str, row: str, shown: Sequence[Shown], given: Sequence[Params], worse: Sequence[str]
) -> list[Line]:
    """Return what one alarm does on the streams of all networks.

    Parameters
    ----------
    task, stream, row : str
    shown : sequence of Shown
    given : sequence of Params
        One for each stream.
    worse : sequence of str
        Sources that should be found.
    """
    steps: dict[str, list[Value]] = {CLEAN_ON: [], SHIFTED_ON: [], COSTLY_ON: []}
    parts = []
    for each, params in zip(shown, given, strict=True):
        on = np.asarray(said(params, each.log)["alarm"] > 0)
        shifted = each.sources != "clean"
        steps[CLEAN_ON].append(mean_of(on, ~shifted))
        steps[SHIFTED_ON].append(mean_of(on, shifted))
        steps[COSTLY_ON].append(mean_of(on, np.isin(each.sources, worse)))
        parts.append(episodes(on, shifted, each.sources))
    drawn = draw(steps, [len(each.log) for each in shown], f"alarming {task} {stream}")
    lines = [line(task, stream, row, column, each.mean()) for column, each in drawn.items()]
    kept = [np.isin(part.sources, worse) for part in parts]
    already = np.concatenate([part.already[keep] for part, keep in zip(parts, kept, strict=True)])
    delays = np.concatenate([part.delays[keep] for part, keep in zip(parts, kept, strict=True)])
    clears = np.concatenate([part.clears[keep] for part, keep in zip(parts, kept, strict=True)])
    lines.append(Line(task, stream, row, SHIFTS, float(len(delays))))
    if not len(delays):
        return lines
    fresh, known = delays[~already], clears[~np.isnan(clears)]
    over = {
        ALREADY: (already, mean_of(already)),
        FOUND: (fresh, mean_of(np.isfinite(fresh))),
        DELAY: (fresh, median_of(fresh)),
        CLEAR: (known, median_of(known)),
    }
    for column, (units, value) in over.items():
        if len(units):  # a shift is a unit of its own: segments lie apart
            found = draw({column: [value]}, [len(units)], f"{column} {task} {stream}", block=1)
            lines.append(line(task, stream, row, column, found[column].mean()))
    return lines


def on_clean(task: str, row: str, units: Sequence[Unit], given: Sequence[Params]) -> list[Line]:
    """Return false alarms on clean test data of all networks together."""
    count, steps, on_steps = 0, 0, 0
    for unit, params in zip(units, given, strict=True):
        on = np.asarray(said(params, unit.clean_test)["alarm"] > 0)
        count += int(on[0]) + int((on[1:] & ~on[:-1]).sum())
        steps, on_steps = steps + len(on), on_steps + int(on.sum())
    asked = steps / RUN_LENGTH
    low, high = poisson_interval(count)
    return [
        Line(task, CLEAN_STREAM, row, COUNT, float(count)),
        Line(task, CLEAN_STREAM, row, RATE, count / asked, low / asked, high / asked),
        Line(task, CLEAN_STREAM, row, CLEAN_ON, on_steps / steps),
    ]
