"""What a report says, computed once: the parts of the page only print it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from ..monitor.log import Log
from ..monitor.monitor import signal_columns
from ..monitor.params import Params
from . import data, figures, summary
from .inputs import checked, recomputed

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Facts:
    """A monitored stream, and what follows from it.

    Parameters
    ----------
    steps : structured array of `tcuq.STEP_DTYPE`
    params : Params or None
    log : Log or None
    first : int
        Number of the first step.
    signals : array of shape (T, signals), or None
    why : str
        Why the signals are not shown, where there is a reason.
    wrong : array of bool, or None
        Steps whose label is not that of the log; None without labels.
    shares : dict of Share, or None
        Right answers among all, accepted and abstained steps; None without labels.
    response : Response or None
        What the alarm did about known shifts.
    """

    steps: npt.NDArray[Any]
    params: Params | None
    log: Log | None
    first: int
    signals: npt.NDArray[np.float64] | None
    why: str
    wrong: Bools | None
    shares: dict[str, summary.Share] | None
    response: summary.Response | None

    @property
    def abstained(self) -> Bools:
        """Whether each step abstains."""
        return np.asarray(self.steps["abstain"].astype(bool))

    @property
    def flagged(self) -> Bools:
        """Whether each step is flagged."""
        return np.asarray(self.steps["flagged"].astype(bool))

    @property
    def evidence(self) -> bool:
        """Whether the alarm sums evidence rather than risk."""
        return self.params is not None and self.params.evidence is not None

    @property
    def shifts(self) -> bool:
        """Whether the log knows which steps are shifted."""
        return self.log is not None and self.log.shifted is not None

    @property
    def top(self) -> float:
        """Upper end of the risk axis."""
        return figures.risk_top(self.steps)

    @property
    def columns(self) -> list[int]:
        """Numbers of the signals that are shown."""
        if self.signals is None:
            return []
        if self.params is not None:
            return signal_columns(self.params)
        return [int(column) for column in np.flatnonzero(self.signals.any(axis=0))]

    def packed(self) -> dict[str, Any]:
        """Return what the scripts of the page draw from."""
        found = data.pack_timeline(self.steps, self.log, self.wrong)
        found |= {"first": self.first, "top": self.top, "reasons": data.reasons(), "shifts": self.shifts}
        if self.signals is not None and self.columns:
            found["signals"] = data.pack_signals(self.signals, self.columns)
        return found


def facts_of(
    decisions: npt.NDArray[Any],
    params: Params | None,
    log: Log | None,
    signals: npt.ArrayLike | None,
    first: int,
) -> Facts:
    """Check the inputs of a report and compute what it says; arguments are those of `tcuq.report.render`."""
    steps, values = checked(decisions, params, log, signals)
    why = ""
    if values is None:
        values, why = recomputed(steps, params, log, integer("first", first, 0, 2**53))
    wrong = None if log is None or log.labels is None else np.asarray(steps["label"] != log.labels)
    shares = None
    if wrong is not None:
        abstained = steps["abstain"].astype(bool)
        shares = {
            "all": summary.share(~wrong),
            "accepted": summary.share(~wrong, ~abstained),
            "abstained": summary.share(~wrong, abstained),
        }
    response = None if log is None else summary.response(steps["alarm"], log)
    return Facts(steps, params, log, first, values, why, wrong, shares, response)
