"""Keywords of `fit`, with those of `FitOptions` among them; what a fit wants known."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tcuq import FitOptions, Params

OPTIONS = {each.name for each in fields(FitOptions)}


def told(**given: Any) -> dict[str, Any]:
    """Return keywords of `fit`, fields of `FitOptions` put into its `options`."""
    inside = {name: value for name, value in given.items() if name in OPTIONS}
    rest = {name: value for name, value in given.items() if name not in OPTIONS}
    return {**rest, "options": FitOptions(**inside)} if inside else rest


def findings(params: Params) -> dict[str, Any]:
    """Return what a fit wants known by its code; sentences of the log under themselves."""
    noted = params.notes["fit"]["warnings"]
    return {each if isinstance(each, str) else each["code"]: each for each in noted}
