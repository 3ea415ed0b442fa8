"""The `tcuq` command: one small module a subcommand, each imported only to declare its options."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import audit, demo, export, fit, inspect, report, run, tune
from .common import Parser, UsageError, complain, silence_stdout

COMMANDS = (fit, tune, run, inspect, audit, export, report, demo)


def build_parser() -> Parser:
    """Return the parser of the whole command.

    Examples
    --------
    >>> build_parser().parse_args(["inspect", "monitor.json"]).file
    'monitor.json'
    """
    from .._version import VERSION

    parser = Parser(
        prog="tcuq",
        description="A label-free monitor for classifiers on microcontrollers: accept, abstain or alarm.",
        epilog="example:\n  tcuq demo --out demo",
    )
    parser.add_argument("--version", action="version", version=f"tcuq {VERSION}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 when all is well, 1 when a check failed, 2 for bad input, 130 when interrupted.
    """
    try:
        args = build_parser().parse_args(argv)
        status: int = args.command(args)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # --help and --version end this way
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        silence_stdout()
        return 130
    except BrokenPipeError:
        # The reader has seen enough (head, less): not an error.
        silence_stdout()
        return 0
    except OSError as error:
        if error.filename is None:
            silence_stdout()
        where = "standard output" if error.filename is None else error.filename
        return complain(f"{where}: {error.strerror or error}")
    except (UsageError, ValueError, TypeError, ImportError) as error:
        return complain(str(error))
    except MemoryError:
        return complain("not enough memory for this input")
