"""The `tcuq` command: one small module per subcommand.

Nothing but the edge is imported before `main` has begun, so that an interrupt always ends quietly.
"""

from __future__ import annotations

from .edge import run_command

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .common import Parser


def build_parser() -> Parser:
    """Return the parser of the whole command.

    Examples
    --------
    >>> build_parser().parse_args(["inspect", "monitor.json"]).file
    'monitor.json'
    """
    from .._version import VERSION
    from . import (
        audit,
        demo,
        device,
        export,
        fit,
        fleet,
        inspect,
        live,
        moved,
        record,
        report,
        run,
        start,
        tune,
    )
    from .common import Parser

    parser = Parser(
        prog="tcuq",
        description="A label-free monitor for classifiers on microcontrollers: accept, abstain or alarm.",
        epilog="example:\n  tcuq demo --out demo",
    )
    parser.add_argument("--version", action="version", version=f"tcuq {VERSION}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    first = (start, record, fit, tune, run, live, inspect, audit, export, report)
    for command in (*first, device, fleet, demo, moved):
        command.add(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; `tcuq.cli.edge.run_command` lists the exit statuses.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.
    """
    return run_command("tcuq", build_parser, argv)
