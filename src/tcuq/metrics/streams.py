"""What the decisions of a monitor, or of any other method, amount to over a stream.

An empty stream raises ValueError.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from .inputs import Bools, Ints, flags, marks, not_empty, numbers, same_length, wholes


def _events(name: str, values: npt.ArrayLike) -> Bools:
    events = flags(name, values)
    not_empty(name, events)
    return events


def exceedance_deviation(flagged: npt.ArrayLike, level: float) -> float:
    """Return ``|share of flagged steps - level|``.

    Parameters
    ----------
    flagged : array of n booleans
        Where the monitor flagged a step.
    level : float
        Wanted share of flagged steps, in [0, 1].

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    >>> exceedance_deviation([True, False, False, False], 0.5)
    0.25
    """
    return abs(float(_events("flagged", flagged).mean()) - number("level", level, 0, 1))


def threshold_spread(threshold: npt.ArrayLike, stretches: Iterable[slice]) -> float:
    """Return the pooled standard deviation of a threshold within stationary stretches.

    The squared distances to the mean of the own stretch, summed over all stretches and divided by
    (steps - stretches), under a root: levels that differ between stretches add nothing.

    Parameters
    ----------
    threshold : array of T numbers
        Threshold of each step, finite.
    stretches : iterable of slice
        Stationary stretches with a start and a stop, none of them empty or overlapping. Steps in none of them
        are left out. `Log.pieces` gives such slices.

    Returns
    -------
    float
        NaN when no stretch has two steps.

    Examples
    --------
    >>> threshold_spread([1.0, 3.0, 9.0, 9.0], [slice(0, 2), slice(2, 4)])
    1.0
    """
    values = numbers("threshold", threshold)
    not_empty("threshold", values)
    if not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"threshold[{at}] is {values[at]}, expected any finite number")
    squares, freedom, seen = 0.0, 0, np.zeros(len(values), dtype=np.bool_)
    for stretch in stretches:
        if not isinstance(stretch, slice):
            raise TypeError(f"stretch is {type(stretch).__name__}; a slice is needed")
        start, stop = stretch.start, stretch.stop
        if start is None or stop is None or stretch.step not in (None, 1) or not 0 <= start < stop:
            raise ValueError(f"stretch is {stretch}, expected a slice with 0 <= start < stop")
        if stop > len(values):
            raise ValueError(f"stretch ends at {stop}, expected at most {len(values)}")
        if seen[stretch].any():
            raise ValueError(f"stretch {start} to {stop} overlaps another, expected separate ones")
        seen[stretch] = True
        part = values[stretch]
        squares += float(((part - part.mean()) ** 2).sum())
        freedom += len(part) - 1
    return float(np.sqrt(squares / freedom)) if freedom else float("nan")


def budget_utilization(abstain: npt.ArrayLike, budget: float) -> float:
    """Return the share of abstentions over the budget, which must be above 0; above 1 when overspent.

    Parameters
    ----------
    abstain : array of n booleans
        Where the monitor abstained.
    budget : float
        Allowed share of abstentions, above 0 and up to 1.

    Returns
    -------
    float
        1 when the budget is spent exactly.

    Examples
    --------
    >>> budget_utilization([True, False, False, False], 0.5)
    0.5
    """
    allowed = number("budget", budget, 0, 1)
    if allowed == 0:
        raise ValueError("budget is 0, expected above 0, up to 1")
    return float(_events("abstain", abstain).mean()) / allowed


def worst_window(events: npt.ArrayLike, lengths: Sequence[int] | Ints) -> Ints:
    """Return the most events in any n consecutive steps, for each n of `lengths`.

    Parameters
    ----------
    events : array of T booleans
        Where something happened, such as an abstention.
    lengths : sequence of int
        Lengths of windows in steps, each 1 to T.

    Returns
    -------
    array of integers
        One number for each length.

    Examples
    --------
    >>> worst_window([True, False, True, True, False], [1, 2, 5]).tolist()
    [1, 2, 3]
    """
    happened = _events("events", events)
    total = np.concatenate([[0], np.cumsum(happened, dtype=np.int64)])
    sizes = [integer("window length", n, 1, len(happened)) for n in lengths]
    return np.array([(total[n:] - total[:-n]).max() for n in sizes], dtype=np.int64)


@dataclass(frozen=True)
class Detection:
    """An alarm against known shifts.

    Parameters
    ----------
    starts : tuple of int
        First steps of the shifts that the alarm could be raised for: it was off at the step before.
    delays : tuple of int or None
        For each of them, steps from its start to the alarm, 0 at that very step; None when missed.
    already_raised : int
        Shifts that began with the alarm on; they have no delay and are not among `starts`.
    false_onsets : int
        Times that the alarm went on at a clean step.
    clean_steps : int
        Steps that are not shifted: what false alarms are counted over.

    Examples
    --------
    >>> found = Detection(starts=(3, 9), delays=(2, None), already_raised=0, false_onsets=1, clean_steps=500)
    >>> found.missed, found.run_length
    (1, 500.0)
    """

    starts: tuple[int, ...]
    delays: tuple[int | None, ...]
    already_raised: int
    false_onsets: int
    clean_steps: int

    @property
    def missed(self) -> int:
        """Shifts that ended without an alarm."""
        return sum(delay is None for delay in self.delays)

    def _sorted(self) -> list[float]:
        return sorted(float("inf") if delay is None else float(delay) for delay in self.delays)

    @property
    def median(self) -> float:
        """Median delay, a miss being infinite; the mean of the middle two of an even number; NaN of none."""
        found = self._sorted()
        if not found:
            return float("nan")
        return (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2

    @property
    def p90(self) -> float:
        """Least delay within which at least 90 % of the shifts were told, else infinite; NaN of none."""
        found = self._sorted()
        return found[(9 * len(found) + 9) // 10 - 1] if found else float("nan")

    @property
    def run_length(self) -> float:
        """Clean steps per false onset, infinite when there is none; NaN without clean steps.

        Steps with the alarm on count too: an alarm that never clears has a single onset.
        """
        if not self.clean_steps:
            return float("nan")
        return self.clean_steps / self.false_onsets if self.false_onsets else float("inf")


def detection(
    alarm: npt.ArrayLike, shifted: npt.ArrayLike, segments: npt.ArrayLike | None = None
) -> Detection:
    """Compare an alarm with known shifts.

    A shift is a run of shifted steps of one kind within one segment. An alarm after its end does not count.

    Parameters
    ----------
    alarm : array of T booleans or integers
        The alarm is on where this is not 0.
    shifted : array of T booleans or integers
        The input is degraded where this is not 0. Integers are kinds of shift, which are told apart.
    segments : array of T integers, optional
        As in `Log`: a shift ends, and another may begin, where the number changes. The alarm goes on.

    Returns
    -------
    Detection
        Delays, missed shifts and false alarms.

    Examples
    --------
    >>> found = detection([0, 1, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1, 0, 0])
    >>> found.starts, found.delays, found.false_onsets, found.run_length
    ((3,), (2,), 1, 5.0)
    """
    on, shift = marks("alarm", alarm), marks("shifted", shifted)
    not_empty("alarm", on)
    same_length("alarm", on, "shifted", shift)
    breaks = np.ones(len(on), dtype=np.bool_)
    if segments is None:
        breaks[1:] = False
    else:
        pieces = wholes("segments", segments)
        same_length("segments", pieces, "alarm", on)
        breaks[1:] = pieces[1:] != pieces[:-1]
    kinds = np.asarray(shifted)
    breaks[1:] |= (kinds[1:] != kinds[:-1]) & shift[1:] & shift[:-1]
    was_on = np.concatenate([[False], on[:-1]])
    begins = np.flatnonzero(shift & (breaks | ~np.concatenate([[False], shift[:-1]])))
    stops = np.append(np.flatnonzero(~shift | breaks), len(on))
    ends = stops[np.searchsorted(stops, begins, side="right")]
    raised = np.append(np.flatnonzero(on), len(on))
    first = raised[np.searchsorted(raised, begins)]
    counted = ~was_on[begins]
    delays = [int(f - b) if f < e else None for b, e, f in zip(begins, ends, first, strict=True)]
    return Detection(
        tuple(begins[counted].tolist()),
        tuple(delay for delay, kept in zip(delays, counted, strict=True) if kept),
        int((~counted).sum()),
        int((on & ~was_on & ~shift).sum()),
        int((~shift).sum()),
    )
