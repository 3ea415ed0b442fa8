"""Texts of a package: files of templates/ with tags in them, which a monitor's values fill."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_TAGS = r"(?:if |if not |include |each \w+ in )?\w+"
_TAG = re.compile(rf"^@({_TAGS})@\n|@({_TAGS})@", re.M)
_LINE = re.compile(r"^@when (not )?(\w+)@(.*\n)", re.M)


@cache
def sections(file: str) -> dict[str, str]:
    """Return the sections of a file of templates, by what follows @@ above them."""
    path = resources.files("tcuq") / "export" / "templates" / f"{file}.txt"
    _, *parts = re.split(r"^@@ (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def render(text: str, fields: Mapping[str, Any], more: Mapping[str, str]) -> str:
    r"""Return a text with its tags replaced; `more` has the sections that it may include.

    A tag alone on its line stands for whole lines, perhaps none: its text brings their ends. What follows
    `@when field@` is a line that is there where the field is set.

    Examples
    --------
    >>> text = "@when wide@wide\n@if not wide@\n@each row in files@\n@end@\n@name@: @include end@.\n"
    >>> fields = {"wide": 0, "name": "kws", "files": [{"file": "a.c"}, {"file": "b.c"}]}
    >>> print(render(text, fields, {"row": "- @file@\n", "end": "the end\n"}), end="")
    - a.c
    - b.c
    kws: the end.
    """
    text = _LINE.sub(lambda line: line[3] if bool(fields[line[2]]) != bool(line[1]) else "", text)
    parts: list[str] = []
    shown, end = [True], 0
    for tag in _TAG.finditer(text):
        if all(shown):
            parts.append(text[end : tag.start()])
        end = tag.end()
        *how, word = (tag[1] or tag[2]).split()
        if how[:1] == ["if"]:
            shown.append(bool(fields[word]) != ("not" in how))
        elif not how and word == "else":
            shown[-1] = not shown[-1]
        elif not how and word == "end":
            shown.pop()
        elif all(shown) and not how:
            parts.append(str(fields[word]))
        elif all(shown):
            items = fields[word] if how[0] == "each" else [{}]
            section = more[how[1] if how[0] == "each" else word]
            texts = [render(section, {**fields, **item}, more) for item in items]
            parts.append("".join(texts) if tag[1] else " ".join(text.rstrip("\n") for text in texts))
    return "".join(parts) + text[end:]
