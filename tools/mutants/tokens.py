# SPDX-License-Identifier: MIT
"""A tokenizer for the C of the core: enough to know what an operator is, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PATTERN = re.compile(
    r"""
    (?P<comment>/\*.*?\*/)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<hash>^[ \t]*\#[ \t]*\w+)
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||\#\#|[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]\#])
  | (?P<continued>\\\n)
  | (?P<space>\s+)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

KEYWORDS = frozenset(
    {"if", "else", "while", "for", "do", "switch", "case", "default", "return", "break", "continue", "sizeof"}
)
_TYPES = frozenset(
    {
        "void",
        "char",
        "int",
        "long",
        "short",
        "unsigned",
        "signed",
        "const",
        "static",
        "inline",
        "struct",
        "enum",
    }
)


@dataclass(frozen=True)
class Token:
    """One token."""

    kind: str
    text: str
    start: int

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.start + len(self.text)


def tokenize(source: str) -> list[Token]:
    """Return the tokens of a file, without comments and spaces.

    Examples
    --------
    >>> [token.text for token in tokenize("a += b[1u] >> 3; /* b */")]
    ['a', '+=', 'b', '[', '1u', ']', '>>', '3', ';']
    """
    return list(_tokens(source))


def _tokens(source: str) -> Iterator[Token]:
    at = 0
    while at < len(source):
        found = _PATTERN.match(source, at)
        if found is None:
            line = source.count("\n", 0, at) + 1
            raise ValueError(f"line {line} has {source[at : at + 20]!r}, expected C")
        kind = str(found.lastgroup)
        if kind not in ("comment", "space", "continued"):
            text = found.group()
            lead = len(text) - len(text.lstrip()) if kind == "hash" else 0
            yield Token(kind, text[lead:], at + lead)
        at = found.end()


def is_type(token: Token) -> bool:
    """Return whether a name is that of a type, by the habits of the core.

    Examples
    --------
    >>> [is_type(token) for token in tokenize("uint32_t size const")]
    [True, False, True]
    """
    return token.kind == "name" and (token.text in _TYPES or token.text.endswith("_t"))


def directives(source: str) -> list[tuple[int, int, str]]:
    r"""Return (start, stop, word) of every directive of the preprocessor, with the lines that continue it.

    Examples
    --------
    >>> directives("#define A 1\nint x;\n#undef A\n")
    [(0, 11, 'define'), (19, 27, 'undef')]
    """
    pattern = re.compile(r"^[ \t]*#[ \t]*(\w+)(?:\\\n|[^\n])*", re.MULTILINE)
    return [(found.start(), found.end(), found[1]) for found in pattern.finditer(source)]


def closing(tokens: list[Token], at: int) -> int:
    """Return the index of the bracket that closes the one at an index.

    Examples
    --------
    >>> closing(tokenize("f((a), b) + c"), 1)
    7
    """
    pairs = {"(": ")", "[": "]", "{": "}"}
    opening, depth = tokens[at].text, 0
    for index in range(at, len(tokens)):
        text = tokens[index].text
        depth += (text == opening) - (text == pairs[opening])
        if depth == 0:
            return index
    raise ValueError(f"{opening} at {tokens[at].start} is open, expected it to close")
