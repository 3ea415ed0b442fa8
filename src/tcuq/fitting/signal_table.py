"""`SignalTable`: what the monitor makes of a log, kept in the core's 16-bit units; folds of a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..log.log import Log
from ..monitor.monitor import Monitor
from ..monitor.params import Params
from ..monitor.signals import LAGGED, NUMBER

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Units = npt.NDArray[np.uint16]

HALF = ONE // 2  # `SignalTable.past` counts in parts of it
CHUNK = 1 << 15  # steps that are held as floats at a time


@dataclass(frozen=True, eq=False)
class SignalTable:
    """The signals of each step of a log, and what else the core reads off the step itself."""

    # Nothing but degradation depends on coefficients, on those of evidence: one run serves every later stage.

    names: tuple[str, ...]
    units: Units
    anchor: Units
    predictions: npt.NDArray[np.int16]
    answers: npt.NDArray[np.int16]
    subject: npt.NDArray[np.int16]
    persistence: Units
    past: Units
    novelty: Units
    settled: Flags

    def __len__(self) -> int:
        return len(self.units)

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return where some of the signals are."""
        return [self.names.index(name) for name in names]

    def of(self, names: Sequence[str], rows: Any = slice(None)) -> Units:
        """Return some signals at some steps, in 1/65536; a view where that is possible."""
        chosen = self.units[rows]
        return np.asarray(chosen if tuple(names) == self.names else chosen[:, self.columns(names)])


def chunks(count: int, size: int = CHUNK) -> Iterator[slice]:
    """Return slices that cover so many rows."""
    for start in range(0, count, size):
        yield slice(start, min(count, start + size))


Progress = Callable[[int, int], None]
"""Called with steps done, and steps in all."""


def read_signals(
    params: Params, log: Log, names: Sequence[str], order: Any = None, progress: Progress | None = None
) -> SignalTable:
    """Run a monitor over a log and keep its signals; with an `order`, as one stream without segments."""
    monitor = Monitor(params.replace(blend=0.0))  # risk is then what it leans on
    columns, count = [NUMBER[name] for name in names], len(log)
    units = np.empty((count, len(columns)), dtype=np.uint16)
    anchor, persistence, past, novelty = (np.empty(count, dtype=np.uint16) for _ in range(4))
    predictions, answers = (np.empty(count, dtype=np.int16) for _ in range(2))
    settled = np.ones(count, dtype=bool)
    for piece in log.pieces() if order is None else [slice(0, count)]:
        settled[piece.start] = False
        if piece.start:
            monitor.reset()
        for part in chunks(piece.stop - piece.start):
            here = slice(piece.start + part.start, piece.start + part.stop)
            rows = here if order is None else order[here]
            features = log.features[rows] if params.features and log.features is not None else None
            steps, values = monitor.run(log.probs[rows], features, signals=True)
            units[here] = values[:, columns] * ONE
            anchor[here] = steps["risk"] * ONE
            predictions[here], answers[here] = steps["prediction"], steps["answer"]
            persistence[here], past[here] = steps["persistence"] * ONE, steps["persistence"] * HALF
            novelty[here] = np.round(steps["novelty"] * 256)
            if progress is not None:
                progress(here.stop, count)
    subject = answers if params.about == "answer" else predictions
    found = (units, anchor, predictions, answers, subject, persistence, past, novelty, settled)
    return SignalTable(tuple(names), *found)


def fill_in_means(table: SignalTable, params: Params) -> None:
    """Put clean means where there is no past to compute a signal from, as the core does, in place."""
    starts = np.flatnonzero(~table.settled)
    ends = np.append(starts[1:], len(table))
    near = min(params.lags, default=0)
    for name, mean in params.clean_means.items():
        for after in range(near if name in LAGGED else 0):
            rows = starts + after
            table.units[rows[rows < ends], table.names.index(name)] = round(mean * ONE)


EXPLAINED = 200_000
"""Steps, drawn at random, on which an explanation looks at a longer log. Parameters never depend on it."""


def some_of(rows: Ints, seed: int) -> Ints:
    """Return all rows, or as many as an explanation looks at, in their order."""
    if len(rows) <= EXPLAINED:
        return rows
    return np.sort(np.random.default_rng([seed, 0]).choice(rows, EXPLAINED, replace=False))


FOLDS = 4
BLOCKS = 12


def folds(log: Log, order: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """Return a fold for each step: by segments, else by blocks of time; each kind of shift is in one."""
    pieces = log.pieces() if order is None else []
    out = np.arange(len(log)) * BLOCKS // max(1, len(log)) % FOLDS
    if len(pieces) >= FOLDS:
        for number, piece in enumerate(pieces):
            out[piece] = number % FOLDS
    kinds = log.kinds if order is None or log.kinds is None else log.kinds[order]
    for number, kind in enumerate(shift_kinds(log)):
        out[kinds == kind] = (FOLDS - 1 - number) % FOLDS
    return out


def shift_kinds(log: Log) -> list[int]:
    """Return the kinds of shift that a log tells apart; none when there are fewer than two."""
    kinds = [] if log.kinds is None else [int(kind) for kind in np.unique(log.kinds) if kind]
    return kinds if len(kinds) > 1 else []
