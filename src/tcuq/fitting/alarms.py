"""Alarm limits from a wanted run length between false alarms, by block bootstrap on clean data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..alarm import Alarm, AlarmSide
from ..log import Log

Floats = npt.NDArray[np.float64]

CHAINS = 400
LONGEST = 20_000
BLOCK = 128
ALLOWANCES = (0.1, 0.25, 0.5, 1.0)
"""Candidates, in standard deviations of the clean risk."""


def stretches(log: Log, memory: int) -> tuple[list[slice], list[slice]]:
    """Return the clean and the shifted stretches of a log.

    Parameters
    ----------
    log : Log
        Without `shifted`, everything counts as clean.
    memory : int
        Steps at the start of a clean stretch inside a segment that still remember the shift: left out.

    Examples
    --------
    >>> log = Log(np.full((6, 2), 0.5), shifted=[0, 0, 1, 1, 0, 0])
    >>> stretches(log, 1)
    ([slice(0, 2, None), slice(5, 6, None)], [slice(2, 4, None)])
    """
    clean, shifted = [], []
    for piece in log.pieces():
        marks = np.zeros(piece.stop - piece.start, dtype=bool) if log.shifted is None else log.shifted[piece]
        cuts = (np.flatnonzero(np.diff(marks)) + 1 + piece.start).tolist()
        edges = [piece.start, *cuts, piece.stop]
        for start, stop in pairwise(edges):
            if marks[start - piece.start]:
                shifted.append(slice(start, stop))
            elif start == piece.start:
                clean.append(slice(start, stop))
            elif start + memory < stop:
                clean.append(slice(start + memory, stop))
    return clean, shifted


def resample(runs: Sequence[Floats], length: int, chains: int, rng: np.random.Generator) -> Floats:
    """Draw streams of clean risk: blocks of consecutive steps, put end to end.

    Blocks keep the dependence between neighbours, which is what makes false alarms cluster.

    Returns
    -------
    array of shape (chains, length)
    """
    longest = max(len(run) for run in runs)
    block = min(BLOCK, longest)
    usable = [run for run in runs if len(run) >= block]
    risk = np.concatenate(usable)
    starts, at = [], 0
    for run in usable:
        starts.append(np.arange(at, at + len(run) - block + 1))
        at += len(run)
    pool = np.concatenate(starts)
    blocks = -(-length // block)
    chosen = rng.choice(pool, size=(chains, blocks))
    index = (chosen[:, :, None] + np.arange(block)).reshape(chains, -1)[:, :length]
    return risk[index]


def highest_evidence(excess: Floats) -> Floats:
    """Return the highest value that a one-sided sum from zero reaches, for each row."""
    walk = np.cumsum(excess, axis=1)
    floor = np.minimum(0, np.minimum.accumulate(walk, axis=1))
    return np.asarray((walk - floor).max(axis=1))


def limit_for(streams: Floats, reference: float, sign: int, run_length: float) -> float:
    """Return the limit at which false alarms come once in `run_length` clean steps on average.

    The time to a false alarm is close to exponential, so the wanted limit is the one that a share
    exp(-length / run_length) of the streams never reaches.
    """
    highest = highest_evidence(sign * (streams - reference))
    share = float(np.exp(-streams.shape[1] / run_length))
    return float(np.quantile(highest, share)) + 1 / 65536


def alarms_in(runs: Sequence[Floats], reference: float, sign: int, limit: float) -> tuple[int, int]:
    """Return how often the alarm is raised over some runs, and their steps; each run starts at zero."""
    raised, steps = 0, 0
    for run in runs:
        evidence, on = 0.0, False
        steps += len(run)
        for excess in (sign * (run - reference)).tolist():
            evidence = min(max(0.0, evidence + excess), 2 * limit)
            if evidence >= limit and not on:
                raised, on = raised + 1, True
            elif evidence == 0:
                on = False
    return raised, steps


def delays(runs: Sequence[Floats], reference: float, sign: int, limit: float) -> Floats:
    """Return the steps until the alarm in each run; a run without one counts with twice its length."""
    out = []
    for run in runs:
        walk = np.cumsum(sign * (run - reference))
        evidence = walk - np.minimum(0, np.minimum.accumulate(walk))
        hits = np.flatnonzero(evidence >= limit)
        out.append(hits[0] + 1 if len(hits) else 2 * len(run))
    return np.array(out, dtype=np.float64)


def _side(
    mean: float,
    spread: float,
    sign: int,
    streams: Floats,
    bad: Sequence[Floats],
    run_length: float,
) -> AlarmSide | None:
    """Choose the allowance by delay on shifted stretches, or half a deviation where there are none."""
    best: tuple[float, AlarmSide] | None = None
    for factor in ALLOWANCES if bad else (0.5,):
        allowance = factor * spread
        reference = mean + sign * allowance
        if not 0 < reference < 1:
            continue
        limit = limit_for(streams, reference, sign, run_length)
        lateness = float(delays(bad, reference, sign, limit).mean()) if bad else 0.0
        if best is None or lateness < best[0]:
            best = lateness, AlarmSide(allowance, min(limit, 8192.0))
    return None if best is None else best[1]


def choose_alarm(
    clean: Sequence[Floats], shifted: Sequence[Floats], run_length: int, rng: np.random.Generator
) -> Alarm:
    """Choose both sides of the alarm.

    Parameters
    ----------
    clean : sequence of arrays
        Risk on clean stretches; at least one step.
    shifted : sequence of arrays
        Risk on shifted stretches, to choose the allowance by delay; may be empty.
    run_length : int
        Wanted mean number of clean steps between false alarms of either side.
    rng : numpy.random.Generator

    Returns
    -------
    Alarm
        A side is left out when the risk has no room on that side of its clean mean.
    """
    risk = np.concatenate(list(clean))
    mean, spread = float(risk.mean()), max(float(risk.std()), 1 / 65536)
    length = min(run_length, LONGEST)
    streams = resample(clean, length, CHAINS, rng)
    # Each side gets half of the false alarms.
    rise = _side(mean, spread, 1, streams, [r for r in shifted if r.mean() > mean], 2 * run_length)
    fall = _side(mean, spread, -1, streams, [r for r in shifted if r.mean() < mean], 2 * run_length)
    return Alarm(mean, rise, fall)
