"""`Feedback`: what labels that come late may change."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.checks import number, put
from ..base.fixed import nearest, snap
from .codec import WORDS, Part, row_range, settle

HARD = WORDS["hard"]


@dataclass(frozen=True)
class Feedback(Part):
    """What the true class of past steps changes: errors among accepted steps, expected accuracy, alarm.

    With `max_error` a step is *doubtful* when its risk is at or above a threshold of its own, which wrong
    labels of accepted steps lower and right ones raise. For every input, every choice of labels and every
    delay within `memory`, at most ``max_error`` x n + c of n labeled accepted steps are wrong, c being
    `Params.error_constant`. Right labels of steps that a nearly silent device withheld although it was sure
    lead it back; each may add ``max_error``, all of them another c at most. Of steps without a label this
    says nothing.

    Parameters
    ----------
    memory : int, default 16
        Steps back that a label may be for, 1 to 1024. Two bytes each; the constant grows with it.
    max_error : float, optional
        Largest share of wrong answers among labeled accepted steps, 0.001 to 0.999. None: labels change
        only the expected accuracy and the alarm.
    reference : float, default 0.1
        Risk from which on a step is doubtful while labels are as wrong as `max_error` allows, in [0, 1).
    shut : float, default 4.0
        Wrong answers beyond that, at which every step is doubtful.
    hard : {"error", "budget"}, default "error"
        What holds where both cannot. ``"error"``: doubtful steps always abstain. ``"budget"``: they abstain
        as far as the budget goes, and the bound speaks of the accepted steps that were not doubtful.
    wrong_score, right_score : float, default 0.0
        How much more likely a wrong answer is on harmful input than on clean, and how much less likely a
        right one: natural logarithms, 0 to 8. Three nats of labels against an alarm withdraw it and raise
        its limit; three for a harmful shift without one lower it, but never that of a proved alarm.

    Examples
    --------
    >>> Feedback(max_error=0.05).integers()["error_den"]
    20
    """

    part = "feedback"
    __hash__ = Part.__hash__

    memory: int = 16
    max_error: float | None = None
    reference: float = 0.1
    shut: float = 4.0
    hard: str = "error"
    wrong_score: float = 0.0
    right_score: float = 0.0

    def __post_init__(self) -> None:
        settle(self, self.part)
        den = 1
        if self.max_error is not None:
            most = row_range("error_den", self.part)[1]
            share = nearest(number("max_error", self.max_error, 0.001, 0.999), most)
            put(self, max_error=float(share))
            den = share.denominator
        most = row_range("error_shut", self.part)[1] // den
        put(self, shut=snap(number("feedback shut", self.shut, 1 / den, most), den))

    @property
    def above_budget(self) -> bool:
        """Whether doubtful steps may abstain beyond the budget."""
        return self.max_error is not None and self.hard == "error"
