"""The clean steps of a log: which they are, and the means of the signals there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..monitor.log import Log
from ..monitor.params import Params
from ..monitor.signals import BELIEF, SLOW
from .alarms import FEWEST, clean_stretches
from .gain import signals_of

SLOW_MEMORY = 48
"""Steps after which a slow mean at rate 1/16 has forgotten all but 5 % of a shift."""

STRAIN_MEMORY = 192
"""The same at rate 1/64."""


@dataclass(frozen=True)
class Clean:
    """Clean steps that set means, threshold and alarm.

    Parameters
    ----------
    log : Log
        The log that holds them.
    runs : list of slice
        Where they are.
    marked : int
        Clean steps of that log, with those right after a shift, which `runs` leave out.
    """

    log: Log
    runs: list[slice]
    marked: int


def clean_part(params: Params, log: Log, clean: Log | None, warnings: list[str]) -> Clean:
    """Find the clean steps: those of `clean`, else those that the log does not mark as shifted."""
    if clean is not None:
        if clean.classes != log.classes:
            raise ValueError(f"the clean log has {clean.classes} classes, the log has {log.classes}")
        if params.features and clean.width != log.width:
            raise ValueError(f"the clean log has {clean.width} features, the log has {log.width}")
    elif log.shifted is None:
        warnings.append(
            "no steps are marked as clean: the whole log sets threshold and alarm; if it holds degraded "
            "stretches, mark them with `shifted`, or pass a clean log with `clean`"
        )
    chosen = log if clean is None else clean
    runs = rested_stretches(params, chosen)
    if not runs:
        raise ValueError("no clean steps are left; threshold and alarm need some")
    marked = len(chosen) if chosen.shifted is None else int((~chosen.shifted).sum())
    return Clean(chosen, runs, marked)


def rested_stretches(params: Params, clean: Log) -> list[slice]:
    """Return the clean stretches on which what a monitor remembers of a shift has waned.

    Parameters
    ----------
    params : Params
    clean : Log
    """
    memory = max(params.depth, SLOW_MEMORY if set(params.signals) & {*SLOW, *BELIEF} else 0)
    runs = clean_stretches(clean, memory)
    if "strain_slow" in params.signals:
        # A memory that long may leave too little; a strain that still wanes is better than no alarm.
        rested = clean_stretches(clean, STRAIN_MEMORY)
        if sum(run.stop - run.start for run in rested) >= FEWEST:
            return rested
    return runs


def with_clean_means(params: Params, clean: Clean) -> Params:
    """Return the parameters with the mean of each signal over the clean steps."""
    values, settled = signals_of(params, clean.log)
    index = np.concatenate([np.arange(run.start, run.stop) for run in clean.runs])
    with_past = index[settled[index]]
    means = values[with_past if len(with_past) else index].mean(0)
    return params.replace(clean_means=dict(zip(params.signals, means.tolist(), strict=True)))
