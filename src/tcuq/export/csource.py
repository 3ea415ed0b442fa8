"""The text of an exported monitor: its headers, its constants, and the tables that they point to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..export.generated import plain_text
from ..monitor.codec import ROWS, SCALE
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
    fields = params.integers() if part == "params" else getattr(params, part).integers()
    fields |= {"fingerprint": 0, "lag_count": len(params.lags)}
    notes = _notes(params, part)
    lines = []
    for field, row in ROWS[part].items():
        value, note = fields[field], notes.get(field)
        if row.kind == "signal":
            lines += _table(params, part, field, value, SCALE[row.unit])
            continue
        if row.kind != "one":
            text = f"{name}_{field}" if part == "params" else f"{name}_{part}_{field}"
            value = "NULL" if not value else f"&{text}" if row.kind == "part" else text
        elif field == "version":
            value = "TCUQ_PARAMS_VERSION"
        else:
            if note is None and row.unit in SCALE:
                note = f"{value / SCALE[row.unit]:.4f}"
            if field in ("signals", "fingerprint"):
                value = f"0x{params.fingerprint if field == 'fingerprint' else format(value, '03X')}u"
            elif row.low >= 0 and row.unit != "flags":
                value = f"{value}u"
        lines.append(f"    {value}, /* {field}{f': {note}' if note else ''} */")
    return lines


def _notes(params: Params, part: str) -> dict[str, str]:
    """Return what comments say of numbers that are no multiple of a unit, or that mean something else."""
    if part == "evidence":
        bet = params.evidence.bet if params.evidence is not None else None
        return {"bet_base": "no bet" if bet is None else f"{bet[0]:.4f} + {bet[1]:.4f} x evidence"}
    if part == "feedback" and params.feedback is not None:
        share = params.feedback.max_error
        return {
            "error_num": "any share of errors" if share is None else f"{share:.4f} of labeled accepted steps",
            "error_shut": f"{params.feedback.shut:g} errors",
            "error_first": f"the {params.feedback.hard} is hard",
        }
    summed = "of evidence" if params.evidence else "risk x steps"
    beyond = ", but for errors" if params.feedback is not None and params.feedback.above_budget else ""
    notes = {
        "fingerprint": "of all that follows; without it no state loads",
        "zero_point": f"feature scale {params.feature_scale:g}",
        "doubt_mix": f"{params.doubt_mix:.4f} confidence, the rest margin",
        "blend": f"{params.blend:.4f} uncertainty, the rest low {params.anchor}",
        "level_num": f"flag a share of {params.level:.4f}",
        "anchor": f"risk leans on the {params.anchor}",
        "about": f"signals, uncertainty and risk speak of the {params.about}",
        "horizon": f"{params.horizon} steps" if params.horizon else "no expected accuracy",
        "slope": f"{params.slope:.6f} risk a flag",
        "steep_slope": f"{params.steep_slope:.6f} risk a flag",
        "knee": f"{params.knee:g} flags",
        "budget_num": f"abstain on a share of at most {params.budget:.4f}{beyond}",
    }
    for name, side in (("rise", params.alarm.rise), ("fall", params.alarm.fall)):
        notes[f"{name}_limit"] = "this side is off" if side is None else f"{side.limit:.4f} {summed}"
    return notes


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
