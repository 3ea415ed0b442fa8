"""`fit`: a development log in, `Params` out, with what was found written into their notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.fixed import ONE
from ..metrics.ranking import auroc
from ..monitor.alarm import Alarm
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import COEF_LIMIT, Params
from ..monitor.quantize import choose_feature_scale
from ..monitor.signals import BELIEF, FEATURE_BASED, SLOW, ordered, profile_signals
from .alarms import FEWEST as FEWEST_CLEAN
from .alarms import SUPPORT, alarms_in, choose_alarm, choose_evidence_limit, clean_stretches
from .gain import Evidence, shuffled, signals_of, weigh
from .learn_head import learn_head
from .logistic import balanced_weights, calibrated_bias, fit_logistic, log_loss

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
# In quotes, because reaching for numpy.random would import it.
_ChooseAlarm = Callable[[Sequence[Floats], int, "np.random.Generator"], Alarm]

FEWEST = 10
"""Errors, and correct steps, that a labeled fit needs at the least."""

HARM = 0.005
"""Held-out AUROC that a signal may cost before the fit speaks up."""

SLOW_MEMORY = 48
"""Steps after which a slow mean at rate 1/16 has forgotten all but 5 % of a shift."""

STRAIN_MEMORY = 192
"""The same at rate 1/64."""


def fit(
    log: Log,
    *,
    clean: Log | None = None,
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
) -> Params:
    """Fit a monitor to a development log.

    With labels, coefficients come from a class-balanced, L2-regularized logistic regression of
    misclassification on the signals as the integer core gives them. Without labels, stock
    coefficients are used and the notes say so. Threshold and alarm come from clean steps: those of
    `clean`, else those that the log does not mark as shifted.

    Parameters
    ----------
    log : Log
        Development stream; with labels it should mix clean and degraded stretches.
    clean : Log, optional
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
    if len(log) == 0:
        raise ValueError("the log is empty; at least one step is needed")
    if evidence not in (True, False, "auto"):
        raise ValueError(f"evidence is {evidence!r}; True, False or 'auto' is accepted")
    number("l2", l2, 1e-9, 1e9)
    integer("run_length", run_length, 10, 10_000_000)
    integer("seed", seed, 0, 2**63 - 1)
    warnings: list[str] = []
    features = log.width if use_features else 0
    scale, zero_point = _feature_format(log if features else None, feature_scale, feature_zero_point)
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
    if params.level < params.budget:
        warnings.append(
            f"level {params.level:g} is below the budget {params.budget:g}: the threshold alone keeps the "
            'budget in the long run, which then only shapes bursts; level="budget" ties them'
        )
    rng = np.random.default_rng(seed)
    findings: dict[str, Any] = {"steps": len(log), "segments": len(log.pieces()), "seed": seed}
    clean_log, clean_runs = _clean_part(params, log, clean, warnings)
    params = _with_clean_means(params, clean_log, clean_runs)
    if log.labels is None:
        findings["labels"] = False
        warnings.append(
            "the log has no labels: stock coefficients are used, which know nothing of this classifier; "
            "threshold and alarm are from the log itself"
        )
    else:
        if calibrate is None:
            calibrate = "extended" in (profile, params.profile)
        weighing = params if risk_signals is None else _narrowed(params, risk_signals)
        fitted, weighed, more = _fit_coefficients(
            weighing, log, l2, nonnegative, calibrate, rng, warnings, explain
        )
        assert fitted.coef is not None
        coef = {name: fitted.coef.get(name, 0.0) for name in params.signals}
        params = params.replace(coef=coef, bias=fitted.bias)
        findings.update(more)
        if weighed is not None:
            findings["time_helps"] = weighed.time_helps
            findings["time"] = weighed.sentence()
            findings["signals"] = _signal_table(fitted, weighed)
            warnings += [
                f"{name} costs {-row['adds']:.3f} of AUROC on held-out steps: what it learned does not carry "
                "over; leave it out with `signals`, or `use_features` if it reads features"
                for name, row in findings["signals"].items()
                if row["adds"] <= -HARM
            ]
    if evidence:
        try:
            learned = learn_head(params, log, clean_log, clean_runs, l2, evidence_clip)
        except ValueError as error:
            if evidence != "auto":
                raise
            warnings.append(f"the alarm sums risk: {error}")
        else:
            params = params.replace(evidence=learned.head)
            findings["evidence"] = learned.findings
            warnings += learned.warnings
    params, more = _fit_decisions(params, clean_log, clean_runs, run_length, rng, warnings, explain)
    findings.update(more)
    findings["warnings"] = warnings
    return params.replace(notes={"fit": _plain(findings)})


def default_anchor(signals: Sequence[str]) -> str:
    """Return what `risk` leans on when nothing is said: the belief where there is one.

    Examples
    --------
    >>> default_anchor(("doubt", "disbelief_fast")), default_anchor(("doubt",))
    ('belief', 'confidence')
    """
    return "belief" if "disbelief_fast" in signals else "confidence"


def _feature_format(log: Log | None, scale: float | None, zero_point: int | None) -> tuple[float, int]:
    if log is None or log.features is None:
        return 1.0, 0
    if log.features.dtype == np.int8:
        if zero_point is None:
            raise ValueError(
                "features are int8 and feature_zero_point is missing; -128 for a ReLU output, "
                "0 for a symmetric one"
            )
        return 1.0 if scale is None else scale, zero_point
    chosen_scale, chosen_zero = choose_feature_scale(log.features)
    if scale is None and zero_point is None:
        return chosen_scale, chosen_zero
    if scale is None or zero_point is None:
        raise ValueError("feature_scale and feature_zero_point go together; one is missing")
    return scale, zero_point


def _clean_part(params: Params, log: Log, clean: Log | None, warnings: list[str]) -> tuple[Log, list[slice]]:
    """Return the log that holds the clean steps, and its clean stretches."""
    if clean is not None:
        if clean.classes != log.classes:
            raise ValueError(f"the clean log has {clean.classes} classes, the log has {log.classes}")
        if params.features and clean.width != log.width:
            raise ValueError(f"the clean log has {clean.width} features, the log has {log.width}")
        clean_log = clean
    else:
        clean_log = log
        if log.shifted is None:
            warnings.append(
                "no steps are marked as clean: the whole log sets threshold and alarm; if it holds degraded "
                "stretches, mark them with `shifted` or give a clean log"
            )
    runs = rested_stretches(params, clean_log)
    if not runs:
        raise ValueError("no clean steps are left; threshold and alarm need some")
    return clean_log, runs


def rested_stretches(params: Params, clean: Log) -> list[slice]:
    """Return the clean stretches on which what a monitor remembers of a shift has waned.

    Parameters
    ----------
    params : Params
    clean : Log
    """
    memory = max(params.depth, SLOW_MEMORY if set(params.signals) & {*SLOW, *BELIEF} else 0)
    runs = clean_stretches(clean, memory)
    if "strain_slow" in params.signals:
        # A memory that long may leave too little; a strain that still wanes is better than no alarm.
        rested = clean_stretches(clean, STRAIN_MEMORY)
        if sum(run.stop - run.start for run in rested) >= FEWEST_CLEAN:
            return rested
    return runs


def _with_clean_means(params: Params, clean: Log, runs: Sequence[slice]) -> Params:
    values, settled = signals_of(params, clean)
    index = np.concatenate([np.arange(run.start, run.stop) for run in runs])
    with_past = index[settled[index]]
    means = values[with_past if len(with_past) else index].mean(0)
    return params.replace(clean_means=dict(zip(params.signals, means.tolist(), strict=True)))


def _narrowed(params: Params, signals: Sequence[str]) -> Params:
    """Return the same parameters with some of their signals."""
    kept = ordered(signals)
    for name in kept:
        if name not in params.signals:
            raise ValueError(
                f"risk signal {name} is not among the signals; {', '.join(params.signals)} is accepted"
            )
    assert params.clean_means is not None
    return params.replace(
        signals=kept,
        coef=None,
        clean_means={name: params.clean_means[name] for name in kept},
        features=params.features if set(kept) & set(FEATURE_BASED) else 0,
    )


def _fit_coefficients(
    params: Params,
    log: Log,
    l2: float,
    nonnegative: bool,
    calibrate: bool,
    rng: np.random.Generator,
    warnings: list[str],
    explain: bool,
) -> tuple[Params, Evidence | None, dict[str, Any]]:
    values, settled = signals_of(params, log)
    target = log.errors()
    used, wrong = values[settled], target[settled]
    errors, correct = int(wrong.sum()), int((~wrong).sum())
    if errors < FEWEST or correct < FEWEST:
        raise ValueError(
            f"the log has {errors} errors and {correct} correct steps after the first of each segment; at "
            f"least {FEWEST} of each are needed (leave the labels out for a fit without them)"
        )
    coef, bias = fit_logistic(used, wrong, l2, 0.0 if nonnegative else -COEF_LIMIT)
    for name, value in zip(params.signals, coef, strict=True):
        if abs(value) > COEF_LIMIT - 0.1:
            warnings.append(f"coefficient of {name} is held at {value:.0f}, the most that the core stores")
    fitted = params.replace(
        coef=dict(zip(params.signals, coef.tolist(), strict=True)), bias=float(np.clip(bias, -256, 256))
    )
    evidence = None
    if explain:
        evidence = weigh(params, log, values, settled, l2, nonnegative, rng)
    else:
        shuffled(log, rng)  # as `weigh` does, so that the alarm gets the same draws either way
    assert fitted.coef is not None
    stored = np.array([fitted.coef[name] for name in params.signals])
    weights = balanced_weights(wrong)
    exact = log_loss(used @ coef + bias, wrong, weights)
    quantized = log_loss(used @ stored + fitted.bias, wrong, weights)
    if calibrate:
        shifted = calibrated_bias(values @ stored, float(target.mean()))
        fitted = fitted.replace(bias=float(np.clip(shifted, -256, 256)))
    core = watch(Monitor(fitted), log)
    return (
        fitted,
        evidence,
        {
            "labels": True,
            "errors": int(target.sum()),
            "nonnegative": nonnegative,
            "l2": l2,
            "loss": exact,
            "loss_from_quantization": quantized - exact,
            "auroc": auroc(core["risk"], target),
            "auroc_float": auroc(used @ coef + bias, wrong),
            "auroc_core": auroc(core["uncertainty"][settled], wrong),
            "auroc_confidence": auroc(-log.confidence(), target),
            **({"mean_uncertainty": float(core["uncertainty"].mean())} if calibrate else {}),
        },
    )


def _signal_table(params: Params, evidence: Evidence) -> dict[str, dict[str, float]]:
    assert params.coef is not None and params.clean_means is not None
    return {
        name: {
            "coef": params.coef[name],
            "clean_mean": params.clean_means[name],
            "alone": evidence.alone[name],
            "adds": evidence.stream - evidence.without[name],
        }
        for name in params.signals
    }


def _fit_decisions(
    params: Params,
    clean_log: Log,
    clean_runs: Sequence[slice],
    run_length: int,
    rng: np.random.Generator,
    warnings: list[str],
    explain: bool,
) -> tuple[Params, dict[str, Any]]:
    """Set reference, slopes and alarm from the risk on clean steps, or the alarm from the evidence there."""
    steps, signals = watch(Monitor(params), clean_log, signals=True)
    runs = [steps["risk"][run] for run in clean_runs]
    pooled = np.sort(np.concatenate(runs))
    count = len(pooled)
    # The rank that a fresh clean step exceeds with probability at most `level`.
    rank = min(count, math.ceil((1 - params.level) * (count + 1)))
    reference = float(pooled[rank - 1])
    if (pooled >= reference).mean() > params.level:
        # Flagging is >=, so a tie at the reference would flag all of it.
        reference = min(1.0, reference + 1 / ONE)
    high, low = np.quantile(pooled, [1 - params.level / 2, max(0.0, 1 - 2 * params.level)])
    # Ten flags of debt move the threshold by half of what separates half the level from twice it.
    slope = float(np.clip((high - low) / 20, 1e-4, 0.02))
    if count < FEWEST_CLEAN:
        warnings.append(f"no alarm is set: {count} clean steps are too few, {FEWEST_CLEAN} are needed")
    elif count < SUPPORT * (2 if params.evidence is None else 1) * run_length:
        warnings.append(
            f"{count:,} clean steps cannot show one false alarm in {run_length:,}: the alarm limit is "
            "extrapolated, and false alarms may come several times as often"
        )
    choose: _ChooseAlarm = choose_alarm
    summed = runs
    if params.evidence is not None:
        added = params.evidence.values(signals, steps["label"])
        choose, summed = _evidence_alarm, [added[run] for run in clean_runs]
    alarm = choose(summed, run_length, rng)
    if params.evidence is not None:
        alarm = replace(alarm, mean=float(pooled.mean()))
    findings: dict[str, Any] = {"clean_steps": count, "run_length": run_length}
    if explain:
        findings["run_length_elsewhere"] = _run_length_elsewhere(summed, choose, run_length, rng)
    return params.replace(reference=reference, slope=slope, alarm=alarm), findings


def _evidence_alarm(added: Sequence[Floats], run_length: int, rng: np.random.Generator) -> Alarm:
    """Choose an alarm that sums evidence, as `choose_alarm` does one that sums risk."""
    return Alarm(rise=choose_evidence_limit(added, run_length, rng))


def _run_length_elsewhere(
    runs: Sequence[Floats],
    choose: _ChooseAlarm,
    run_length: int,
    rng: np.random.Generator,
) -> dict[str, int] | None:
    """Set the alarm on one half of the clean steps, count false alarms on the other, both ways."""
    if len(runs) > 1:
        halves = [list(runs[0::2]), list(runs[1::2])]
    elif len(runs[0]) > 1:
        middle = len(runs[0]) // 2
        halves = [[runs[0][:middle]], [runs[0][middle:]]]
    else:
        return None
    alarms = steps = 0
    for here, there in ((0, 1), (1, 0)):
        alarm = choose(halves[here], run_length, rng)
        for side, sign in ((alarm.rise, 1), (alarm.fall, -1)):
            if side is not None:
                raised, _ = alarms_in(halves[there], alarm.mean + sign * side.allowance, sign, side.limit)
                alarms += raised
        steps += sum(len(run) for run in halves[there])
    return {"false_alarms": alarms, "steps": steps}


def _plain(value: Any) -> Any:
    """Return JSON-able content with floats of six digits; NaN becomes null."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
