"""What commands share: how they are declared, where recordings are, how far the work is."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import comma_list, note, progress
from tcuq.cli.parser import declare, declare_group

from ..home import folder

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

    from ..reproduce.recordings import Recordings
    from ..reproduce.run_size import RunSize


def setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no number is a text."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{text!r}, expected NAME=VALUE")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


KINDS: Mapping[str, Any] = MappingProxyType(
    {
        "N": int,
        "M": float,
        "SHARE": float,
        "N,N": comma_list(int),
        "M,M": comma_list(float),
        "NAME=VALUE": setting,
    }
)
"""Type of a value by what stands for it in the help; all else is text."""


def command(subparsers: Subparsers, name: str, told: Mapping[str, Any]) -> None:
    """Declare a command as it is told, and its actions; the module that runs it is imported only then.

    What is not given is None, flags too, so that `tcuq.cli.common.given` leaves it out.
    """
    words = told["help"], told["example"]
    then, about = told.get("then", ""), told.get("about", "")
    if "actions" in told:
        actions = declare_group(subparsers, name, *words, then, about)
        for each, inner in told["actions"].items():
            command(actions, each, inner)
        return

    def run(args: argparse.Namespace) -> Any:
        module, function = told["run"].split(".")
        return getattr(import_module(f".{module}", __package__), function)(args)

    parser = declare(subparsers, name, *words, run, then, about)
    for title, rows in told.get("options", {}).items():
        group = parser.add_argument_group(title) if title else parser
        for names, value, said, *more in rows:
            option(group, names, value, said, **(more[0] if more else {}))


def option(group: Any, names: str, value: str, said: str, type: str = "", **more: Any) -> None:
    """Declare an option; one without a value is a flag."""
    if not value:
        group.add_argument(*names.split(), action="store_true", default=None, help=said)
        return
    if more.get("default") not in (None, []) and "(default" not in said:
        said += f" (default: {more['default']})"
    group.add_argument(*names.split(), metavar=value, help=said, type=KINDS.get(type or value, str), **more)


def recordings_of(args: argparse.Namespace, setting: RunSize, *more: Any) -> Recordings:
    """Return what networks said, in the folders that --weights and --cache name."""
    from ..reproduce.recordings import Recordings

    weights, cache = folder(args.weights, "weights"), folder(args.cache, "../out/reproduce")
    return Recordings(str(weights), str(cache), setting, *more)


EVERY = 10.0
"""Seconds between lines."""


@contextmanager
def forecast(args: argparse.Namespace) -> Iterator[Callable[[int, int, str], None]]:
    """Give what is called with the work done, all of it, and a text; it shows a bar, or writes lines."""
    if sys.stderr.isatty():
        with progress(args) as bar:
            yield bar
        return
    last = time.monotonic()

    def tell(done: int, total: int, text: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            note(args, f"{done} of {total} {text}")

    yield tell
