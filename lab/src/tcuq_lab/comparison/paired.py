"""Intervals of a metric and of the difference between two methods, over all streams together.

Blocks of steps are drawn within each stream, the same for both methods; the metric is computed on each stream
and averaged over streams. Streams that have no record of the metric are left out: those without a kind of the
group that is asked for, or without inputs of no class. By default a block has four mean lengths of a clean or
shifted stretch: a stretch depends on its kind and severity as a whole, so shorter blocks cut events apart and
make intervals too narrow. The interval is that of a t distribution with one degree of freedom less than there
are blocks, for every stream; `coverage` simulates how often it holds the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.metrics import Interval, bootstrap_settings, resample
from tcuq.metrics.inputs import Ints

from ..detectors.run_lengths import arm, trials
from ..harness.intervals import about_value
from ..metrics.drops import Truth
from .answers import JudgedStream, clean_only, evidence_runs, judged_runs
from .delays import in_group
from .protocol import ComparisonRules, bands_of, having, methods_of, tasks_of
from .records import Record, record
from .tasks import Measure, Task, split_metric, split_variant

NAN = float("nan")


class Ranked:
    """A task whose scores are ranked once."""

    def __init__(self, task: Task) -> None:
        distinct, inverse = np.unique(task.score[task.judged], return_inverse=True)
        self._levels = len(distinct)
        # Falling scores, negatives and positives of each apart; steps that are not judged come last.
        self._slot = np.full(len(task.score), 2 * self._levels, dtype=np.int64)
        falling = 2 * (self._levels - 1 - inverse.ravel())
        self._slot[task.judged] = falling + task.positive[task.judged]

    def counts(self, index: Ints) -> tuple[Ints, Ints]:
        """Return negatives and positives at each distinct score, the highest first, among some steps."""
        found = np.bincount(self._slot[index], minlength=2 * self._levels + 1)[:-1].reshape(-1, 2)
        return found[:, 0], found[:, 1]


def _auprc(negative: Ints, positive: Ints) -> float:
    hits, false = np.cumsum(positive), np.cumsum(negative)
    if not len(hits) or not hits[-1]:
        return NAN
    gained = positive > 0
    share = hits[gained] / (hits[gained] + false[gained])
    return float((positive[gained] * share).sum() / hits[-1])


def _lift(negative: Ints, positive: Ints) -> float:
    hits, false = int(positive.sum()), int(negative.sum())
    if not hits or not false:
        return NAN
    base = hits / (hits + false)
    return (_auprc(negative, positive) - base) / (1 - base)


def _auroc(negative: Ints, positive: Ints) -> float:
    hits, false = int(positive.sum()), int(negative.sum())
    if not hits or not false:
        return NAN
    below = false - np.cumsum(negative) + negative / 2
    return float((positive * below).sum() / (hits * false))


def _fpr95(negative: Ints, positive: Ints) -> float:
    hits, false = np.cumsum(positive), np.cumsum(negative)
    if not len(hits) or not hits[-1] or not false[-1]:
        return NAN
    return float(false[int(np.argmax(hits / hits[-1] >= 0.95))] / false[-1])


FAST: Mapping[str, Callable[[Ints, Ints], float]] = MappingProxyType(
    {"auprc": _auprc, "lift": _lift, "auroc": _auroc, "fpr95": _fpr95}
)


def measured(task: Task, metric: str, measure: Measure) -> Callable[[Ints | None], float]:
    """Return a function from an index of steps, None for all, to the metric."""
    fast = FAST.get(metric.rpartition("_")[2])
    ranked = Ranked(task) if fast else None

    def value(index: Ints | None) -> float:
        if index is None:
            return task.measure(measure)
        if fast is not None and ranked is not None:
            return fast(*ranked.counts(index))
        return Task(task.score[index], task.positive[index], task.judged[index]).measure(measure)

    return value


REPLICATES = 1000
STRETCHES = 4
"""Mean clean or shifted stretches in a block."""


def default_block(truths: Sequence[Truth], m: int) -> int:
    """Return four mean lengths of a clean or shifted stretch, or 2 m where that is more.

    It is never more than a quarter of the shortest stream, so that some blocks fit into it.

    Examples
    --------
    >>> default_block([Truth(np.zeros(8000, int), np.arange(8000) // 250 % 2)], 100)
    1000
    """
    steps = sum(len(truth) for truth in truths)
    runs = sum(
        1 + int((np.diff(truth.kinds[piece] > 0)).sum()) for truth in truths for piece in truth.pieces()
    )
    wanted = -(-STRETCHES * steps // max(1, runs))
    return max(1, min(max(2 * m, wanted), min(len(truth) for truth in truths) // 4))


def joint_bootstrap(
    values: Callable[[int, Ints | None], float],
    lengths: Sequence[int],
    block: int,
    replicates: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> Interval:
    """Return an interval of the mean over streams of a statistic, from blocks within each stream."""
    if not lengths or min(lengths) < 1:
        raise ValueError(f"the shortest stream has {min(lengths, default=0)} units, expected at least 1")
    size, count, inside = bootstrap_settings(block, min(lengths), replicates, rng, confidence)
    draws = [_mean([values(i, resample(n, size, rng)) for i, n in enumerate(lengths)]) for _ in range(count)]
    value = _mean([values(i, None) for i in range(len(lengths))])
    blocks = sum(-(-n // size) for n in lengths)
    freedom = max(1, blocks - len(lengths))
    # Means of as many blocks as there are vary less than the truth allows, by (blocks - 1) / blocks a stream.
    return about_value(value, draws, freedom, inside, math.sqrt(blocks / freedom))


def _mean(values: Sequence[float]) -> float:
    kept = [value for value in values if not np.isnan(value)]
    return sum(kept) / len(kept) if kept else float("nan")


def interval(
    tests: Sequence[JudgedStream],
    clean_dev: Sequence[JudgedStream],
    methods: tuple[str, ...],
    metric: str,
    variant: str,
    rng: np.random.Generator,
    settings: ComparisonRules | None = None,
    replicates: int = REPLICATES,
    block: int | None = None,
    confidence: float = 0.95,
) -> Record:
    """Return a metric of one method, or the difference first - second of two, with its interval."""
    fixed = settings or ComparisonRules()
    methods_of(tests, clean_dev=clean_dev)
    clean_only("clean_dev", clean_dev)
    if len(methods) not in (1, 2):
        raise ValueError(f"methods has {len(methods)} names, expected 1 or 2")
    name, measure = split_metric(metric)
    key = split_variant(name, variant)
    asked = having(tests, key, fixed)
    if not asked:
        raise ValueError(f"metric {metric}, variant {variant} has a record on 0 streams, expected at least 1")
    tasks = [tasks_of(asked, bands_of(clean_dev, method, fixed), method, key, fixed) for method in methods]
    truths = [stream.truth for stream in asked]
    size = default_block(truths, fixed.m) if block is None else integer("block", block, fixed.m, 10**9)

    ready = [[measured(part, metric, measure) for part in each] for each in tasks]

    def values(at: int, index: Ints | None) -> float:
        found = [each[at](index) for each in ready]
        return found[0] - found[1] if len(found) == 2 else found[0]

    lengths = [len(truth) for truth in truths]
    found = joint_bootstrap(values, lengths, size, replicates, rng, confidence)
    judged = sum(int(each.judged.sum()) for each in tasks[0])
    positive = sum(int((each.judged & each.positive).sum()) for each in tasks[0])
    share = positive / judged if judged else float("nan")
    title = " - ".join(methods)
    return record("joint", title, metric, variant, found.estimate, judged, share, found.low, found.high)


def delay_interval(
    tests: Sequence[JudgedStream],
    clean_dev: Sequence[JudgedStream],
    methods: tuple[str, ...],
    statistics: tuple[str, ...],
    rng: np.random.Generator,
    settings: ComparisonRules | None = None,
    group: str = "all",
    replicates: int = REPLICATES,
    confidence: float = 0.95,
) -> Record:
    """Return the restricted mean delay of one method, or the difference of two, with its interval.

    The units drawn are the changes of all streams, which lie far enough apart to count as independent.

    Examples
    --------
    >>> from tcuq_lab.comparison.coverage import made
    >>> rng = np.random.default_rng(0)
    >>> dev, tests = [made("day", 3000, rng, shifted=False)], [made("one", 2000, rng)]
    >>> rules = ComparisonRules(run_length=200)
    >>> row = delay_interval(tests, dev, ("BASE",), ("cusum",), rng, rules, replicates=50)
    >>> row["metric"], row["variant"], row["low"] <= row["value"] <= row["high"]
    ('delay_mean', 'cusum/all', True)
    """
    fixed = settings or ComparisonRules()
    methods_of(tests, clean_dev=clean_dev)
    clean_only("clean_dev", clean_dev)
    if len(methods) not in (1, 2) or len(methods) != len(statistics):
        raise ValueError(f"there are {len(methods)} methods, {len(statistics)} statistics; 1 or 2 of each")
    costs: list[npt.NDArray[np.float64]] = []
    for method, name in zip(methods, statistics, strict=True):
        if name not in fixed.statistics:
            have = ", ".join(fixed.statistics)
            raise ValueError(f"statistic {name!r} is unknown, expected one of {have}")
        one = {name: fixed.statistics[name]}
        armed = arm(evidence_runs(clean_dev, method), fixed.run_length, one, judged_runs(clean_dev))[name]
        found = [
            in_group(trials(armed, s.answer(method).evidence, s.truth, fixed.m), s.truth, group, fixed.seen)
            for s in tests
        ]
        costs.append(np.concatenate([each.restricted for each in found]))
    cost = costs[0] - costs[1] if len(costs) == 2 else costs[0]
    if not len(cost):
        raise ValueError(f"group {group} has 0 changes on the test streams, expected at least 1")
    got = joint_bootstrap(
        lambda at, index: float((cost if index is None else cost[index]).mean()),
        [len(cost)],
        1,
        replicates,
        rng,
        confidence,
    )
    variant = f"{' - '.join(statistics)}/{group}"
    title = " - ".join(methods)
    return record("joint", title, "delay_mean", variant, got.estimate, len(cost), low=got.low, high=got.high)
