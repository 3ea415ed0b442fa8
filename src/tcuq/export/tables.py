"""The tables that a monitor's parameters point to, as C: lags, heads, class centers and names of classes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from ..base.errors import InputError
from ..base.fixed import ONE
from ..base.generated import plain_text
from ..monitor.params import Params

MAX_CLASS_NAME = 255
"""Bytes of a class name in UTF-8; C99 promises strings of 4095 after escapes of four characters a byte."""


def rows_of(values: Iterable[int]) -> list[str]:
    """Return numbers as the lines of an initializer.

    Examples
    --------
    >>> rows_of([1, -2])
    ['    1, -2']
    """
    return lines_of(map(str, values))


def lines_of(values: Iterable[str]) -> list[str]:
    """Return literals as the lines of an initializer."""
    return textwrap.wrap(", ".join(values), 100, initial_indent="    ", subsequent_indent="    ")


def string_of(text: str) -> str:
    r"""Return a text as a C string literal of printable ASCII; other bytes of its UTF-8 are octal.

    Octal, because an escape of three digits ends there whatever follows; no ? stays, which could begin a
    trigraph.

    Examples
    --------
    >>> print(string_of('a "b"?'), string_of("Köln1"))
    "a \"b\"\?" "K\303\266ln1"
    """
    plain = {ord(sign): sign for sign in map(chr, range(32, 127))} | {34: r"\"", 92: r"\\", 63: r"\?"}
    # Half of a surrogate pair, which JSON can say, has no UTF-8.
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode("utf-8", "replace")) + '"'


def check_names(names: Sequence[str] | None) -> None:
    """Refuse a class name that is longer than a C string may be."""
    for number, name in enumerate(names or ()):
        size = len(name.encode("utf-8", "replace"))
        if size > MAX_CLASS_NAME:
            raise InputError(
                "limit", f"name of class {number} is {size} bytes long, expected at most {MAX_CLASS_NAME}"
            )


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
    shares = head["class_mix"]
    return [
        *(_by_class(params, "uint16_t", f"{name}_class_mix", shares, ONE) if shares is not None else []),
        f"static const tcuq_instant_t {name}_instant = {{",
        f"    {head['bias']}, /* bias: {head['bias'] / ONE:.4f} */",
        f"    {f'{name}_class_mix' if shares is not None else 'NULL'}, /* class_mix */",
        f"    {{{', '.join(map(str, head['coef']))}}}, /* coef: {_weights(params.instant.coef)} */",
        "};",
        "",
    ]


def _evidence(params: Params, name: str) -> list[str]:
    if params.evidence is None:
        return []
    head = params.evidence.integers()
    bet = "no bet"
    if params.evidence.bet is not None:
        bet = "{:.4f} + {:.4f} x evidence".format(*params.evidence.bet)
    return [
        *_by_class(params, "int16_t", f"{name}_evidence_offset", head["offset"], 256),
        f"static const tcuq_evidence_t {name}_evidence = {{",
        f"    {name}_evidence_offset, /* offset */",
        f"    {head['clip']}u, /* clip: {head['clip'] / ONE:.4f} */",
        f"    {head['reach']}u, /* reach */",
        f"    {head['still']}u, /* still: {head['still'] / ONE:.4f} */",
        f"    {head['bias']}, /* bias: {head['bias'] / ONE:.4f} */",
        f"    {head['allowance']}u, /* allowance: {head['allowance'] / ONE:.4f} */",
        f"    {head['own_looks']}u, /* own_looks */",
        f"    {head['own_mean']}, /* own_mean: {head['own_mean'] / ONE:.4f} */",
        f"    {head['own_most']}u, /* own_most: {head['own_most'] / ONE:.4f} */",
        f"    {head['bet_base']}u, /* bet_base: {bet} */",
        f"    {head['bet_slope']}u, /* bet_slope */",
        f"    {{{', '.join(map(str, head['coef']))}}}, /* coef: {_weights(params.evidence.coef)} */",
        "};",
        "",
    ]


def _feedback(params: Params, name: str) -> list[str]:
    if params.feedback is None:
        return []
    head, real = params.feedback.integers(), params.feedback
    share = (
        "any share of errors" if real.max_error is None else f"{real.max_error:.4f} of labeled accepted steps"
    )
    notes = {
        "memory": "steps back that a label may be for",
        "error_num": share,
        "error_reference": f"doubtful from a risk of {real.reference:.4f} on, at zero error debt",
        "error_shut": f"{real.shut:g} errors",
        "error_first": f"the {real.hard} is hard",
        "wrong_score": f"{real.wrong_score:.4f} nats",
        "right_score": f"{real.right_score:.4f} nats",
    }
    return [
        f"static const tcuq_feedback_t {name}_feedback = {{",
        *(
            f"    {value}u, /* {field}{f': {notes[field]}' if field in notes else ''} */"
            for field, value in head.items()
        ),
        "};",
        "",
    ]


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


def _weights(coef: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in coef.items() if value) or "all 0"
