"""How a command line is parsed, and how help and errors read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from ..base.checks import nearest
from .commands import HELP
from .process import UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction["Parser"]


class HelpFormatter(argparse.HelpFormatter):
    """Fills paragraphs to the width of the terminal and leaves examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("example:"):  # lines to copy
            return text
        paragraphs = text.split("\n\n")
        return "\n\n".join("\n".join(self._split_lines(each, width)) for each in paragraphs)

    def _split_lines(self, text: str, width: int) -> list[str]:
        from textwrap import wrap

        return wrap(" ".join(text.split()), width, break_on_hyphens=False)  # names have hyphens

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):  # the heading says what they are
            show = super()._format_action
            return "".join(show(each) for each in action._choices_actions)
        return super()._format_action(action)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help shows what must be given first."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        helped = options.pop("add_help", True)
        super().__init__(allow_abbrev=False, add_help=False, **options)
        self._positionals.title = "arguments"
        self.common = self.add_argument_group("options of every command")
        if helped:
            self.common.add_argument("-h", "--help", action="help", help="show this help and exit")

    def add_commands(self, title: str, metavar: str) -> Subparsers:
        """Return what commands are declared on; where none is typed, the help is the answer."""

        def show_help(args: argparse.Namespace) -> int:
            self.print_help()
            return 0

        self.set_defaults(command=show_help)
        added = self.add_subparsers(title=title, metavar=metavar)
        self.commands = added.choices
        return added

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name the commands where one is unknown."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            names = [each.dest for each in action._choices_actions]
            meant = like(str(value), names)
            expected = f"expected one of {', '.join(names)}{meant}"
            raise argparse.ArgumentError(None, f"{value!r} is not a command, {expected}")
        super()._check_value(action, value)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and say which option an unknown one may have been meant to be."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = getattr(found, "parser", self)
            options = [each for action in parser._actions for each in action.option_strings]
            meant = like(unknown[0], options) if unknown[0].startswith("-") else ""
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return found

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Say what was expected where a number is none."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            if action.type not in (int, float):
                raise
            wanted = "a whole number" if action.type is int else "a number"
            raise argparse.ArgumentError(action, f"{arg_string!r}, expected {wanted}") from None

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving; show an example where something is missing."""
        if self.epilog and message.startswith("the following arguments are required"):
            message += f"; for example: {self.epilog.splitlines()[1].strip()}"
        raise UsageError(f"{message} (see {self.prog} --help)")

    def format_usage(self) -> str:
        """Return what must be given, on one line."""
        return f"usage: {self._usage_line()}\n"

    def _usage_line(self) -> str:
        parts = [self.prog]
        for action in self._actions:
            name = str(action.metavar or action.dest)
            if not action.option_strings:
                forms = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
                parts.append(forms.get(str(action.nargs), name))
        if self._subparsers is not None:
            return " ".join([*parts, "..."])
        required = [each for each in self._actions if each.option_strings and each.required]
        parts += [f"{each.option_strings[0]} {each.metavar}" for each in required]
        return " ".join([*parts, "[options]"])

    def format_help(self) -> str:
        """Return the whole help."""
        formatter = self._get_formatter()
        formatter.add_usage(self._usage_line().replace("%", "%%"), [], [])
        formatter.add_text(self.description)
        own = any(each.option_strings and each not in self.common._group_actions for each in self._actions)
        for group in sorted(self._action_groups, key=lambda each: each is self.common):
            formatter.start_section("options" if group is self.common and not own else group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def like(word: str, known: Iterable[str]) -> str:
    """Return a question about the known word that is most like an unknown one, or nothing."""
    plain = {each.lstrip("-"): each for each in known}
    close = nearest(word.partition("=")[0].lstrip("-"), plain)
    return f"; did you mean {plain[close]}?" if close else ""


def epilog(example: str, then: str = "") -> str:
    """Return the end of a help: lines to type, and what to go on with."""
    lines = []
    for name, text in (("example", example), ("then", then)):
        if text:
            lines += [f"{name}:", *(f"  {line.strip()}" for line in text.split("\n"))]
    return "\n".join(lines)


def declare(
    subparsers: Subparsers,
    name: str,
    help: str | None,
    example: str,
    command: Any,
    then: str = "",
    about: str = "",
) -> Parser:
    """Add a subcommand with the options that all have; without `help`, its line of `tcuq --help` is taken."""
    parser = _added(subparsers, name, help, example, then, about)
    add = parser.common.add_argument
    add("--json", action="store_true", help="print the result as JSON on standard output")
    add("--quiet", action="store_true", help="print errors and requested output only")
    parser.set_defaults(command=command, program=parser.prog.split()[0], parser=parser)
    return parser


def declare_group(
    subparsers: Subparsers, name: str, help: str | None, example: str, then: str = "", about: str = ""
) -> Subparsers:
    """Add a command that has actions; return what they are declared on."""
    return _added(subparsers, name, help, example, then, about).add_commands("actions", "ACTION")


def _added(
    subparsers: Subparsers, name: str, help: str | None, example: str, then: str, about: str
) -> Parser:
    line = HELP[name] if help is None else help
    description = f"{line[0].upper()}{line[1:]}." + (f"\n\n{about}" if about else "")
    return subparsers.add_parser(name, help=line, description=description, epilog=epilog(example, then))
