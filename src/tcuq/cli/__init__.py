"""The `tcuq` command; only `process` is imported before `main` has begun: an interrupt ends quietly."""

from __future__ import annotations

import sys
from functools import cache

from .process import run_command

TYPE_CHECKING = False  # as in typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .parser import Parser


@cache
def build_parser(typed: str | None = None) -> Parser:
    """Return the parser of the command that is typed, or of all of them; each is built once in a process."""
    from .._version import VERSION
    from .commands import add_commands
    from .parser import Parser, epilog

    parser = Parser(
        prog="tcuq",
        description="Watch a frozen classifier without labels: accept or abstain on each answer, and raise "
        "an alarm when its input has changed.\n\n"
        "New here? Type 'tcuq demo'. With a model and data of your own, 'tcuq start' does everything at "
        "once: record, fit, run, report and export. Each of these is also a command of its own, in that "
        "order below. 'tcuq COMMAND --help' shows its options and an example.",
        epilog=epilog("tcuq demo --out demo", "tcuq start model.tflite data.npz -o monitor/"),
    )
    parser.common.add_argument(
        "--version", action="version", version=f"tcuq {VERSION}", help="show the version and exit"
    )
    add_commands(parser.add_commands("commands, in the order in which you need them", "COMMAND"), typed)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; `tcuq.cli.process.run_command` lists the exit statuses."""
    words = sys.argv[1:] if argv is None else argv
    typed = next((each for each in words if not each.startswith("-")), "")
    return run_command("tcuq", lambda: build_parser(typed), argv)
