"""Rules for docstrings of the public interface: numpydoc's own, as far as a reader notices them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

SECTIONS = (
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Other Parameters",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
)
"""In the order in which they stand in a docstring; numpydoc reads no others."""

_HEAD = re.compile(r"^([A-Z][A-Za-z ]+)\n(-{3,})$", re.MULTILINE)


class Docstring(NamedTuple):
    """A docstring in parts."""

    summary: str
    sections: dict[str, str]

    def entries(self, *names: str) -> dict[str, tuple[str, str]]:
        """Return type and meaning of each entry of some sections, by name."""
        found: dict[str, tuple[str, str]] = {}
        for section in names:
            for block in re.split(r"\n(?=\S)", self.sections.get(section, "")):
                head, _, body = block.partition("\n")
                called, _, kind = head.partition(" : ")
                for each in called.split(", "):
                    if each.strip():
                        found[each.strip().lstrip("*")] = (kind.strip(), body.strip())
        return found


def parse(text: str) -> Docstring:
    """Split a docstring into its summary and its sections.

    Examples
    --------
    >>> found = parse(inspect.cleandoc(parse.__doc__))
    >>> found.summary, list(found.sections)
    ('Split a docstring into its summary and its sections.', ['Examples'])
    """
    marks = list(_HEAD.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = zip(marks, ends, strict=False)
    sections = {mark.group(1): text[mark.end() : end].strip("\n") for mark, end in parts}
    return Docstring(text.split("\n\n")[0].strip(), sections)


class Public(NamedTuple):
    """A public thing: where a user finds it, what it is, and what it is called on."""

    name: str
    thing: Any
    kind: str  # class, function, method, property or field


def public(module: ModuleType, names: Iterable[str] | None = None) -> Iterator[Public]:
    """Yield classes and functions, those of `__all__` by default, and the public members of the classes."""
    for name in module.__all__ if names is None else names:
        thing = getattr(module, name)
        where = f"{module.__name__}.{name}"
        if inspect.isclass(thing):
            yield Public(where, thing, "class")
            yield from _members(where, thing)
        elif callable(thing) and hasattr(thing, "__name__"):
            yield Public(where, thing, "function")


def _members(where: str, owner: type) -> Iterator[Public]:
    seen: set[str] = set()
    for base in owner.__mro__:
        if not base.__module__.startswith("tcuq"):
            continue
        for name, found in vars(base).items():
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(found, property):
                yield Public(f"{where}.{name}", found, "property")
            elif isinstance(found, (classmethod, staticmethod)):
                yield Public(f"{where}.{name}", found.__func__, "method")
            elif inspect.isfunction(found):
                yield Public(f"{where}.{name}", found, "method")
            elif inspect.ismemberdescriptor(found) and hasattr(owner, "n_sequence_fields"):
                yield Public(f"{where}.{name}", found, "field")


def faults(item: Public, example: bool) -> Iterator[str]:
    """Yield what a docstring lacks.

    Parameters
    ----------
    item : Public
        The thing whose docstring is read.
    example : bool
        Whether it must have an example.
    """
    text = inspect.getdoc(item.thing) or ""
    if not text or (item.kind == "class" and text.startswith(f"{item.thing.__name__}(")):
        yield "no docstring"
        return
    if item.kind == "field":  # of a C type: a few words
        return
    found = parse(text)
    if not found.summary.endswith((".", "?")) or "\n" in found.summary:
        yield f"the summary is not one line that ends with a full stop: {found.summary[:60]!r}"
    known = [name for name in found.sections if name in SECTIONS]
    if len(known) < len(found.sections):
        yield f"unknown sections {sorted(set(found.sections) - set(known))}"
    if known != sorted(known, key=SECTIONS.index):
        yield f"sections are out of order: {known}"
    if example and ">>> " not in found.sections.get("Examples", ""):
        yield "no example"
    if item.kind != "property":
        yield from _parameter_faults(item, found)
    if item.kind in ("function", "method"):
        yield from _return_faults(item, found)


def _parameter_faults(item: Public, found: Docstring) -> Iterator[str]:
    names = _parameters(item)
    entries = found.entries("Parameters", "Attributes", "Other Parameters")
    said = list(found.entries("Parameters", "Other Parameters")) or list(entries)
    if names is not None and said != names:
        yield f"documented parameters {said}, signature {names}"
    for name, (kind, meaning) in entries.items():
        if not kind:
            yield f"{name} has no type"
        if not meaning:
            yield f"{name} has no meaning"
    for name, default in _defaults(item).items():
        kind, meaning = entries.get(name, ("", ""))
        stated = re.search(r", default (.+)$", kind)
        if stated and stated.group(1) != default:
            yield f"{name} has the default {default}, documented is {stated.group(1)}"
        elif not stated and not re.search("optional|default", f"{kind} {meaning}", re.IGNORECASE):
            yield f"{name} has the default {default}, which is not documented"


def _parameters(item: Public) -> list[str] | None:
    """Return the names of the parameters, or None where the class is made by the package alone."""
    thing = item.thing
    if item.kind == "class":
        if hasattr(thing, "_fields"):
            return list(thing._fields)
        if dataclasses.is_dataclass(thing):
            return [field.name for field in dataclasses.fields(thing) if field.init and field.name[0] != "_"]
        if hasattr(thing, "n_sequence_fields") or not {"__init__", "__new__"} & set(vars(thing)):
            return None
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return None
    names = [name for name in signature.parameters if not name.startswith("_")]
    return names[1:] if item.kind == "method" and names[:1] in (["self"], ["cls"]) else names


def _defaults(item: Public) -> dict[str, str]:
    """Return the defaults as a docstring writes them; texts stand in double quotes."""
    try:
        parameters = inspect.signature(item.thing).parameters.values()
    except ValueError:
        return {}
    given = {each.name: each.default for each in parameters if each.default is not inspect.Parameter.empty}
    return {
        name: f'"{value}"' if isinstance(value, str) else repr(value)
        for name, value in given.items()
        if name in (_parameters(item) or ())
    }


def _return_faults(item: Public, found: Docstring) -> Iterator[str]:
    given = inspect.signature(item.thing).return_annotation
    if given in (None, "None", "NoReturn", inspect.Signature.empty):
        return
    if not {"Returns", "Yields"} & set(found.sections):
        yield "no Returns"
