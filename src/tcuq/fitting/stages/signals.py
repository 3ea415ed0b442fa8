"""Second stage: the monitor runs over the log, and the clean mean of each signal is taken."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...base.fixed import ONE
from ...monitor.params import Params
from ...monitor.signals import ordered
from ..gathered import gathered, says_little
from ..signal_table import Flags, Ints, SignalTable, fill_in_means, read_signals
from ..variety import find_spread
from .read import Reading


@dataclass(frozen=True, eq=False)
class Shuffle:
    """The same steps in another order, as one stream.

    Parameters
    ----------
    order : array of T integers
    table : SignalTable
    errors : array of T booleans
        An answer may be wrong here and right in the stream.
    """

    order: Ints
    table: SignalTable
    errors: Flags


@dataclass(frozen=True, eq=False)
class Signals:
    """What the monitor sees.

    Parameters
    ----------
    reading : Reading
    params : Params
        With clean means.
    table, clean : SignalTable
        Of the log, and of the log that holds the clean steps: the same where that is the same log. They have
        the signals of the parameters, and `doubt`.
    errors : array of T booleans or None
        Where what the parameters speak about, answer or prediction, is wrong; None without labels.
    shuffle : Shuffle or None
        Of the log, where it is needed: for two heads, or to tell whether time helps.
    gathered : Shuffle or None
        The steps in an order in which classes stay, for two heads, where they do not in the log.
    """

    reading: Reading
    params: Params
    table: SignalTable
    clean: SignalTable
    errors: Flags | None
    shuffle: Shuffle | None
    gathered: Shuffle | None = None

    def orders(self) -> list[tuple[SignalTable, Flags, Ints]]:
        """Return what two heads learn from: signals, errors, and which step of the log each one is."""
        assert self.errors is not None and self.shuffle is not None
        others = [each for each in (self.shuffle, self.gathered) if each is not None]
        return [
            (self.table, self.errors, np.arange(len(self.table))),
            *((each.table, each.errors, each.order) for each in others),
        ]


def find_signals(reading: Reading) -> Signals:
    """Run the monitor; this is the one place where a fit does so."""
    log, part, params = reading.log, reading.clean, reading.params
    if params.instant is not None:
        params = params.replace(instant=replace(params.instant, spread=find_spread(params, log)))
    # What the current posterior says without any past is asked for at the end, whatever signals are in use.
    names = ordered([*params.signals, "doubt"])
    sighted = params.replace(signals=names, coef=None, clean_means=None)
    # Drawn also where nothing is explained: the draws for the alarm follow it, and a fit must be the same
    # with and without an explanation, and the same as in earlier releases.
    order = None if log.labels is None else reading.rng.permutation(len(log))
    # Two heads learn from the shuffle too; else it only tells whether time helps.
    shuffled = order is not None and (reading.options.findings.explain or params.instant is not None)
    before, total = 0, len(log) * (1 + shuffled) + (len(part.log) if part.log is not log else 0)

    def progress(done: int, of: int) -> None:
        nonlocal before
        reading.progress("signals", before + done, total)
        before += of if done == of else 0

    table = read_signals(sighted, log, names, progress=progress)
    clean = table if part.log is log else read_signals(sighted, part.log, names, progress=progress)
    params = params.replace(clean_means=_clean_means(params, clean, part.runs))
    mixed = read_signals(sighted, log, names, order, progress) if shuffled else None
    for each in {id(found): found for found in (table, clean, mixed) if found is not None}.values():
        fill_in_means(each, params)
    errors = None if log.labels is None else np.asarray(table.subject != log.labels)
    shuffle = together = None
    if order is not None and mixed is not None:
        assert log.labels is not None
        shuffle = Shuffle(order, mixed, np.asarray(mixed.subject != log.labels[order]))
        if params.instant is not None and says_little(table):
            order = gathered(log, reading.options.seed)
            staying = read_signals(sighted, log, names, order)
            fill_in_means(staying, params)
            together = Shuffle(order, staying, np.asarray(staying.subject != log.labels[order]))
    return Signals(reading, params, table, clean, errors, shuffle, together)


def _clean_means(params: Params, table: SignalTable, runs: list[slice]) -> dict[str, float]:
    """Return the mean of each signal over clean steps, those that have a past where there are any."""
    inside = np.zeros(len(table), dtype=bool)
    for run in runs:
        inside[run] = True
    with_past = inside & table.settled
    kept = with_past if with_past.any() else inside
    count = int(kept.sum())
    return {
        name: int(table.units[kept, column].sum(dtype=np.int64)) / ONE / count
        for name, column in zip(params.signals, table.columns(params.signals), strict=True)
    }
