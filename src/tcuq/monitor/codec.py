"""Parameters as real numbers, the core's integers and JSON: one loop each over the rows of the schema."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any, ClassVar

from ..base.checks import integer, known_only, number, put
from ..base.errors import InputError, wrong_value
from ..base.fixed import ONE, nearest, weight_units
from . import made
from .signals import SIGNALS, mask

SCALE = {"q4": 16, "q8": 256, "q9": 512, "q13": 8192, "q16": ONE, "weights": 32768}
"""What 1.0 is in the core, by unit."""

ROWS = {
    part: {row.name: row for row in made.ROWS if row.part == part}
    for part in dict.fromkeys(row.part for row in made.ROWS)
}
"""Rows of the schema by part and by the name in the core."""

WORDS = {row.real: tuple(row.unit.split("|")) for row in made.ROWS if "|" in row.unit}
"""Words of a parameter by its name, in the order of their numbers in the core."""

COEF_UNIT, OFFSET_UNIT = SCALE["q9"], SCALE["q8"]
COEF_LIMIT, OFFSET_LIMIT = 32768 / COEF_UNIT, 32768 / OFFSET_UNIT
LEVEL_DEN, BUDGET_DEN = (ROWS["params"][name].high for name in ("level_den", "budget_den"))
"""Largest denominators."""

MAP_LIMIT = ROWS["params"]["knee"].high
"""Largest product of a slope and a debt (SPEC.md section 2)."""


def row_range(name: str, part: str = "params") -> tuple[int, int]:
    """Return the lowest and highest integer of a field."""
    return ROWS[part][name].low, ROWS[part][name].high


def snapped(label: str, value: Any, low: int, high: int, unit: int) -> float:
    """Return the nearest multiple of 1 / unit that the core can hold; a range that ends below 1 takes 1."""
    units = math.floor(number(label, value, low / unit, (high + high % 2) / unit) * unit + 0.5)
    return min(max(units, low), high) / unit


def checked(label: str, value: Any, row: made.Row) -> Any:
    """Return the value of one field, snapped to what the core can hold."""
    low, high = row.low, row.high
    if row.kind == "signal":
        if not isinstance(value, Mapping):
            raise wrong_value(label, value, "an object")
        known_only(f"{label.removesuffix(' coef')} signal", value, tuple(SIGNALS))
        unit = SCALE[row.unit]
        return MappingProxyType(
            {s: snapped(f"{label}[{s}]", value[s], low, high, unit) for s in SIGNALS if s in value}
        )
    if row.kind == "class":
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise wrong_value(label, value, "a list")
        return tuple(
            snapped(f"{label}[{at}]", each, low, high, SCALE[row.unit]) for at, each in enumerate(value)
        )
    if row.unit in SCALE:
        return snapped(label, value, low, high, SCALE[row.unit])
    if "|" in row.unit:
        if value not in WORDS[row.real]:
            raise wrong_value(label, value, f"one of {', '.join(WORDS[row.real])}")
        return value
    return integer(label, value, low, high)


def settle(instance: Any, part: str, leave: Sequence[str] = ()) -> None:
    """Check and snap the fields of a part that stand for one row each, but those to `leave`."""
    prefix = "" if part == "params" else f"{part} "
    for row in ROWS[part].values():
        plain = row.unit in SCALE or row.unit == "int" or "|" in row.unit
        listed = row.kind in ("one", "signal", "class") and row.real in instance.__dataclass_fields__
        if plain and listed and row.real not in leave:
            put(instance, **{row.real: checked(f"{prefix}{row.real}", getattr(instance, row.real), row)})


def integers(instance: Any, part: str) -> dict[str, Any]:
    """Return the fields of the core's struct from a part that is settled."""
    found: dict[str, Any] = {}
    den = 1
    for name, row in ROWS[part].items():
        value: Any = getattr(instance, row.real, None)
        if row.real in ("baseline", "bet"):
            several = [each.name for each in ROWS[part].values() if each.real == row.real]
            value = 0 if value is None else value[several.index(name)]
        if row.kind == "part":
            found[name] = None if value is None else value.integers()
        elif row.kind == "signal":
            found[name] = [round(value.get(signal, 0.0) * SCALE[row.unit]) for signal in SIGNALS]
        elif row.kind in ("class", "lag"):
            found[name] = [round(each * SCALE.get(row.unit, 1)) for each in value]
        elif row.kind == "class_x_feature":
            found[name] = None if value is None else bytes(c & 255 for each in value for c in each)
        elif row.unit == "ratio":
            most = ROWS[part][name.replace("num", "den")].high
            share = nearest(value or 0.0, most)
            found |= {name: share.numerator, name.replace("num", "den"): share.denominator}
            den = share.denominator if name != "budget_num" else den
        elif row.unit in ("slope", "flags", "errors"):
            found[name] = round(value * (slope_unit(den) if row.unit == "slope" else den))
        elif row.unit == "mask":
            found[name] = mask(value)
        elif row.unit == "log2":
            found[name] = value.bit_length() - 1 if value else 0
        elif "|" in row.unit:
            found[name] = WORDS[row.real].index(value)
        elif value is not None:
            found[name] = round(value * SCALE.get(row.unit, 1))
    return found


def slope_unit(level_den: int) -> float:
    """Return what a slope of one risk a flag is in the core."""
    return 256 * ONE / level_den


def snap_lags(given: Sequence[int], weights: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return lags in ascending order, and their weights, which sum to 1."""
    lags = tuple(integer("lag", lag, *row_range("lags")) for lag in given)
    if len(set(lags)) != len(lags):
        raise InputError("value", f"lags {list(lags)} repeat; distinct ones are needed")
    order = sorted(range(len(lags)), key=lambda i: lags[i])
    if weights is not None and len(weights) == len(lags):
        weights = tuple(weights[i] for i in order)
    lags, unit = tuple(sorted(lags)), SCALE["weights"]
    units = weight_units(lags, weights, unit) if lags else ()
    return lags, tuple(each / unit for each in units)


def as_json(value: Any) -> Any:
    """Return a value of a field as a parameter file has it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    return [as_json(each) for each in value] if isinstance(value, tuple) else value


def part_from(kind: type[Any], name: str, content: Any) -> Any:
    """Build a part of parameters from its object in a parameter file; None from null."""
    if content is None:
        return None
    if not isinstance(content, Mapping):
        raise wrong_value(name, content, "an object or null")
    known_only(f"{name} field", content, [field.name for field in fields(kind)])
    for field in fields(kind):
        if field.default is MISSING and field.name not in content:
            raise InputError("missing", f"{name} lacks the field {field.name!r}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


class Part:
    """What parameters may have beside numbers of their own: a head, or what labels change."""

    part: ClassVar[str]

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    def __reduce__(self) -> tuple[Any, ...]:
        return part_from, (type(self), self.part, self.to_dict())

    def integers(self) -> dict[str, Any]:
        """Return the fields of the core's struct."""
        return integers(self, self.part)

    def to_dict(self) -> dict[str, Any]:
        """Return the object of a parameter file."""
        return {field.name: as_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
