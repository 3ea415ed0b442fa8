"""`tune`: search a monitor's settings on held-out development steps, within bytes and instructions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.checks import integer
from ..monitor.cost import cost
from ..monitor.params import Params
from .beside_standard import standard_beside
from .fit import fit_request
from .folds import FOLDS, folds
from .options import FitOptions
from .search import CHECK_FOLD, Choice, Trial, best_level, check_score, choices, params_of, search_score
from .simple_rules import COVERAGE
from .sources import Source, as_log
from .stages import Request, find_signals, fit_heads, read, set_threshold
from .stages.heads import FEWEST

SEARCHED = ("profile", "signals", "lags", "lag_weights", "window", "blend", "anchor", "doubt_mix", "level")
"""Options of `fit` that `tune` chooses itself."""

TWO_HEADS = ("about", "alarm", "class_mix")
"""Options of `fit` that only monitors with two heads have."""


def tune(
    log: Source,
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

    It searches monitors with one head: the published method and the extended profile of release 0.1. The
    default way to a monitor is `fit` alone, whose standard profile has nothing to search; the notes say
    which of the two leaves fewer errors.

    Settings are scored by the AUROC of errors that `risk` reaches on segments held out of the
    coefficient fit. A quarter of the segments takes no part in the search at all; the notes give the
    score of the default and of the chosen settings there.

    Parameters
    ----------
    log : Log, path or pandas.DataFrame
        With labels, and features if the monitor shall use them; see `fit`.
    max_bytes : int, default 1024
        Most RAM (context and ring, 32-bit pointers).
    max_instructions : int, default 10000
        Most instructions a step, as `tcuq.monitor.cost` estimates them.
    trials : int, default 60
        Settings to try, 1 to 100,000.
    seed : int, default 0
        Of the random numbers: the same seed gives the same search.
    progress : callable, optional
        Called with (done, total, text).
    budget : float, default 0.15
        Share of abstentions; the level is chosen so that accepted steps err least under it.
    **fit_options : any
        Passed to `fit`: clean, burst, warmup, nonnegative, calibrate, l2, run_length, feature_scale,
        feature_zero_point, use_features, evidence, evidence_clip, explain, drop_unused, logits, logits_scale.
        Settings without a signal that evidence is learned on are tried all the same: ``evidence="auto"`` sums
        risk should one of them be chosen.

    Returns
    -------
    Params
        ``notes["tune"]`` holds what was tried and found.

    Raises
    ------
    ValueError
        For a log without labels, or limits that no monitor keeps to.

    Examples
    --------
    >>> import numpy as np
    >>> from tcuq import Log
    >>> from tcuq.monitor.cost import cost
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(rng.integers(0, 3, 60), 10)
    >>> logits = rng.normal(0, 1, (600, 3)) + 2.0 * np.eye(3)[truth]
    >>> log = Log.from_logits(logits, labels=truth, segments=np.arange(600) // 60)
    >>> params = tune(log, max_bytes=512, trials=2, run_length=100, explain=False)
    >>> cost(params).ram_bytes <= 512
    True
    """
    integer("max_bytes", max_bytes, 1, 10**9)
    integer("max_instructions", max_instructions, 1, 10**9)
    integer("trials", trials, 1, 100_000)
    integer("seed", seed, 0, 2**63 - 1)
    _refuse_searched(fit_options)
    clean = fit_options.pop("clean", None)
    meant = {name: fit_options.pop(name) for name in ("logits", "logits_scale") if name in fit_options}
    log = as_log(log, **meant)
    clean = None if clean is None else as_log(clean, **meant)
    if log.labels is None:
        raise ValueError("labels are missing; tune needs them to tell errors (fit works without)")
    told = {**fit_options, "profile": "paper", "budget": budget, "seed": seed, "explain": False}
    options = FitOptions.of(**told)
    # Its threshold is where every choice starts.
    threshold = set_threshold(fit_heads(find_signals(read(Request(log, clean, options)))))
    start, wrong = threshold.params, threshold.heads.signals.errors
    assert wrong is not None
    default = Choice("paper", (1, 2, 4), "1/lag", 0.5, start.features > 0)
    rng = np.random.default_rng(seed)
    fold = folds(log)
    trial = Trial(log, fold, wrong, options.head)

    _need_both_kinds(wrong[fold != CHECK_FOLD])
    tried = choices(trials, default, rng)
    best: tuple[float, Choice, float] | None = None
    default_score = float("nan")
    fitting = 0
    for number, choice in enumerate(tried):
        params = params_of(start, choice)
        price = cost(params)
        if price.ram_bytes <= max_bytes and price.instructions <= max_instructions:
            fitting += 1
            score, blend = search_score(params, trial)
            if choice == default:
                default_score = score
            if math.isfinite(score) and (best is None or score > best[0]):
                best = score, choice, blend
        if progress is not None:
            text = "nothing fits yet" if best is None else f"best AUROC {best[0]:.4f}"
            progress(number + 1, len(tried), text)
    if best is None and fitting:
        raise ValueError(
            "the errors lie in one part of the log only, so no part can be held out; errors in at least two "
            f"of {FOLDS - 1} parts of the time, segments or kinds of shift are needed"
        )
    if best is None:
        price = cost(params_of(start, default))
        raise ValueError(
            f"none of {len(tried)} settings fits {max_bytes} bytes and {max_instructions} instructions; "
            f"the default needs {price.ram_bytes} and {price.instructions}"
        )
    score, choice, blend = best
    level = best_level(params_of(start, choice).replace(blend=blend), trial, budget)
    chosen = {**choice.settings(), "blend": blend, "level": level, "budget": budget, "seed": seed}
    params = fit_request(Request(log, clean, FitOptions.of(**{**fit_options, **chosen})))
    check, left = check_score(params_of(start, choice), blend, trial)
    check_default, _ = check_score(params_of(start, default), 0.7, trial)
    found: dict[str, Any] = {
        "trials": len(tried),
        "within_limits": fitting,
        "max_bytes": max_bytes,
        "max_instructions": max_instructions,
        "seed": seed,
        "search_auroc": round(score, 6),
        "search_auroc_default": None if math.isnan(default_score) else round(default_score, 6),
        "check_auroc_default": None if math.isnan(check_default) else round(check_default, 6),
        "check_auroc": None if math.isnan(check) else round(check, 6),
        "check_steps": int((fold == CHECK_FOLD).sum()),
        "check_errors": int(wrong[fold == CHECK_FOLD].sum()),
        "profile": choice.profile,
        "weight_law": choice.weight_law,
    }
    beside = standard_beside(log, clean, fold, {**fit_options, "budget": budget, "seed": seed})
    if beside is not None:
        found["standard"] = {
            "coverage": COVERAGE,
            "left": round(left, 6),
            "left_standard": round(beside.left, 6),
            "ram_bytes": beside.price.ram_bytes,
            "instructions": beside.price.instructions,
        }
    return params.replace(notes={**params.notes, "tune": found})


def _refuse_searched(options: dict[str, Any]) -> None:
    for name in SEARCHED:
        if name in options:
            raise ValueError(f"{name} is searched by tune; use fit to set it")
    for name in TWO_HEADS:
        if name in options:
            raise ValueError(f"{name} is for monitors with two heads, which tune does not search; use fit")
    if "risk_signals" in options:
        raise ValueError("risk_signals names some of the signals, which tune searches; use fit to set it")


def _need_both_kinds(wrong: npt.NDArray[np.bool_]) -> None:
    errors, correct = int(wrong.sum()), int((~wrong).sum())
    if errors < FEWEST or correct < FEWEST:
        raise ValueError(
            f"the part of the log that is searched has {errors} errors and {correct} correct steps; at least "
            f"{FEWEST} of each are needed"
        )
