"""`tcuq demo`: the whole way from a log to a report, on data that comes along."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from ..base.errors import InputError
from .common import answer, need_files, progress
from .parser import declare

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "demo",
        "try everything on example data, in ten seconds",
        "tcuq demo --out demo",
        command,
        "tcuq fit demo/dev.npz -o monitor.json",
        about="Trains a small digit classifier, fits a monitor, shows both a day with five faults and writes "
        "logs, parameters, decisions and a report into one folder. Needs no data and no network.",
    )
    folder = "folder to write; made if it does not exist (default: tcuq-demo)"
    parser.add_argument("--out", metavar="FOLDER", default="tcuq-demo", help=folder)
    seed = "seed of the random numbers (default: 0)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=seed)


def command(args: argparse.Namespace) -> int:
    """Run the demonstration."""
    from importlib import import_module

    need_files(args, "--out")
    if os.path.exists(args.out) and not os.path.isdir(args.out):
        raise InputError("exists", f"{args.out}: is a file, expected a folder; name another one with --out")
    with progress(args) as bar:
        figures = dict(import_module("tcuq.demo").main(args.out, args.seed, bar))
    lines = [f"{name}: {value}" for name, value in figures.items() if not isinstance(value, (dict, list))]
    answer(args, figures, str(figures.get("text") or "\n".join(lines)))
    return 0
