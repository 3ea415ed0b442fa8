"""Pages of the reference made from the parsers of the commands, so that they list what can be typed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from copy import copy


def actions_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of a parser that its help shows, places first, then options."""
    shown = [each for each in parser._actions if each.help is not argparse.SUPPRESS]
    shown = [
        each for each in shown if not isinstance(each, argparse._SubParsersAction | argparse._HelpAction)
    ]
    return sorted(shown, key=lambda each: bool(each.option_strings))


def commands_of(
    parser: argparse.ArgumentParser, deep: bool = True
) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield the parsers of all commands that the help shows, and what the help says of each.

    Parameters
    ----------
    parser : ArgumentParser
        Of a program, or of a command that has commands of its own.
    deep : bool
        Go into such commands; else they are left out.

    Examples
    --------
    >>> parser = argparse.ArgumentParser(prog="p")
    >>> made = parser.add_subparsers().add_parser("fit", help="fit it")
    >>> [(each.prog, text) for each, text in commands_of(parser)]
    [('p fit', 'fit it')]
    """
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        for pseudo in action._choices_actions:
            each = action.choices[pseudo.dest]
            if not has_commands(each):
                yield each, pseudo.help or ""
            elif deep:
                yield from commands_of(each)


def has_commands(parser: argparse.ArgumentParser) -> bool:
    """Tell a command that has commands of its own."""
    return any(isinstance(each, argparse._SubParsersAction) for each in parser._actions)


def command_at(parser: argparse.ArgumentParser, names: list[str]) -> argparse.ArgumentParser:
    """Return the parser of a command by the words that lead to it, after the program's name."""
    for name in names:
        parser = next(
            action.choices[name]
            for action in parser._actions
            if isinstance(action, argparse._SubParsersAction) and name in action.choices
        )
    return parser


def commands_page(parser: argparse.ArgumentParser, deep: bool = True) -> str:
    """Return Markdown for all commands of a parser: a table of them, then one section each.

    Parameters
    ----------
    parser, deep
        As of `commands_of`.
    """
    commands = list(commands_of(parser, deep))
    lines = ["| Command | What it does |", "| --- | --- |"]
    for each, text in commands:
        lines.append(f"| [`{each.prog}`](#{each.prog.replace(' ', '-')}) | {cell(text)} |")
    return "\n".join([*lines, "", *(section(each) for each, _ in commands)])


def section(parser: argparse.ArgumentParser) -> str:
    r"""Return Markdown for one command: what it does, its usage, arguments and example.

    Examples
    --------
    >>> parser = argparse.ArgumentParser(prog="p fit", description="Fit it.", epilog="example:\n  p fit a")
    >>> made = parser.add_argument("--level", type=float, default=0.1, metavar="X", help="share of steps")
    >>> text = section(parser)
    >>> "| `--level X` | share of steps | `0.1` |" in text, "```sh\np fit a\n```" in text
    (True, True)
    """
    formatter = argparse.HelpFormatter(parser.prog, width=84)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    lines = [f"## `{parser.prog}`", "", plain(parser.description or ""), ""]
    lines += ["```text", formatter.format_help().strip(), "```", ""]
    for title, some in (
        ("Argument", [each for each in actions_of(parser) if not each.option_strings]),
        ("Option", [each for each in actions_of(parser) if each.option_strings]),
    ):
        if some:
            rows = [
                (title, "Meaning", "Default"),
                ("---", "---", "---"),
                *(row(parser, each) for each in some),
            ]
            width = 3 if any(each[2] for each in rows[2:]) else 2
            lines += ["| " + " | ".join(each[:width]) + " |" for each in rows]
            lines.append("")
    for name, command in re.findall(r"(?m)^(\w[\w ]*):\n((?:  .*\n?)+)", parser.epilog or ""):
        told = [line.strip() for line in command.splitlines()]
        lines += [f"{name.capitalize()}:", "", "```sh", *told, "```", ""]
    return "\n".join(lines)


def row(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str, str]:
    """Return what a table says of one argument: how it is typed, what it means, its default."""
    formatter = argparse.HelpFormatter(parser.prog, width=200)
    text = formatter._expand_help(action) if action.help else ""
    choices = [str(each) for each in action.choices or ()]
    named = copy(action)
    named.choices = None  # would be shown in place of a name; they are part of the meaning
    word = formatter._format_args(
        named, action.dest.upper().replace("_", "-") if action.option_strings else action.dest
    )
    if choices and not all(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", word + text) for each in choices):
        head, mark, default = text.partition(" (default:")
        text = f"{head}; one of {', '.join(choices)}{mark}{default}"
    value = f" {word}" if action.nargs != 0 else ""
    names = [f"`{name}{value}`" for name in action.option_strings] or [f"`{word}`"]
    told = re.search(r" \(default: ([^()]*)\)$", text)
    if action.required and action.option_strings:
        default = "required"
    elif told:
        text, default = text[: told.start()], cell(told[1])
    elif action.nargs == 0 or action.default in (None, False, argparse.SUPPRESS):
        default = ""
    else:
        default = f"`{shown(action.default)}`"
    return ", ".join(names).replace("|", "\\|"), cell(text), default


def shown(value: object) -> str:
    """Return a default as it is typed.

    Examples
    --------
    >>> shown((1, 2)), shown(0.5), shown([])
    ('1,2', '0.5', 'none')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(str, value)) or "none"
    return str(value)


def plain(text: str) -> str:
    r"""Return text of a help page as Markdown that shows the same characters; what it quotes stays code.

    Examples
    --------
    >>> plain("NAME_* of <x>, see `tcuq fit`")
    'NAME\\_\\* of \\<x>, see `tcuq fit`'
    """
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        part if at % 2 else re.sub(r"([\\`*_<\[\]$])", r"\\\1", part) for at, part in enumerate(parts)
    )


def cell(text: str) -> str:
    """Return text of a help page for a cell of a table."""
    return plain(" ".join(text.split())).replace("|", "\\|")
