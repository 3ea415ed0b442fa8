# SPDX-License-Identifier: MIT
"""Where the core can be changed, and how: the operators of mutation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .tokens import KEYWORDS, Token, closing, directives, is_type, tokenize

SOURCES = (
    "tcuq.c",
    "tcuq_beliefs.c",
    "tcuq_error.c",
    "tcuq_feedback.c",
    "tcuq_signals.c",
    "tcuq_state.c",
    "tcuq_internal.h",
    "tcuq_tables.h",
)
"""Files that are changed, in the order of their mutants; tcuq_fields.h is made of the schema."""

TABLE_STRIDE = 16
"""Of the entries of a table, one in so many is changed."""

_BINARY = {
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "%": ("/",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
    "<<": (">>",),
    ">>": ("<<",),
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("+=",),
    "/=": ("*=",),
    "&=": ("|=",),
    "|=": ("&=",),
    "^=": ("|=",),
    "<<=": (">>=",),
    ">>=": ("<<=",),
    "++": ("--",),
    "--": ("++",),
}
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    start: int
    stop: int
    old: str
    new: str
    kind: str
    line: int
    column: int
    context: str
    indent: int = 0

    @property
    def name(self) -> str:
        """Return what tells it from all others, in one line."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.file}:{self.line}:{self.column} `{old}` -> `{new}`"

    def apply(self, source: str) -> str:
        """Return the text of the file with the change."""
        assert source[self.start : self.stop] == self.old
        return source[: self.start] + self.new + source[self.stop :]


Change = tuple[int, int, str, str]


def mutants(core: Path, files: tuple[str, ...] = SOURCES) -> list[Mutant]:
    """Return all mutants of some files of a core, in the order of the files and of places in them."""
    return [mutant for name in files for mutant in mutants_of(name, (core / name).read_text("utf-8"))]


def mutants_of(name: str, source: str) -> list[Mutant]:
    """Return the mutants of one file.

    Examples
    --------
    >>> found = mutants_of("x.c", "int f(int a) { return a < 2 ? a : 2; }")
    >>> [(each.old, each.new) for each in found][:3]
    [('return a < 2 ? a : 2;', 'return 0;'), ('<', '<='), ('<', '>=')]
    """
    changes = list(_tables(source)) if name == "tcuq_tables.h" else list(_changes(source))
    seen: set[tuple[int, int, str]] = set()
    found = []
    for start, stop, new, kind in sorted(changes, key=lambda each: (each[0], each[1])):
        if (start, stop, new) in seen or source[start:stop] == new:
            continue
        seen.add((start, stop, new))
        begin = source.rfind("\n", 0, start) + 1
        end = source.find("\n", start) % (len(source) + 1)
        found.append(
            Mutant(
                name,
                start,
                stop,
                source[start:stop],
                new,
                kind,
                source.count("\n", 0, start) + 1,
                start - begin + 1,
                source[begin:end].strip(),
                len(source[begin:end]) - len(source[begin:end].lstrip()),
            )
        )
    return found


def _tables(source: str) -> Iterator[Change]:
    """Yield one more and one less at a sample of the entries, the first and the last among them."""
    for table in re.finditer(r"= \{(.*?)\};", source, re.DOTALL):
        entries = list(re.finditer(r"\d+", table[1]))
        for number, entry in enumerate(entries):
            if number % TABLE_STRIDE == 0 or number == len(entries) - 1:
                at = table.start(1)
                yield from _constant(at + entry.start(), entry.group(), "table")


def _constant(at: int, text: str, kind: str = "constant") -> Iterator[Change]:
    digits = text.rstrip("uUlL")
    suffix, value = text[len(digits) :], int(digits, 0)
    for new in (value + 1, value - 1):
        if new < 0 <= value:
            continue
        written = f"0x{new:X}" if digits[:2].lower() == "0x" else str(new)
        yield at, at + len(text), written + suffix, kind


def _changes(source: str) -> Iterator[Change]:
    tokens = tokenize(source)
    lines = directives(source)
    skipped = [(start, stop) for start, stop, word in lines if word != "define"]
    defines = [(start, stop) for start, stop, word in lines if word == "define"]
    heads = _heads(source, defines)
    live = []
    for token in tokens:
        if any(start <= token.start < stop for start, stop in skipped + heads):
            continue
        live.append(token)
    in_define = {index for index, token in enumerate(live) if any(a <= token.start < b for a, b in defines)}
    for index in range(len(live)):
        yield from _at(live, index, index in in_define)
    body = [token for index, token in enumerate(live) if index not in in_define]
    yield from _statements(source, body)
    yield from _conditions(source, body)


def _heads(source: str, defines: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of definitions that are no code: `#define NAME(a, b)`, and whole attributes."""
    found = []
    for start, stop in defines:
        text = source[start:stop]
        if "__attribute__" in text or "__builtin" in text:
            found.append((start, stop))
            continue
        head = re.match(r"[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?", text)
        assert head is not None
        found.append((start, start + head.end()))
    return found


def _binary(tokens: list[Token], at: int) -> bool:
    """Return whether an operator that can be either stands between two values."""
    if at == 0:
        return False
    before = tokens[at - 1]
    if before.kind in ("number", "text"):
        return True
    if before.kind == "name":
        return not is_type(before) and before.text not in KEYWORDS
    if before.text == "]":
        return True
    return before.text == ")" and not _is_cast(tokens, _opening(tokens, at - 1))


def _opening(tokens: list[Token], at: int) -> int:
    depth = 0
    for index in range(at, -1, -1):
        depth += (tokens[index].text == ")") - (tokens[index].text == "(")
        if depth == 0:
            return index
    return 0


def _is_cast(tokens: list[Token], at: int) -> bool:
    """Return whether the parenthesis at an index opens a cast."""
    stop = closing(tokens, at)
    inner = tokens[at + 1 : stop]
    if not inner or not all(is_type(token) or token.text == "*" for token in inner):
        return False
    before = tokens[at - 1] if at else None
    return before is None or not (
        before.text == "sizeof" or (before.kind == "name" and before.text not in KEYWORDS)
    )


def _at(tokens: list[Token], index: int, defined: bool) -> Iterator[Change]:
    """Yield the changes of one token."""
    token = tokens[index]
    if token.kind == "number":
        yield from _constant(token.start, token.text)
        return
    if token.text == "(" and _is_cast(tokens, index):
        stop = closing(tokens, index)
        if all(t.text != "*" and t.text not in ("void", "const") for t in tokens[index + 1 : stop]):
            yield token.start, tokens[stop].stop, "", "cast dropped"
        return
    if token.kind != "operator":
        return
    if token.text in ("~", "!"):
        yield token.start, token.stop, "", "unary dropped"
    elif token.text in _BINARY:
        either = token.text in "+-*&"
        if either and not _binary(tokens, index):
            if token.text == "-":
                yield token.start, token.stop, "", "unary dropped"
            return
        kind = "comparison" if token.text in _COMPARISONS else "operator"
        for new in _BINARY[token.text]:
            yield token.start, token.stop, new, kind


def _statements(source: str, tokens: list[Token]) -> Iterator[Change]:
    """Yield statements left out, and what a function returns changed."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.text == "(") - (token.text == ")")
        if index == 0 or depth > 0 or not _begins_statement(tokens, index):
            continue
        stop = _semicolon(tokens, index)
        if stop is None:
            continue
        start, end = token.start, tokens[stop].stop
        if token.text == "return":
            said = source[tokens[index].stop : tokens[stop].start].strip()
            new = ";" if not said else "return 1;" if said in ("0", "TCUQ_OK", "NULL") else "return 0;"
            yield start, end, new, "return changed"
        elif token.text in ("break", "continue"):
            yield start, end, ";", "break dropped"
        elif token.text in KEYWORDS or is_type(token) or token.text in ("NOT_INLINE", "SELDOM"):
            continue
        elif token.kind == "name" or token.text in ("*", "++", "--"):
            yield start, end, ";", "statement dropped"


def _begins_statement(tokens: list[Token], index: int) -> bool:
    before = tokens[index - 1]
    if before.text in ("{", "}", ";") or before.text == "else":
        return _in_function(tokens, index)
    if before.text == ":" and tokens[index].text == "return":
        return True
    if before.text == ")":
        opening = _opening(tokens, index - 1)
        return opening > 0 and tokens[opening - 1].text in ("if", "while", "for")
    return False


def _in_function(tokens: list[Token], index: int) -> bool:
    """Return whether a place is inside braces that a parameter list or a statement opened."""
    depth = 0
    for at in range(index - 1, -1, -1):
        depth += (tokens[at].text == "}") - (tokens[at].text == "{")
        if depth < 0:
            return at > 0 and (tokens[at - 1].text in (")", "else", "do") or _in_function(tokens, at))
    return False


def _semicolon(tokens: list[Token], index: int) -> int | None:
    depth = 0
    for at in range(index, len(tokens)):
        text = tokens[at].text
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if text in ("{", "}") or depth < 0:
            return None
        if text == ";" and depth == 0:
            return at
    return None


def _conditions(source: str, tokens: list[Token]) -> Iterator[Change]:
    """Yield negated conditions where no changed comparison says the same, and swapped choices."""
    for index, token in enumerate(tokens):
        if token.text in ("if", "while") and tokens[index + 1].text == "(":
            stop = closing(tokens, index + 1)
            start, end = tokens[index + 1].stop, tokens[stop].start
            if not _single(tokens[index + 2 : stop]):
                yield start, end, f"!({source[start:end]})", "condition negated"
        elif token.text == "?":
            found = _choice(tokens, index)
            if found is not None:
                first, colon, stop = found
                if not any(each.text in _COMPARISONS for each in tokens[first:index]):
                    one = source[tokens[index].stop : tokens[colon].start].strip()
                    two = source[tokens[colon].stop : tokens[stop].start].strip()
                    yield token.start, tokens[stop - 1].stop, f"? ({two}) : ({one})", "choice swapped"


def _single(tokens: list[Token]) -> bool:
    return sum(token.text in _COMPARISONS for token in tokens) == 1


def _choice(tokens: list[Token], index: int) -> tuple[int, int, int] | None:
    """Return where the condition of a choice begins, where its colon is, and the token after it."""
    depth, first = 0, index
    while first > 0:
        text = tokens[first - 1].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth < 0 or (depth == 0 and text in ("=", "return", ",", ";", "?", ":", "{", "}", "+=", "-=")):
            break
        first -= 1
    colon = _until(tokens, index + 1, lambda text, nested: text == ":" and nested == 0)
    if colon is None:
        return None
    stop = _until(tokens, colon + 1, lambda text, nested: text in (",", ";", ")", "]", ":"))
    return None if stop is None else (first, colon, stop)


def _until(tokens: list[Token], at: int, ends: Callable[[str, int], bool]) -> int | None:
    depth = nested = 0
    for index in range(at, len(tokens)):
        text = tokens[index].text
        if depth == 0 and ends(text, nested):
            return index
        nested += (text == "?") - (text == ":") if depth == 0 else 0
        depth += (text in ("(", "[")) - (text in (")", "]"))
        if depth < 0 or text in ("{", "}"):
            return None
    return None
