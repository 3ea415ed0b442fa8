"""Keywords of `fit`, with those of `FitOptions` among them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tcuq import FitOptions

OPTIONS = {each.name for each in fields(FitOptions)}


def told(**given: Any) -> dict[str, Any]:
    """Return keywords of `fit`, fields of `FitOptions` put into its `options`."""
    inside = {name: value for name, value in given.items() if name in OPTIONS}
    rest = {name: value for name, value in given.items() if name not in OPTIONS}
    return {**rest, "options": FitOptions(**inside)} if inside else rest
