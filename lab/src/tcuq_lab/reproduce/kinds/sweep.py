"""A sweep: monitors fitted anew with one thing changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, known, number
from tcuq.monitor.log import Log, watch
from tcuq.monitor.monitor import Monitor
from tcuq.monitor.params import MAX_LAG, Params
from tcuq.monitor.signals import PROFILES

from ...comparison import ComparisonRules, smooth
from ...comparison.protocol import bands_of
from ...comparison.records import Record, record
from ...comparison.tasks import Task, split_metric, split_variant, task
from ...methods.base import Base
from ...methods.gather import observed
from ...methods.method import Monitored, Observed
from ..experiment import Experiment
from ..recordings import Recordings
from ..rows import Row
from .comparison import Bank, case, fit_rows, known_options
from .schedule import Schedule
from .unit import Unit

EARLY = 500
"""Steps at the beginning of a stream that are looked at by themselves."""
DROP, FAILURE = ("drop_auprc", "own/smoothed/unseen"), ("mixed_failure_auroc", "own/plain/unseen")
WEIGHTS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {"1/lag": lambda lag: 1 / lag, "equal": lambda lag: 1.0, "lag": float}
)
"""Laws of the weights of lags; the first one is the default."""


class Asked(NamedTuple):
    """One unseen kind: what is seen of its stream, what is asked of a risk, and a stream that starts shifted.

    Parameters
    ----------
    seen : Observed
    drop, failure : Task
        With any score.
    start : Observed
        The first `EARLY` steps of the other stream.
    """

    seen: Observed
    drop: Task
    failure: Task
    start: Observed


def measure(experiment: Experiment, unit: Unit, recordings: Recordings) -> list[Record]:
    """Measure every row as it is fitted, in its best setting that looks at the past, and altered.

    Options are the values of each thing: `lags`, `weights` of the lags where the profile reads them, `blend`,
    `level` (at the same budget), `warmup`; and `window`, values that may not change any risk.
    """
    options = _checked(experiment)
    for row in experiment.rows:
        if not row.method.has_monitor:
            raise ValueError(f"row {row.label} has nothing to alter, expected a method with a monitor")
    schedule = unit.schedule(recordings)
    dev, test = unit.banks(experiment, recordings, schedule)
    methods = fit_rows(experiment.rows, dev, schedule, unit.fits(recordings))
    found: list[Record] = []
    ready: dict[int, dict[str, Asked]] = {}  # rows on the same networks share what is asked
    for row in experiment.rows:
        full, shared = methods[row.label].monitored(), id(test[row.label])
        if shared not in ready:
            ready[shared] = questions(row, schedule, dev, test)
        asked = ready[shared]
        if full.setting["signals"] is not None:
            full = full.altered()
        found += _records(row.label, full, asked)
        if options["window"]:
            starts = [full.log(each.start) for each in asked.values()]
            change, steps = window_change(full.params, starts, options["window"]), sum(map(len, starts))
            found.append(record("pooled", row.label, "window_change", "first", change, steps))
        for name, method in _altered(full, options):
            found += _records(f"{row.label}, {name}", method, asked)
    return found


def questions(
    row: Row, schedule: Schedule, dev: Mapping[str, Bank], test: Mapping[str, Bank]
) -> dict[str, Asked]:
    """Return what is asked of every altered monitor, by unseen kind; their answers are the network's."""
    plain = {row.label: Base()}
    clean = [case("clean dev", schedule.clean("dev"), plain, dev)]
    fixed = ComparisonRules(base=row.label, seen=schedule.suite.seen)
    bands = bands_of(clean, row.label, fixed)
    starts = schedule.shifted_first()
    found = {}
    for kind, stream in schedule.unseen_tests().items():
        each = case(kind, stream, plain, test)
        answer = each.answer(row.label)
        built = []
        for metric, variant in (DROP, FAILURE):
            key = split_variant(split_metric(metric)[0], variant)
            members = each.truth.members(key.group, fixed.seen)
            built.append(task(key, answer, answer.predictions, each.truth, bands, members))
        drop, failure = built
        start = _first(observed(starts[kind], test[row.label]))
        found[kind] = Asked(observed(stream, test[row.label]), drop, failure, start)
    return found


def window_change(params: Params, logs: list[Log], windows: list[int]) -> float:
    """Return the largest change of risk when the window, and with it the warm-up, is another.

    Windows below the longest lag, which no monitor has, are left out.

    Parameters
    ----------
    params : Params
    logs : list of Log
    windows : list of int
    """
    before = [watch(Monitor(params), log)["risk"] for log in logs]
    most = 0.0
    for window in windows:
        if window >= max(params.lags, default=1):
            other = params.replace(window=window, warmup=None)
            for risk, log in zip(before, logs, strict=True):
                most = max(most, float(np.abs(watch(Monitor(other), log)["risk"] - risk).max()))
    return most


def _altered(full: Monitored, options: Mapping[str, list[Any]]) -> Iterator[tuple[str, Monitored]]:
    """Give every altered monitor with its name; what is so already is not fitted again."""
    params, lags = full.params, full.params.lags
    now = {"lags": lags, "blend": full.setting["blend"], "level": params.level, "warmup": params.warmup}
    for thing in ("lags", "blend", "level", "warmup"):
        for value in options[thing]:
            shown = " ".join(map(str, value)) if thing == "lags" else f"{value:g}"
            same = value == now[thing]
            yield f"{thing} {shown}", full if same else full.altered(**{thing: value})
    if "divergence" in PROFILES[full.profile]:
        for law in options["weights"]:
            weights = tuple(WEIGHTS[law](lag) for lag in lags)
            yield f"weights {law}", full if law == "1/lag" else full.altered(lag_weights=weights)


def _records(label: str, method: Monitored, asked: Mapping[str, Asked]) -> list[Record]:
    found = []
    for kind, each in asked.items():

        def one(metric: str, variant: str, value: float, n: int, kind: str = kind) -> Record:
            return record(kind, label, metric, variant, value, n)

        steps = watch(Monitor(method.params), method.log(each.seen))
        scores = smooth(steps["risk"]), steps["risk"]
        for (metric, variant), built, score in zip((DROP, FAILURE), each[1:3], scores, strict=True):
            value = built._replace(score=score).measure(split_metric(metric)[1])
            found.append(one(metric, variant, value, int(built.judged.sum())))
        start = watch(Monitor(method.params), method.log(each.start))
        for variant, part in (("first", steps[:EARLY]), ("all", steps), ("shifted first", start)):
            found.append(one("flag_rate", variant, part["flagged"].mean(), len(part)))
            found.append(one("abstention_rate", variant, part["abstain"].mean(), len(part)))
    return found


def _first(seen: Observed) -> Observed:
    """Return the first steps of a stream."""

    def cut(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values[:EARLY]

    features = None if seen.features is None else cut(seen.features)
    return Observed(cut(seen.probs), features, {name: cut(each) for name, each in seen.extra.items()})


def _checked(experiment: Experiment) -> dict[str, list[Any]]:
    checks: dict[str, Callable[[Any], Any]] = {
        "lags": _lags,
        "weights": lambda law: known("law of weights", law, WEIGHTS),
        "blend": lambda value: number("blend", value, 0, 1),
        "level": lambda value: number("level", value, 0.001, 0.999),
        "warmup": lambda value: integer("warmup", value, 0, 1_000_000),
        "window": lambda value: integer("window", value, 1, MAX_LAG),
    }
    known_options(experiment, *checks)
    options = experiment.options
    for name, values in options.items():
        if not isinstance(values, list) or not values:
            raise ValueError(f"option {name} is {values!r}, expected a list of values")
    return {name: [check(value) for value in options.get(name, [])] for name, check in checks.items()}


def _lags(given: Any) -> tuple[int, ...]:
    if not isinstance(given, list) or not given or len(set(map(str, given))) < len(given):
        raise ValueError(f"lags is {given!r}, expected a list of lags, each once")
    return tuple(sorted(integer("lag", lag, 1, MAX_LAG) for lag in given))
