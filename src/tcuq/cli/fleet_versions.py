"""Which versions of a model `tcuq fleet run` is given, and the fleet that takes them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .edge import UsageError


def versions(texts: list[str]) -> Any:
    """Return parameters: a single set, or several by name."""
    from ..monitor.params import Params

    found: dict[str, Params] = {}
    for text in texts:
        name, path = _name_and_path(text)
        loaded = Params.load(path)
        if name is None:
            if len(texts) == 1:
                return loaded
            name = loaded.fingerprint
        if name in found:
            raise UsageError(f"version {name!r} is given twice, expected once")
        found[name] = loaded
    return found


def _name_and_path(text: str) -> tuple[str | None, str]:
    name, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        return None, text
    if not name:
        raise UsageError(f"PARAMS is {text!r}, expected NAME=FILE")
    return name, path


@contextmanager
def opened(args: argparse.Namespace, params: Any, devices: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Open the fleet; say what is wrong with that in the words of the command line."""
    from ..fleet.fleet import Fleet

    try:
        fleet = Fleet(params, args.folder, devices=devices, **options)
    except ValueError as error:
        if "in use by process" in str(error):
            said = str(error).partition(";")[0]
            raise ValueError(f"{said}; look at it with: tcuq fleet status {args.folder}") from None
        if "holds versions" in str(error):
            raise ValueError(_roll_out(args)) from None
        raise
    with fleet:
        yield fleet


def _roll_out(args: argparse.Namespace) -> str:
    """Return what to type for versions that a folder does not know by these names."""
    from ..fleet.fleet import Fleet
    from ..monitor.params import Params

    with Fleet.open_read(args.folder) as there:
        held = {lane.params.fingerprint: name for name, lane in there.lanes.items()}
    given = {}
    for text in args.params:
        name, path = _name_and_path(text)
        fingerprint = Params.load(path).fingerprint
        given[held.get(fingerprint) or name or "new"] = path
    missing = [name for name in held.values() if name not in given]
    if len(missing) == len(held):  # one of them is enough
        given = {missing[0]: "FILE", **given}
    typed = " ".join(f"{name}={path}" for name, path in given.items())
    names = ", ".join(held.values())
    return f"{args.folder} holds version {names}, expected it under this name; type: {typed}"
