"""`tcuq tune`: the best one-head settings that fit into a memory and instruction budget."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .common import declare, given, progress
from .fit import add_shared, give, read_inputs
from .words import spoken

if TYPE_CHECKING:
    from .common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "tune",
        "search settings of the published one-head monitors that fit a device (LOG needs labels); fit alone "
        "is the default way",
        "tcuq tune dev.npz -o monitor.json --max-bytes 512 --max-instructions 5000",
        command,
        "tcuq inspect monitor.json",
    )
    add_shared(parser)
    parser.add_argument("--max-bytes", type=int, metavar="N", required=True, help="RAM limit in bytes")
    parser.add_argument(
        "--max-instructions",
        type=int,
        metavar="N",
        required=True,
        help="limit on instructions for each step",
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
