"""Labels from the field: what a person, a file or a device says of a past step, and what that proves."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.base.errors import wrong_value
from tcuq.monitor.bank import Bank
from tcuq.monitor.params import Params

RIGHT, WRONG = -2, -1
"""In place of a class: the answer was right; it was wrong, or no class is right."""

WORDS = {"right": RIGHT, "true": RIGHT, "wrong": WRONG, "false": WRONG}


class Mark(NamedTuple):
    """The truth about a past step, as it came from a source; -1: the present boot, the last step."""

    device: str
    boot: int
    seq: int
    label: Any
    version: str | None = None


def code_of(label: Any, params: Params) -> int | None:
    """Return a label as a number: a class, `RIGHT` or `WRONG`; None where it is not known.

    A text is the name of a class, else "right" or "wrong", "true" or "false", or a number.
    """
    if label is None:
        return None
    if isinstance(label, bool):
        return RIGHT if label else WRONG
    value: Any = label
    if isinstance(label, str):
        names = params.names or ()
        value = names.index(label) if label in names else WORDS.get(label.strip().lower(), label)
        with suppress(ValueError):
            value = int(value)
    if value in (RIGHT, WRONG) and isinstance(label, str):
        return int(value)
    try:
        return integer("label", value, WRONG, params.classes - 1)
    except ValueError:
        expected = f"0 to {params.classes - 1}, the name of a class, -1 for none, true or false"
        raise wrong_value("label", label, expected) from None


class Promise:
    """What labels of accepted steps have said so far, beside what `max_error` promises of them.

    By slot of a device: accepted steps with a label, how many of these were wrong, labels that led a silent
    monitor back, and whether its state is from the device: its labels of before are not known then.
    """

    def __init__(self, params: Params, rows: npt.NDArray[np.int64] | None = None) -> None:
        self.params = params
        self.rows: dict[int, list[int]] = {} if rows is None else {row[0]: row[1:] for row in rows.tolist()}
        self._array = rows

    def give(self, bank: Bank, slot: int, back: int, code: int) -> bool:
        """Give a monitor the label of a step, -1 the last one; tell whether it was taken."""
        head = self.params.feedback
        assert head is not None
        before, led = self._memory(bank, slot)
        label = np.array([code == RIGHT]) if code == RIGHT else np.array([code])
        if not bank.feedback([slot], [back], label)[0]:
            return False
        if head.max_error is not None:
            entry = int(before[back])
            right = code in (RIGHT, entry % (64 if self.params.classes <= 64 else 1024))
            accepted, more = bool(entry & 16384), self._memory(bank, slot)[1] > led
            row = self.rows.get(slot, [0, 0, 0, 0])
            self.rows[slot] = [row[0] + accepted, row[1] + (accepted and not right), row[2] + more, row[3]]
            self._array = None
        return True

    def _memory(self, bank: Bank, slot: int) -> tuple[npt.NDArray[Any], int]:
        """Return what a monitor remembers, the last step last, and labels that led it back (SPEC.md, 19)."""
        head, params = self.params.feedback, self.params
        assert head is not None
        state = bank.save_many([slot]).tobytes()
        beliefs = 0 if params.instant is None else 2 * (5 * params.classes + 6)
        numbers = np.frombuffer(state[: len(state) - 4 - beliefs], "<u2")
        entries = numbers[len(numbers) - (head.memory + 1) // 2 * 2 :][: head.memory]
        upcoming, quarters = numbers[len(numbers) - (head.memory + 1) // 2 * 2 - 2 :][:2].tolist()
        return np.roll(entries, -upcoming), quarters // 16

    def adopted(self, slot: int) -> None:
        """Forget what labels said of a device whose state comes from itself."""
        if self.params.feedback is not None and self.params.feedback.max_error is not None:
            self.rows[slot], self._array = [0, 0, 0, 1], None

    def array(self) -> npt.NDArray[np.int64]:
        """Return what must be kept; the same object where nothing has changed."""
        if self._array is None:
            rows = [[slot, *row] for slot, row in sorted(self.rows.items())]
            self._array = np.array(rows, dtype=np.int64).reshape(-1, 5)
        return self._array

    def summary(self) -> dict[str, Any] | None:
        """Return the counts, how many errors may be, and from how many labels on that says something."""
        head = self.params.feedback
        if head is None or head.max_error is None:
            return None
        labeled, wrong, led, adopted = (
            np.array([*self.rows.values()], dtype=np.int64).reshape(-1, 4).sum(axis=0)
        )
        devices = max(1, len(self.rows))
        constant = self.params.error_constant * devices + head.shut * int(adopted)
        allowed = head.max_error * int(labeled + led) + constant
        least = math.floor((head.max_error * int(led) + constant) / (1 - head.max_error)) + 1
        counts = {"labeled": int(labeled), "wrong": int(wrong), "devices": len(self.rows)}
        return {**counts, "max_error": head.max_error, "allowed": allowed, "says_from": least}
