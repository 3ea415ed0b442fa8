"""`Bank`: many monitors of the same parameters, in one block of memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import ERR_OTHER
from ..base.checks import integer
from ..base.errors import InputError, InputTypeError
from ..log.quantize import as_rows
from .monitor import RIGHT, WRONG, added, gauge_rows, params_given, refusal
from .params import Params
from .state import renewed
from .steps import filled

MOST = 2**32 - 1
"""Monitors of a bank."""
MOST_THREADS = 64


class Bank:
    """Watch many devices that run the same model.

    Monitors are numbered from 0; a number is a slot. Each gives the same bits as a `Monitor` of its own.
    Other threads run while a bank works; one bank takes one call at a time and turns others away with a
    `RuntimeError`. `copy.copy` and `copy.deepcopy`
    make a bank of its own with the same states, and `pickle` keeps them.

    Parameters
    ----------
    params : Params or path
        Of the model that all devices run.
    count : int, default 0
        Monitors to begin with; `grow` adds more.

    Examples
    --------
    >>> bank = Bank(Params(classes=2, warmup=0, reference=0.3), 1000)
    >>> steps = bank.run([7, 999, 7], [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    >>> steps["prediction"].tolist(), steps["flagged"].tolist()
    ([0, 0, 1], [False, True, True])
    """

    def __init__(self, params: Params | str | Path, count: int = 0) -> None:
        self.params = params_given(params)
        self._core = self.params.bank()
        Bank.grow(self, count)

    def __len__(self) -> int:
        return self._core.sizes()[0]

    @property
    def slot_bytes(self) -> int:
        """Bytes of memory that one monitor takes."""
        return self._core.sizes()[1]

    def grow(self, count: int) -> range:
        """Add new monitors; return their slots.

        Parameters
        ----------
        count : int
            How many to add, 0 or more.
        """
        more = integer("count", count, 0, MOST)
        start = len(self)
        slots = range(start, start + more)  # before: there is no way back when memory for it is missing
        first = self._core.grow(more)
        return slots if first == start else range(first, first + more)

    def run(
        self,
        slots: npt.ArrayLike,
        probs: npt.ArrayLike,
        features: npt.ArrayLike | None = None,
        signals: bool = False,
        threads: int | None = None,
        gauges: npt.ArrayLike | None = None,
    ) -> Any:
        """Take inferences of many devices, in the order in which they are given.

        Parameters
        ----------
        slots : array of n integers
            Whose inference each row is; a slot may come several times.
        probs : array of shape (n, L)
            Posteriors, one row an inference, as `Monitor.step` takes them.
        features : array of shape (n, d), optional
            Features, one row an inference; ignored where the params use none.
        signals : bool, default False
            Also return the signals.
        threads : int, optional
            How many cores to use at most, 1 to 64; all that this process may use if not given. Results have
            the same bits for every number, and a small batch takes one.
        gauges : array of shape (n, g), optional
            One row an inference, as for `Monitor.step`.
        """
        most = usable_cores() if threads is None else integer("threads", threads, 1, MOST_THREADS)
        rows = as_rows("probs", probs)
        more = None if features is None else as_rows("features", features)
        seen = gauge_rows(self.params, gauges)
        wanted = self._slots(slots)

        def run(steps: Any, raw: Any) -> None:
            self._core.run(wanted, rows, more, steps, raw, most, seen)

        return filled(run, len(rows), self.params, signals)

    def reset(self, slots: npt.ArrayLike, everything: bool = False) -> None:
        """Forget past posteriors and features, as `Monitor.reset` does, or everything.

        Parameters
        ----------
        slots : array of n integers
            Which monitors.
        everything : bool, default False
            Also forget threshold, budget and alarm: the monitor is as new.
        """
        self._core.reset(self._slots(slots), everything)

    def feedback(
        self, slots: npt.ArrayLike, steps: npt.ArrayLike, labels: npt.ArrayLike
    ) -> npt.NDArray[np.bool_]:
        """Take the truth about past steps of many devices, as `Monitor.feedback` does for one.

        Parameters
        ----------
        slots : array of n integers
            Whose steps.
        steps : array of n integers
            Their numbers, of each device from 0 on; negative ones count back from its last step, -1.
        labels : array of n integers or booleans
            True classes, -1 where none of them is right; or whether the answers were right.

        Returns
        -------
        array of n booleans
            False where a step had a label, or is not remembered: nothing changed there.
        """
        if self.params.feedback is None:
            raise InputError(
                "missing", "the params have no feedback; fit with max_error, or add a tcuq.Feedback"
            )
        wanted, given, numbers = self._slots(slots), np.asarray(labels), np.asarray(steps)
        for name, values, kinds in (("steps", numbers, "iu"), ("labels", given, "iub")):
            if values.shape != wanted.shape or (values.size and values.dtype.kind not in kinds):
                raise InputError(
                    "value", f"{name} are {values.dtype} {values.shape}, expected {len(wanted)} integers"
                )
        if given.dtype != bool and given.size and not -1 <= given.min() <= given.max() < self.params.classes:
            raise InputError(
                "value",
                f"labels are {given.min()} to {given.max()}, expected -1 to {self.params.classes - 1}",
            )
        codes = np.where(given, RIGHT, WRONG) if given.dtype == bool else given
        out = np.empty(len(wanted), dtype=np.int8)
        if numbers.dtype.kind == "u":  # a number that no step has must not come round to one counted back
            numbers = np.minimum(numbers, 2**32 - 1)
        self._core.feedback(wanted, numbers.astype(np.int64), codes.astype(np.int64), out)
        return np.asarray(out == 0)

    def save_many(self, slots: npt.ArrayLike) -> npt.NDArray[np.uint8]:
        """Return states, one a row, each as `Monitor.save` gives it.

        Parameters
        ----------
        slots : array of n integers
            Which monitors.

        Returns
        -------
        uint8 array of shape (n, bytes of a state)
            What `load_many` takes, here or in another process.
        """
        wanted = self._slots(slots)
        states = np.empty((len(wanted), self._core.sizes()[2]), dtype=np.uint8)
        self._core.save_many(wanted, states)
        return states

    def load_many(self, slots: npt.ArrayLike, states: npt.NDArray[np.uint8] | bytes) -> None:
        """Take over states; one that does not fit is refused, and then nothing changes.

        Parameters
        ----------
        slots : array of n integers
            Which monitors, in the order of `states`.
        states : uint8 array with one row a state, or bytes
            As `save_many` gives them, or what `Monitor.save` gave, one after the other.
        """
        given = (
            np.frombuffer(states, np.uint8) if isinstance(states, (bytes, bytearray)) else np.asarray(states)
        )
        if given.size and given.dtype != np.uint8:
            size = self._core.sizes()[2]
            raise InputTypeError(
                "value", f"states are {given.dtype} {given.shape}, expected uint8, {size} of them a slot"
            )
        # A copy, since the core reads it twice while other threads run.
        wanted, whole = self._slots(slots), np.array(given, dtype=np.uint8, order="C")
        refused = self._core.load_many(wanted, whole)
        if refused is not None and refused[0] == ERR_OTHER:  # those of version 0.3 have another fingerprint
            states = b"".join(renewed(self.params, row.tobytes()) for row in whole.reshape(len(wanted), -1))
            refused = self._core.load_many(wanted, np.frombuffer(states, np.uint8))
        if refused is not None:
            status, place = refused
            raise InputError("damaged", f"states[{place}] is refused: {refusal(status, self.params)}")

    def __repr__(self) -> str:
        return f"Bank(classes={self.params.classes}, features={self.params.features}, count={len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        states = self.save_many(range(len(self)))
        return (_restore, (self.params, states, type(self)), added(self, _OWN))

    def _slots(self, slots: npt.ArrayLike) -> npt.NDArray[np.int64]:
        array = np.asarray(slots)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise InputError("value", f"slots are {array.dtype} {array.shape}, expected one row of integers")
        if array.dtype == np.uint64:
            # As int64 they would be negative.
            for at in np.flatnonzero(array > MOST)[:1]:
                raise IndexError(f"slots[{at}] is {array[at]}, expected 0 to {len(self) - 1}")
        return np.ascontiguousarray(array, dtype=np.int64)


def usable_cores() -> int:
    """Return how many cores this process may use, as far as a bank uses them."""
    affinity = getattr(os, "sched_getaffinity", None)
    return min(MOST_THREADS, len(affinity(0)) if affinity else os.cpu_count() or 1)


_OWN = frozenset({"params", "_core"})


def _restore(params: Params, states: npt.NDArray[np.uint8], kind: type[Bank] = Bank) -> Bank:
    # Not by the class's own __init__, which may want what is not known here.
    bank = kind.__new__(kind)
    Bank.__init__(bank, params)
    Bank.grow(bank, len(states))
    Bank.load_many(bank, range(len(states)), states)
    return bank
