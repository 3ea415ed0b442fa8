"""First stage: logs are read and checked, and parameters made of what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...monitor.instant_head import InstantHead
from ...monitor.log import Log
from ...monitor.params import Params
from ...monitor.quantize import choose_feature_scale, quantize_features
from ...monitor.signals import STOCK_INSTANT, STOCK_STEADY, ordered, profile_signals
from ..centers import class_shares, find_centers
from ..clean import Clean, clean_part, refuse_other_shape
from ..options import FitOptions
from ..sources import Source, as_log, one_prediction, refuse_one_class

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, what is done of it, and all that there is to do."""


@dataclass(frozen=True, eq=False)
class Request:
    """What `fit` was asked for.

    Parameters
    ----------
    log : Log, path or data frame
    clean : Log, path or data frame, or None
    options : FitOptions
    progress : callable, optional
    """

    log: Source
    clean: Source | None
    options: FitOptions
    progress: Progress | None = None


@dataclass(frozen=True, eq=False)
class Reading:
    """What there is to fit to.

    Parameters
    ----------
    log : Log
    clean : Clean
        Clean steps, of that log or of another one.
    params : Params
        As asked for; coefficients, means, threshold and alarm are still the stock ones.
    options : FitOptions
    rng : numpy.random.Generator
        Draws in the order of the stages.
    progress : callable
    notes : tuple of str
    """

    log: Log
    clean: Clean
    params: Params
    options: FitOptions
    rng: np.random.Generator
    progress: Progress
    notes: tuple[str, ...]

    @property
    def extended(self) -> bool:
        """Whether the extended profile is in use, asked for by name or by its signals."""
        return "extended" in (self.options.signals.profile, self.params.profile)


def read(request: Request) -> Reading:
    """Read the logs, check them, and make parameters of the options."""
    options = request.options
    progress = request.progress or _say_nothing
    progress("read", 0, 1)
    told: dict[str, Any] = {"logits": options.read.logits, "logits_scale": options.read.logits_scale}
    log = as_log(request.log, **told)
    clean = None if request.clean is None else as_log(request.clean, **told)
    if len(log) == 0:
        raise ValueError("the log is empty; at least one step is needed")
    refuse_one_class(log)
    params = start_params(log, options, clean)
    if clean is not None and clean.features is not None and clean.width == params.features:
        # Names the first row that the core would refuse, before the log is cut into chunks.
        quantize_features(clean.features, params.feature_scale, params.feature_zero_point)
    part = clean_part(params, log, clean)
    notes = [*log.notes, *(clean.notes if clean is not None else ()), *one_prediction(log)]
    if params.level < params.budget:
        notes.append(
            f"the monitor flags {params.level:.0%} of the steps but may abstain on {params.budget:.0%}, so "
            'the budget only limits bursts; `level="budget"` makes them equal'
        )
    if part.source == "all":
        notes.append(
            "no steps are marked as clean: the whole log sets threshold and alarm; if it holds degraded "
            "stretches, mark them with `shifted`, or pass a clean log with `clean`"
        )
    if params.instant is None and options.alarm.alarm == "proved":
        raise ValueError("alarm is 'proved', expected a profile with beliefs, such as 'standard'")
    rng = np.random.default_rng(options.seed)
    progress("read", 1, 1)
    return Reading(log, part, params, options, rng, progress, tuple(notes))


def start_params(log: Log, options: FitOptions, clean: Log | None = None) -> Params:
    """Return parameters as asked for, before anything is learned but the centers of the classes.

    Parameters
    ----------
    log : Log
        Says how many classes and features there are, and how features become int8.
    options : FitOptions
    clean : Log, optional
        Its features, or those of the clean steps of the log, have the centers.
    """
    wanted, head, threshold = options.signals, options.head, options.threshold
    scale, zero_point = options.read.feature_scale, options.read.feature_zero_point
    scale = log.feature_scale if scale is None else scale
    zero_point = log.feature_zero_point if zero_point is None else zero_point
    use = options.read.use_features and _readable(log, zero_point, wanted.signals)
    features = log.width if use else 0
    scale, zero_point = feature_format(log if features else None, scale, zero_point)
    names = (
        ordered(wanted.signals) if wanted.signals is not None else profile_signals(wanted.profile, features)
    )
    learns = "disbelief" in names
    about = head.about or ("answer" if learns else "prediction")
    if about == "answer" and not learns:
        raise ValueError("about is 'answer', expected 'prediction' where no signal `disbelief` is in use")
    level = threshold.level
    if level is None:
        level = "budget" if learns and 0.001 <= threshold.budget <= 0.999 else 0.1
    steady: dict[str, Any] = {}
    if learns:
        shares = class_shares(log) if head.class_mix else None
        steady = {"instant": InstantHead(*_within(STOCK_INSTANT, names), shares), "coef": STOCK_STEADY[0]}
        steady |= {"bias": STOCK_STEADY[1], "about": about}
    elif head.class_mix:
        raise ValueError("class_mix corrects beliefs, expected a profile that has them, such as 'standard'")
    if clean is not None:  # before its features are read
        refuse_other_shape(log, clean, features > 0)
    if "distance" in names and features:  # without features `Params` says what is missing
        steady["centers"] = find_centers(log if clean is None else clean, log.classes, scale, zero_point)
    return Params(
        **steady,
        classes=log.classes,
        names=getattr(log, "names", None),
        features=features,
        feature_scale=scale,
        feature_zero_point=zero_point,
        signals=names,
        lags=tuple(wanted.lags),
        lag_weights=None if wanted.lag_weights is None else tuple(wanted.lag_weights),
        window=wanted.window,
        doubt_mix=wanted.doubt_mix,
        blend=0.7 if head.blend is None else head.blend,
        anchor=default_anchor(names) if head.anchor is None else head.anchor,
        level=threshold.budget if level == "budget" else level,
        budget=threshold.budget,
        burst=threshold.burst,
        warmup=threshold.warmup,
    )


def default_anchor(signals: Sequence[str]) -> str:
    """Return what `risk` leans on when nothing is said: the belief where there is one.

    Examples
    --------
    >>> default_anchor(("doubt", "disbelief_fast")), default_anchor(("doubt",))
    ('belief', 'confidence')
    """
    return "belief" if {"disbelief_fast", "disbelief"} & set(signals) else "confidence"


def _within(stock: tuple[dict[str, float], float], names: Sequence[str]) -> tuple[dict[str, float], float]:
    """Return a stock head without the signals that are not in use."""
    return {name: value for name, value in stock[0].items() if name in names}, stock[1]


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


def _readable(log: Log, zero_point: int | None, signals: Sequence[str] | None) -> bool:
    """Tell whether features may be read; without labels no stock weight reads them, so none must be known."""
    if log.labels is not None or log.features is None or signals is not None:
        return True
    return log.features.dtype != np.int8 or zero_point is not None


def _say_nothing(stage: str, done: int, total: int) -> None:
    pass
