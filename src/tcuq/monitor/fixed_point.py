"""Parameters in the core's fixed point: snapped on the way in, as integers on the way out; parts of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .._core import FIELDS, PARAMS_VERSION
from ..base.checks import integer, known_only, number
from ..base.checks import put as put
from ..base.errors import InputError, wrong_value
from ..base.fixed import ONE, nearest, ratio, snap, weight_units
from .signals import SIGNALS, mask

if TYPE_CHECKING:
    from .params import Params

RANGE: Mapping[str, tuple[int, int]] = MappingProxyType({name: (low, high) for name, low, high, _ in FIELDS})
"""Lowest and highest integer of a field, or of one number in a list."""

COEF_UNIT = 512
OFFSET_UNIT = 256
WEIGHT_UNIT = RANGE["lag_weights"][1]

COEF_LIMIT = -RANGE["coef"][0] / COEF_UNIT
_COEF = COEF_LIMIT, COEF_UNIT
OFFSET_LIMIT = -RANGE["evidence offset"][0] / OFFSET_UNIT
MAX_LAG = RANGE["lags"][1]


def as_json(value: Any) -> Any:
    """Return a value of a field as a parameter file has it."""
    if isinstance(value, Mapping):
        return dict(value)
    return [as_json(each) for each in value] if isinstance(value, tuple) else value


def part_from(kind: type[Any], name: str, content: Any, needed: Sequence[str] = ()) -> Any:
    """Build a part of parameters from its object in a parameter file; None from null."""
    if content is None:
        return None
    if not isinstance(content, Mapping):
        raise wrong_value(name, content, "an object or null")
    known_only(f"{name} field", content, tuple(kind.__dataclass_fields__))
    for field in needed:
        if field not in content:
            raise InputError("missing", f"{name} lacks the field {field!r}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


def coefficients(name: str, given: Any) -> Mapping[str, float]:
    """Return coefficients by signal, in the order of the signals, that the core can hold."""
    if not isinstance(given, Mapping):
        raise wrong_value(f"{name} coef", given, "an object")
    known_only(f"{name} signal", given, SIGNALS)
    named = [signal for signal in SIGNALS if signal in given]
    return MappingProxyType({s: snap_below(f"{name} coef[{s}]", given[s], *_COEF) for s in named})


def snap_below(name: str, value: Any, limit: float, unit: int) -> float:
    """Return the nearest multiple of 1 / unit from -limit to just below it."""
    return min(snap(number(name, value, -limit, limit), unit), limit - 1 / unit)


def real_range(name: str, unit: int) -> tuple[float, float]:
    """Return the range of a field in real numbers."""
    low, high = RANGE[name]
    return low / unit, high / unit


ABOUT = ("prediction", "answer")
"""What signals, uncertainty and risk speak of, by the core's number."""

ANCHORS = ("confidence", "belief")
"""What risk leans on beside the uncertainty, by the core's number."""

LEVEL_DEN, BUDGET_DEN = RANGE["level_den"][1], RANGE["budget_den"][1]
"""Largest denominators."""

MAP_LIMIT = RANGE["knee"][1]
"""Largest product of a slope and a debt (SPEC.md section 2)."""


def slope_unit(level_den: int) -> float:
    """Return what a slope of one risk a flag is in the core."""
    return 256 * ONE / level_den


def snap_lags(given: Sequence[int], weights: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return lags in ascending order, and their weights, which sum to 1."""
    lags = tuple(integer("lag", lag, *RANGE["lags"]) for lag in given)
    if len(set(lags)) != len(lags):
        raise InputError("value", f"lags {list(lags)} repeat; distinct ones are needed")
    order = sorted(range(len(lags)), key=lambda i: lags[i])
    if weights is not None and len(weights) == len(lags):
        weights = tuple(weights[i] for i in order)
    lags = tuple(sorted(lags))
    units = weight_units(lags, weights, WEIGHT_UNIT) if lags else ()
    return lags, tuple(unit / WEIGHT_UNIT for unit in units)


def snap_rates(level: float, budget: float) -> tuple[Fraction, Fraction]:
    """Return the fractions that the core can hold nearest to a level and a budget."""
    least, most = Fraction(1, LEVEL_DEN), Fraction(LEVEL_DEN - 1, LEVEL_DEN)
    rate = ratio("level", level, least, most, LEVEL_DEN)
    return rate, ratio("budget", budget, Fraction(0), Fraction(1), BUDGET_DEN)


def snap_slopes(slope: float, steep_slope: float, knee: float, level_den: int) -> tuple[float, float, float]:
    """Return slopes and knee of the debt map that the core can hold, all by the flag."""
    unit = slope_unit(level_den)
    steep = math.floor(number("steep_slope", steep_slope, 1e-7, 1) * unit + 0.5)
    steep = min(max(1, steep), MAP_LIMIT // level_den)
    near = math.floor(number("slope", slope, 0, steep_slope) * unit + 0.5)
    near = min(near, steep)
    bend = math.floor(number("knee", knee, 0, 16000) * level_den + 0.5)
    if near:
        bend = min(bend, MAP_LIMIT // near)
    return near / unit, steep / unit, bend / level_den


def by_signal(
    name: str, given: Mapping[str, float], signals: Sequence[str], limits: tuple[float, float], unit: int
) -> Mapping[str, float]:
    """Return one number for each signal in use, 0 where none is given; those of other signals are refused."""
    unknown = [signal for signal in given if signal not in signals]
    if unknown:
        raise InputError("unknown", f"{name} names {unknown[0]!r}, expected one of {', '.join(signals)}")
    snapped = {}
    for signal in signals:
        value = snap(number(f"{name}[{signal}]", given.get(signal, 0.0), *limits), unit)
        snapped[signal] = min(value, limits[1] - 1 / unit)
    return MappingProxyType(snapped)


def core_integers(params: Params) -> dict[str, Any]:
    """Return the fields of the core's `tcuq_params_t` from parameters that are snapped already."""
    level, budget = nearest(params.level, LEVEL_DEN), nearest(params.budget, BUDGET_DEN)
    unit = slope_unit(level.denominator)
    coef, means = params.coef, params.clean_means
    parts = {name: getattr(params, name) for name in ("evidence", "instant", "feedback")}
    return {
        "version": PARAMS_VERSION,
        "signals": mask(params.signals),
        **{name: getattr(params, name) for name in ("classes", "features", "burst", "warmup")},
        **{name: round(getattr(params, name) * ONE) for name in ("bias", "doubt_mix", "blend", "reference")},
        **{name: round(getattr(params, name) * unit) for name in ("slope", "steep_slope")},
        **{name: None if part is None else part.integers() for name, part in parts.items()},
        **params.alarm.integers(),
        "zero_point": params.feature_zero_point,
        "lags": list(params.lags),
        "lag_weights": [round(weight * WEIGHT_UNIT) for weight in params.lag_weights],
        "coef": [round(coef.get(signal, 0.0) * COEF_UNIT) for signal in SIGNALS],
        "clean_mean": [round(means.get(signal, 0.0) * ONE) for signal in SIGNALS],
        "level_num": level.numerator,
        "level_den": level.denominator,
        "anchor": ANCHORS.index(params.anchor),
        "about": ABOUT.index(params.about),
        "horizon": params.horizon.bit_length() - 1 if params.horizon else 0,
        "expected_start": min(ONE - 1, round(params.expected_start * ONE)),
        "knee": round(params.knee * level.denominator),
        "budget_num": budget.numerator,
        "budget_den": budget.denominator,
        "centers": None if params.centers is None else bytes(c & 255 for row in params.centers for c in row),
    }
