"""From a statistic and a limit to an alarm that is on or off at each step, for many limits at once.

Arrays hold K independent runs of T steps each, all from the starting state; a rule gives (n, K, T) booleans
for n limits. A run of one step after the other costs the same for one limit and for a hundred.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.metrics.inputs import Bools, Floats

Limits = npt.NDArray[Any]

QUIET = 0.25
"""In clean standard deviations: a mean this near to the clean one, or lower, clears detectors of changes."""
FEWEST = 30
"""Steps after a detected change before the next one is looked for."""
CALM, RECENT = 64, 128
"""Steps since a change after which a mean at the clean level clears; latest steps that it is taken over."""
PRIOR = 100
"""Steps that the clean mean counts for at the start of a run."""


def above(values: Floats, limits: Limits) -> Bools:
    """Return an alarm that is on while its statistic is at the limit or above."""
    return np.asarray(values[None] >= limits[:, None, None])


def capped(added: npt.NDArray[Any], limits: Limits, back: float = np.inf, hold: int = 0) -> Bools:
    """Return an alarm that sums between 0 and its limit: raised at the limit, cleared at 0 or before."""
    runs, steps = added.shape
    total = np.zeros((len(limits), runs), dtype=added.dtype)
    most = np.broadcast_to(np.asarray(limits, dtype=added.dtype)[:, None], total.shape)
    clear = np.maximum(0, most - back).astype(most.dtype)
    on, held = np.zeros(total.shape, dtype=bool), np.zeros(total.shape, dtype=np.int64)
    out, plain = np.empty((steps, *total.shape), dtype=bool), hold == 0 and not clear.any()
    for step, x in enumerate(np.ascontiguousarray(added.T)):
        total += x
        np.maximum(total, 0, out=total)
        np.minimum(total, most, out=total)
        if plain:  # raised at the limit, cleared at 0
            on &= total > 0
            on |= total >= most
            out[step] = on
            continue
        off = on & (held == 0) & (total <= clear)
        total[off] = 0
        raised = ~on & (total >= most)
        held = np.where(raised, hold, np.maximum(held - 1, 0))
        on = (on & ~off) | raised
        out[step] = on
    return out.transpose(1, 2, 0)


def page_hinkley(values: Floats, limits: Limits, allowance: float) -> Bools:
    """Return the alarm of a Page-Hinkley test on standard scores, for rises and for falls.

    A rise turns it on; a fall turns it off, and so does a mean that has been at the clean level for 64 steps.
    """
    runs, steps = values.shape
    shape = (len(limits), runs)
    most = np.asarray(limits, dtype=np.float64)[:, None]
    count, mean = np.full(shape, float(PRIOR)), np.zeros(shape)
    up, down = np.zeros(shape), np.zeros(shape)
    on = np.zeros(shape, dtype=bool)
    out = np.empty((steps, *shape), dtype=bool)
    for step, x in enumerate(np.ascontiguousarray(values.T)):
        count += 1
        mean += (x - mean) / count
        apart = x - mean
        up = np.maximum(up + (apart - allowance), 0)
        down = np.maximum(down - (apart + allowance), 0)
        ready = count >= FEWEST
        rises = ready & (up >= most)
        falls = ready & (down >= most)
        on = (on | rises) & ~(falls & ~rises) & (rises | (count < CALM) | (mean > QUIET))
        changed = rises | falls
        if changed.any():
            count, mean, up, down = (np.where(changed, 0.0, each) for each in (count, mean, up, down))
        out[step] = on
    return out.transpose(1, 2, 0)


def adwin(values: Floats, limits: Limits, clock: int, least: int, clean: Floats) -> Bools:
    """Return the alarm of an adaptive window (ADWIN, Bifet and Gavalda 2007), looked at every few steps.

    The window is cut while the means of an older and a newer part differ at confidence exp(-limit), tried at
    distances that grow geometrically. A cut after which the mean is higher turns it on; one after which it
    is lower turns it off, and so do 128 steps whose mean is the clean one.
    """
    runs, steps = values.shape
    size = len(clean) // clock * clock
    whole = np.concatenate([np.broadcast_to(clean[:size], (runs, size)), values], axis=1)
    looks = whole.shape[1] // clock
    blocks = whole[:, : looks * clock].reshape(runs, looks, clock)
    sums = np.zeros((runs, looks + 1))
    squares = np.zeros((runs, looks + 1))
    np.cumsum(blocks.sum(axis=2), axis=1, out=sums[:, 1:])
    np.cumsum(np.square(blocks).sum(axis=2), axis=1, out=squares[:, 1:])
    level = float(clean.mean() + QUIET * clean.std())
    apart = _distances(looks)
    row = np.arange(runs)[None, :]
    start = np.zeros((len(limits), runs), dtype=np.int64)
    on = np.zeros(start.shape, dtype=bool)
    out = np.zeros((*start.shape, steps), dtype=bool)
    strict = np.asarray(limits, dtype=np.float64)[:, None]
    for now in range(size // clock + 1, looks + 1):
        before = _mean(sums, row, start, now, clock)
        moved = np.zeros(start.shape, dtype=bool)
        while True:
            cut = _differs((sums, squares), row, start, now, apart, strict, clock, least)
            if not cut.any():
                break
            # The oldest part: what lies before the farthest distance inside the window.
            inside = apart[None, None, :] < (now - start)[:, :, None]
            farthest = np.where(inside, apart, 0).max(axis=2)
            start = np.where(cut, np.maximum(now - farthest, start + 1), start)
            moved |= cut
        after = _mean(sums, row, start, now, clock)
        on = np.where(moved, after > before, on)
        calm = _mean(sums, row, np.maximum(start, now - RECENT // clock), now, clock) <= level
        on &= ~(calm & ((now - start) * clock >= CALM) & ~moved)
        place = now * clock - size
        out[:, :, place - 1 : place - 1 + clock] = on[:, :, None]
    return out


def _distances(most: int) -> npt.NDArray[np.int64]:
    """Return distances in blocks, five of each size as a histogram keeps them."""
    found, at, size = [], 0, 1
    while at < most:
        for _ in range(5):
            at += size
            found.append(at)
        size *= 2
    return np.array(found, dtype=np.int64)


def _mean(sums: Floats, row: Any, start: Any, now: int, clock: int) -> Floats:
    return np.asarray((sums[row, now] - sums[row, start]) / ((now - start) * clock))


def _differs(
    tables: tuple[Floats, Floats],
    row: Any,
    start: npt.NDArray[np.int64],
    now: int,
    apart: npt.NDArray[np.int64],
    strict: Floats,
    clock: int,
    least: int,
) -> Bools:
    """Return where some cut of the window has parts that differ."""
    sums, squares = tables
    length = (now - start) * clock
    ends = sums[:, now]
    total = ends - sums[row, start]
    mean = total / length
    spread = np.maximum((squares[:, now] - squares[row, start]) / length - mean * mean, 0)
    near = apart[: np.searchsorted(apart, now - start.min())]  # farther ones leave no older part
    new = near * clock
    old = length[:, :, None] - new
    newer = (ends[:, None] - sums[:, now - near])[None]
    older = total[:, :, None] - newer
    side = np.maximum(old, 1)
    gap = np.abs(newer / new - older / side)
    # With the confidence shared among the cuts, as the paper has it.
    log = np.maximum(strict + np.log(2 * np.maximum(np.log(length), 1.0)), 0.0)
    weight = 1.0 / new + 1.0 / side
    bound = np.sqrt(2 * weight * (spread * log)[:, :, None]) + 2 / 3 * weight * log[:, :, None]
    differs = gap > bound
    differs &= (old >= least) & (new >= least)
    return np.asarray(differs.any(axis=2))
