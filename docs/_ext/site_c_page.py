"""Markdown of the C reference, from what `site_header` read."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from site_commands import plain
from site_header import Header, Part, Symbol, field_rows, read_header, rules

NAME = re.compile(r"`[^`]*`|\b(?:tcuq_\w+|TCUQ_\w+)(?:\.[ch]\b|\(\))?")


def header_page(path: Path) -> str:
    """Return Markdown for a header: what it is for, functions, types, macros.

    Parameters
    ----------
    path : Path
        Of the header; ValueError says which of its symbols lacks a comment.
    """
    header = read_header(path)
    lines = [f"## {path.name}", "", paragraphs(header.intro), ""]
    functions = [each for each in header.symbols if each.kind == "function"]
    if functions:
        lines += ["### Functions", ""]
    for each in functions:
        lines += [f"````{{c:function}} {each.text}", "", paragraphs(each.comment), "````", ""]
    types = [each for each in header.symbols if each.kind in ("struct", "enum")]
    if types:
        lines += ["### Types", ""]
    for each in types:
        lines += _type(each)
    macros = [each for each in header.symbols if each.kind == "macro"]
    if macros:
        lines += ["### Constants and macros", ""]
    for _, several in groupby(macros, key=lambda each: (each.group, each.shared)):
        lines += _macros(list(several))
    return "\n".join(lines)


def errors_page(fields: Path) -> str:
    """Return Markdown for the errors of parameters, which the header makes of its rows.

    Parameters
    ----------
    fields : Path
        Of ``tcuq_fields.h``.
    """
    text = fields.read_text(encoding="utf-8")
    lines = ["## Errors of parameters", "", "`tcuq_check()` returns the first that applies.", ""]
    lines += ["| Error | Parameter | Expected |", "| --- | --- | --- |"]
    for of, part in field_rows(text):
        if part.kind:
            kind = "PARAM" if of == "PARAMS" else of
            lines.append(f"| `TCUQ_ERR_{kind}_{part.name}` | `{part.name}` | {part.values} |")
    for name, parameter, expected in rules(text):
        lines.append(f"| `TCUQ_ERR_RULE_{name}` | `{parameter}` | {plain(expected)} |")
    return "\n".join([*lines, ""])


def _type(symbol: Symbol) -> list[str]:
    directive = "{c:enum}" if symbol.kind == "enum" else "{c:type}"
    lines = [f"````{directive} {symbol.name}", "", paragraphs(symbol.comment), ""]
    if "private" not in symbol.comment or any(part.comment for part in symbol.parts if symbol.kind == "enum"):
        lines += _parts(symbol)
    return [*lines, "````", ""]


def _parts(symbol: Symbol) -> list[str]:
    limits = any(part.values for part in symbol.parts)
    kind = "Value" if symbol.kind == "enum" else "Type"
    lines = [f"| Name | {kind} |{' Range |' if limits else ''} Meaning |"]
    lines.append("| --- | --- |" + (" --- |" if limits else "") + " --- |")

    def row(part: Part) -> str:
        value = f"`{part.kind}`" if part.kind else "the last of them"
        return f"| `{part.name}` | {value} |{f' {part.values} |' if limits else ''} {cell(part.comment)} |"

    return [*lines, *map(row, symbol.parts), ""]


def _macros(macros: list[Symbol]) -> list[str]:
    lines = [paragraphs(macros[0].shared), ""] if macros[0].shared else []
    own = any(each.comment for each in macros)
    lines += ["| Name | Value |" + (" Meaning |" if own else ""), "| --- | --- |" + (" --- |" if own else "")]
    for each in macros:
        value = each.text.replace("|", "\\|")
        lines.append(f"| `{each.name}` | `{value}` |" + (f" {cell(each.comment)} |" if own else ""))
    return [*lines, ""]


def paragraphs(comment: str) -> str:
    r"""Return a comment as Markdown; what is indented by two is code or a list.

    Examples
    --------
    >>> paragraphs("Say tcuq_init().\n\n  x = 1;\nEnd.")
    'Say `tcuq_init()`.\n\n```c\nx = 1;\n```\n\nEnd.'
    """
    lines: list[str] = []
    for indented, some in groupby(comment.splitlines(), key=lambda line: line.startswith("  ") or None):
        block = list(some)
        if indented and not block[0].strip().startswith("- "):
            lines += ["", "```c", *(line[2:] for line in block), "```", ""]
        elif indented:
            lines += ["", *(named(line.strip()) for line in block), ""]
        else:
            lines += [named(line) for line in block]
    text = re.sub(r"\n\n\n+", "\n\n", "\n".join(lines))
    return re.sub(r"\n\n```\n\n```c\n\n?", "\n\n\n", text).strip()


def named(text: str) -> str:
    r"""Return text with the names of symbols as code.

    Examples
    --------
    >>> named("a * of tcuq_t and `b`")
    'a \\* of `tcuq_t` and `b`'
    """
    parts = re.split(f"({NAME.pattern})", text)
    return "".join(
        plain(part) if at % 2 == 0 else (part if part.startswith("`") else f"`{part}`")
        for at, part in enumerate(parts)
    )


def cell(comment: str) -> str:
    """Return a comment for a cell of a table."""
    return named(" ".join(comment.split())).replace("|", "\\|")


__all__ = ["Header", "cell", "errors_page", "header_page", "named", "paragraphs"]
