"""Intervals of a metric and of the difference between two methods, over all streams together.

Blocks of steps are drawn within each stream, the same for both methods; the metric is computed on each stream
and averaged over streams. By default a block has twice the window, or the mean length of a clean or
shifted stretch where that is more: shorter blocks would cut events apart and make intervals too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ...checks import integer, number
from ...metrics import Interval
from ...metrics.inputs import Ints
from .answers import Case, Truth, risk_runs
from .delays import arm, in_group, trials
from .protocol import Settings, bands_of, methods_of
from .resampled import measured
from .results import Record, record
from .tasks import Task, split_metric, split_variant, task

REPLICATES = 1000


def default_block(truths: Sequence[Truth], m: int) -> int:
    """Return max(2 m, mean length of a clean or shifted stretch), at most half of the shortest stream.

    Examples
    --------
    >>> default_block([Truth(np.zeros(1000, int), np.arange(1000) // 250 % 2)], 100)
    250
    """
    steps = sum(len(truth) for truth in truths)
    runs = sum(
        1 + int((np.diff(truth.kinds[piece] > 0)).sum()) for truth in truths for piece in truth.pieces()
    )
    mean = -(-steps // max(1, runs))
    return max(1, min(max(2 * m, mean), min(len(truth) for truth in truths) // 2))


def joint_bootstrap(
    values: Callable[[int, Ints | None], float],
    lengths: Sequence[int],
    block: int,
    replicates: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Return a percentile interval of the mean over streams of a statistic, from blocks within each stream.

    Parameters
    ----------
    values : callable
        Takes the number of a stream and an index of its units, None for all as they are; NaN says undefined.
    lengths : sequence of int
        Units of each stream. Blocks go on at its beginning after its end.
    block : int
    replicates : int
    rng : numpy.random.Generator
    level : float

    Returns
    -------
    Interval
        A stream on which the statistic is undefined is left out of that replicate; a replicate without
        any defined stream is counted as undefined.
    """
    if not lengths or min(lengths) < 1:
        raise ValueError(f"the shortest stream has {min(lengths, default=0)} units; at least 1 is accepted")
    size, count = integer("block", block, 1, min(lengths)), integer("replicates", replicates, 1, 10_000_000)
    inside = number("level", level, 0.01, 0.9999)
    draws = np.array(
        [_mean([values(i, _drawn(n, size, rng)) for i, n in enumerate(lengths)]) for _ in range(count)]
    )
    defined = np.sort(draws[~np.isnan(draws)])
    estimate = _mean([values(i, None) for i in range(len(lengths))])
    if not len(defined):
        return Interval(estimate, float("nan"), float("nan"), count)
    outside = int((1 - inside) / 2 * (len(defined) - 1))
    return Interval(estimate, float(defined[outside]), float(defined[-1 - outside]), count - len(defined))


def _drawn(length: int, block: int, rng: np.random.Generator) -> Ints:
    begins = rng.integers(0, length, -(-length // block))
    return np.asarray(((begins[:, None] + np.arange(block)) % length).ravel()[:length], dtype=np.int64)


def _mean(values: Sequence[float]) -> float:
    kept = [value for value in values if not np.isnan(value)]
    return sum(kept) / len(kept) if kept else float("nan")


def _tasks(
    tests: Sequence[Case],
    clean_dev: Sequence[Case],
    method: str,
    name: str,
    variant: str,
    fixed: Settings,
) -> list[Task]:
    key = split_variant(name, variant)
    bands = bands_of(clean_dev, method, fixed)
    return [
        task(
            key,
            stream.answer(method),
            stream.answer(fixed.base).predictions,
            stream.truth,
            bands,
            stream.truth.members(key.group, fixed.seen),
        )
        for stream in tests
    ]


def interval(
    tests: Sequence[Case],
    clean_dev: Sequence[Case],
    methods: tuple[str, ...],
    metric: str,
    variant: str,
    rng: np.random.Generator,
    settings: Settings | None = None,
    replicates: int = REPLICATES,
    block: int | None = None,
    level: float = 0.95,
) -> Record:
    """Return a metric of one method, or the difference first - second of two, with its interval.

    Parameters
    ----------
    tests, clean_dev, settings
        See `tcuq.lab.compare.protocol.score_part`.
    methods : tuple of one or two names
    metric, variant : str
        As in the records, such as "drop_auprc" and "own/smoothed/all".
    rng : numpy.random.Generator
    replicates : int
    block : int, optional
        Steps, at least the window; see the top of this module.
    level : float

    Returns
    -------
    Record
        Of the stream "joint"; `n` counts the judged steps of the first method.
    """
    fixed = settings or Settings()
    methods_of(tests, clean_dev)
    if len(methods) not in (1, 2):
        raise ValueError(f"methods has {len(methods)} names; 1 or 2 is accepted")
    name, measure = split_metric(metric)
    tasks = [_tasks(tests, clean_dev, method, name, variant, fixed) for method in methods]
    truths = [stream.truth for stream in tests]
    size = default_block(truths, fixed.m) if block is None else integer("block", block, fixed.m, 10**9)

    ready = [[measured(part, metric, measure) for part in each] for each in tasks]

    def values(at: int, index: Ints | None) -> float:
        found = [each[at](index) for each in ready]
        return found[0] - found[1] if len(found) == 2 else found[0]

    lengths = [len(truth) for truth in truths]
    found = joint_bootstrap(values, lengths, size, replicates, rng, level)
    judged = sum(int(each.judged.sum()) for each in tasks[0])
    positive = sum(int((each.judged & each.positive).sum()) for each in tasks[0])
    share = positive / judged if judged else float("nan")
    title = " - ".join(methods)
    return record("joint", title, metric, variant, found.estimate, judged, share, found.low, found.high)


def delay_interval(
    tests: Sequence[Case],
    clean_dev: Sequence[Case],
    methods: tuple[str, ...],
    statistics: tuple[str, ...],
    rng: np.random.Generator,
    settings: Settings | None = None,
    group: str = "all",
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> Record:
    """Return the restricted mean delay of one method, or the difference of two, with its interval.

    The units drawn are the changes of all streams, which lie far enough apart to count as independent.

    Parameters
    ----------
    tests, clean_dev, settings, replicates, level
        See `interval`.
    methods, statistics : tuples of one or two names
        Each method with its statistic: the same for both, or the best of each.
    rng : numpy.random.Generator
    group : str
        "all", "seen" or "unseen" kinds.
    """
    fixed = settings or Settings()
    methods_of(tests, clean_dev)
    if len(methods) not in (1, 2) or len(methods) != len(statistics):
        raise ValueError(f"there are {len(methods)} methods, {len(statistics)} statistics; 1 or 2 of each")
    costs: list[npt.NDArray[np.float64]] = []
    for method, name in zip(methods, statistics, strict=True):
        if name not in fixed.statistics:
            have = ", ".join(fixed.statistics)
            raise ValueError(f"statistic {name!r} is unknown; one of {have} is accepted")
        armed = arm(risk_runs(clean_dev, method), fixed.run_length, {name: fixed.statistics[name]})[name]
        found = [
            in_group(trials(armed, s.answer(method).risk, s.truth, fixed.m), s.truth, group, fixed.seen)
            for s in tests
        ]
        costs.append(np.concatenate([each.restricted for each in found]))
    cost = costs[0] - costs[1] if len(costs) == 2 else costs[0]
    got = joint_bootstrap(
        lambda at, index: float((cost if index is None else cost[index]).mean()),
        [len(cost)],
        1,
        replicates,
        rng,
        level,
    )
    variant = f"{' - '.join(statistics)}/{group}"
    title = " - ".join(methods)
    return record("joint", title, "delay_mean", variant, got.estimate, len(cost), low=got.low, high=got.high)
