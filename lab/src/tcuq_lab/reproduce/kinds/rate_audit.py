"""Rate audit: decisions of monitors on every stream, audited; how near their rates come to the bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.audit.derive import audit
from tcuq.io.decisions import Decisions
from tcuq.log.log import Log
from tcuq.metrics import worst_window
from tcuq.monitor.monitor import Monitor, run_over
from tcuq.monitor.params import Params

from ...comparison.records import Record, record
from ...methods.banks import observed
from ...methods.method import Monitored, Observed
from ...metrics import budget_utilization, exceedance_deviation, threshold_spread
from ...streams import Stream
from ..paper import PaperExperiment
from ..recordings import Recordings
from .comparison import fit_rows, known_options
from .schedule import Schedule
from .unit import Unit

WINDOW = 100
"""Steps of the window in which abstentions are counted."""
WINDOWS, EARLY, FIRST = range(12, 25), 500, "shifted first"
"""Windows that the paper calls alike, tried on the first steps of streams of that order.

Of a window nothing but its warm-up is left here, which is four of them."""
CLEAN, UNSEEN, SHIFTED, WORST = "clean", "unseen", "shifted", "worst"
"""Variants: the clean stream; streams of unseen kinds, and their shifted steps alone; the worst stream."""


class Watched(NamedTuple):
    """What a monitor said on a stream."""

    steps: npt.NDArray[Any]
    violations: int
    shifted: npt.NDArray[np.bool_]


def measure(experiment: PaperExperiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Audit every row on the clean test stream, all kinds in segments and in other orders, and OOD inputs."""
    known_options(experiment)
    for row in experiment.rows:
        if not row.method.has_monitor:
            raise ValueError(f"row {row.label} makes no decisions, expected a method with a monitor")
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment.rows, recordings, schedule)
    shown = every_stream(schedule)
    found: list[Record] = []
    for label, method in fit_rows(experiment.rows, dev, schedule, unit.fits(recordings)).items():
        monitor = method.monitored()
        logs = {
            name: watched(monitor, observed(stream, test[label]), stream) for name, stream in shown.items()
        }
        found += _records(label, monitor.params, logs, schedule.unseen)
        starts = [monitor.log(observed(shown[f"{kind}, {FIRST}"], test[label])) for kind in schedule.unseen]
        starts = [log.take(slice(EARLY)) for log in starts]
        steps = sum(map(len, starts))
        change = window_change(monitor.params, starts)
        found.append(record("pooled", label, "window_change", "first", change, steps))
    return found


def window_change(params: Params, logs: Sequence[Log], windows: Iterable[int] = WINDOWS) -> float:
    """Return the largest change of risk when the window, which sets the warm-up, is another.

    Windows below the longest lag, which no monitor has, are left out.
    """
    before = [run_over(Monitor(params), log)["risk"] for log in logs]
    most = 0.0
    for window in windows:
        if window >= max(params.lags, default=1):
            other = params.replace(warmup=4 * window)
            for risk, log in zip(before, logs, strict=True):
                most = max(most, float(np.abs(run_over(Monitor(other), log)["risk"] - risk).max()))
    return most


def every_stream(schedule: Schedule) -> dict[str, Stream]:
    """Return all test streams of a comparison, the clean one first, and those in other orders."""
    found = {CLEAN: schedule.clean("test"), **schedule.tests()}
    if "test" in schedule.ood:
        found |= schedule.ood_tests()
    orders = {FIRST: schedule.shifted_first(), "rising": schedule.rising_tests()}
    for order, streams in orders.items():
        found |= {f"{kind}, {order}": stream for kind, stream in streams.items()}
    return found


def watched(method: Monitored, seen: Observed, stream: Stream) -> Watched:
    """Run a method's monitor over a stream and audit its decisions, with the input at hand."""
    params, log = method.params, method.log(seen)
    steps, signals = run_over(Monitor(params), log, signals=True)
    verdict = audit(Decisions(steps, signals=signals, used=params.signals), params, log)
    return Watched(steps, sum(not check.ok for check in verdict.checks), stream.shift > 0)


def _records(
    label: str, params: Params, logs: Mapping[str, Watched], unseen: tuple[str, ...]
) -> list[Record]:
    clean, total = logs[CLEAN], sum(len(each.steps) for each in logs.values())

    def one(metric: str, variant: str, value: float, stream: str = "pooled", n: int = total) -> Record:
        return record(stream, label, metric, variant, value, n)

    off = {name: exceedance_deviation(each.steps["flagged"], params.level) for name, each in logs.items()}
    used = {name: budget_utilization(each.steps["abstain"], params.budget) for name, each in logs.items()}
    nearest = max(off[name] / params.flag_bound(len(each.steps)) for name, each in logs.items())
    burst = max(int(worst_window(each.steps["abstain"], [WINDOW])[0]) for each in logs.values())
    settled = slice(int(params.warmup or 0), len(clean.steps))
    spread = threshold_spread(clean.steps["threshold"], [settled])
    found = [
        one("streams", "all", len(logs)),
        one("steps", "all", total),
        one("violations", "all", sum(each.violations for each in logs.values())),
        one("exceedance_deviation", CLEAN, off[CLEAN], CLEAN, len(clean.steps)),
        one("exceedance_deviation", WORST, max(off.values())),
        one("share_of_bound", WORST, nearest),
        one("abstention_rate", CLEAN, used[CLEAN] * params.budget, CLEAN, len(clean.steps)),
        one("abstention_rate", WORST, max(used.values()) * params.budget),
        one("budget_share", CLEAN, used[CLEAN], CLEAN, len(clean.steps)),
        one("budget_share", WORST, max(used.values())),
        one("window_abstentions", WORST, burst),
        one("window_bound", "all", _window_bound(params)),
        one("threshold_spread", CLEAN, spread, CLEAN, len(clean.steps)),
    ]
    for kind in unseen:
        flagged, shifted = logs[kind].steps["flagged"], logs[kind].shifted
        found.append(one("flag_rate", UNSEEN, flagged.mean(), kind, len(flagged)))
        found.append(one("flag_rate", SHIFTED, flagged[shifted].mean(), kind, int(shifted.sum())))
    return found


def _window_bound(params: Params) -> int:
    """Return the most abstentions that the budget allows in a window."""
    fields = params.integers()
    return int(params.burst + WINDOW * fields["budget_num"] // fields["budget_den"])
