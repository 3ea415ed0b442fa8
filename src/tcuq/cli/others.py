"""Commands of other distributions, found through the entry points `tcuq.commands`."""

from __future__ import annotations

import argparse
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from .edge import UsageError

if TYPE_CHECKING:
    from .parser import Subparsers

KNOWN = {
    "live": ("watch", "watch one device while it runs, on a page in your browser"),
    "fleet": ("watch", "watch many devices, and see which of them are in trouble"),
    "device": ("device", "build firmware for microcontrollers and count its bytes and instructions"),
}
"""Our own: what brings each, and what it does."""


def add_others(subparsers: Subparsers) -> None:
    """Declare what is installed, then say of our own commands that are not how to get them."""
    installed = {each.name: each for each in entry_points(group="tcuq.commands")}
    for name, (extra, help) in KNOWN.items():
        if name in installed:
            installed.pop(name).load()(subparsers)
        else:
            _stand_in(subparsers, name, extra, help)
    for name in sorted(installed):
        installed[name].load()(subparsers)


def _stand_in(subparsers: Subparsers, name: str, extra: str, help: str) -> None:
    advice = f"pip install 'tcuq[{extra}]'"

    def command(args: argparse.Namespace) -> int:
        raise UsageError(f"tcuq {name} is in the package tcuq-{extra}; install it with: {advice}")

    # No word begins an option here: whatever follows, the advice is what helps.
    parser = subparsers.add_parser(name, help=f"{help} ({advice})", add_help=False, prefix_chars="\0")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    parser.set_defaults(command=command)
