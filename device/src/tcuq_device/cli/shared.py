"""What the actions of `tcuq device` share: estimates in words, and files of the wrong kind."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tcuq.cli.process import UsageError
from tcuq.cli.words import MODELS


def expect_graph(path: str, hint: str = "") -> None:
    """Refuse what by its name cannot be an int8 graph, and say how to get one."""
    stem, ending = os.path.splitext(path)
    if ending.lower() in MODELS:
        way = f"tcuq device import {path} -o {stem}.npz"
        raise UsageError(f"{path}: is a model, expected a graph; make one with: {way}")
    if ending.lower() == ".json":
        raise UsageError(f"{path}: is a JSON file, expected a graph (.npz), from tcuq device import{hint}")


def estimate(ends: Sequence[float | None], form: str, unit: str) -> str:
    """Return a range of estimates in words, or that there is none."""
    if ends[0] is None:
        return "unknown: the board's file has no source for it"
    return f"{span(ends, form)} {unit}, an estimate without wait states"


def energy(microjoules: Sequence[float | None]) -> tuple[list[float | None], str]:
    """Return estimates of energy with three digits, and the form in which to show them."""
    return [None if each is None else float(f"{each:.3g}") for each in microjoules], ",.10g"


def span(ends: Sequence[float | None], form: str) -> str:
    """Return two ends as text; the upper one, or both, may be unknown."""
    low, high = ends
    if low is None:
        return "unknown"
    return f"{low:{form}} or more" if high is None else f"{low:{form}}-{high:{form}}"
