# SPDX-License-Identifier: MIT
"""Commands of distributions that are not installed, and of others that are."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from places import ROOT

from tcuq.cli import build_parser, main
from tcuq.cli.commands import OTHERS


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    build_parser.cache_clear()
    yield
    build_parser.cache_clear()


def installed(monkeypatch: pytest.MonkeyPatch, **commands: Any) -> None:
    found = [SimpleNamespace(name=name, load=lambda add=add: add) for name, add in commands.items()]
    monkeypatch.setattr("tcuq.cli.commands.entry_points", lambda group: found)


@pytest.mark.parametrize("rest", [[], ["--help"], ["-h", "x"], ["m.json", "-", "--json"]])
@pytest.mark.parametrize("name", OTHERS)
def test_a_command_that_is_not_installed_says_how_to_get_it(
    name: str, rest: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(monkeypatch)
    assert main([name, *rest]) == 2
    extra = OTHERS[name][0]
    assert capsys.readouterr().err.endswith(f"tcuq-{extra}; in a checkout: pip install . ./{extra}\n")
    assert (ROOT / extra / "pyproject.toml").is_file()


def test_commands_of_others_are_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def add(subparsers: Any) -> None:
        subparsers.add_parser("mine", help="mine").set_defaults(command=lambda args: 7)

    installed(monkeypatch, mine=add)
    assert main(["mine"]) == 7
