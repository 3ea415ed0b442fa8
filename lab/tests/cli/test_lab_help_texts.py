"""Help of every command of the lab: complete, 80 columns wide, with lines to type that are accepted."""

from __future__ import annotations

import pytest
from help_rules import all_parsers, faults, lines_to_type

from tcuq.cli import build_parser as product_parser
from tcuq_lab.cli import build_parser


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_every_help_is_complete_and_its_examples_are_accepted() -> None:
    whole = build_parser()
    programs = {"tcuq": product_parser(), "tcuq-lab": whole}
    parsers = list(all_parsers(whole))
    assert len(parsers) >= 23
    found = [f"{each.prog}: {fault}" for each in parsers for fault in faults(each, programs)]
    assert not found, "\n".join(found)


def test_every_help_says_what_to_type_next() -> None:
    assert not [each.prog for each in all_parsers(build_parser()) if not lines_to_type(each).get("then")]
