"""The `tcuq` command: one small module a subcommand.

Nothing but the edge is imported before `main` has begun, so that an interrupt always ends quietly.
"""

from __future__ import annotations

import sys

from .edge import Stopped, UsageError, bug, complain, open_streams, silence

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
        corrupt,
        data,
        demo,
        device,
        export,
        fit,
        inspect,
        report,
        reproduce,
        results,
        run,
        stream,
        train,
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
    rooms = (data, corrupt, stream, train, reproduce, results, device, demo)
    for command in (fit, tune, run, inspect, audit, export, report, *rooms):
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
        0 when all is well, 1 when a check failed, 2 for bad input, 130 when interrupted, 128 + N when a
        live run was ended by signal N.
    """
    try:
        open_streams()
        args = build_parser().parse_args(argv)
        status: int = args.command(args)
        sys.stdout.flush()
        return status
    except SystemExit as stop:  # --help and --version end this way
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        silence(sys.stdout)
        return 130
    except Stopped as stop:
        silence(sys.stdout)
        return 128 + stop.number
    except BrokenPipeError:
        # The reader has seen enough (head, less): not an error.
        silence(sys.stdout)
        return 0
    except OSError as error:
        if error.filename is None:
            silence(sys.stdout)
        where = "standard output" if error.filename is None else error.filename
        return complain(f"{where}: {error.strerror or error}")
    except (UsageError, ValueError, TypeError, ImportError) as error:
        return complain(str(error))
    except MemoryError:
        return complain("not enough memory for this input")
    except Exception as error:
        return bug(error)
