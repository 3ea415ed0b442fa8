"""Alarm limits from a wanted run length between false alarms; from when on input is new or stands still."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.fixed import ONE
from ..monitor.alarm import Alarm, AlarmSide
from .arrays import alarm_on
from .signal_table import Flags, Floats, Ints

if TYPE_CHECKING:
    from numpy.random import Generator

CHAINS = 200
TOGETHER = 8
RESAMPLINGS = 20
CAUTION = 0.9
"""Quantile of the limits over resamplings of the clean data: rare clean stretches are always too few."""
LONGEST = 20_000
BLOCK = 128
PIECE = 256
SUPPORT = 4  # clean steps, per step of run length, from which a limit is read off; beyond, it is extrapolated
FEWEST = 200  # clean steps below which no alarm is set
ALLOWANCE = 0.5  # in standard deviations of the clean risk: the classical choice for a shift of one deviation
LEAST_DEVIATION, LEAST_LIMIT = 0.02, 0.05
"""Floors for a clean risk that hardly moves: anything would be an alarm otherwise."""

CLEARED = 3.0  # evidence below its limit at which an alarm is cleared
LEAST_RAISED = 16  # steps that an alarm of evidence stays raised at the least
MOST_LIMIT = 8192.0
MARGIN, STAKE = 0.1, 2.0
"""How far above its clean mean a score may lie before a bet on it wins, and how much is staked."""


def chains_of(risk: Floats, length: int, rng: Generator) -> Iterator[Floats]:
    """Draw chains of blocks of steps, which keep the dependence between neighbors, a few at a time."""
    block = min(BLOCK, len(risk))
    blocks = np.lib.stride_tricks.sliding_window_view(np.concatenate([risk, risk[: block - 1]]), block)
    starts = rng.integers(0, len(risk), size=(CHAINS, -(-length // block), 1))[:, :, 0]
    for n in range(0, CHAINS, TOGETHER):
        group = starts[n : n + TOGETHER]
        yield np.asarray(blocks[group].reshape(len(group), -1)[:, :length])


def highest_evidence(excess: Floats) -> Floats:
    """Return the highest value that a one-sided sum from zero reaches, for each row."""
    walk = np.cumsum(excess, axis=1)
    floor = np.minimum.accumulate(walk, axis=1)
    np.minimum(floor, 0, out=floor)
    walk -= floor
    return np.asarray(walk.max(axis=1))


def limit_for(risk: Floats, reference: float, sign: int, run_length: float, rng: Generator) -> float:
    """Return the limit at which false alarms come once in `run_length` clean steps on average."""
    # The time to a false alarm is close to exponential: a share exp(-n / run_length) of streams of n steps
    # never reaches the limit. Beyond what the data show, a limit grows with the logarithm of its run length.
    shown = len(risk) / SUPPORT
    length = int(min(run_length, LONGEST, max(1.0, shown / 5)))
    chains = chains_of(sign * (risk - reference), length, rng)
    highest = np.concatenate([highest_evidence(group) for group in chains])

    def read_off(wanted: float) -> float:
        return float(np.quantile(highest, np.exp(-length / wanted)))

    if run_length <= 5 * length:
        return read_off(run_length)
    near, far = read_off(length), read_off(5 * length)
    return far + (far - near) * math.log(run_length / (5 * length)) / math.log(5)


def alarms_in(runs: Sequence[Floats], alarm: Alarm) -> tuple[int, int]:
    """Return how often each side is raised over some runs, each from zero, and the steps in alarm."""
    marks: list[Flags] = []
    for side, sign in ((alarm.rise, 1), (alarm.fall, -1)):
        if side is not None:
            sums = (sign * (run - alarm.mean) - side.allowance for run in runs)
            marks += [alarm_on(each, side.limit, side.clear, alarm.least_raised) for each in sums]
    raised = sum(int(np.diff(on.astype(int), prepend=0).clip(0).sum()) for on in marks)
    return raised, sum(int(on.sum()) for on in marks)


def _side(
    runs: Sequence[Floats], mean: float, deviation: float, sign: int, run_length: float, rng: Generator
) -> AlarmSide | None:
    """Set one side, where the risk has room there, at a high quantile of limits that resamplings ask for."""
    allowance = ALLOWANCE * deviation
    reference = mean + sign * allowance
    if not 0 < reference < 1:
        return None
    pieces = [piece for run in runs for piece in np.array_split(run, max(1, round(len(run) / PIECE)))]
    limits = []
    for _ in range(RESAMPLINGS):
        drawn = np.concatenate([pieces[i] for i in rng.integers(0, len(pieces), len(pieces))])
        limits.append(limit_for(drawn, reference, sign, run_length, rng))
    limit = max(LEAST_LIMIT, float(np.quantile(limits, CAUTION)))
    return AlarmSide(allowance, min(limit, MOST_LIMIT))


def clear_at(limit: float) -> float:
    """Return the sum at which an alarm of evidence is cleared."""
    return limit - min(CLEARED, limit)


def fair_bet(added: Floats, clip: float) -> tuple[tuple[float, float], dict[str, float]]:
    """Return base and slope of a bet that does not win on clean data, and figures for the notes."""
    # The stake is multiplied by 1 + stake * (x - level), x the evidence in [0, 1]. While the mean of x given
    # the past is at most `level`, the sum of logarithms stays below log(n) for n steps on average.
    mean = float((added / (2 * clip) + 0.5).mean())
    level = min(mean + MARGIN, 0.95)
    stake = min(STAKE, 0.95 / level)
    # Rounded down to what the core holds, so that a score at its level never wins.
    slope = math.floor(stake / (2 * clip) * ONE) / ONE
    base = math.floor((1 - slope * (2 * level - 1) * clip) * ONE) / ONE
    return (base, slope), {"clean_mean": mean, "level": level, "stake": stake}


def choose_alarm(clean: Sequence[Floats], run_length: int, rng: Generator) -> Alarm:
    """Choose both sides of the alarm. Both sides are off when there are fewer than `FEWEST` clean steps."""
    runs = [run for run in clean if len(run)]
    risk = np.concatenate(runs)
    mean, deviation = float(risk.mean()), max(float(risk.std()), LEAST_DEVIATION)
    if len(risk) < FEWEST:
        return Alarm(mean)
    # Each side gets half of the false alarms.
    rise, fall = (_side(runs, mean, deviation, sign, 2 * run_length, rng) for sign in (1, -1))
    return Alarm(mean, rise, fall)


APART = 50  # steps between two that count as independent
PAIRS = 400  # that are drawn for each class
REACH = 256, 2**32 - 1


def find_reach(values: Ints, subject: Ints, clean: Flags, seed: int) -> int:
    """Return the median squared distance of clean steps of one class that are far from each other."""
    rng = np.random.default_rng([seed, 6])
    parts: list[Ints] = []
    for each in np.unique(subject[clean]):
        rows = np.flatnonzero(clean & (subject == each))
        one, other = rng.choice(rows, PAIRS), rng.choice(rows, PAIRS)
        far = np.abs(one - other) > APART
        parts.append(np.square(values[one] - values[other]).sum(1)[far])
    distances = np.concatenate(parts) if parts else np.zeros(0)
    median = int(np.median(distances)) if len(distances) else 0
    return min(max(REACH[0], median), REACH[1])


STILL_LEAST, STILL_UNSEEN, STILLER = 7.0, 10.0, 1.0
"""Doublings beyond which input stands still: so many at least, and where the log holds no object still, which
does not show how still clean input may stand; and so many more than the stillest of the log."""

HELD, HOLD, OPEN, MOST_OF_EXACT = 3, 8, 8.0, 0.85
"""Doublings of a step that shows the object of the last one; how many such steps in a row are a hold; what
they leave open of their mean, in deviations over the root of their number; and the share of the doublings of
an exact repetition that a mean of some thirty steps comes up to."""


def _longest(on: Flags) -> int:
    """Return the length of the longest run."""
    edges = np.flatnonzero(np.diff(on.astype(np.int8), prepend=0, append=0))
    return int(np.diff(edges)[::2].max(initial=0))


def still_from(clean: Floats, reach: int, held: Ints | None = None) -> float:
    """Return the stillness that no clean input had; 0 where clean input may not move at all.

    `held` are doublings of clean steps: the mean of a longer hold than those of the log would come up to
    theirs.
    """
    longest, least = 0.0, STILL_LEAST
    if held is not None and _longest(held >= HELD) >= HOLD:
        own = held[held >= HELD]
        open_yet = 1 / 3 + OPEN / math.sqrt(len(own))
        longest = float(own.mean() + open_yet * own.std())
    elif held is not None:
        least = min(STILL_UNSEEN, MOST_OF_EXACT * reach.bit_length())
    still = max(least, max(longest, float(clean.max(initial=0))) + STILLER)
    return round(still * ONE) / ONE if still < reach.bit_length() else 0.0
