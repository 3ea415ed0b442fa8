"""A method of the benchmark before it is fitted: built in, or loaded from a file."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from tcuq.base.checks import integer, nearest

from ..harness.checks import Broken, Entry, blamed

LONGEST = 60
HINT = "define a class Method with watch(self, stream) or step(self, probs, features)"


def is_name(name: object) -> bool:
    """Return whether a method may be called so: a table has to show it."""
    return (
        isinstance(name, str) and 0 < len(name.strip()) <= LONGEST and name.isprintable() and "|" not in name
    )


def entry_of(kind: Any, source: str, sha256: str, place: str) -> Entry:
    """Return the entry of a class."""
    if not (callable(getattr(kind, "watch", None)) or callable(getattr(kind, "step", None))):
        raise Broken(f"{place}: Method has neither watch nor step; {HINT}")
    told = callable(getattr(kind, "feedback", None))
    if told and not callable(getattr(kind, "step", None)):
        raise Broken(f"{place}: Method has feedback but no step; define step(self, probs, features)")
    fits = callable(getattr(kind, "fit", None))
    uses_labels = getattr(kind, "uses_labels", fits)
    if not isinstance(uses_labels, bool):
        raise Broken(f"{place}: uses_labels is {uses_labels!r}, expected True or False")
    with blamed(place, "passes"):
        passes = integer("passes", getattr(kind, "passes", 1), 1, 1000)
    name = getattr(kind, "name", Path(place).stem)
    if not is_name(name):
        raise Broken(f"{place}: name is {name!r}, expected a text of up to {LONGEST} characters without |")
    return Entry(kind, name.strip(), uses_labels and fits, passes, source, sha256, place, told)


def load_entry(path: str | Path) -> Entry:
    """Return the method that a Python file defines."""
    place = Path(path)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        near = near_file(place)
        if near is None:
            raise
        raise Broken(f"{place}: no such file; did you mean {near}?") from None
    spec = importlib.util.spec_from_file_location(f"tcuq_bench_{place.stem}", place)
    if spec is None or spec.loader is None:
        raise Broken(f"{place} is no Python file, expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look there for the module of a class
    with blamed(str(place), "import"):
        spec.loader.exec_module(module)
    kind = getattr(module, "Method", None)
    if kind is None and callable(getattr(module, "watch", None)):
        kind = type("Method", (), {"watch": staticmethod(module.watch), "name": place.stem})
    if not isinstance(kind, type):
        raise Broken(f"{place}: no class Method; {HINT}")
    return entry_of(kind, place.name, hashlib.sha256(data).hexdigest(), str(place))


def near_file(place: Path) -> Path | None:
    """Return the Python file of the same folder whose name is nearly the one asked for, if there is one."""
    names = [each.name for each in place.parent.glob("*.py")]
    found = nearest(place.name, names)
    return None if found is None else place.with_name(found)
