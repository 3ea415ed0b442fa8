"""The settings that `tune` tries, and the scores that it compares them by."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..metrics.ranking import auroc
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import COEF_LIMIT, Params
from ..monitor.signals import profile_signals
from .folds import FOLDS
from .gain import Steps, held_out_logits
from .logistic import fit_logistic, linear
from .options import HeadOptions
from .signal_table import SignalTable, read_signals
from .simple_rules import left_wrong
from .stages.read import default_anchor

Floats = npt.NDArray[np.float64]

LAG_CHOICES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32)
WEIGHT_LAWS: dict[str, Callable[[int], float]] = {
    "1/lag": lambda lag: 1 / lag,
    "equal": lambda lag: 1.0,
    "1/sqrt(lag)": lambda lag: 1 / math.sqrt(lag),
}
DOUBT_MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
BLENDS = (0.0, 0.3, 0.5, 0.7, 0.85, 1.0)
LEVELS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)

CHECK_FOLD = FOLDS - 1
"""This fold is never searched; it tells what the search was worth."""


@dataclass(frozen=True)
class Choice:
    """One setting that is tried."""

    profile: str
    lags: tuple[int, ...]
    weight_law: str
    doubt_mix: float
    use_features: bool

    def settings(self) -> dict[str, Any]:
        """Return the options of `fit` that this choice stands for."""
        return {
            "profile": self.profile,
            "lags": self.lags,
            "lag_weights": tuple(WEIGHT_LAWS[self.weight_law](lag) for lag in self.lags),
            "doubt_mix": self.doubt_mix,
            "use_features": self.use_features,
            "window": max(16, *self.lags),
        }


@dataclass(frozen=True)
class Trial:
    """What settings are scored on, and how their coefficients are fitted.

    Parameters
    ----------
    log : Log
        With labels.
    fold : array of integers
        Fold of each step; `CHECK_FOLD` takes no part in the search.
    wrong : array of booleans
        Errors of the log.
    how : HeadOptions
    """

    log: Log
    fold: npt.NDArray[np.int64]
    wrong: npt.NDArray[np.bool_]
    how: HeadOptions


def choices(trials: int, default: Choice, rng: np.random.Generator) -> list[Choice]:
    """Return the default, then random settings, each once."""
    chosen = [default]
    for _ in range(50 * trials):
        if len(chosen) >= trials:
            break
        count = int(rng.integers(1, 6))
        lags = tuple(sorted(int(lag) for lag in rng.choice(LAG_CHOICES, count, replace=False)))
        choice = Choice(
            ("paper", "extended")[int(rng.integers(2))],
            lags,
            list(WEIGHT_LAWS)[int(rng.integers(len(WEIGHT_LAWS)))],
            DOUBT_MIXES[int(rng.integers(len(DOUBT_MIXES)))],
            default.use_features and bool(rng.integers(2)),
        )
        if choice not in chosen:
            chosen.append(choice)
    return chosen


def params_of(start: Params, choice: Choice) -> Params:
    """Return the parameters of a choice, without coefficients."""
    settings = choice.settings()
    features = start.features if settings.pop("use_features") else 0
    signals = profile_signals(settings.pop("profile"), features)
    changed = {"signals": signals, "anchor": default_anchor(signals), "coef": None, "clean_means": None}
    return start.replace(features=features, **changed, **settings)


def _anchor(params: Params, log: Log, table: SignalTable) -> Floats:
    """Return what the risk of each step leans on beside the uncertainty."""
    return log.confidence() if params.anchor == "confidence" else 1 - table.anchor / ONE


def _risk(logits: Floats, anchor: Floats, blend: float) -> Floats:
    uncertainty = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
    return blend * uncertainty + (1 - blend) * (1 - anchor)


def _mean_auroc(score: Floats, target: npt.NDArray[np.bool_], fold: npt.NDArray[np.int64]) -> float:
    each = [auroc(score[fold == n], target[fold == n]) for n in np.unique(fold)]
    each = [value for value in each if math.isfinite(value)]
    return float(np.mean(each)) if each else float("nan")


def search_score(params: Params, trial: Trial) -> tuple[float, float]:
    """Return the best held-out AUROC over the blends, and that blend."""
    table = read_signals(params, trial.log, params.signals)
    inside = table.settled & (trial.fold != CHECK_FOLD)
    steps = Steps(table.units[inside], trial.wrong[inside], trial.fold[inside])
    logits = held_out_logits(steps, trial.how.l2, trial.how.nonnegative)
    known = np.isfinite(logits)
    anchor = _anchor(params, trial.log, table)[inside][known]
    scores = [
        (_mean_auroc(_risk(logits[known], anchor, blend), steps.target[known], steps.fold[known]), blend)
        for blend in BLENDS
    ]
    return max((s for s in scores if math.isfinite(s[0])), default=(float("-inf"), 0.7))


def _fit_searched(params: Params, trial: Trial) -> tuple[SignalTable, Floats, float]:
    """Return the signals of all steps, and coefficients and bias fitted on those that are searched."""
    table = read_signals(params, trial.log, params.signals)
    use = table.settled & (trial.fold != CHECK_FOLD)
    low = 0.0 if trial.how.nonnegative else -COEF_LIMIT
    coef, bias = fit_logistic(table.units[use], trial.wrong[use], trial.how.l2, low)
    return table, coef, bias


def check_score(params: Params, blend: float, trial: Trial) -> tuple[float, float]:
    """Return the AUROC on the quarter that no search saw, and the share of errors among its surest steps."""
    table, coef, bias = _fit_searched(params, trial)
    risk = _risk(linear(table.units, coef, bias), _anchor(params, trial.log, table), blend)
    held = trial.fold == CHECK_FOLD
    return auroc(risk[held], trial.wrong[held]), left_wrong(trial.wrong[held], risk[held])


def best_level(params: Params, trial: Trial, budget: float) -> float:
    """Return the level under which accepted steps of the search part err least within the budget."""
    table, coef, bias = _fit_searched(params, trial)
    held = dict(zip(params.signals, coef.tolist(), strict=True))
    means = dict(zip(params.signals, (table.units.mean(0) / ONE).tolist(), strict=True))
    fitted = params.replace(coef=held, bias=float(np.clip(bias, -256, 256)), clean_means=means)
    searched = np.flatnonzero(trial.fold != CHECK_FOLD)
    part, wrong = trial.log.take(searched), trial.wrong[searched]
    results: list[tuple[float, float]] = []
    risk = watch(Monitor(fitted), part)["risk"]
    for level in LEVELS:
        tried = fitted.replace(level=level, budget=budget, reference=float(np.quantile(risk, 1 - level)))
        accepted = ~watch(Monitor(tried), part)["abstain"]
        results.append((float(wrong[accepted].mean()) if accepted.any() else 1.0, level))
    return min(results)[1]
