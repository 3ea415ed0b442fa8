"""The experiments of this family by name; each is a module of this package with a `SPEC`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from tcuq.base.checks import known

from .run import Spec

TITLES: Mapping[str, str] = MappingProxyType(
    {
        "answers": "Which answers are wrong, and how many errors are left",
        "alarms": "How soon an alarm comes, and how often for nothing",
        "accuracy": "How accurate is the classifier now",
        "questions": "What each part of the monitor adds",
    }
)


def spec(name: str) -> Spec:
    """Return an experiment by its name.

    Examples
    --------
    >>> spec("anwers")
    Traceback (most recent call last):
    ...
    ValueError: experiment 'anwers' is unknown; did you mean answers?
    """
    found: Spec = import_module(f".{known('experiment', name, TITLES)}", __package__).SPEC
    return found
