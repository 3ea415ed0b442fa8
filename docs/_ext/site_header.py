"""The reference of the C functions, made from the headers: every symbol with the comment that it has there.

This reads headers written as ours are, not C: a comment stands above what it speaks of, or behind it on the
line. Lines without an empty line between them share the comment above the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NUMBER = re.compile(r"X\(([A-Z]+), \w+, (\w+), (\w+), (-?\d+), (-?\d+), \d\)")
MANY = re.compile(r"X\(([a-z]+), (\w+), \w+, (-?\d+), (-?\d+)(?:, \w+)?\)")
RULE = re.compile(r'(?ms)^    X\((\w+), (\w+),.*?"(.*?)"\)')
MEMBER = re.compile(r"^([\w\s*]+?[\s*])(\w+)((?:\[\w+\])?);$")
VALUE = re.compile(r"^(\w+)(?:\s*=\s*([^,]+?))?,?$")


@dataclass(frozen=True)
class Part:
    """A member of a struct or a value of an enumeration.

    Parameters
    ----------
    name, kind, comment : str
        Its type, or its number; the comment may be empty.
    values : str
        The range that is allowed, where the header gives one.
    """

    name: str
    kind: str
    comment: str
    values: str = ""


@dataclass(frozen=True)
class Symbol:
    """What a header declares.

    Parameters
    ----------
    kind : str
        ``macro``, ``struct``, ``enum`` or ``function``.
    name : str
    text : str
        The declaration of a function, the value of a macro.
    comment : str
    parts : tuple of Part
    group : int
        Symbols that share a comment have the same number.
    shared : str
        The comment above the group.
    """

    kind: str
    name: str
    text: str
    comment: str
    parts: tuple[Part, ...] = ()
    group: int = 0
    shared: str = ""


@dataclass
class Header:
    """What was read from one header.

    Parameters
    ----------
    intro : str
        The comment that speaks of the file.
    symbols : list of Symbol
    """

    intro: str = ""
    symbols: list[Symbol] = field(default_factory=list)


def read_header(path: Path) -> Header:
    """Read a header; raise ValueError for a symbol without a comment.

    Parameters
    ----------
    path : Path
        Rows of parameters are read from ``tcuq_fields.h`` beside it.
    """
    fields = path.parent / "tcuq_fields.h"
    header = parse(
        path.read_text(encoding="utf-8"), fields.read_text(encoding="utf-8") if fields.exists() else ""
    )
    for each in header.symbols:
        if not (each.comment or each.shared):
            raise ValueError(f"{path.name}: {each.name} has no comment, expected one above or behind it")
        private = "private" in each.comment
        for part in each.parts:
            if not part.comment and not private:
                raise ValueError(
                    f"{path.name}: {each.name}.{part.name} has no comment, expected one behind it"
                )
    return header


def parse(text: str, fields: str = "") -> Header:
    r"""Return what a header declares, whether it has comments or not.

    Parameters
    ----------
    text : str
        Of the header.
    fields : str
        Of the rows that it includes.

    Examples
    --------
    >>> found = parse("/* Lights. */\n#define A 1 /* red */\n#define B 2\n\n/* Go. */\nint go(int how);\n")
    >>> [(each.kind, each.name, each.comment) for each in found.symbols]
    [('macro', 'A', 'red'), ('macro', 'B', ''), ('function', 'go', 'Go.')]
    >>> found.symbols[1].shared
    'Lights.'
    """
    text = re.sub(r"(?s)#ifdef __cplusplus.*?#endif\n", "", text)
    text = re.sub(r"\A/\* SPDX.*?\*/\n", "", text)
    header, above, group = Header(), "", 0
    blocks = list(_blocks(text))
    for at, (kind, block) in enumerate(blocks):
        if kind == "empty":
            above, group = "", group + 1
        elif kind == "comment":
            above = uncommented(block)
            following = blocks[at + 1][1] if at + 1 < len(blocks) else ""
            if not header.intro and not header.symbols and re.match(r"#ifndef \w+_H$", following):
                header.intro, above = above, ""
        elif kind == "code":
            found = _symbol(block, above, fields, group)
            if found is not None:
                header.symbols.append(found)
    return header


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield comments, declarations and empty lines of a header, in order."""
    lines = iter(text.splitlines())
    for line in lines:
        if not line.strip():
            yield "empty", ""
        elif line.startswith("/*"):
            while "*/" not in line:
                line += "\n" + next(lines)
            yield "comment", line
        elif line.startswith("#"):
            while line.endswith("\\"):
                line = line[:-1].rstrip() + " " + next(lines).strip()
            yield "code", line
        else:
            body = line.startswith(("typedef struct", "enum", "static inline"))
            while not (re.search(r"(?m)^\}.*$", line) if body else line.rstrip().endswith(";")):
                line += "\n" + next(lines)
            yield "code", line


def _symbol(code: str, above: str, fields: str, group: int) -> Symbol | None:
    define = re.match(r"#define (\w+(?:\([^)]*\))?)\s*(.*?)\s*(?:/\*(.*)\*/)?$", code)
    if define and not define[1].endswith("_H"):
        own = (define[3] or "").strip()
        return Symbol("macro", define[1], define[2], own, group=group, shared=above)
    if code.startswith("#"):
        return None
    if code.startswith("typedef struct"):
        named = re.search(r"\} (\w+);\s*$", code)
        assert named is not None, code
        return Symbol("struct", named[1], "", above, tuple(_members(code, fields)), group)
    if code.startswith("enum"):
        named = re.match(r"enum (\w+)", code)
        assert named is not None, code
        return Symbol("enum", named[1], "", above, tuple(_values(code)), group)
    told = " ".join(re.sub(r"(?s)\{.*", "", code).split()).rstrip(";").strip()
    named = re.search(r"(\w+)\(", told)
    assert named is not None, code
    return Symbol("function", named[1], told, above, group=group, shared=above)


def _members(code: str, fields: str) -> Iterator[Part]:
    named = re.search(r"\} tcuq_(\w+)_t;\s*$", code)
    ranges = {part.name: part.values for of, part in field_rows(fields) if named and of == named[1].upper()}
    for line, comment in _commented(code):
        found = MEMBER.match(line)
        if found:
            kind = (found[1].strip() + " " + found[3]).strip()
            yield Part(found[2], kind, comment, ranges.get(found[2], ""))


def _values(code: str) -> Iterator[Part]:
    for line, comment in _commented(re.sub(r"(?m)^#.*\n", "", code)):
        found = VALUE.match(line)
        if found and not line.startswith("enum"):
            yield Part(found[1], found[2] or "", comment)


def _commented(code: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a body with the comment behind each, which may go on below."""
    for found in re.finditer(r"(?ms)^[ \t]+([^\n/]+?)[ \t]*(?:/\*(.*?)\*/[ \t]*)?$", code):
        yield found[1], uncommented(found[2] or "")


def field_rows(fields: str) -> Iterator[tuple[str, Part]]:
    r"""Yield the parameters that ``tcuq_fields.h`` lists, each with the struct that it belongs to.

    Only single numbers have a type.

    Examples
    --------
    >>> list(field_rows("    X(p, lags, uint8_t, 1, 64, lag)\n"))
    [('PARAMS', Part(name='lags', kind='', comment='', values='1 to 64'))]
    """
    for of, name, kind, low, high in NUMBER.findall(fields):
        yield of.replace("PARAM", "PARAMS"), Part(name, kind, "", f"{low} to {high}")
    for of, name, low, high in MANY.findall(fields):
        yield "PARAMS" if of == "p" else of.upper(), Part(name, "", "", f"{low} to {high}")


def rules(fields: str) -> list[tuple[str, str, str]]:
    """Return the rules between parameters: name, parameter, what is expected."""
    return RULE.findall(fields.partition("#define TCUQ_RULES(X)")[2].partition("\n\n")[0])


def uncommented(comment: str) -> str:
    r"""Return the text of a comment without its marks.

    Examples
    --------
    >>> uncommented("/* One\n * two. */")
    'One\ntwo.'
    """
    text = comment.strip().removeprefix("/*").removesuffix("*/")
    return "\n".join(re.sub(r"^\s*\*( |$)", "", line) for line in text.splitlines()).strip()
