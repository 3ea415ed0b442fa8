"""Alarm limits from a wanted run length between false alarms, by block bootstrap on clean data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..alarm import Alarm, AlarmSide
from ..log import Log

Floats = npt.NDArray[np.float64]

CHAINS = 60
RESAMPLINGS = 20
CAUTION = 0.8
"""Quantile of the limits over resamplings of the clean data: rare clean stretches are always too few."""

LONGEST = 20_000
BLOCK = 128
PIECE = 512
ALLOWANCE = 0.5
"""In standard deviations of the clean risk: the classical choice for a shift of one deviation."""


def clean_stretches(log: Log, memory: int) -> list[slice]:
    """Return the clean stretches of a log.

    Parameters
    ----------
    log : Log
        Without `shifted`, everything counts as clean.
    memory : int
        Steps at the start of a clean stretch inside a segment that still remember the shift: left out.

    Examples
    --------
    >>> log = Log(np.full((6, 2), 0.5), shifted=[0, 0, 1, 1, 0, 0])
    >>> clean_stretches(log, 1)
    [slice(0, 2, None), slice(5, 6, None)]
    """
    if log.shifted is None:
        return log.pieces()
    found = []
    for piece in log.pieces():
        marks = log.shifted[piece]
        cuts = (np.flatnonzero(np.diff(marks)) + 1 + piece.start).tolist()
        for start, stop in pairwise([piece.start, *cuts, piece.stop]):
            begin = start if start == piece.start else start + memory
            if not marks[start - piece.start] and begin < stop:
                found.append(slice(begin, stop))
    return found


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
            evidence = min(max(0.0, evidence + excess), limit)
            if evidence >= limit and not on:
                raised, on = raised + 1, True
            elif evidence == 0:
                on = False
    return raised, steps


def _pieces(runs: Sequence[Floats]) -> list[Floats]:
    """Cut runs into pieces of about PIECE steps, the units that are drawn again and again."""
    return [piece for run in runs for piece in np.array_split(run, max(1, round(len(run) / PIECE)))]


def _side(
    runs: Sequence[Floats], mean: float, spread: float, sign: int, run_length: float, rng: np.random.Generator
) -> AlarmSide | None:
    """Set one side; None where the risk has no room on that side of its clean mean."""
    allowance = ALLOWANCE * spread
    reference = mean + sign * allowance
    if not 0 < reference < 1:
        return None
    pieces = _pieces(runs)
    limits = []
    for _ in range(RESAMPLINGS):
        drawn = [pieces[i] for i in rng.integers(0, len(pieces), len(pieces))]
        streams = resample(drawn, int(min(run_length, LONGEST)), CHAINS, rng)
        limits.append(limit_for(streams, reference, sign, run_length))
    return AlarmSide(allowance, min(float(np.quantile(limits, CAUTION)), 8192.0))


def choose_alarm(clean: Sequence[Floats], run_length: int, rng: np.random.Generator) -> Alarm:
    """Choose both sides of the alarm.

    Parameters
    ----------
    clean : sequence of arrays
        Risk on clean stretches; at least one step.
    run_length : int
        Wanted mean number of clean steps between false alarms of either side.
    rng : numpy.random.Generator

    Returns
    -------
    Alarm
    """
    runs = [run for run in clean if len(run)]
    risk = np.concatenate(runs)
    mean, spread = float(risk.mean()), max(float(risk.std()), 1 / 65536)
    # Each side gets half of the false alarms.
    rise, fall = (_side(runs, mean, spread, sign, 2 * run_length, rng) for sign in (1, -1))
    return Alarm(mean, rise, fall)
