"""Which fleet is looked at, and how; and which is run, with which versions of a model."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tcuq.base.errors import InputError
from tcuq.cli.process import UsageError
from tcuq.cli.words import expect_params


def add_folder(parser: Any) -> None:
    """Declare which fleet is looked at, and up to when."""
    parser.add_argument("folder", metavar="DIR", help="folder of the fleet, from tcuq fleet run")
    parser.add_argument(
        "--now", action="store_true", help="judge silence by the clock of this machine, not by the last event"
    )
    parser.add_argument(
        "--healthy",
        nargs=2,
        metavar=("FROM", "TO"),
        help="compare alarms with those between these times, when the fleet was healthy, not with what the "
        "fit found: ISO 8601 or seconds since 1970, at least one whole hour",
    )


def clock(args: argparse.Namespace) -> Callable[[], float | None]:
    """Return what tells the time up to which silence is judged; None is the time of the last event."""
    return time.time if args.now else lambda: None


def healthy(args: argparse.Namespace) -> tuple[float, float] | None:
    """Return from when to when the fleet was healthy, if that was told."""
    from ..sources.arrivals import seconds

    if args.healthy is None:
        return None
    plain = [float(text) if text.replace(".", "", 1).isdigit() else text for text in args.healthy]
    first, last = map(seconds, plain)
    if not first < last:  # nor if one of them is no time
        told = " ".join(args.healthy)
        raise UsageError(f"--healthy is {told}, expected two times, such as 2026-11-01 2026-11-02T12:00Z")
    return first, last


def versions(texts: list[str]) -> Any:
    """Return parameters: a single set, or several by name."""
    from tcuq.monitor.params import Params

    found: dict[str, Params] = {}
    for text in texts:
        name, path = _name_and_path(text)
        expect_params(path)
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
    except InputError as error:
        if error.code == "busy":
            said = f"{args.folder} is in use by process {error.value}"
            raise InputError("busy", f"{said}; look at it with: tcuq fleet status {args.folder}") from None
        if (error.code, error.name) == ("conflict", "versions"):
            raise InputError("conflict", _roll_out(args)) from None
        raise
    with fleet:
        yield fleet


def _roll_out(args: argparse.Namespace) -> str:
    """Return what to type for versions that a folder does not know by these names."""
    from tcuq.monitor.params import Params

    from ..fleet.fleet import Fleet

    with Fleet.open_read(args.folder) as there:
        held = {model.params.fingerprint: name for name, model in there.models.items()}
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
