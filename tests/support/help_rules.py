"""Rules for help texts: what a newcomer looks for, and whether the lines to type would be accepted."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Mapping

from tcuq.cli.parser import Parser

WIDTH = 80
"""Columns of a plain terminal."""


def all_parsers(parser: Parser) -> Iterator[Parser]:
    """Yield a parser and those of all commands and actions that its help shows."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for shown in action._choices_actions:
                yield from all_parsers(action.choices[shown.dest])


def lines_to_type(parser: Parser) -> dict[str, list[str]]:
    """Return the lines under "example" and "then" of a help."""
    found: dict[str, list[str]] = {}
    for line in (parser.epilog or "").splitlines():
        if line.endswith(":") and not line.startswith(" "):
            found[line[:-1]] = []
        else:
            found[next(reversed(found))].append(line.strip())
    return found


def commands_in(line: str) -> Iterator[list[str]]:
    """Yield the commands of a line for a shell, without the variables in front of them.

    Examples
    --------
    >>> list(commands_in("TCUQ_DATA=data tcuq-lab data list && a | tcuq run monitor.json -"))
    [['tcuq-lab', 'data', 'list'], ['a'], ['tcuq', 'run', 'monitor.json', '-']]
    """
    for part in re.split(r"\||&&", line):
        words = shlex.split(part)
        while words and re.match(r"\w+=", words[0]):
            words.pop(0)
        yield words


def faults(parser: Parser, programs: Mapping[str, Parser]) -> Iterator[str]:
    """Yield what a help lacks.

    Parameters
    ----------
    parser : Parser
        Of a command or an action.
    programs : mapping of str to Parser
        The parser of each program that examples call.
    """
    text = parser.format_help()
    for line in text.splitlines():
        if len(line) > WIDTH:
            yield f"a line of {len(line)} columns: {line}"
    if not (parser.description or "").rstrip().endswith("."):
        yield "the description does not end with a full stop"
    told = lines_to_type(parser)
    if not told.get("example"):
        yield "no example"
    elif not any(parser.prog in line for line in told["example"]):
        yield "no example of this very command"
    for line in (line for lines in told.values() for line in lines):
        for words in commands_in(line):
            if words and words[0] in programs:
                try:
                    programs[words[0]].parse_args(words[1:])
                except Exception as error:
                    yield f"{line}: {error}"
    for action in parser._actions:
        yield from _option_faults(action)


def _option_faults(action: argparse.Action) -> Iterator[str]:
    if action.help is argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
        return
    name = "/".join(action.option_strings) or str(action.metavar)
    if not action.help:
        yield f"{name} has no help"
    elif action.option_strings and action.nargs != 0 and not action.required:
        shown = action.default not in (None, argparse.SUPPRESS, [], "-")
        if shown and "default" not in action.help:
            yield f"{name} has the default {action.default}, which its help does not say"
