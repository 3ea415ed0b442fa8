"""Whether the evidence of the alarm should read features, asked of kinds of shift it was not learned on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tcuq.fitting.clean import clean_stretches
from tcuq.fitting.learn_head import FAST, degraded_steps, regression
from tcuq.fitting.signal_table import signals_of
from tcuq.monitor.log import Log
from tcuq.monitor.params import Params
from tcuq.monitor.signals import FEATURE_BASED

from ...detection.runlength import RUN_LENGTH, SUPPORT, find_limit
from ...detection.statistics import STATISTICS, Reference
from ...detection.trials import Armed, trials
from ...detection.truth import Truth

Floats = npt.NDArray[np.float64]

ASKED = ("cusum", "ewma_16", "rank_cusum")
"""Statistics that are tried; the best one counts."""
MEMORY = 100
"""Clean steps after a shift that set no limit."""
CLIP = 4.0
FEWEST = 50
"""Steps of each sort without which nothing is learned."""


def held_out_delay(
    params: Params, log: Log, names: Sequence[str], l2: float = 1.0, run_length: float = RUN_LENGTH
) -> float:
    """Return the mean logarithm of the delay on kinds of shift that the evidence was not learned on.

    Parameters
    ----------
    params : Params
        Says which signals there are.
    log : Log
        With labels and kinds of shift.
    names : sequence of str
        Signals that the evidence reads.
    l2, run_length : float
        A log with few clean steps gets the run length that they support.

    Returns
    -------
    float
        Of 1 + delay, a miss costing its stretch, the best statistic counting; infinite where nothing can be
        learned. Few long delays on shifts that hardly matter do not decide it.
    """
    assert log.kinds is not None
    values, settled = signals_of(params, log)
    x = values[:, [params.signals.index(name) for name in names]]
    answers, clean = log.predictions(), (log.kinds == 0) & settled
    degraded = degraded_steps(log, float(log.errors()[clean].mean())) & settled
    truth = Truth(np.zeros(len(log), np.int64), log.kinds.astype(np.int64), log.segments)
    costs: dict[str, list[float]] = {name: [] for name in ASKED}
    for kind in np.unique(log.kinds[log.kinds > 0]):
        taught = clean | (degraded & (log.kinds != kind))
        if min(clean.sum(), (taught & ~clean).sum()) < FEWEST:
            continue
        coef, offsets = regression(x[taught], answers[taught], degraded[taught], params.classes, l2)
        added = np.clip(x @ coef + offsets[answers], -CLIP, CLIP)
        runs = [added[run] for run in clean_stretches(log, MEMORY)]
        if not runs:
            continue
        reference = Reference.of(runs)
        length = max(1.0, min(run_length, sum(map(len, runs)) / SUPPORT))
        for name in ASKED:
            statistic = STATISTICS[name](reference)
            found = trials(Armed(statistic, find_limit(statistic, runs, length)), added, truth)
            costs[name] += np.log1p(found.restricted[found.kinds == kind]).tolist()
    means = [float(np.mean(each)) for each in costs.values() if each]
    return min(means, default=float("inf"))


def reads_features(params: Params, log: Log) -> bool:
    """Return whether evidence with features is quicker on unseen kinds than evidence without.

    Parameters
    ----------
    params : Params
        With signals that read features.
    log : Log
        With labels, kinds of shift and features.
    """
    offered = [name for name in params.signals if name in FAST]
    plain = [name for name in offered if name not in FEATURE_BASED]
    if not plain or plain == offered:
        return bool(offered)
    return held_out_delay(params, log, offered) < held_out_delay(params, log, plain)
