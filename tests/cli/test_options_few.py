"""Commands have few options, and `fit` few keywords: each one more is one more to read, test and keep."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator

from tcuq import fit
from tcuq.cli import build_parser

COMMON = {"--help", "--json", "--quiet"}


def options() -> Iterator[tuple[str, str]]:
    """Give each option of each command."""
    waiting: list[argparse.ArgumentParser] = [build_parser()]
    while waiting:
        parser = waiting.pop()
        groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
        waiting += [command for group in groups for command in group.choices.values()]
        for action in parser._actions if not groups else ():
            if action.option_strings and action.help != argparse.SUPPRESS:
                yield parser.prog, action.option_strings[-1]


def test_a_fit_has_at_most_16_options() -> None:
    assert len([name for prog, name in options() if prog == "tcuq fit" and name not in COMMON]) <= 16


def test_all_commands_have_at_most_120_options() -> None:
    assert len([name for _, name in options() if name not in COMMON]) <= 120


def test_fit_has_at_most_ten_keywords() -> None:
    given = inspect.signature(fit).parameters.values()
    assert len([each for each in given if each.kind is each.KEYWORD_ONLY]) <= 10
