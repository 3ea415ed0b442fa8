"""`Feedback`: what labels that come late may change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..base.checks import integer, number
from ..base.errors import wrong_value
from ..base.fixed import ONE, nearest, snap
from .fixed_point import RANGE, put

SCORE_UNIT = 8192
"""Units of a nat in which the core holds what a label says of the alarm."""

HARD = ("budget", "error")


@dataclass(frozen=True)
class Feedback:
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

    memory: int = 16
    max_error: float | None = None
    reference: float = 0.1
    shut: float = 4.0
    hard: str = "error"
    wrong_score: float = 0.0
    right_score: float = 0.0

    def __post_init__(self) -> None:
        put(self, memory=integer("feedback memory", self.memory, *RANGE["feedback memory"]))
        den = 1
        if self.max_error is not None:
            share = nearest(number("max_error", self.max_error, 0.001, 0.999), RANGE["feedback error_den"][1])
            put(self, max_error=float(share))
            den = share.denominator
        reference = snap(number("feedback reference", self.reference, 0, 1), ONE)
        most = RANGE["feedback error_shut"][1] // den
        shut = snap(number("feedback shut", self.shut, 1 / den, most), den)
        put(self, reference=min(reference, 1 - 1 / ONE), shut=shut)
        if self.hard not in HARD:
            raise wrong_value("feedback hard", self.hard, f"one of {', '.join(HARD)}")
        for name in ("wrong_score", "right_score"):
            score = number(f"feedback {name}", getattr(self, name), 0, 8)
            put(self, **{name: min(snap(score, SCORE_UNIT), 8 - 1 / SCORE_UNIT)})

    @property
    def above_budget(self) -> bool:
        """Whether doubtful steps may abstain beyond the budget."""
        return self.max_error is not None and self.hard == "error"

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's `tcuq_feedback_t`."""
        share = nearest(self.max_error or 0.0, RANGE["feedback error_den"][1])
        return {
            "memory": self.memory,
            "error_num": share.numerator,
            "error_den": share.denominator,
            "error_reference": round(self.reference * ONE),
            "error_shut": round(self.shut * share.denominator),
            "error_first": HARD.index(self.hard),
            "wrong_score": round(self.wrong_score * SCORE_UNIT),
            "right_score": round(self.right_score * SCORE_UNIT),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the `feedback` object of a parameter file."""
        return asdict(self)
