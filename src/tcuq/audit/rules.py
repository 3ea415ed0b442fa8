"""How a step is decided, once more: SPEC.md sections 9 to 11 in plain integers, without the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.params import Params
from ..monitor.state import State

TOP = ONE - 1
Ints = npt.NDArray[np.int64]


class Rules:
    """Sections 9 to 11 of SPEC.md.

    Parameters
    ----------
    params : Params

    Examples
    --------
    >>> rules = Rules(Params(classes=10))
    >>> rules.bounds == Params(classes=10).core().sizes()[2:]
    True
    """

    def __init__(self, params: Params) -> None:
        self.p: dict[str, Any] = params.integers()

    def threshold(self, debt: int) -> int:
        """Return the threshold at a debt."""
        p = self.p
        size = abs(debt)
        near = min(size, p["knee"])
        moved: int = (p["slope"] * near + p["steep_slope"] * (size - near)) >> 8
        reference: int = p["reference"]
        return reference + moved if debt >= 0 else reference - moved

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest debt that any input can reach."""
        shut = _least(lambda size: self.threshold(size) > TOP)
        opened = _least(lambda size: self.threshold(-size) <= 0)
        num, den = self.p["level_num"], self.p["level_den"]
        return 1 - opened - num, shut - 1 + den - num

    def evidence(self, signals: Ints, labels: Ints) -> list[int]:
        """Return what the rise side adds at each step when it sums evidence.

        Parameters
        ----------
        signals : array of shape (T, number of signals)
            In Q0.16, 0 where unused.
        labels : array of T integers
            Classes of the params.
        """
        head = self.p["evidence"]
        sums = 256 * np.array(head["offset"], dtype=np.int64)[labels]
        for number, coef in enumerate(head["coef"]):
            sums += (coef * signals[:, number]) >> 9
        added: list[int] = (np.clip(sums, -head["clip"], head["clip"]) - head["allowance"]).tolist()
        return added

    def replay(
        self, risks: list[int], start: State | None, evidence: list[int] | None = None
    ) -> dict[str, Ints]:
        """Return what the rules say about each step, from the risks alone.

        With an evidence head, the alarm needs the evidence too; without that it is left out.

        Parameters
        ----------
        risks : list of int
            In Q0.16.
        start : State or None
            Where the monitor stood before; None for a fresh one.
        evidence : list of int, optional
            From `evidence`.
        """
        p = self.p
        num, den, spend, refill = p["level_num"], p["level_den"], p["budget_den"], p["budget_num"]
        most = p["burst"] * spend
        slope, steep, knee, reference = p["slope"], p["steep_slope"], p["knee"], p["reference"]
        warmup = p["warmup"]
        debt, credit, step = (start.debt, start.credit, start.steps) if start else (0, 0, 0)
        thresholds, flags, abstains, warming = [], [], [], []
        for risk in risks:
            size = debt if debt >= 0 else -debt
            near = size if size < knee else knee
            moved = (slope * near + steep * (size - near)) >> 8
            threshold = reference + moved if debt >= 0 else reference - moved
            flagged = risk >= threshold
            debt += den - num if flagged else -num
            warm = step < warmup
            step += 1
            credit = min(most, credit + refill)
            abstain = flagged and not warm and credit >= spend
            if abstain:
                credit -= spend
            thresholds.append(threshold)
            flags.append(flagged)
            abstains.append(abstain)
            warming.append(warm)
        columns = {"threshold": thresholds, "flagged": flags, "abstain": abstains, "warming_up": warming}
        found = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
        if p["evidence"] is None:
            up, down = p["rise_reference"], p["fall_reference"]
            rise = self._side([r - up for r in risks], "rise", start)
            found["alarm"] = rise + 2 * self._side([down - r for r in risks], "fall", start)
        elif evidence is not None:
            found["alarm"] = self._side(evidence, "rise", start)
        return found

    def _side(self, added: list[int], side: str, start: State | None) -> Ints:
        limit, cap = self.p[f"{side}_limit"], self.p[f"{side}_cap"]
        if limit == 0:
            return np.zeros(len(added), dtype=np.int64)
        total, raised = 0, False
        if start is not None:
            total, bit = (start.rise, 1) if side == "rise" else (start.fall, 2)
            raised = bool(start.alarm & bit)
        states = []
        for change in added:
            total += change
            total = 0 if total < 0 else cap if total > cap else total
            raised = total >= limit or (raised and total > 0)
            states.append(raised)
        return np.array(states, dtype=np.int64)


def _least(holds: Callable[[int], bool]) -> int:
    """Return the least size from 0 on at which a condition holds; it must stay true from there on."""
    high = 1
    while not holds(high):
        high *= 2
    low = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
