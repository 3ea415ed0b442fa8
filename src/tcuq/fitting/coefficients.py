"""Coefficients of the signals, learned from the errors of a labeled log; what no weight reads is dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..metrics.ranking import auroc
from ..monitor.cost import cost
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import COEF_LIMIT, Params
from ..monitor.signals import FEATURE_BASED, ordered
from .gain import Gain, measure_gain, signals_of
from .logistic import balanced_weights, calibrated_bias, fit_logistic, log_loss

FEWEST = 10
"""Errors, and correct steps, that a labeled fit needs at the least."""


@dataclass(frozen=True)
class Regression:
    """How errors are regressed on the signals.

    Parameters
    ----------
    l2 : float
        Strength of the penalty on standardized signals.
    nonnegative : bool
        Keep coefficients at 0 or above.
    calibrate : bool
        Shift the bias so that the mean uncertainty is the share of errors.
    """

    l2: float
    nonnegative: bool
    calibrate: bool


def narrowed(params: Params, signals: Sequence[str]) -> Params:
    """Return the same parameters with some of their signals."""
    kept = ordered(signals)
    for name in kept:
        if name not in params.signals:
            raise ValueError(
                f"risk signal {name} is not among the signals, expected some of {', '.join(params.signals)}"
            )
    assert params.clean_means is not None
    return params.replace(
        signals=kept,
        coef=None,
        clean_means={name: params.clean_means[name] for name in kept},
        features=params.features if set(kept) & set(FEATURE_BASED) else 0,
    )


def fit_coefficients(
    params: Params,
    log: Log,
    how: Regression,
    order: npt.NDArray[np.int64],
    warnings: list[str],
    explain: bool,
) -> tuple[Params, Gain | None, dict[str, Any]]:
    """Learn coefficients and bias from the errors of a labeled log.

    Parameters
    ----------
    params : Params
        Says which signals.
    log : Log
        With labels.
    how : Regression
    order : array
        The steps in random order, for the shuffle that tells whether time helps.
    warnings : list of str
        Notes are added to it.
    explain : bool
        Whether to measure what time and each signal add.
    """
    l2, nonnegative = how.l2, how.nonnegative
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
    gain = measure_gain(params, log, values, settled, l2, nonnegative, order) if explain else None
    assert fitted.coef is not None
    stored = np.array([fitted.coef[name] for name in params.signals])
    weights = balanced_weights(wrong)
    exact = log_loss(used @ coef + bias, wrong, weights)
    quantized = log_loss(used @ stored + fitted.bias, wrong, weights)
    if how.calibrate:
        shifted = calibrated_bias(values @ stored, float(target.mean()))
        fitted = fitted.replace(bias=float(np.clip(shifted, -256, 256)))
    core = watch(Monitor(fitted), log)
    return (
        fitted,
        gain,
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
            **({"mean_uncertainty": float(core["uncertainty"].mean())} if how.calibrate else {}),
        },
    )


def signal_table(params: Params, gain: Gain) -> dict[str, dict[str, float]]:
    """Return, for each signal, its coefficient and clean mean, and its held-out AUROC alone and added."""
    assert params.coef is not None and params.clean_means is not None
    return {
        name: {
            "coef": params.coef[name],
            "clean_mean": params.clean_means[name],
            "alone": gain.alone[name],
            "adds": gain.stream - gain.without[name],
        }
        for name in params.signals
    }


def without_unused(params: Params) -> tuple[Params, dict[str, Any] | None]:
    """Drop signals whose coefficient is 0 unless the alarm or the anchor reads them, and idle features.

    The monitor decides as before, bit for bit, at less cost.

    Parameters
    ----------
    params : Params

    Returns
    -------
    params : Params
    dropped : dict or None
        Names of the signals, number of the features, bytes and instructions saved; None for nothing.

    Examples
    --------
    >>> slim, dropped = without_unused(Params(classes=10, features=32))
    >>> slim.features, dropped["signals"], dropped["features"]
    (0, ['instability'], 32)
    """
    assert params.coef is not None and params.clean_means is not None
    read = {name for name, value in params.coef.items() if value != 0}
    if params.evidence is not None:
        read |= set(params.evidence.coef)
    if params.anchor == "belief":
        read.add("disbelief_fast")
    if not read:  # a monitor has at least one signal
        read.add("doubt" if "doubt" in params.signals else params.signals[0])
    kept = ordered(read)
    reads_features = bool(read & set(FEATURE_BASED))
    if kept == params.signals and (reads_features or not params.features):
        return params, None
    slim = params.replace(
        signals=kept,
        coef={name: params.coef[name] for name in kept},
        clean_means={name: params.clean_means[name] for name in kept},
        **({} if reads_features else {"features": 0, "feature_scale": 1.0, "feature_zero_point": 0}),
    )
    before, after = cost(params), cost(slim)
    return slim, {
        "signals": [name for name in params.signals if name not in kept],
        "features": params.features - slim.features,
        "ram_bytes": before.ram_bytes - after.ram_bytes,
        "instructions": before.instructions - after.instructions,
    }
