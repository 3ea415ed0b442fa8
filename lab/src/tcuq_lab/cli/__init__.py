"""The `tcuq-lab` command: one small module per subcommand."""

from __future__ import annotations

from tcuq.cli.edge import run_command

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcuq.cli.common import Parser


def build_parser() -> Parser:
    """Return the parser of the whole command.

    Examples
    --------
    >>> build_parser().parse_args(["reproduce", "drop"]).names
    ['drop']
    """
    from tcuq import __version__
    from tcuq.cli.common import Parser

    from . import bench, boards, corrupt, data, record, reproduce, results, stream, train

    parser = Parser(
        prog="tcuq-lab",
        description="The laboratory of tcuq: datasets, corruptions, streams, networks, experiments, results.",
        epilog="example:\n  tcuq-lab reproduce answers --setting trial --task mnist --seed 0",
    )
    parser.add_argument("--version", action="version", version=f"tcuq-lab {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (data, corrupt, stream, train, record, reproduce, results, bench, boards):
        command.add(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; `tcuq.cli.edge.run_command` lists the exit statuses.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.
    """
    return run_command("tcuq-lab", build_parser, argv)
