"""First stage: logs are read and checked, and parameters made of what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.errors import InputError
from ...base.spelling import option
from ...labels.check import label_note, order_note
from ...log.log import Log
from ...log.quantize import choose_feature_scale, quantize_features
from ...monitor.heads import EvidenceHead, InstantHead
from ...monitor.params import Params
from ...monitor.signals import (
    FEATURE_BASED,
    STOCK_INSTANT,
    STOCK_STEADY,
    ordered,
    profile_signals,
    slow_signals,
)
from ..clean import (
    as_log,
    clean_part,
    format_of_both,
    in_format,
    refuse_one_class,
    refuse_other_shape,
)
from ..signal_table import chunks
from .state import FitState, Request


def read(request: Request) -> FitState:
    """Read the logs, check them, and make parameters of the options."""
    options = request.options
    request.progress("read", 0, 1)
    logits: dict[str, Any] = {"logits": options.logits, "logits_scale": options.logits_scale}
    log = as_log(request.log, **logits)
    clean = None if request.clean is None else as_log(request.clean, **logits)
    if len(log) == 0:
        raise InputError("missing", "the log is empty; at least one step is needed")
    for each, name in ((log, "the log"), (clean, "the clean log")):
        if each is not None and each.unlabeled:
            raise InputError("missing", f"{name}: {each.partly}; leave its labels out, or complete them")
    refuse_one_class(log)
    params = start_params(log, request, clean)
    log = in_format(log, params)
    clean = None if clean is None else in_format(clean, params)
    part = clean_part(params, log, clean)
    rng = np.random.default_rng(request.seed)
    state = FitState(request, log, part, params, rng, [*log.notes, *([] if clean is None else clean.notes)])
    state.findings |= {"steps": len(log), "segments": len(log.pieces()), "seed": request.seed}
    state.findings["clean_from"] = part.source
    if len(seen := np.unique(log.predictions())) == 1:
        state.note("one_prediction", label=int(seen[0]))
    suspect = order_note(log)
    if suspect is None and (clean is None or clean.labels is not None):
        suspect = label_note(log if clean is None else clean)
    if suspect is not None:
        if not request.force:
            way = f"no monitor is made, unless with {option('force', True)}"
            raise InputError("conflict", f"{suspect}; {way}")
        state.notes.append(suspect)
    if params.level < params.budget:
        state.note("level_below_budget", level=params.level, budget=params.budget)
    if part.source == "all":
        state.note("nothing_marked")
    request.progress("read", 1, 1)
    return state


def start_params(log: Log, request: Request, clean: Log | None = None) -> Params:
    """Return parameters as asked for, before anything is learned but the centers of the classes."""
    options = request.options
    scale, zero_point = options.feature_scale, options.feature_zero_point
    scale = log.feature_scale if scale is None else scale
    zero_point = log.feature_zero_point if zero_point is None else zero_point
    use = options.use_features and _readable(log, zero_point, options.signals)
    features = log.width if use else 0
    if clean is not None:  # before its features are read
        refuse_other_shape(log, clean, features > 0)
        if features:
            scale, zero_point = format_of_both(log, clean, scale, zero_point)
    scale, zero_point = feature_format(log if features else None, scale, zero_point)
    names = _signals(request, features)
    more: dict[str, Any] = {}
    if request.two_heads:
        more = {"instant": InstantHead(*_within(STOCK_INSTANT, names)), "coef": STOCK_STEADY[0]}
        more |= {"bias": STOCK_STEADY[1], "anchor": "belief"}
        if request.alarm_of == "proved":  # to be learned
            more["evidence"] = EvidenceHead({}, [0.0] * log.classes)
    if "distance" in names and features:  # without features `Params` says what is missing
        more["centers"] = find_centers(log if clean is None else clean, log.classes, scale, zero_point)
    more |= {"feature_scale": scale, "feature_zero_point": zero_point, "lags": tuple(options.lags)}
    return Params(
        **more,
        classes=log.classes,
        names=log.names,
        features=features,
        signals=names,
        about=request.subject,
        level=request.flag_level,
        budget=request.budget,
        **{name: getattr(options, name) for name in ("blend", "burst", "warmup")},
    )


def _signals(request: Request, features: int) -> tuple[str, ...]:
    """Return the signals of the profile, or those of them that were asked for."""
    chosen, evidence = request.options.signals, request.alarm_of == "proved"
    slow = slow_signals(evidence, sight=False)  # what sight brings comes with it
    if chosen is None:
        return profile_signals(request.profile, features, slow)
    names, known = ordered(chosen), profile_signals(request.profile, 1, slow)
    for name in names:
        if name not in known:
            expected = f"some of {', '.join(known)}"
            raise InputError("conflict", f"signal {name!r} is not of profile {request.profile!r}, {expected}")
        if name in FEATURE_BASED and not features:
            raise InputError("missing", f"signal {name!r} reads features, and there are none")
    if request.two_heads and "disbelief" not in names:
        raise InputError("missing", "signals are without 'disbelief', which profile 'standard' needs")
    if request.alarm_of == "sight" and "odds" not in names:
        raise InputError("missing", "signals are without 'odds', which an alarm of sight needs")
    # The alarm sums it, whether or not the uncertainty weighs it.
    return ordered([*names, "degradation"]) if evidence else names


def _within(stock: tuple[dict[str, float], float], names: Sequence[str]) -> tuple[dict[str, float], float]:
    """Return a stock head without the signals that are not in use."""
    return {name: value for name, value in stock[0].items() if name in names}, stock[1]


def feature_format(log: Log | None, scale: float | None, zero_point: int | None) -> tuple[float, int]:
    """Return scale and zero point of the features: those given, else chosen from the log."""
    if log is None or log.features is None:
        return 1.0, 0
    if log.features.dtype == np.int8:
        if zero_point is None:
            way = "pass -128 for a ReLU output, 0 for a symmetric one"
            lost = f"features are int8 and {option('feature_zero_point')} is missing"
            raise InputError("missing", f"{lost}; {way}")
        return 1.0 if scale is None else scale, zero_point
    chosen_scale, chosen_zero = choose_feature_scale(log.features)
    if scale is None and zero_point is None:
        return chosen_scale, chosen_zero
    if scale is None or zero_point is None:
        both = f"{option('feature_scale')} and {option('feature_zero_point')}"
        raise InputError("missing", f"{both} go together; one is missing")
    return scale, zero_point


def _readable(log: Log, zero_point: int | None, signals: Sequence[str] | None) -> bool:
    """Tell whether features may be read; without labels no stock weight reads them, so none must be known."""
    if log.labels is not None or log.features is None or signals is not None:
        return True
    return log.features.dtype != np.int8 or zero_point is not None


FEWEST = 5  # steps of a class below which its center is that of all


def find_centers(log: Log, classes: int, scale: float, zero_point: int) -> tuple[tuple[int, ...], ...]:
    """Return the mean int8 features of each predicted class over the steps that are not marked as shifted."""
    assert log.features is not None
    predicted = log.predictions()
    clean = np.ones(len(log), dtype=bool) if log.shifted is None else ~log.shifted
    sums, counts = np.zeros((classes, log.width)), np.zeros(classes)
    for part in chunks(len(log)):
        rows = clean[part]
        held = quantize_features(np.asarray(log.features[part])[rows], scale, zero_point)
        np.add.at(sums, predicted[part][rows], held.astype(np.float64))
        counts += np.bincount(predicted[part][rows], minlength=classes)
    everywhere = sums.sum(0) / max(1.0, counts.sum())
    means = np.where((counts >= FEWEST)[:, None], sums / np.maximum(counts, 1)[:, None], everywhere)
    rounded = np.clip(np.rint(means), -128, 127).astype(int)
    return tuple(tuple(row) for row in rounded.tolist())
