"""The text of an exported monitor: its headers, its constants, and the tables that they point to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..export.generated import plain_text
from ..monitor.codec import ROWS, SCALE
from ..monitor.made import Row
from ..monitor.params import Params
from ..monitor.signals import DESCRIPTION, SIGNALS
from .contents import Contents


def source_fields(contents: Contents) -> dict[str, Any]:
    """Return what the headers and the source of a monitor hold beside what every text may name."""
    params, through = contents.params, contents.projection
    summary = f"A monitor of {contents.fields['shape']}. Signals: {', '.join(params.signals)}."
    lists = {"softmax": contents.table}
    lists |= {part: getattr(through, part, None) for part in ("matrix", "bias", "shift")}
    return {
        "summary": "\n * ".join(textwrap.wrap(summary, 100)),
        "layout": params.integers()["version"],
        "entries": "".join(f"    {string_of(name)},\n" for name in params.names or ()),
        "params": params_source(params, contents.name),
        **{part: "\n".join(rows_of(np.ravel(rows))) for part, rows in lists.items() if rows is not None},
    }


def params_source(params: Params, name: str) -> str:
    """Return the source that defines a monitor's parameters, real values in comments."""
    lines = [f'#include "{name}.h"', ""]
    for part in ("instant", "evidence", "sight", "feedback", "params"):
        static, at, given = f"static const tcuq_{part}_t", f"{name}_{part}", getattr(params, part, params)
        if part == "params":
            static, at = "const tcuq_params_t", name
        if given is not None:
            fields = given.integers() | {"fingerprint": 0, "lag_count": len(params.lags)}
            lines += [*_arrays(params, part, at, fields), f"{static} {at} = {{"]
            lines += [*_entries(params, part, at, fields), "};", ""]
    return "\n".join(lines)


def _arrays(params: Params, part: str, name: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """Give the lines of what a struct points to, a row a class where it is by class."""
    for field, row in ROWS[part].items():
        values = fields[field]
        if not values or row.kind not in _LISTS:
            continue
        bits = next(bits for bits in (8, 16, 32) if row.high < 2 ** (bits - (row.low < 0)))
        yield f"static const {'' if row.low < 0 else 'u'}int{bits}_t {name}_{field}[] = {{"
        for each, note in _rows(params, row, values):
            *before, last = rows_of(each)
            yield from (*before, f"{last}, /* {note} */")
        yield from ("};", "")


_LISTS = ("lag", "class", "class_x_feature", "number", "class_x_number", "triangle")
"""Kinds of what a struct points to."""


def _rows(params: Params, row: Row, values: Any) -> Iterator[tuple[Sequence[int], str]]:
    """Give the rows of a list, each with what its comment says."""
    if row.kind == "lag":
        unit = SCALE.get(row.unit, 1)
        yield values, f"{row.unit}: {', '.join(f'{value / unit:.4g}' for value in values)}"
        return
    numbers = params.sight.numbers if params.sight is not None else ()
    if row.kind in ("number", "triangle"):
        start = 0
        for place, name in enumerate(numbers):
            count = 1 if row.kind == "number" else len(numbers) - place
            yield values[start : start + count], plain_text(name)
            start += count
        return
    classes = [f"class {number}" for number in range(params.classes)]
    if params.names:
        classes = [f"{each}: {plain_text(name)}" for each, name in zip(classes, params.names, strict=True)]
    width = len(values) // params.classes
    whole = np.frombuffer(values, np.int8).tolist() if isinstance(values, bytes) else values
    for number, each in enumerate(classes):
        yield whole[number * width : (number + 1) * width], each


def _entries(params: Params, part: str, name: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the initializers of a struct in its order: C++ knows designators since C++20 only."""
    given = params if part == "params" else getattr(params, part)
    lines = []
    for field, row in ROWS[part].items():
        value = fields[field]
        if row.kind == "signal":
            lines += _table(params, part, field, value, SCALE[row.unit])
            continue
        note = _note(row, getattr(given, row.real, None), value)
        if row.kind != "one":
            value = "&" * (row.kind == "part") + f"{name}_{field}" if value else "NULL"
        elif field == "version":
            value = "TCUQ_PARAMS_VERSION"
        elif field in ("signals", "fingerprint"):
            value = f"0x{params.fingerprint if field == 'fingerprint' else format(value, '03X')}u"
        elif field == "zero_point":
            note = f": feature scale {params.feature_scale:g}"
        elif row.low >= 0 and row.unit != "flags":
            value = f"{value}u"
        lines.append(f"    {value}, /* {field}{note} */")
    return lines


def _note(row: Row, real: Any, value: Any) -> str:
    """Return what a comment says of a number: its real value, where that is another one."""
    if row.kind != "one" or row.unit in ("int", "den", "mask", "count"):
        return ""
    if row.unit in SCALE:
        return f": {value / SCALE[row.unit]:.4f}"
    if row.unit == "ratio":
        return f": {row.real} {'any' if real is None else f'{real:.4f}'}"
    return f": {real:g}" if isinstance(real, float) else f": {real}"


def _table(params: Params, part: str, field: str, values: Sequence[int], unit: int) -> list[str]:
    """Return the initializer of a table with one entry a signal, real values in comments."""
    if part != "params":
        real = ", ".join(f"{s} {v / unit:.4f}" for s, v in zip(SIGNALS, values, strict=True) if v) or "all 0"
        return [f"    {{{', '.join(map(str, values))}}}, /* {field}: {real} */"]
    lines = [f"    {{ /* {field} */"]
    for signal, value in zip(SIGNALS, values, strict=True):
        note = f"{signal} {value / unit:.4f}" if signal in params.signals else f"{signal}, not used"
        if field == "coef" and signal in params.signals:
            note += f": {DESCRIPTION[signal]}"
        lines.append(f"        {value}, /* {note} */")
    return [*lines, "    },"]


def rows_of(values: Iterable[int]) -> list[str]:
    """Return numbers as the lines of an initializer."""
    return textwrap.wrap(", ".join(map(str, values)), 100, initial_indent="    ", subsequent_indent="    ")


def braced(rows: Iterable[Iterable[int]]) -> Iterator[str]:
    """Give the lines of an initializer of rows."""
    for row in rows:
        first, *rest = rows_of(row)
        *before, last = [f"    {{{first.strip()}", *rest]
        yield from (*before, f"{last}}},")


def string_of(text: str) -> str:
    """Return a text as a C string literal of printable ASCII; other bytes of its UTF-8 are octal."""
    # Octal, because an escape of three digits ends there whatever follows; no ? stays, which could begin a
    # trigraph. Half of a surrogate pair, which JSON can say, has no UTF-8.
    plain = {ord(sign): sign for sign in map(chr, range(32, 127))} | {34: r"\"", 92: r"\\", 63: r"\?"}
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode("utf-8", "replace")) + '"'
