"""Names and numbers as the pages print them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

NAMES = {
    "mnist": "MNIST",
    "speech_commands": "Speech Commands",
    "cifar10": "CIFAR-10",
    "cifar10_animals": "CIFAR-10, 2 classes",
    "mnist_pairs": "MNIST pairs, 100 classes",
    "tinyimagenet": "TinyImageNet",
    "tinyimagenet20": "TinyImageNet, 16 classes",
    "mobilenetv2": "MobileNetV2",
    "resnet50": "ResNet-50",
    "vit": "vision transformer",
    "text": "text transformer",
}
LOWER = re.compile(
    r"\b(delay|missed|error|risk|loss|nll|brier|ece|aurc|fpr|violations?|differences?|deviation|off|gap)\b"
)
"""Words of columns whose low figures are good."""
NEITHER = re.compile(
    r"\b((?<!over )prevalence|run lengths?|per alarm|share of|flag rate|abstentions?|abstained|bound|coverage"
    r"|streams|threshold|bytes)\b"
)
"""Words of columns that tell no better from worse."""


READABLE = (
    (re.compile(r"\b(unseen|seen|all) kinds\b"), r"\1 corruption types"),
    (re.compile(r"\b(unseen|seen) kind\b"), r"\1 corruption type"),
    (re.compile(r"\b[Ss]trangers\b"), "OOD inputs"),
)
"""Words of result and experiment files, whose names must stay comparable, as a page prints them."""
UNCHANGED = ("id", "format", "name", "command")
"""Entries that are names, not words."""


def readable(content: Any) -> Any:
    """Return what a JSON file holds with its words put as the field has them; keys stay.

    Examples
    --------
    >>> readable({"column": "AUPRC, unseen kinds", "id": "strangers", "where": ["strangers"]})
    {'column': 'AUPRC, unseen corruption types', 'id': 'strangers', 'where': ['OOD inputs']}
    """
    if isinstance(content, dict):
        return {
            key: each if key in UNCHANGED and isinstance(each, str) else readable(each)
            for key, each in content.items()
        }
    if isinstance(content, list):
        return [readable(each) for each in content]
    return _worded(content) if isinstance(content, str) else content


@cache  # the same few names stand in thousands of lines
def _worded(text: str) -> str:
    for pattern, words in READABLE:
        text = pattern.sub(words, text)
    return text


def named(task: str) -> str:
    """Return a dataset as people call it.

    Examples
    --------
    >>> named("cifar10"), named("other")
    ('CIFAR-10', 'other')
    """
    return NAMES.get(task, task)


def sense(column: str) -> int:
    """Return 1 where high figures of a column are good, -1 where low ones are, 0 where neither is.

    Examples
    --------
    >>> sense("AUPRC, unseen kinds"), sense("median delay, steps"), sense("clean test steps per alarm")
    (1, -1, 0)
    >>> sense("median delay at equal run lengths, steps"), sense("flag rate off its level by, clean")
    (-1, -1)
    """
    first = column.lower().partition(",")[0]
    return -1 if LOWER.search(first) else 0 if NEITHER.search(first) else 1


def shown(value: float) -> str:
    """Return a figure with as many digits as it is worth.

    Examples
    --------
    >>> shown(0.81234), shown(23.456), shown(1234.5), shown(math.inf), shown(math.nan), shown(0.0)
    ('0.812', '23.5', '1,234', 'never', '-', '0')
    >>> shown(0.00041), shown(1.0), shown(5.337)
    ('0.00041', '1.00', '5.34')
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never" if value > 0 else "-never"
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.005:
        return f"{value:.2g}"
    digits = 3 if size < 1 else 2 if size < 10 else 1 if size < 1000 else 0
    return f"{value:,.{digits}f}"


def between(low: float, high: float) -> str:
    """Return an interval in words, or nothing where it is undefined or a point.

    Examples
    --------
    >>> between(0.001, 0.25), between(0.0001, 0.0002), between(math.nan, 1.0), between(3.0, 3.0)
    ('0.001 to 0.250', '0.0001 to 0.0002', '', '')
    """
    if math.isnan(low) or math.isnan(high) or low == high:
        return ""
    if 0.005 <= max(abs(low), abs(high)) <= 1:
        return f"{low:.3f} to {high:.3f}".replace("-0.000", "0.000")
    return f"{shown(low)} to {shown(high)}"


def listed(parts: Iterable[str], last: str = "and") -> str:
    """Return parts as a sentence has them.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    given = list(parts)
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} {last} {given[-1]}" if given else ""


def lasting(seconds: float) -> str:
    """Return a time in the unit that fits.

    Examples
    --------
    >>> lasting(42), lasting(1234), lasting(9000), lasting(math.nan)
    ('42 s', '21 min', '2.5 h', 'not recorded')
    """
    if math.isnan(seconds):
        return "not recorded"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def took(seconds: float) -> str:
    """Return in words how long something took.

    Examples
    --------
    >>> took(42), took(math.nan)
    ('took 42 s', 'its time was not recorded')
    """
    return "its time was not recorded" if math.isnan(seconds) else f"took {lasting(seconds)}"
