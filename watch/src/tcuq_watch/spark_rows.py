"""Rows of a shard between Spark and a model: put in order, and a model's state as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .engine.events import Events

_MIX = np.uint64(0x9E3779B97F4A7C15)


class ShardRows:
    """Rows of a shard as arrays. What no array can hold is counted in `model.refused` and left out."""

    def __init__(self, frame: Any, model: Any) -> None:
        count = len(frame)
        self.devices = frame["device"].to_numpy(dtype=object)
        self.boots, self.seqs = (
            frame[each].to_numpy(dtype=np.int64, na_value=-1) for each in ("boot", "seq")
        )
        self.states: Any = frame["state"].to_numpy(dtype=object) if "state" in frame else None
        self.hands_over = (
            np.zeros(count, dtype=bool) if self.states is None else frame["state"].notna().to_numpy()
        )
        self.probs, good = _table(frame["probs"], model.params.classes)
        self.features = None
        if "features" in frame and model.params.features:
            self.features, fit = _table(frame["features"], model.params.features)
            good &= fit
        self.good = good | self.hands_over
        if not self.good.all():
            model.refused["wrong width"] += int((~self.good).sum())
        self.times = frame["time"].to_numpy(dtype=np.float64, na_value=np.nan) if "time" in frame else None
        self.arrival = frame["arrival"].to_numpy(dtype=np.int64, na_value=-1) if "arrival" in frame else None

    def order(self, by_arrival: bool) -> npt.NDArray[np.int64]:
        """Return the good rows in the order in which a model is to take them.

        Rows of the same place are told apart by what they hold, so that a batch that is run again gives the
        same, in whatever order Spark hands out its rows.
        """
        arrival = [] if self.arrival is None else [self.arrival]
        place = [self.seqs, self.boots]
        # The last key counts most.
        later = place + arrival if by_arrival else arrival + place
        order = np.lexsort([self._content(), self.hands_over, *later])
        return np.asarray(order[self.good[order]], dtype=np.int64)

    def _content(self) -> npt.NDArray[np.uint64]:
        """Return a number for what each row holds."""
        total = np.zeros(len(self.devices), dtype=np.uint64)
        for table in (self.probs, self.features, None if self.times is None else self.times[:, None]):
            if table is None:
                continue
            bits = np.ascontiguousarray(table, dtype=np.float64).view(np.uint64)
            odd = np.arange(1, bits.shape[1] + 1, dtype=np.uint64) * _MIX | np.uint64(1)
            mixed = ((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
            total = total * np.uint64(31) ^ mixed
        return total

    def events(self, which: npt.NDArray[np.int64]) -> Events:
        """Return some rows as events."""
        return Events(
            self.devices[which],
            self.boots[which],
            self.seqs[which],
            self.probs[which],
            None if self.features is None else self.features[which],
            None if self.times is None else self.times[which],
        )


def _table(column: Any, width: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return lists as a table, and which of them are as wide as it; others are zeros."""
    lists = column.to_numpy(dtype=object)
    fit = np.fromiter((each is not None and len(each) == width for each in lists), bool, len(lists))
    kept = np.flatnonzero(fit)
    rows = np.concatenate(list(lists[kept])).reshape(-1, width) if len(kept) else np.zeros((0, width))
    if len(kept) == len(lists):
        return rows, fit
    table = np.zeros((len(lists), width), dtype=rows.dtype)
    table[kept] = rows
    return table, fit
