"""The commands by name, with one line of help each; the module of one is imported when it is typed."""

from __future__ import annotations

import argparse
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from .process import UsageError

if TYPE_CHECKING:
    from .parser import Subparsers

OWN = {
    "demo": ("start:add_demo", "try everything on example data, in ten seconds"),
    "start": ("start:add", "record, fit, test, report and export in one go"),
    "record": ("record:add", "run a model over data and write a log"),
    "fit": ("fit:add", "fit a monitor to a development log"),
    "run": ("run:add", "decide on each step of a recorded or live stream: accept, abstain, alarm"),
    "report": ("report:add", "show decisions as one HTML page"),
    "audit": (
        "report:add_audit",
        "check every decision and the guaranteed rates; exit 1 when something is wrong",
    ),
    "inspect": (
        "export:add_inspect",
        "show what a parameter file or a saved state holds, costs and guarantees",
    ),
    "export": ("export:add", "write a monitor as a package for firmware"),
}
"""Those of this distribution, in the order in which one needs them: what declares each, and its help."""

# Those of our other distributions: which brings each, and its help.
OTHERS = {
    "live": ("watch", "watch one device while it runs, on a page in your browser"),
    "fleet": ("watch", "watch many devices, and see which of them are in trouble"),
    "device": ("device", "build firmware for microcontrollers and count its bytes and instructions"),
}
HELP = {name: help for name, (_, help) in (OWN | OTHERS).items()}


def add_commands(subparsers: Subparsers, typed: str | None = None) -> None:
    """Declare the command of a name with its options and, of the others, names; without a name, all."""
    installed = {} if typed in OWN else {each.name: each for each in entry_points(group="tcuq.commands")}
    names = [*OWN, *OTHERS, *sorted(installed.keys() - OTHERS)]
    for name in [typed] if typed in names else names:
        if typed not in (None, name) and name in HELP and (name in OWN or name in installed):
            subparsers.add_parser(name, help=HELP[name])
        elif name in OWN:
            module, _, add = OWN[name][0].partition(":")
            getattr(import_module(f".{module}", __package__), add)(subparsers)
        elif name in installed:
            installed[name].load()(subparsers)
        else:
            _stand_in(subparsers, name, OTHERS[name][0])


def _stand_in(subparsers: Subparsers, name: str, extra: str) -> None:
    """Declare a command that is not installed, which says how to get it."""
    advice = f"pip install . ./{extra}"

    def command(args: argparse.Namespace) -> int:
        raise UsageError(f"tcuq {name} is in the package tcuq-{extra}; in a checkout: {advice}")

    # No word begins an option here: whatever follows, the advice is what helps.
    parser = subparsers.add_parser(
        name, help=f"{HELP[name]} (in a checkout: {advice})", add_help=False, prefix_chars="\0"
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    parser.set_defaults(command=command)
