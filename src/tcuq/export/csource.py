"""The text of an exported monitor: its headers, its constants, and the tables that they point to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
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
    summary = f"A monitor of {contents.shape}. Signals: {', '.join(params.signals)}."
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
    lines = [f'#include "{name}.h"', "", *_lags(params, name), *_centers(params, name)]
    for part in ("instant", "evidence", "feedback"):
        if (head := getattr(params, part)) is not None:
            lines += _offsets(params, name, head.integers()["offset"]) if part == "evidence" else []
            start = f"static const tcuq_{part}_t {name}_{part} = {{"
            lines += [start, *_entries(params, part, name), "};", ""]
    lines += [f"const tcuq_params_t {name} = {{", *_entries(params, "params", name), "};"]
    return "\n".join(lines) + "\n"


def _entries(params: Params, part: str, name: str) -> list[str]:
    """Return the initializers of a struct in its order: C++ knows designators since C++20 only."""
    given = params if part == "params" else getattr(params, part)
    fields = given.integers() | {"fingerprint": 0, "lag_count": len(params.lags)}
    lines = []
    for field, row in ROWS[part].items():
        value = fields[field]
        if row.kind == "signal":
            lines += _table(params, part, field, value, SCALE[row.unit])
            continue
        note = _note(row, getattr(given, row.real, None), value)
        if row.kind != "one":
            text = f"{name}_{field}" if part == "params" else f"{name}_{part}_{field}"
            value = "NULL" if not value else f"&{text}" if row.kind == "part" else text
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


def _lags(params: Params, name: str) -> list[str]:
    p = params.integers()
    if not p["lags"]:
        return []
    lags, weights = (", ".join(map(str, p[field])) for field in ("lags", "lag_weights"))
    real = ", ".join(f"{weight / 32768:.4f}" for weight in p["lag_weights"])
    return [
        f"static const uint8_t {name}_lags[] = {{{lags}}};",
        f"static const uint16_t {name}_lag_weights[] = {{{weights}}}; /* {real} */",
        "",
    ]


def _centers(params: Params, name: str) -> list[str]:
    if params.centers is None:
        return []
    lines = [f"static const int8_t {name}_centers[] = {{ /* mean features on clean data, class by class */"]
    for number, row in enumerate(params.centers):
        lines += [f"    /* {_class(params, number)} */", *rows_of(row)]
        lines[-1] += ","
    return [*lines, "};", ""]


def _offsets(params: Params, name: str, values: Sequence[int]) -> list[str]:
    """Return the offsets of evidence; names of classes in comments where there are some."""
    lines = rows_of(values)
    if params.names is not None:
        lines = [f"    {value}, /* {_class(params, number)} */" for number, value in enumerate(values)]
    start = f"static const int16_t {name}_evidence_offset[] = {{ /* one a class, value * 256 */"
    return [start, *lines, "};"]


def _class(params: Params, number: int) -> str:
    return f"class {number}" + (f": {plain_text(params.names[number])}" if params.names is not None else "")
