"""The text of an exported monitor: its headers, its constants, and the tables that they point to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.fixed import ONE
from ..export.generated import plain_text
from ..monitor.codec import COEF_UNIT
from ..monitor.heads import EvidenceHead, InstantHead
from ..monitor.params import Params
from ..monitor.signals import DESCRIPTION, SIGNALS
from .contents import Contents


def monitor_header(contents: Contents) -> str:
    """Return the header that declares a monitor's parameters, and what stands before the monitor."""
    summary = f"A monitor of {contents.shape}. Signals: {', '.join(contents.params.signals)}."
    return contents.text(
        "monitor.h",
        summary="\n * ".join(textwrap.wrap(summary, 100)),
        layout=contents.params.integers()["version"],
    )


def names_header(contents: Contents) -> str:
    """Return the header with the names of the classes."""
    entries = "".join(f"    {string_of(name)},\n" for name in contents.params.names or ())
    return contents.text("names.h", entries=entries)


def monitor_source(contents: Contents) -> str:
    """Return the source that defines what the header declares."""
    lists: dict[str, Any] = {}
    if contents.table is not None:
        lists["softmax"] = contents.table
    if contents.projection is not None:
        lists |= {part: getattr(contents.projection, part) for part in ("matrix", "bias", "shift")}
    rows = {field: "\n".join(rows_of(values.ravel().tolist())) + "\n" for field, values in lists.items()}
    return contents.text("monitor.c", params=params_source(contents.params, contents.name), **rows)


def _by_signal(params: Params, field: str, unit: int) -> list[str]:
    """Return the initializer of a table with one entry a signal, a comment on each used one."""
    lines = [f"    {{ /* {field} */"]
    for number, value in enumerate(params.integers()[field]):
        name = SIGNALS[number]
        note = f"{name} {value / unit:.4f}" if name in params.signals else f"{name}, not used"
        if field == "coef" and name in params.signals:
            note += f": {DESCRIPTION[name]}"
        lines.append(f"        {value}, /* {note} */")
    return [*lines, "    },"]


def params_source(params: Params, name: str) -> str:
    """Return the source that defines a monitor's parameters, real values in comments.

    Values stand in the order of the struct, without designators, which C++ knows since C++20 only.
    """
    p = params.integers()
    flag = p["level_den"]
    summed = "of evidence" if params.evidence else "risk x steps"
    beyond = ", but for errors" if params.feedback is not None and params.feedback.above_budget else ""

    def line(field: str, note: str | None = None) -> str:
        return _entry(f"{p[field]}u" if p[field] >= 0 else p[field], field, note)

    def side(which: str) -> list[str]:
        if p[f"{which}_limit"] == 0:
            return [line(f"{which}_limit", "this side is off"), line(f"{which}_cap")]
        return [
            line(f"{which}_{part}", f"{p[f'{which}_{part}'] / ONE:.4f} {summed}") for part in ("limit", "cap")
        ]

    lines = [
        f'#include "{name}.h"',
        "",
        *tables(params, name),
        f"const tcuq_params_t {name} = {{",
        _entry("TCUQ_PARAMS_VERSION", "version"),
        _entry(f"0x{p['signals']:03X}u", "signals"),
        _entry(f"0x{params.fingerprint}u", "fingerprint", "of all that follows; without it no state loads"),
        line("classes"),
        line("features"),
        _entry(p["zero_point"], "zero_point", f"feature scale {params.feature_scale:g}"),
        _entry(f"{len(p['lags'])}u", "lag_count"),
        _entry(f"{name}_lags" if p["lags"] else "NULL", "lags"),
        _entry(f"{name}_lag_weights" if p["lags"] else "NULL", "lag_weights"),
        _entry(p["bias"], "bias", f"{p['bias'] / ONE:.4f}"),
        line("doubt_mix", f"{p['doubt_mix'] / ONE:.4f} confidence, the rest margin"),
        line("blend", f"{p['blend'] / ONE:.4f} uncertainty, the rest low {params.anchor}"),
        line("level_num", f"flag a share of {p['level_num'] / flag:.4f}"),
        line("level_den"),
        line("reference", f"threshold {p['reference'] / ONE:.4f} at zero debt"),
        line("anchor", f"risk leans on the {params.anchor}"),
        line("about", f"signals, uncertainty and risk speak of the {params.about}"),
        line("horizon", f"{params.horizon} steps" if params.horizon else "no expected accuracy"),
        line("expected_start", f"{params.expected_start:.4f}"),
        line("slope", f"{p['slope'] * flag / 256 / ONE:.6f} risk a flag"),
        line("steep_slope", f"{p['steep_slope'] * flag / 256 / ONE:.6f} risk a flag"),
        _entry(p["knee"], "knee", f"{p['knee'] / flag:g} flags"),
        line("budget_num", f"abstain on a share of at most {p['budget_num'] / p['budget_den']:.4f}{beyond}"),
        line("budget_den"),
        line("burst", "abstentions that may come at once"),
        line("rise_reference", f"{p['rise_reference'] / ONE:.4f}"),
        line("fall_reference", f"{p['fall_reference'] / ONE:.4f}"),
        line("hold", "steps that a rise alarm stays raised at the least"),
        line("warmup", "steps that abstain for errors alone"),
        *side("rise"),
        line("rise_clear", f"{p['rise_clear'] / ONE:.4f}"),
        *side("fall"),
        _entry(f"{name}_centers" if params.centers is not None else "NULL", "centers"),
        _entry(f"&{name}_instant" if params.instant else "NULL", "instant"),
        _entry(f"&{name}_evidence" if params.evidence else "NULL", "evidence"),
        _entry(f"&{name}_feedback" if params.feedback else "NULL", "feedback"),
        *_by_signal(params, "coef", COEF_UNIT),
        *_by_signal(params, "clean_mean", ONE),
        "};",
    ]
    return "\n".join(lines) + "\n"


def rows_of(values: Iterable[int]) -> list[str]:
    """Return numbers as the lines of an initializer."""
    return textwrap.wrap(", ".join(map(str, values)), 100, initial_indent="    ", subsequent_indent="    ")


def string_of(text: str) -> str:
    r"""Return a text as a C string literal of printable ASCII; other bytes of its UTF-8 are octal.

    Octal, because an escape of three digits ends there whatever follows; no ? stays, which could begin a
    trigraph.
    """
    plain = {ord(sign): sign for sign in map(chr, range(32, 127))} | {34: r"\"", 92: r"\\", 63: r"\?"}
    # Half of a surrogate pair, which JSON can say, has no UTF-8.
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode("utf-8", "replace")) + '"'


def tables(params: Params, name: str) -> list[str]:
    """Return everything that parameters point to; static, so that two monitors may lie in one program."""
    parts = (_lags, _centers, _instant, _evidence, _feedback)
    return [line for part in parts for line in part(params, name)]


def _lags(params: Params, name: str) -> list[str]:
    p = params.integers()
    if not p["lags"]:
        return []
    lags = ", ".join(f"{lag}" for lag in p["lags"])
    weights = ", ".join(f"{weight}" for weight in p["lag_weights"])
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
        lines += [f"    /* {_class(params, number)} */", *_continued(rows_of(row))]
    return [*lines, "};", ""]


def _instant(params: Params, name: str) -> list[str]:
    if params.instant is None:
        return []
    head = params.instant.integers()
    bias = _entry(head["bias"], "bias", f"{head['bias'] / ONE:.4f}")
    return _struct("instant", name, bias, _coefs(params.instant))


def _evidence(params: Params, name: str) -> list[str]:
    if params.evidence is None:
        return []
    head = params.evidence.integers()
    real = ("clip", "still", "bias", "allowance", "own_mean", "own_most")
    notes = {field: f"{head[field] / ONE:.4f}" for field in real} | {"bet_base": "no bet"}
    if params.evidence.bet is not None:
        notes["bet_base"] = "{:.4f} + {:.4f} x evidence".format(*params.evidence.bet)
    numbers = [
        _entry(f"{value}{'' if field in ('bias', 'own_mean') else 'u'}", field, notes.get(field))
        for field, value in head.items()
        if field not in ("coef", "offset")
    ]
    return [
        *_by_class(params, "int16_t", f"{name}_evidence_offset", head["offset"], 256),
        *_struct(
            "evidence", name, _entry(f"{name}_evidence_offset", "offset"), *numbers, _coefs(params.evidence)
        ),
    ]


def _feedback(params: Params, name: str) -> list[str]:
    if params.feedback is None:
        return []
    head, real = params.feedback.integers(), params.feedback
    share = "any share of errors"
    if real.max_error is not None:
        share = f"{real.max_error:.4f} of labeled accepted steps"
    notes = {
        "memory": "steps back that a label may be for",
        "error_num": share,
        "error_reference": f"doubtful from a risk of {real.reference:.4f} on, at zero error debt",
        "error_shut": f"{real.shut:g} errors",
        "error_first": f"the {real.hard} is hard",
        "wrong_score": f"{real.wrong_score:.4f} nats",
        "right_score": f"{real.right_score:.4f} nats",
    }
    rows = (_entry(f"{value}u", field, notes.get(field)) for field, value in head.items())
    return _struct("feedback", name, *rows)


def _struct(kind: str, name: str, *entries: str) -> list[str]:
    return [f"static const tcuq_{kind}_t {name}_{kind} = {{", *entries, "};", ""]


def _entry(value: object, field: str, note: str | None = None) -> str:
    return f"    {value}, /* {field}{f': {note}' if note else ''} */"


def _coefs(head: EvidenceHead | InstantHead) -> str:
    """Return the entry of the coefficients, and in its comment the real ones that are not 0."""
    real = ", ".join(f"{name} {value:.4f}" for name, value in head.coef.items() if value)
    return _entry(f"{{{', '.join(map(str, head.integers()['coef']))}}}", "coef", real or "all 0")


def _by_class(params: Params, kind: str, name: str, values: Sequence[int], unit: int) -> list[str]:
    """Return a table with one entry a class; names of classes in comments where there are some."""
    start = f"static const {kind} {name}[] = {{ /* one a class, value * {unit} */"
    if params.names is None:
        return [start, *rows_of(values), "};"]
    lines = [f"    {value}, /* {_class(params, number)} */" for number, value in enumerate(values)]
    return [start, *lines, "};"]


def _class(params: Params, number: int) -> str:
    return f"class {number}" + (f": {plain_text(params.names[number])}" if params.names is not None else "")


def _continued(lines: list[str]) -> list[str]:
    return [*lines[:-1], f"{lines[-1]},"]
