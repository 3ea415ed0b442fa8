"""`FitOptions`: what experts may tell `fit` beside its keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..base.checks import integer, number
from ..base.errors import wrong_value
from ..monitor.codec import row_range
from ..monitor.feedback import HARD
from ..monitor.params import WARMUP


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options of `tcuq.fit` for special inputs, experts and experiments; the defaults are good.

    Parameters
    ----------
    logits : bool, default False
        The posteriors of the logs are logits: softmax is applied first.
    logits_scale : float, optional
        What one unit of int8 logits is worth; needed with `logits` for those.
    use_features : bool, default True
        False makes a posterior-only monitor from a log that has features.
    feature_scale, feature_zero_point : float, int, optional
        How float features become int8; chosen from the data when left out. For int8 features the
        zero point must be given, unless the log holds it.
    explain : bool, default True
        False leaves out of the notes whether time helps, what each signal adds, what simple rules reach and
        how often the alarm comes on held-out steps, and `accuracy_error` out of the parameters, which takes
        most of the time of a fit. No decision depends on it. Of a log of more than 200,000 steps, some are
        looked at, drawn at random.
    burst : int, default 8
        Abstentions that may come at once, on top of the budget, 1 to 10000.
    warmup : int, default 64
        First steps, which abstain only where `max_error` withholds them.
    baseline_inputs : int, optional
        First new inputs of a device, up to 1,000, that set its baseline: what they show beyond the clean
        log is taken off from then on, at most half a deviation of each number of "sight". For devices that
        differ from each other and start healthy. Default 120 with an alarm of "sight", else 0 for none.
    max_error : float, optional
        For devices that are told labels (`Monitor.feedback`): of n labeled accepted steps, at most
        ``max_error`` x n + c are wrong, for every input, choice of labels and delay within `feedback`; c is
        `Params.error_constant`, doubled once labels of withheld steps have brought a nearly silent device
        back. That says something once n is above ``c / (1 - max_error)``. With ``hard="budget"`` n counts
        only steps that were not doubtful. Needs a log with labels. See `Feedback`.
    feedback : int, default 0
        Steps back that a label may be for, up to 1024, 2 bytes each; 0 for no labels, or 16 with `max_error`.
    hard : {"error", "budget"}, default "error"
        What holds where `max_error` and the budget cannot both: doubtful steps abstain beyond the budget, or
        only as far as it goes.
    signals : sequence of str, optional
        Some of the profile's signals in place of all; `disbelief` must be among those of "standard".
    lags : sequence of int, default (1, 2, 4)
        Steps that signals of profile "paper" look back, each 1 to 64.
    blend : float, default 0.7
        Share of the uncertainty in risk. See `Params`.
    l2 : float, default 1.0
        Strength of the penalty on standardized signals.
    drop_unused : bool, default True
        False keeps signals that end up with a coefficient of 0, and features that nothing reads.

    Examples
    --------
    >>> FitOptions(l2=3.0, explain=False).burst
    8
    """

    logits: bool = False
    logits_scale: float | None = None
    use_features: bool = True
    feature_scale: float | None = None
    feature_zero_point: int | None = None
    explain: bool = True
    burst: int = 8
    warmup: int = WARMUP
    baseline_inputs: int | None = None
    max_error: float | None = None
    feedback: int = 0
    hard: str = "error"
    signals: Sequence[str] | None = None
    lags: Sequence[int] = (1, 2, 4)
    blend: float = 0.7
    l2: float = 1.0
    drop_unused: bool = True

    def __post_init__(self) -> None:
        number("l2", self.l2, 1e-9, 1e9)
        if self.baseline_inputs is not None:
            integer("baseline_inputs", self.baseline_inputs, 0, row_range("baseline_inputs", "sight")[1])
        integer("feedback", self.feedback, 0, row_range("memory", "feedback")[1])
        if self.max_error is not None:
            number("max_error", self.max_error, 0.001, 0.999)
        if self.hard not in HARD:
            raise wrong_value("hard", self.hard, f"one of {', '.join(HARD)}")
