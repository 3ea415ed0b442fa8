"""Columns of a log by name, and tables in memory that have them: pandas, polars, Arrow, never imported."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import guess
from ..base.errors import InputError, needed

ALIASES = {"labels": "label", "segments": "segment"}
"""Either name is accepted in every format."""

PLAIN = ("label", "segment", "shifted", "step")
"""Columns of one integer a step; `step` is accepted and not read."""

GAUGE = "gauge_"
"""Begins the name of a column with a gauge; its own name follows."""

EXPECTED = "p0, p1, ..., f0, f1, ..., label, segment, shifted, step"


def numbered(names: Sequence[str], letter: str) -> list[str]:
    """Return the columns p0, p1, ... or f0, f1, ... in order, none without the first; refuse a gap."""
    if f"{letter}0" not in names:
        return []
    numbers = {int(name[1:]) for name in names if re.fullmatch(rf"{letter}(0|[1-9][0-9]{{0,8}})", name)}
    last = max(numbers)
    if len(numbers) <= last:
        gap = next(number for number in range(last + 1) if number not in numbers)
        raise InputError(
            "missing", f"column '{letter}{gap}' is missing, expected {letter}0 to {letter}{last}"
        )
    return [f"{letter}{number}" for number in range(last + 1)]


class Layout(NamedTuple):
    """Which columns of a table hold what: one column a number, or a single one of lists."""

    names: list[str]
    probs: list[str]
    features: list[str]
    gauges: Sequence[str] = ()

    @classmethod
    def of(cls, given: Sequence[str], lists: bool = False) -> Layout:
        """Find the columns of a log among those of a table, which may hold `lists`."""
        names = [ALIASES.get(name.strip(), name.strip()) for name in given]
        if "p" in names and "p0" not in names:
            names[names.index("p")] = "p0"
        probs, features = cls._table(names, "probs", lists), cls._table(names, "features", lists)
        gauges = [name for name in names if name.startswith(GAUGE)]
        if lists and "gauges" in names:
            if gauges:
                raise InputError(
                    "conflict", f"gauges are there twice, as gauges and as {gauges[0]}; remove one"
                )
            gauges = ["gauges"]
        known = {*probs, *features, *gauges, *PLAIN}
        for place, name in enumerate(names):
            if name in known and name in names[:place]:
                raise InputError("conflict", f"column {name!r} is there twice, expected once")
        if not probs:
            expected = f"probs or {EXPECTED}" if lists else EXPECTED
            hint = guess(names, "p0") or (guess(names, "probs") if lists else "")
            raise InputError("missing", f"column 'p0' is missing, expected {expected}{hint}")
        return cls(names, probs, features, gauges)

    @staticmethod
    def _table(names: list[str], name: str, lists: bool) -> list[str]:
        single = numbered(names, name[0])
        if not lists or name not in names:
            return single
        if single:
            raise InputError("conflict", f"{name} are there twice, as {name} and as {single[0]}; remove one")
        return [name]

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the columns that a log may have here."""
        return (*self.probs, *self.features, *self.gauges, *PLAIN)

    @property
    def details(self) -> dict[str, Any]:
        """What the names of the columns say: those of gauges, unless they are numbers."""
        names = [name.removeprefix(GAUGE) for name in self.gauges]
        plain = names == ["gauges"] or names == [str(number) for number in range(len(names))]
        return {} if plain else {"gauge_names": names}

    @property
    def noted(self) -> list[str]:
        """Names of the columns that a person gave; pandas adds some for its index, which nobody misses."""
        return [name for name in self.names if not name.startswith("__index_level_")]


DETAILS = "tcuq"
"""Key of the metadata of an Arrow table that holds what is no column, as JSON."""

DETAIL_KEYS = ("names", "feature_scale", "feature_zero_point", "shift_names", "gauge_names")


class Columns(NamedTuple):
    """The arrays of a log."""

    probs: npt.NDArray[Any]
    features: npt.NDArray[Any] | None
    label: npt.NDArray[Any] | None
    segment: npt.NDArray[Any] | None
    shifted: npt.NDArray[Any] | None
    gauges: npt.NDArray[Any] | None = None

    @property
    def narrow(self) -> bool:
        """Whether the dtypes tell what the numbers are: floats, or integers of one byte."""
        tables = [self.probs, *(() if self.features is None else (self.features,))]
        named = self.shifted is not None and self.shifted.dtype.kind in "OU"  # numbered over the whole file
        return not named and all(each.dtype.kind == "f" or each.dtype.itemsize == 1 for each in tables)

    def narrowed(self) -> Columns:
        """Return integers of any width as the int8 that a runtime wrote; one-hot posteriors are floats."""
        features = None if self.features is None else _narrow(self.features, False)
        return self._replace(probs=_narrow(self.probs, True), features=features)

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Put the pieces of one table together."""
        whole: list[Any] = []
        for name, values in zip(cls._fields, zip(*parts, strict=True), strict=True):
            if values[0] is None:
                whole.append(None)
                continue
            widths = {each.shape[1:] for each in values}
            if len(widths) > 1:
                counts = " and ".join(str(width[0]) for width in sorted(widths)[:2])
                raise InputError("value", f"{name} has rows of {counts} values, expected the same in each")
            whole.append(np.concatenate(values))
        return cls(*whole)


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "column_names") and hasattr(value, "schema")


def _has_columns(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and hasattr(value, "shape")


def is_frame(value: Any) -> bool:
    """Tell whether something is a table with named columns: a data frame, or what Arrow can read as one."""
    if _is_arrow(value) or _has_columns(value):
        return True
    # A single column offers the same, and has a type.
    return hasattr(value, "__arrow_c_stream__") and not (hasattr(value, "dtype") or hasattr(value, "type"))


def opened(frame: Any) -> Any:
    """Return a table whose columns can be read here: itself, or what Arrow makes of it."""
    known = type(frame).__module__.partition(".")[0] in ("pandas", "polars")
    if known or _is_arrow(frame) or not hasattr(frame, "__arrow_c_stream__"):
        return frame
    return needed("pyarrow", "pyarrow", f"a table of type {type(frame).__name__}").table(frame)


def names_of(frame: Any) -> list[str]:
    """Return the names of the columns, as text."""
    return [str(name) for name in (frame.column_names if _is_arrow(frame) else frame.columns)]


def column_at(frame: Any, place: int) -> Any:
    """Return a column by its place: names may be numbers, or there twice."""
    if _is_arrow(frame):
        return frame.column(place)
    return frame.iloc[:, place] if hasattr(frame, "iloc") else frame[frame.columns[place]]


def holds_log(frame: Any) -> bool:
    """Tell whether a table names posteriors; without such names it may be a bare table of them."""
    return not {"p0", "p", "probs"}.isdisjoint(names_of(frame))


def mixes(frame: Any) -> bool:
    """Tell whether a frame holds other columns of a log beside posteriors."""
    names = names_of(frame)
    known = {*PLAIN, *ALIASES, "probs", "features", "gauges"}
    return any(name in known or name.startswith(GAUGE) for name in names) or bool(numbered(names, "f"))


def read_frame(frame: Any) -> tuple[Layout, Columns, dict[str, Any]]:
    """Take the columns of a log out of a table. Also return `details_of` an Arrow table."""
    table = opened(frame)
    layout = Layout.of(names_of(table), lists=True)
    details = layout.details | (details_of(table.schema.metadata) if _is_arrow(table) else {})
    return layout, columns_of(table, layout).narrowed(), details


def details_of(metadata: Any) -> dict[str, Any]:
    """Return names of classes and the scale of features, from the metadata of an Arrow table."""
    content = (metadata or {}).get(DETAILS.encode())
    if content is None:
        return {}
    try:
        details = json.loads(content)
        return {key: details[key] for key in DETAIL_KEYS if details.get(key) is not None}
    except (ValueError, AttributeError, RecursionError):
        raise InputError("damaged", f"the metadata {DETAILS!r} is damaged, expected a JSON object") from None


def columns_of(table: Any, layout: Layout) -> Columns:
    """Return the arrays of a log as they stand in a table, or in a piece of one."""
    places = {name: place for place, name in reversed(list(enumerate(layout.names)))}

    def values(name: str) -> npt.NDArray[Any]:
        if _is_arrow(table):
            return _from_arrow(name, column_at(table, places[name]))
        return _array(name, column_at(table, places[name]))

    def rows(names: Sequence[str]) -> npt.NDArray[Any] | None:
        if not names:
            return None
        parts = [values(name) for name in names]
        stacked = np.stack(parts, axis=1) if len(parts) > 1 else parts[0]
        if stacked.dtype.kind not in "iufb":
            shown = names[0] if len(names) == 1 else f"columns {names[0]} to {names[-1]}"
            verb = "holds" if len(names) == 1 else "hold"
            raise InputError("value", f"{shown} {verb} {stacked.dtype}, expected numbers")
        return stacked.reshape(-1, 1) if stacked.ndim == 1 else stacked

    def column(name: str) -> npt.NDArray[Any] | None:
        if name not in places:
            return None
        cells = values(name)
        if name == "shifted" and cells.dtype.kind == "O" and any(isinstance(each, str) for each in cells):
            cells = np.array(["" if _is_missing(each) else each for each in cells], dtype=object)
        _refuse_missing(name, cells)
        return cells

    probs = rows(layout.probs)
    assert probs is not None  # a layout without them is refused
    label, segment, shifted = map(column, ("label", "segment", "shifted"))
    return Columns(probs, rows(layout.features), label, segment, shifted, rows(layout.gauges))


def _refuse_missing(name: str, values: npt.NDArray[Any]) -> None:
    """Refuse an empty cell, which tables have as NaN or as None."""
    if values.dtype.kind == "f":
        missing = np.isnan(values)
    elif values.dtype.kind == "O":
        missing = np.array([_is_missing(each) for each in values], dtype=bool)
    else:
        return
    if missing.any():
        hint = " (-1: none of the classes)" if name == "label" else ""
        expected = "0 to 255" if name == "shifted" else "an integer"
        raise _missing(name, int(missing.argmax()), f"{expected}{hint}")


def _missing(name: str, row: int, expected: str) -> InputError:
    return InputError("missing", f"{name} is missing in row {row}, expected {expected}")


def _is_missing(value: Any) -> bool:
    # pandas has two objects of its own for it, which cannot be compared.
    absent = value is None or type(value).__name__ in ("NAType", "NaTType")
    return absent or (isinstance(value, float) and value != value)


def _array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return a column as numbers; one that holds lists as a table."""
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.dtype.kind != "O" or not len(array):
        return array
    if any(isinstance(each, (list, tuple, np.ndarray)) for each in array):
        sizes = [len(each) if isinstance(each, (list, tuple, np.ndarray)) else -1 for each in array]
        _refuse_lengths(name, np.array(sizes))
        return np.array(array.tolist())
    if any(isinstance(each, str) for each in array) and any(_is_missing(each) for each in array):
        return array  # numpy would make the text "nan" of an empty cell
    try:
        return np.array(array.tolist())
    except (ValueError, TypeError):
        return array


def _refuse_lengths(name: str, sizes: npt.NDArray[Any]) -> None:
    """Refuse lists of different lengths; -1 is no list at all."""
    odd = sizes != sizes[0] if sizes[0] >= 0 else sizes < 0
    if not odd.any():
        return
    row = int(odd.argmax())
    if sizes[row] < 0:
        raise _missing(name, row, "a list of numbers")
    raise InputError("value", f"{name} has {sizes[row]} values in row {row}, expected {sizes[0]} as in row 0")


def _from_arrow(name: str, column: Any) -> npt.NDArray[Any]:
    """Return a column of an Arrow table as numbers; one that holds lists as a table."""
    arrow = needed("pyarrow", "pyarrow", "an Arrow table")
    types = arrow.types
    # A table has its columns in chunks, a batch in one piece.
    values = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    fixed = types.is_fixed_size_list(values.type)
    if not (fixed or types.is_list(values.type) or types.is_large_list(values.type)):
        return _array(name, values.to_numpy(zero_copy_only=False))
    if values.null_count:
        missing = values.is_null().to_numpy(zero_copy_only=False)
        raise _missing(name, int(missing.argmax()), "a list of numbers")
    width = values.type.list_size if fixed else None
    if width is None:
        sizes = values.value_lengths().to_numpy(zero_copy_only=False)
        if len(sizes):
            _refuse_lengths(name, sizes)
        width = int(sizes[0]) if len(sizes) else 1
    flat = values.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat).reshape(len(values), width)


def _narrow(table: npt.NDArray[Any], posteriors: bool) -> npt.NDArray[Any]:
    if table.dtype.kind == "f" or table.dtype in (np.int8, np.uint8):
        return table
    one_hot = posteriors and bool(np.isin(table, (0, 1)).all() and (table.sum(axis=1) == 1).all())
    fits = table.size == 0 or (table.min() >= -128 and table.max() <= 127)
    return table.astype(np.int8 if fits and not one_hot else np.float64)
