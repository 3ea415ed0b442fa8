"""Texts of a package that are kept as files, with @fields@ of a monitor in them."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from .contents import Contents

_FIELD = re.compile(r"^@(\w+)@\n|@(\w+)@", re.M)


def render(template: str, contents: Contents, **more: Any) -> str:
    """Return a text with the values of a monitor.

    A field that is alone on its line stands for whole lines, perhaps none: its text brings their ends.
    """
    path = resources.files("tcuq") / "export" / "templates" / f"{template}.in"
    fields = {**contents.fields, **more}
    return _FIELD.sub(lambda found: str(fields[found[1] or found[2]]), path.read_text(encoding="utf-8"))


def lines(items: list[str] | tuple[str, ...], indent: int = 4) -> str:
    r"""Return whole lines, one an item.

    Examples
    --------
    >>> lines(["a.c", "b.c"], 2)
    '  a.c\n  b.c\n'
    """
    return "".join(f"{' ' * indent}{item}\n" for item in items)
