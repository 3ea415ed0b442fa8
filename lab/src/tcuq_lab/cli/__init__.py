"""The `tcuq-lab` command: one small module per subcommand, worded by `commands.json`."""

from __future__ import annotations

from tcuq.cli.process import run_command

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcuq.cli.parser import Parser


def build_parser() -> Parser:
    """Return the parser of the whole command.

    Examples
    --------
    >>> build_parser().parse_args(["reproduce", "drop"]).names
    ['drop']
    """
    import json
    from importlib.resources import files

    from tcuq import __version__
    from tcuq.cli.parser import Parser, epilog

    from .shared import command

    parser = Parser(
        prog="tcuq-lab",
        description="The laboratory of tcuq: datasets, corruptions, streams, networks, experiments, "
        "results.\n\n"
        "Have a method of your own? 'tcuq-lab bench' judges it; it needs no dataset. The other commands "
        "read datasets from the folder that the variable TCUQ_DATA names. 'tcuq-lab COMMAND --help' shows "
        "options and an example.",
        epilog=epilog(
            "tcuq-lab bench confidence",
            "TCUQ_DATA=data tcuq-lab data get mnist\n"
            "TCUQ_DATA=data tcuq-lab reproduce answers --setting trial --task mnist",
        ),
    )
    parser.common.add_argument(
        "--version", action="version", version=f"tcuq-lab {__version__}", help="show the version and exit"
    )
    subparsers = parser.add_commands("commands, in the order in which you need them", "COMMAND")
    for name, told in json.loads(files(__package__).joinpath("commands.json").read_text("utf-8")).items():
        command(subparsers, name, told)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; `tcuq.cli.process.run_command` lists the exit statuses."""
    return run_command("tcuq-lab", build_parser, argv)
