# SPDX-License-Identifier: MIT
"""What is wrong with a page, and how it is printed: one line a problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Problem(NamedTuple):
    """One fault; width and mode are empty where it does not depend on them."""

    page: str
    width: str
    mode: str
    what: str


def _spread(values: Iterable[str]) -> str:
    return "+".join(dict.fromkeys(value for value in values if value))


def lines(problems: Iterable[Problem]) -> list[str]:
    """Return a line a problem; what comes at several widths or modes is said once.

    Examples
    --------
    >>> lines([Problem("a.html", "390", "light", "no h1"), Problem("a.html", "390", "dark", "no h1")])
    ['a.html 390 light+dark: no h1']
    >>> lines([Problem("a.html", "", "", "link to b.html: no such file")])
    ['a.html: link to b.html: no such file']
    """
    found: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        found.setdefault((problem.page, problem.what), []).append(problem)
    return [
        " ".join(
            part
            for part in (page, _spread(one.width for one in same), _spread(one.mode for one in same))
            if part
        )
        + f": {what}"
        for (page, what), same in found.items()
    ]
