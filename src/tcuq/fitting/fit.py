"""`fit`: a development log in, `Params` out, with what was found written into their notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..monitor.params import Params
from .options import FitOptions
from .sources import Source
from .stages import Request, conclude, find_signals, fit_heads, read, set_alarm, set_threshold
from .stages.read import Progress


def fit(
    log: Source,
    *,
    clean: Source | None = None,
    profile: str = "paper",
    signals: Sequence[str] | None = None,
    lags: Sequence[int] = (1, 2, 4),
    lag_weights: Sequence[float] | None = None,
    window: int = 16,
    warmup: int | None = None,
    blend: float = 0.7,
    anchor: str | None = None,
    doubt_mix: float = 0.5,
    level: float | Literal["budget"] = 0.1,
    budget: float = 0.15,
    burst: int = 8,
    nonnegative: bool = False,
    calibrate: bool | None = None,
    l2: float = 1.0,
    run_length: int = 10_000,
    seed: int = 0,
    feature_scale: float | None = None,
    feature_zero_point: int | None = None,
    use_features: bool = True,
    evidence: bool | Literal["auto"] = False,
    evidence_clip: float = 4.0,
    risk_signals: Sequence[str] | None = None,
    explain: bool = True,
    drop_unused: bool = True,
    logits: bool = False,
    logits_scale: float | None = None,
    progress: Progress | None = None,
) -> Params:
    """Fit a monitor to a development log.

    With labels, coefficients come from a class-balanced, L2-regularized logistic regression of
    misclassification on the signals as the integer core gives them. Without labels, stock
    coefficients are used and the notes say so. Threshold and alarm come from clean steps: those of
    `clean`, else those that the log does not mark as shifted. Signals that end up with a coefficient
    of 0 are dropped, and the features too where no other signal reads them.

    Parameters
    ----------
    log : Log, path or pandas.DataFrame
        Development stream; with labels it should mix clean and degraded stretches. A path ends in
        ``.csv``, ``.npz`` or ``.jsonl``. A data frame has the columns p0, p1, ..., and optionally f0, f1,
        ..., label, segment and shifted; `Log.from_frame` reads it.
    clean : Log, path or pandas.DataFrame, optional
        Another log, of clean data only.
    profile : {"paper", "extended"}
        Which signals; `signals` overrides it.
    signals : sequence of str, optional
    lags, lag_weights, window, warmup, blend, doubt_mix, budget, burst
        See `Params`.
    anchor : {"confidence", "belief"}, optional
        What `risk` leans on beside the uncertainty; default the belief where the signals hold
        `disbelief_fast`, else the confidence.
    level : float or "budget"
        Share of steps to flag; "budget" ties it to the budget.
    nonnegative : bool
        Keep coefficients at 0 or above. Free signs are the default: a collapsed network is
        suspiciously stable, and only a negative coefficient can say so.
    calibrate : bool, optional
        Shift the bias after the regression, which treats errors and correct steps as equally many, so that
        the mean uncertainty over the labeled steps is the share of errors among them: uncertainty then
        reads as a probability of error. Default: True under the extended profile, whether asked for by
        name or by its signals, else False.
    l2 : float
        Strength of the penalty on standardized signals.
    run_length : int
        Wanted mean number of clean steps between false alarms, 10 to 10,000,000.
    seed : int
        For the bootstrap and the shuffle.
    feature_scale, feature_zero_point : float, int, optional
        How float features become int8; chosen from the data when left out. For int8 features the
        zero point must be given.
    use_features : bool
        False makes a posterior-only monitor from a log that has features.
    evidence : bool or "auto"
        True makes the alarm sum a log-likelihood ratio of degraded against clean steps in place of risk.
        It is learned from shifted steps whose shift costs accuracy, so the log needs labels and `shifted`.
        "auto" does so where the log allows it, and says so in a note where it does not.
    evidence_clip : float
        Most that one step adds to that sum, or takes off.
    risk_signals : sequence of str, optional
        Those of the signals that the uncertainty weighs; the others get a coefficient of 0 and serve the
        evidence alone. A signal that misleads about single answers may still tell worse input from clean.
        All by default.
    explain : bool
        False leaves out of the notes whether time helps, what each signal adds and how often the alarm comes
        on held-out steps, which takes most of the time of a fit. Nothing else depends on it. Of a log of more
        than 200,000 steps, the first two are measured on 200,000 of them, drawn at random.
    drop_unused : bool
        False keeps signals that end up with a coefficient of 0, and features that nothing reads.
    logits : bool
        The posteriors of `log` and `clean` are logits: softmax is applied first.
    logits_scale : float, optional
        What one unit of int8 logits is worth; needed with `logits` for those.
    progress : callable, optional
        Called with the name of a stage (``"read"``, ``"signals"``, ``"heads"``, ``"threshold"``, ``"alarm"``,
        ``"findings"``), what is done of it, and all that there is to do.

    Returns
    -------
    Params
        ``notes["fit"]`` holds the findings; `tcuq.fitting.fit_findings` says them in words.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Log
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(rng.integers(0, 3, 200), 10)
    >>> logits = rng.normal(0, 1, (2000, 3)) + 2.5 * np.eye(3)[truth]
    >>> probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    >>> params = fit(Log(probs, labels=truth))
    >>> params.coef["flips"] > 0, params.notes["fit"]["time_helps"]
    (True, True)
    """
    given: dict[str, Any] = dict(locals())
    for name in ("log", "clean", "progress"):
        del given[name]
    return fit_request(Request(log, clean, FitOptions.of(**given), progress))


def fit_request(request: Request) -> Params:
    """Take a request through all stages; `tcuq.fitting.stages` says what each of them does."""
    reading = read(request)
    signals = find_signals(reading)
    heads = fit_heads(signals)
    threshold = set_threshold(heads)
    alarm = set_alarm(threshold)
    return conclude(alarm)
