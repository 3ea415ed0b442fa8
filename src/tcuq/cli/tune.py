"""`tcuq tune`: the best one-head settings that fit into a memory and instruction budget."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .common import given, progress
from .fit import add_shared, give, read_inputs
from .parser import declare
from .words import spoken

if TYPE_CHECKING:
    from .parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "tune",
        "search monitors with one head that fit into so many bytes; seldom needed, 'fit' is the way",
        "tcuq tune dev.npz -o monitor.json --max-bytes 512 --max-instructions 5000",
        command,
        "tcuq inspect monitor.json",
        about="Reads a development log with labels. Writes the parameter file of the best monitor of the "
        "published method that keeps to both limits. The monitors of tcuq fit need no search and are small "
        "as they are: use tune when even they are too large, or to compare.",
    )
    add_shared(parser)
    parser.add_argument(
        "--max-bytes", type=int, metavar="N", required=True, help="most RAM of the monitor, in bytes"
    )
    parser.add_argument(
        "--max-instructions",
        type=int,
        metavar="N",
        required=True,
        help="most instructions for each step",
    )
    parser.add_argument("--trials", type=int, metavar="N", help="settings to try (default: 60)")


def command(args: argparse.Namespace) -> int:
    """Search, fit and write the parameters."""
    log, options = read_inputs(args)
    options |= given(args, "max_bytes", "max_instructions", "trials")
    from ..fitting import tune, tune_findings

    with progress(args) as bar, spoken():
        params = tune(log, progress=bar, **options)
    give(args, params, "tune", tune_findings(params))
    return 0
