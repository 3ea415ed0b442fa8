"""Commands that went to the laboratory: each says in one line where it is now."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .edge import UsageError

if TYPE_CHECKING:
    from .parser import Subparsers

COMMANDS = ("data", "corrupt", "stream", "train", "reproduce", "results")


def add(subparsers: Subparsers) -> None:
    """Declare the old names; they are not shown in the help."""
    for name in COMMANDS:
        _declare(subparsers, name, f"tcuq-lab {name}")


def add_device(actions: Subparsers) -> None:
    """Declare the old actions of `tcuq device`."""
    for name in ("quantize", "table", "replay", "accuracy", "page"):
        _declare(actions, name, f"tcuq-lab boards {'quantize' if name == 'quantize' else name}")


def _declare(subparsers: Subparsers, name: str, now: str) -> None:
    parser = subparsers.add_parser(name, add_help=False, prefix_chars="\0")
    parser.add_argument("rest", nargs="*")
    parser.set_defaults(command=_tell, now=now, was=parser.prog)


def _tell(args: argparse.Namespace) -> int:
    raise UsageError(
        f"'{args.was}' is now '{args.now}', in the package tcuq-lab: run 'pip install ./lab' in a checkout"
    )
