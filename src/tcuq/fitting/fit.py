"""`fit`: a development log in, `Params` out, with what was found written into their notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..base.checks import integer, number
from ..monitor.log import Log
from ..monitor.params import Params
from ..monitor.quantize import choose_feature_scale
from ..monitor.signals import FEATURE_BASED, ordered, profile_signals
from .coefficients import Regression, fit_coefficients, narrowed, signal_table, without_unused
from .decisions import fit_decisions
from .learn_head import learn_head
from .sources import Source, as_log, clean_part, one_prediction, refuse_one_class, with_clean_means
from .sources import rested_stretches as rested_stretches

HARM = 0.005
"""Held-out AUROC that a signal may cost before the fit speaks up."""


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
        on held-out steps, which takes most of the time of a fit. Nothing else depends on it.
    drop_unused : bool
        False keeps signals that end up with a coefficient of 0, and features that nothing reads.
    logits : bool
        The posteriors of `log` and `clean` are logits: softmax is applied first.
    logits_scale : float, optional
        What one unit of int8 logits is worth; needed with `logits` for those.

    Returns
    -------
    Params
        ``notes["fit"]`` holds the findings; `tcuq.fitting.fit_findings` says them in words.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(rng.integers(0, 3, 200), 10)
    >>> logits = rng.normal(0, 1, (2000, 3)) + 2.5 * np.eye(3)[truth]
    >>> probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    >>> params = fit(Log(probs, labels=truth))
    >>> params.coef["flips"] > 0, params.notes["fit"]["time_helps"]
    (True, True)
    """
    log = as_log(log, logits=logits, logits_scale=logits_scale)
    if clean is not None:
        clean = as_log(clean, logits=logits, logits_scale=logits_scale)
    if len(log) == 0:
        raise ValueError("the log is empty; at least one step is needed")
    if evidence not in (True, False, "auto"):
        raise ValueError(f"evidence is {evidence!r}, expected True, False or 'auto'")
    number("l2", l2, 1e-9, 1e9)
    integer("run_length", run_length, 10, 10_000_000)
    integer("seed", seed, 0, 2**63 - 1)
    refuse_one_class(log)
    features = log.width if use_features and _readable(log, feature_zero_point, signals) else 0
    scale, zero_point = feature_format(log if features else None, feature_scale, feature_zero_point)
    chosen = ordered(signals) if signals is not None else profile_signals(profile, features)
    params = Params(
        classes=log.classes,
        features=features,
        feature_scale=scale,
        feature_zero_point=zero_point,
        signals=chosen,
        lags=tuple(lags),
        lag_weights=None if lag_weights is None else tuple(lag_weights),
        window=window,
        warmup=warmup,
        blend=blend,
        anchor=default_anchor(chosen) if anchor is None else anchor,
        doubt_mix=doubt_mix,
        level=budget if level == "budget" else level,
        budget=budget,
        burst=burst,
    )
    warnings = [*log.notes, *(clean.notes if clean is not None else ()), *one_prediction(log)]
    if params.level < params.budget:
        warnings.append(
            f"the monitor flags {params.level:.0%} of the steps but may abstain on {params.budget:.0%}, so "
            'the budget only limits bursts; `level="budget"` makes them equal'
        )
    rng = np.random.default_rng(seed)
    findings: dict[str, Any] = {"steps": len(log), "segments": len(log.pieces()), "seed": seed}
    part = clean_part(params, log, clean, warnings)
    findings["clean_from"] = "clean log" if clean is not None else "all" if log.shifted is None else "log"
    params = with_clean_means(params, part)
    if log.labels is None:
        findings["labels"] = False
        warnings.append(
            "the log has no labels: stock coefficients are used, which know nothing of this classifier; "
            "threshold and alarm are from the log itself"
            if clean is None
            else "the log has no labels: stock coefficients are used, which know nothing of this classifier"
        )
    else:
        if calibrate is None:
            calibrate = "extended" in (profile, params.profile)
        # Drawn also where nothing is explained: the draws for the alarm follow it, and a fit must be the
        # same with and without an explanation, and the same as in earlier releases.
        order = rng.permutation(len(log))
        weighing = params if risk_signals is None else narrowed(params, risk_signals)
        how = Regression(l2, nonnegative, calibrate)
        fitted, gain, more = fit_coefficients(weighing, log, how, order, warnings, explain)
        assert fitted.coef is not None
        coef = {name: fitted.coef.get(name, 0.0) for name in params.signals}
        params = params.replace(coef=coef, bias=fitted.bias)
        findings.update(more)
        if gain is not None:
            findings["time_helps"] = gain.time_helps
            findings["time"] = gain.sentence()
            findings["signals"] = signal_table(fitted, gain)
            warnings += _harmful(findings["signals"])
    if evidence:
        try:
            learned = learn_head(params, log, part.log, part.runs, l2, evidence_clip)
        except ValueError as error:
            if evidence != "auto":
                raise
            warnings.append(f"the alarm sums risk: {error}")
        else:
            params = params.replace(evidence=learned.head)
            findings["evidence"] = learned.findings
            warnings += learned.warnings
    params, more = fit_decisions(params, part, run_length, rng, warnings, explain)
    findings.update(more)
    params, dropped = without_unused(params) if drop_unused else (params, None)
    if dropped is None and use_features and log.width and not features:
        dropped = {"signals": [], "features": log.width, "ram_bytes": 0, "instructions": 0}
    if dropped is not None:
        findings["dropped"] = dropped
    findings["warnings"] = warnings
    return params.replace(notes={"fit": _plain(findings)})


def _harmful(signals: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a note on each signal that costs AUROC on held-out steps."""
    notes = []
    for name, row in signals.items():
        if row["adds"] <= -HARM:
            way = "leave the features out with `use_features=False`, or choose others with `signals`"
            notes.append(
                f"{name} costs {-row['adds']:.3f} of AUROC on held-out steps: what it learned does not carry "
                f"over; {way if name in FEATURE_BASED else 'leave it out with `signals`'}"
            )
    return notes


def _readable(log: Log, zero_point: int | None, signals: Sequence[str] | None) -> bool:
    """Tell whether features may be read; without labels no stock weight reads them, so none must be known."""
    if log.labels is not None or log.features is None or signals is not None:
        return True
    return log.features.dtype != np.int8 or zero_point is not None


def default_anchor(signals: Sequence[str]) -> str:
    """Return what `risk` leans on when nothing is said: the belief where there is one.

    Examples
    --------
    >>> default_anchor(("doubt", "disbelief_fast")), default_anchor(("doubt",))
    ('belief', 'confidence')
    """
    return "belief" if "disbelief_fast" in signals else "confidence"


def feature_format(log: Log | None, scale: float | None, zero_point: int | None) -> tuple[float, int]:
    """Return scale and zero point of the features: those given, else chosen from the log."""
    if log is None or log.features is None:
        return 1.0, 0
    if log.features.dtype == np.int8:
        if zero_point is None:
            raise ValueError(
                "features are int8 and feature_zero_point is missing; pass -128 for a ReLU output, "
                "0 for a symmetric one"
            )
        return 1.0 if scale is None else scale, zero_point
    chosen_scale, chosen_zero = choose_feature_scale(log.features)
    if scale is None and zero_point is None:
        return chosen_scale, chosen_zero
    if scale is None or zero_point is None:
        raise ValueError("feature_scale and feature_zero_point go together; one is missing")
    return scale, zero_point


def _plain(value: Any) -> Any:
    """Return JSON-able content with floats of six digits; NaN becomes null."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
