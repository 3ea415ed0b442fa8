"""`fit`: a development log in, `Params` out, with what was found written into their notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ..monitor.params import Params
from .options import FitOptions
from .sources import Source
from .stages import (
    Request,
    conclude,
    estimate_accuracy,
    find_signals,
    fit_heads,
    read,
    set_alarm,
    set_threshold,
)
from .stages.read import Progress


def fit(
    log: Source,
    *,
    clean: Source | None = None,
    profile: str = "standard",
    signals: Sequence[str] | None = None,
    lags: Sequence[int] = (1, 2, 4),
    lag_weights: Sequence[float] | None = None,
    window: int = 16,
    warmup: int | None = None,
    about: Literal["answer", "prediction"] | None = None,
    class_mix: bool = False,
    blend: float | None = None,
    anchor: str | None = None,
    doubt_mix: float = 0.5,
    level: float | Literal["budget"] | None = None,
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
    alarm: Literal["evidence", "risk", "proved"] = "evidence",
    evidence: bool | Literal["auto"] | None = None,
    evidence_clip: float | None = None,
    risk_signals: Sequence[str] | None = None,
    explain: bool = True,
    drop_unused: bool = True,
    logits: bool = False,
    logits_scale: float | None = None,
    progress: Progress | None = None,
) -> Params:
    """Fit a monitor to a development log.

    With labels, two heads are learned at once by a logistic regression of errors on the signals, as the
    integer core gives them, over the log and over its own shuffle: one for steps alone, one for steps with
    a past. Where classes hardly stay in the log, its steps are also put in an order in which they do. On the
    device persistence and variety of the stream decide between them. Without labels
    the uncertainty is one minus the posterior, or one minus the belief as far as classes stay. Threshold and
    alarm come from clean steps: those of `clean`, else those that the log does not mark as shifted. Signals
    that end up with coefficients of 0 are dropped, and the features too where no other signal reads them.

    Parameters
    ----------
    log : Log, path or data frame
        Development stream; with labels it should mix clean and degraded stretches. A path ends in
        ``.csv``, ``.npz``, ``.jsonl``, ``.parquet`` or ``.arrow``. A data frame of pandas or polars, or an
        Arrow table, has the columns p0, p1, ..., and optionally f0, f1, ..., label, segment and shifted;
        `Log.from_frame` reads it.
    clean : Log, path or data frame, optional
        Another log, of clean data only.
    profile : {"standard", "paper", "extended"}, default "standard"
        Which signals; `signals` overrides it. "paper" is the published method, "extended" that of release
        0.1; both have one head, no answer beside the prediction and no expected accuracy.
    signals : sequence of str, optional
        With `disbelief` among them there are two heads, as in the standard profile.
    lags : sequence of int, default (1, 2, 4)
        Steps to look back, each 1 to 64. See `Params`.
    lag_weights : sequence of float, optional
        One weight for each lag; default proportional to 1 / lag.
    window : int, default 16
        Longest lag that is allowed, 1 to 64; sets the default warm-up.
    warmup : int, optional
        First steps, which never abstain; default 4 x window.
    about : {"answer", "prediction"}, optional
        Whose errors are learned: those of the class to act on, or those of the top class of the posterior.
        Default the answer where there is one.
    class_mix : bool, default False
        Correct beliefs by how often classes come in the log. See `InstantHead`: it helps where classes come
        as often in the field, and does harm where they do not.
    blend : float, optional
        See `Params`. Default 0.7.
    anchor : {"confidence", "belief"}, optional
        What `risk` leans on beside the uncertainty; default the belief where there is one, else the
        confidence.
    doubt_mix : float, default 0.5
        Share of confidence against margin in `doubt`, in [0, 1].
    level : float or "budget", optional
        Share of steps to flag; "budget" ties it to the budget. Default "budget" with two heads, else 0.1.
    budget : float, default 0.15
        Largest share of abstentions, in [0, 1].
    burst : int, default 8
        Abstentions that may come at once, on top of the budget, 1 to 10000.
    nonnegative : bool
        Keep coefficients at 0 or above. Free signs are the default: a collapsed network is
        suspiciously stable, and only a negative coefficient can say so.
    calibrate : bool, optional
        With one head: shift the bias after the regression, which treats errors and correct steps as equally
        many, so that the mean uncertainty over the labeled steps is the share of errors among them. Default:
        True under the extended profile, else False. Two heads are calibrated always.
    l2 : float, default 1.0
        Strength of the penalty on standardized signals.
    run_length : int, default 10000
        Wanted mean number of clean steps between false alarms, 10 to 10,000,000.
    seed : int, default 0
        For the bootstrap and the shuffle.
    feature_scale, feature_zero_point : float, int, optional
        How float features become int8; chosen from the data when left out. For int8 features the
        zero point must be given, unless the log holds it.
    use_features : bool, default True
        False makes a posterior-only monitor from a log that has features.
    alarm : {"evidence", "risk", "proved"}, default "evidence"
        With two heads: what the alarm sums. "evidence": a log-likelihood ratio of degraded against clean
        steps where the log has labels and `shifted` and that finds kinds of shift left out in turn best, else
        standardized deviations from clean steps.
        "proved": what a bet against clean data earns; `run_length` then holds without independence, as long
        as the mean of the score given the past stays at its clean level, at several times the delay.
    evidence : bool or "auto", optional
        True makes the alarm sum that ratio whatever else would be chosen, without an allowance for steps that
        repeat each other; "auto" where the log allows it, else risk; False risk. By default one head sums
        risk, and two heads do as `alarm` says.
    evidence_clip : float, optional
        Most that one step adds to that sum, or takes off. Default 3, or 2 for deviations; 4 with one head.
    risk_signals : sequence of str, optional
        Those of the signals that the uncertainty weighs; the others get a coefficient of 0 and serve the
        evidence alone. All by default.
    explain : bool, default True
        False leaves out of the notes whether time helps, what each signal adds, what simple rules reach and
        how often the alarm comes on held-out steps, which takes most of the time of a fit. Nothing else
        depends on it. Of a log of more than 200,000 steps, some are looked at, drawn at random.
    drop_unused : bool, default True
        False keeps signals that end up with a coefficient of 0, and features that nothing reads.
    logits : bool, default False
        The posteriors of `log` and `clean` are logits: softmax is applied first.
    logits_scale : float, optional
        What one unit of int8 logits is worth; needed with `logits` for those.
    progress : callable, optional
        Called with the name of a stage (``"read"``, ``"signals"``, ``"heads"``, ``"threshold"``, ``"alarm"``,
        ``"accuracy"``, ``"findings"``), what is done of it, and all that there is to do.

    Returns
    -------
    Params
        ``notes["fit"]`` holds the findings; `tcuq.fitting.fit_findings` says them in words.

    Raises
    ------
    ValueError
        For a log that cannot be read or is too short, and for options that do not go together; the message
        says what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Log
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(rng.integers(0, 3, 200), 10)
    >>> logits = rng.normal(0, 1, (2000, 3)) + 2.5 * np.eye(3)[truth]
    >>> probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    >>> params = fit(Log(probs, labels=truth))
    >>> params.profile, params.about, params.notes["fit"]["time_helps"]
    ('standard', 'answer', True)
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
    accuracy = estimate_accuracy(alarm)
    return conclude(accuracy)
