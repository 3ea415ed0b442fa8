"""Alarm limits from a wanted run length between false alarms; how new a step is, as the alarm counts it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..log.log import Log
from ..monitor.alarm import Alarm, AlarmSide
from .signal_table import Flags, Floats, Ints, SignalTable, chunks, leaky_mean

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
SUPPORT = 4
"""Clean steps, per step of run length, from which a limit is read off; beyond, it is extrapolated."""

FEWEST = 200
"""Clean steps below which no alarm is set."""

ALLOWANCE = 0.5
"""In standard deviations of the clean risk: the classical choice for a shift of one deviation."""

LEAST_DEVIATION, LEAST_LIMIT = 0.02, 0.05
"""Floors for a clean risk that hardly moves: anything would be an alarm otherwise."""

LEAST_EVIDENCE = 2.0
"""Floor of a limit of evidence: less is a factor that a single step may bring."""

ALLOWANCE_NATS = 0.05
"""Taken off the evidence at every step."""

CLEARED = 3.0
"""Evidence below its limit at which an alarm is cleared."""

HOLD = 16
"""Steps that an alarm of evidence stays raised at the least."""

HIGHEST = 20
"""Excursions of the sum that the tail of a limit goes by, or a tenth of them."""

MOST_LIMIT = 8192.0

OWN_MOST = 1.0
"""Evidence a look that a device's own reference takes off at the most."""

MARGIN, STAKE = 0.1, 2.0
"""How far above its clean mean a score may lie before a bet on it wins, and how much is staked."""


def starts_of(count: int, length: int, chains: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw where the blocks of each chain begin."""
    return rng.integers(0, count, size=(chains, -(-length // min(BLOCK, count)), 1))[:, :, 0]


def blocks_of(risk: Floats) -> Floats:
    """Return the block of consecutive steps that begins at each step, as a view.

    Blocks keep the dependence between neighbors, which is what makes false alarms cluster. A block
    that reaches the end goes on at the beginning, so that every step is drawn equally often.
    """
    block = min(BLOCK, len(risk))
    return np.lib.stride_tricks.sliding_window_view(np.concatenate([risk, risk[: block - 1]]), block)


def stream_of(blocks: Floats, starts: npt.NDArray[np.int64], length: int) -> Floats:
    """Put blocks end to end."""
    return np.asarray(blocks[starts].reshape(len(starts), -1)[:, :length])


def highest_evidence(excess: Floats) -> Floats:
    """Return the highest value that a one-sided sum from zero reaches, for each row."""
    walk = np.cumsum(excess, axis=1)
    floor = np.minimum.accumulate(walk, axis=1)
    np.minimum(floor, 0, out=floor)
    walk -= floor
    return np.asarray(walk.max(axis=1))


def limit_for(risk: Floats, reference: float, sign: int, run_length: float, rng: Generator) -> float:
    """Return the limit at which false alarms come once in `run_length` clean steps on average.

    The time to a false alarm is close to exponential: a share exp(-n / run_length) of streams of n steps
    never reaches the limit. Run lengths that the data cannot show are extrapolated: a limit grows with the
    logarithm of its run length, as the tail of a one-sided sum is exponential. The alarm survives gaps, so
    clean stretches may simply follow each other. What is summed is sign * (risk - reference).
    """
    shown = len(risk) / SUPPORT
    length = int(min(run_length, LONGEST, max(1.0, shown / 5)))
    starts = starts_of(len(risk), length, CHAINS, rng)
    blocks = blocks_of(sign * (risk - reference))
    # A few chains at a time stay in a cache.
    groups = [starts[n : n + TOGETHER] for n in range(0, CHAINS, TOGETHER)]
    highest = np.concatenate([highest_evidence(stream_of(blocks, group, length)) for group in groups])

    def read_off(wanted: float) -> float:
        return float(np.quantile(highest, np.exp(-length / wanted)))

    if run_length <= 5 * length:
        return read_off(run_length)
    near, far = read_off(length), read_off(5 * length)
    return far + (far - near) * math.log(run_length / (5 * length)) / math.log(5)


def alarms_in(
    runs: Sequence[Floats], reference: float, sign: int, side: AlarmSide, hold: int = 0
) -> tuple[int, int]:
    """Return how often the alarm is raised over some runs, each from zero, and the steps in alarm."""
    marks = [walk(sign * (run - reference), side.limit, side.clear, hold) for run in runs]
    raised = sum(int(np.diff(on.astype(int), prepend=0).clip(0).sum()) for on in marks)
    return raised, sum(int(on.sum()) for on in marks)


def _side(
    runs: Sequence[Floats], mean: float, deviation: float, sign: int, run_length: float, rng: Generator
) -> AlarmSide | None:
    """Set one side, at a high quantile of the limits that resamplings of the clean runs ask for.

    None where the risk has no room on that side of its clean mean.
    """
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


def caution_of(learned: bool) -> float:
    """Return standard errors by which the tail of a limit is raised: more where no shift was seen."""
    return 1.0 if learned else 2.0


def choose_evidence_limit(added: Sequence[Floats], run_length: int, caution: float = 1.0) -> float:
    """Return the sum of evidence that clean stretches exceed once in `run_length` steps.

    Excursions of the sum above 0 have maxima whose tail is close to exponential: the highest of them give
    its slope, `caution` standard errors up, and the limit is read off or extrapolated along it.
    """
    steps = sum(len(run) for run in added)
    peaks = np.sort(np.concatenate([excursions(run) for run in added]))[::-1]
    top = min(HIGHEST, max(1, len(peaks) // 10))
    if len(peaks) <= top:
        return LEAST_EVIDENCE
    start = peaks[top]
    slope = float((peaks[:top] - start).mean()) * (1 + caution / math.sqrt(top))
    limit = float(start) + slope * math.log(max(1.0, top * run_length / steps))
    return min(max(LEAST_EVIDENCE, limit), MOST_LIMIT)


def excursions(added: Floats) -> Floats:
    """Return how high a one-sided sum rises each time it leaves 0."""
    level, peak, found = 0.0, 0.0, []
    for value in added.tolist():
        level += value
        if level > 0:
            if level > peak:
                peak = level
        else:
            if peak:
                found.append(peak)
            level = peak = 0.0
    return np.array(found + ([peak] if peak else []))


def clear_at(limit: float) -> float:
    """Return the sum at which an alarm of evidence is cleared."""
    return limit - min(CLEARED, limit)


def walk(added: Floats, limit: float, clear: float = 0.0, hold: int = 0) -> npt.NDArray[np.bool_]:
    """Return where a one-sided sum has raised its alarm, as the core does; its cap is the limit."""
    level, raised, left, out = 0.0, -1, 0, np.zeros(len(added), dtype=bool)
    for step, value in enumerate(added.tolist()):
        level += value
        if level < 0:
            level = 0.0
        elif level > limit:
            level = limit
        if raised < 0:
            if level >= limit:
                raised, left = step, hold
        elif left:
            left -= 1
        elif level <= clear:
            out[raised:step] = True
            raised, level = -1, 0.0
    if raised >= 0:
        out[raised:] = True
    return out


def fair_bet(added: Floats, clip: float) -> tuple[tuple[float, float], dict[str, float]]:
    """Return base and slope of a bet that does not win on clean data, and figures for the notes.

    The evidence is mapped to a score x in [0, 1]. The bet multiplies its stake by 1 + stake * (x - level)
    at each step. As long as the mean of x given the past is at most `level`, its sum of logarithms, restarted
    whenever it falls below 0, stays below log(n) for n steps on average, whatever the dependence.
    `clip` is the largest size of the evidence.
    """
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


BLOCKS = 8
LEAST, MOST = 32, 256
"""Of a look, in 1/256."""

APART = 50
"""Steps between two that count as independent."""

PAIRS = 400
"""That are drawn for each class."""

REACH = 256, 2**32 - 1


def compared(log: Log, table: SignalTable, features: bool) -> Ints:
    """Return what the core compares of each step: eight sums of neighboring features, or the odds."""
    if not features:
        return table.of(("odds",)).astype(np.int64)
    assert log.features is not None
    edges = block_edges(log.width)
    out = np.zeros((len(log), BLOCKS), dtype=np.int64)
    for part in chunks(len(log)):
        rows = np.asarray(log.features[part], dtype=np.int64)
        for block in range(BLOCKS):
            out[part, block] = rows[:, edges[block] : edges[block + 1]].sum(1)
    return out


def block_edges(width: int) -> list[int]:
    """Return where each block of features begins, and where the last one ends."""
    return [(block * width) >> 3 for block in range(BLOCKS + 1)]


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


STILL_LEAST, STILLER = 7.0, 1.0
"""Doublings beyond which input stands still: this many at least, as a log without held objects does not show
how still clean input may stand; and so many more than the stillest of the log, as none shows all."""

STILL_RATE = 1 / 16


def stillness(values: Ints, reach: int, starts: Flags) -> Floats:
    """Return how often the movement would have to be doubled to be new, as a slow mean."""
    gaps = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
    new = starts | (gaps // (reach >> 8) >= MOST)
    doublings = np.where(new, 0, reach.bit_length() - np.frexp(gaps.astype(np.float64))[1])
    return leaky_mean(doublings, np.where(starts, 1.0, STILL_RATE))


def still_from(clean: Floats, reach: int) -> float:
    """Return the stillness that no clean input had; 0 where clean input may not move at all."""
    still = max(STILL_LEAST, float(clean.max(initial=0)) + STILLER)
    return round(still * ONE) / ONE if still < reach.bit_length() else 0.0


def looks(values: Ints, reach: int, starts: Flags) -> Ints:
    """Return how new each step is, in 1/256."""
    gaps = np.square(np.diff(values, axis=0, prepend=values[:1])).sum(1)
    units = np.clip(gaps // (reach >> 8), LEAST, MOST)
    return np.where(starts, MOST, units)
