"""Rows of text."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED = re.compile(r"'+[=+\-@\t\r]")


def csv_name(name: str) -> str:
    """Return a name as it stands in CSV: one that a table program would take for a formula begins with '."""
    return f"'{name}" if _FORMULA.match(name) else name


def name_in_csv(text: str) -> str:
    """Return the name that `csv_name` was given."""
    return text[1:] if _QUOTED.match(text) else text
