"""`tune`: search a monitor's settings on held-out development steps, within bytes and instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from ..metrics.ranking import auroc
from ..monitor.cost import cost
from ..monitor.log import Log, watch
from ..monitor.monitor import Monitor
from ..monitor.params import COEF_LIMIT, Params
from ..monitor.signals import profile_signals
from .fit import FEWEST, default_anchor, fit
from .gain import FOLDS, folds, held_out_logits, signals_of
from .logistic import fit_logistic

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
class _Choice:
    profile: str
    lags: tuple[int, ...]
    weight_law: str
    doubt_mix: float
    use_features: bool

    def settings(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "lags": self.lags,
            "lag_weights": tuple(WEIGHT_LAWS[self.weight_law](lag) for lag in self.lags),
            "doubt_mix": self.doubt_mix,
            "use_features": self.use_features,
            "window": max(16, *self.lags),
        }


def tune(
    log: Log,
    *,
    max_bytes: int = 1024,
    max_instructions: int = 10_000,
    trials: int = 60,
    seed: int = 0,
    progress: Callable[[int, int, str], None] | None = None,
    budget: float = 0.15,
    **fit_options: Any,
) -> Params:
    """Search lags, lag weights, window, blend, level, doubt mix, profile and features, then fit.

    Settings are scored by the AUROC of errors that `risk` reaches on segments held out of the
    coefficient fit. A quarter of the segments takes no part in the search at all; the notes give the
    score of the default and of the chosen settings there.

    Parameters
    ----------
    log : Log
        With labels, and features if the monitor shall use them.
    max_bytes : int
        Most RAM (context and ring, 32-bit pointers).
    max_instructions : int
        Most instructions a step, as `tcuq.monitor.cost` estimates them.
    trials : int
        Settings to try, 1 to 100,000.
    seed : int
    progress : callable, optional
        Called with (done, total, text).
    budget : float
        Share of abstentions; the level is chosen so that accepted steps err least under it.
    **fit_options
        Passed to `fit`: clean, burst, warmup, nonnegative, l2, run_length, feature_scale,
        feature_zero_point, use_features, evidence, evidence_clip. Settings without a signal that evidence
        is learned on are tried all the same: `evidence="auto"` sums risk should one of them be chosen.

    Returns
    -------
    Params
        ``notes["tune"]`` holds what was tried and found.
    """
    integer("max_bytes", max_bytes, 1, 10**9)
    integer("max_instructions", max_instructions, 1, 10**9)
    integer("trials", trials, 1, 100_000)
    integer("seed", seed, 0, 2**63 - 1)
    if log.labels is None:
        raise ValueError("labels are missing; tune needs them to tell errors")
    _refuse_searched(fit_options)
    # Its alarm is never used, and its signals may not be those that evidence is learned on.
    plain = {name: value for name, value in fit_options.items() if not name.startswith("evidence")}
    start = fit(log, budget=budget, seed=seed, **{"run_length": 1000, **plain})
    default = _Choice("paper", (1, 2, 4), "1/lag", 0.5, start.features > 0)
    rng = np.random.default_rng(seed)
    fold = folds(log)
    l2, nonnegative = fit_options.get("l2", 1.0), fit_options.get("nonnegative", False)

    _need_both_kinds(log.errors()[fold != CHECK_FOLD])
    choices = _choices(trials, default, rng)
    best: tuple[float, _Choice, float] | None = None
    default_score = float("nan")
    fitting = 0
    for number, choice in enumerate(choices):
        params = _params(start, choice)
        price = cost(params)
        if price.ram_bytes <= max_bytes and price.instructions <= max_instructions:
            fitting += 1
            score, blend = _search_score(params, log, fold, l2, nonnegative)
            if choice == default:
                default_score = score
            if math.isfinite(score) and (best is None or score > best[0]):
                best = score, choice, blend
        if progress is not None:
            text = "nothing fits yet" if best is None else f"best AUROC {best[0]:.4f}"
            progress(number + 1, len(choices), text)
    if best is None and fitting:
        raise ValueError(
            "the errors lie in one part of the log only, so no part can be held out; errors in at least two "
            f"of {FOLDS - 1} parts of the time, segments or kinds of shift are needed"
        )
    if best is None:
        price = cost(_params(start, default))
        raise ValueError(
            f"none of {len(choices)} settings fits {max_bytes} bytes and {max_instructions} instructions; "
            f"the default needs {price.ram_bytes} and {price.instructions}"
        )
    score, choice, blend = best
    level = _best_level(_params(start, choice).replace(blend=blend), log, fold, l2, nonnegative, budget)
    params = fit(
        log, **{**fit_options, **choice.settings()}, blend=blend, level=level, budget=budget, seed=seed
    )
    check = {
        "default": _check_score(_params(start, default), 0.7, log, fold, l2, nonnegative),
        "chosen": _check_score(_params(start, choice), blend, log, fold, l2, nonnegative),
    }
    found = {
        "trials": len(choices),
        "within_limits": fitting,
        "max_bytes": max_bytes,
        "max_instructions": max_instructions,
        "seed": seed,
        "search_auroc": round(score, 6),
        "search_auroc_default": None if math.isnan(default_score) else round(default_score, 6),
        "check_auroc_default": None if math.isnan(check["default"]) else round(check["default"], 6),
        "check_auroc": None if math.isnan(check["chosen"]) else round(check["chosen"], 6),
        "check_steps": int((fold == CHECK_FOLD).sum()),
        "check_errors": int(log.errors()[fold == CHECK_FOLD].sum()),
        "weight_law": choice.weight_law,
    }
    return params.replace(notes={**params.notes, "tune": found})


def _refuse_searched(options: dict[str, Any]) -> None:
    for name in (
        "profile",
        "signals",
        "lags",
        "lag_weights",
        "window",
        "blend",
        "anchor",
        "doubt_mix",
        "level",
    ):
        if name in options:
            raise ValueError(f"{name} is searched by tune; use fit to set it")


def _need_both_kinds(wrong: npt.NDArray[np.bool_]) -> None:
    errors, correct = int(wrong.sum()), int((~wrong).sum())
    if errors < FEWEST or correct < FEWEST:
        raise ValueError(
            f"the part of the log that is searched has {errors} errors and {correct} correct steps; at least "
            f"{FEWEST} of each are needed"
        )


def _choices(trials: int, default: _Choice, rng: np.random.Generator) -> list[_Choice]:
    """Return the default, then random settings, each once."""
    chosen = [default]
    for _ in range(50 * trials):
        if len(chosen) >= trials:
            break
        count = int(rng.integers(1, 6))
        lags = tuple(sorted(int(lag) for lag in rng.choice(LAG_CHOICES, count, replace=False)))
        choice = _Choice(
            ("paper", "extended")[int(rng.integers(2))],
            lags,
            list(WEIGHT_LAWS)[int(rng.integers(len(WEIGHT_LAWS)))],
            DOUBT_MIXES[int(rng.integers(len(DOUBT_MIXES)))],
            default.use_features and bool(rng.integers(2)),
        )
        if choice not in chosen:
            chosen.append(choice)
    return chosen


def _params(start: Params, choice: _Choice) -> Params:
    settings = choice.settings()
    features = start.features if settings.pop("use_features") else 0
    signals = profile_signals(settings.pop("profile"), features)
    changed = {"signals": signals, "anchor": default_anchor(signals), "coef": None, "clean_means": None}
    return start.replace(features=features, **changed, **settings)


def _anchor(params: Params, log: Log) -> Floats:
    """Return what the risk of each step leans on beside the uncertainty."""
    if params.anchor == "confidence":
        return log.confidence()
    return np.asarray(1 - watch(Monitor(params.replace(blend=0)), log)["risk"])


def _risk(logits: Floats, anchor: Floats, blend: float) -> Floats:
    uncertainty = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
    return blend * uncertainty + (1 - blend) * (1 - anchor)


def _mean_auroc(score: Floats, target: npt.NDArray[np.bool_], fold: npt.NDArray[np.int64]) -> float:
    each = [auroc(score[fold == n], target[fold == n]) for n in np.unique(fold)]
    each = [value for value in each if math.isfinite(value)]
    return float(np.mean(each)) if each else float("nan")


def _search_score(
    params: Params, log: Log, fold: npt.NDArray[np.int64], l2: float, nonnegative: bool
) -> tuple[float, float]:
    """Return the best held-out AUROC over the blends, and that blend."""
    values, settled = signals_of(params, log)
    inside = settled & (fold != CHECK_FOLD)
    target, fold = log.errors()[inside], fold[inside]
    logits = held_out_logits(values[inside], target, fold, l2, nonnegative)
    known = np.isfinite(logits)
    anchor = _anchor(params, log)[inside][known]
    scores = [
        (_mean_auroc(_risk(logits[known], anchor, blend), target[known], fold[known]), blend)
        for blend in BLENDS
    ]
    return max((s for s in scores if math.isfinite(s[0])), default=(float("-inf"), 0.7))


def _fit_on(
    params: Params, log: Log, steps: npt.NDArray[np.bool_], l2: float, nonnegative: bool
) -> tuple[Floats, Floats, float]:
    values, settled = signals_of(params, log)
    use = settled & steps
    coef, bias = fit_logistic(values[use], log.errors()[use], l2, 0.0 if nonnegative else -COEF_LIMIT)
    return values, coef, bias


def _check_score(
    params: Params, blend: float, log: Log, fold: npt.NDArray[np.int64], l2: float, nonnegative: bool
) -> float:
    """Return the AUROC on the quarter that no search saw."""
    values, coef, bias = _fit_on(params, log, fold != CHECK_FOLD, l2, nonnegative)
    risk = _risk(values @ coef + bias, _anchor(params, log), blend)
    return auroc(risk[fold == CHECK_FOLD], log.errors()[fold == CHECK_FOLD])


def _best_level(
    params: Params, log: Log, fold: npt.NDArray[np.int64], l2: float, nonnegative: bool, budget: float
) -> float:
    """Return the level under which accepted steps of the search part err least within the budget."""
    values, coef, bias = _fit_on(params, log, fold != CHECK_FOLD, l2, nonnegative)
    held = dict(zip(params.signals, coef.tolist(), strict=True))
    means = dict(zip(params.signals, values.mean(0).tolist(), strict=True))
    fitted = params.replace(coef=held, bias=float(np.clip(bias, -256, 256)), clean_means=means)
    searched = np.flatnonzero(fold != CHECK_FOLD)
    part, wrong = log.take(searched), log.errors()[searched]
    results: list[tuple[float, float]] = []
    risk = watch(Monitor(fitted), part)["risk"]
    for level in LEVELS:
        trial = fitted.replace(level=level, budget=budget, reference=float(np.quantile(risk, 1 - level)))
        accepted = ~watch(Monitor(trial), part)["abstain"]
        results.append((float(wrong[accepted].mean()) if accepted.any() else 1.0, level))
    return min(results)[1]
