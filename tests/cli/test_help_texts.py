"""Help of every command: complete, 80 columns wide, with lines to type that the command accepts."""

from __future__ import annotations

import pytest
from help_rules import all_parsers, commands_in, faults, lines_to_type

from tcuq.cli import build_parser, main
from tcuq.cli.parser import Parser, declare, like


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_every_help_is_complete_and_its_examples_are_accepted() -> None:
    whole = build_parser()
    parsers = list(all_parsers(whole))
    assert len(parsers) >= 23
    found = [f"{each.prog}: {fault}" for each in parsers for fault in faults(each, {"tcuq": whole})]
    assert not found, "\n".join(found)


def test_every_help_says_what_to_type_next() -> None:
    assert not [each.prog for each in all_parsers(build_parser()) if not lines_to_type(each).get("then")]


def test_commands_stand_in_the_order_of_a_users_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    path = ("demo", "start", "record", "fit", "run", "report", "export", "live", "fleet")
    places = [text.index(f"\n  {name} ") for name in path]
    assert places == sorted(places)


def test_usage_names_what_must_be_given_and_nothing_else() -> None:
    usages = {each.prog: each.format_usage() for each in all_parsers(build_parser())}
    assert usages["tcuq"] == "usage: tcuq COMMAND ...\n"
    assert usages["tcuq fit"] == "usage: tcuq fit LOG -o PARAMS [options]\n"
    assert usages["tcuq fleet run"] == (
        "usage: tcuq fleet run PARAMS [PARAMS ...] SOURCE --folder DIR [options]\n"
    )
    for each in all_parsers(build_parser()):
        assert each.format_help().startswith(usages[each.prog])


def test_options_of_every_command_stand_at_the_end() -> None:
    for each in all_parsers(build_parser()):
        text = each.format_help()
        assert text.index("-h, --help") > max(text.find("\narguments:"), text.find("\n  -o "))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["runn"], "'runn' is not a command, expected one of demo, start, "),
        (["runn"], "; did you mean run? (see tcuq --help)"),
        (["dance"], "device (see tcuq --help)"),
        (
            ["fit", "d.csv", "-o", "m.json", "--buget", "0.1"],
            "; did you mean --budget? (see tcuq fit --help)",
        ),
        (
            ["fit", "d.csv", "-o", "m.json", "--dance"],
            "unrecognized arguments: --dance (see tcuq fit --help)",
        ),
        (["run", "m.json", "a.csv", "b.csv"], "unrecognized arguments: b.csv (see tcuq run --help)"),
        (["fleet", "statu", "f"], "did you mean status? (see tcuq fleet --help)"),
    ],
)
def test_a_misspelled_word_is_asked_about(
    args: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert not out and err.count("\n") == 1 and said in err


def test_paragraphs_are_filled_and_examples_are_left_alone() -> None:
    parser = Parser(prog="tcuq")
    actions = parser.add_subparsers()
    long = "word " * 30
    made = declare(actions, "x", "do it", "tcuq x a\ntcuq x b", print, about=f"{long}\n\nwell-known names")
    text = made.format_help()
    assert "\n\nwell-known names\n" in text and max(map(len, text.splitlines())) <= 80
    assert text.endswith("example:\n  tcuq x a\n  tcuq x b\n")


def test_the_rules_find_what_is_wrong() -> None:
    parser = Parser(prog="tcuq")
    made = declare(parser.add_subparsers(), "x", "do it", f"tcuq fit -o {'m' * 80}.json", print)
    made.add_argument("--number", type=int, default=7, help="a number")
    made.add_argument("--silent", type=int)
    found = "\n".join(faults(made, {"tcuq": build_parser()}))
    for said in ("columns", "no example of this very command", "arguments are required: LOG"):
        assert said in found
    assert "--number has the default 7, which its help does not say" in found
    assert "--silent has no help" in found
    assert list(commands_in("classifier | tcuq run m.json -"))[1][0] == "tcuq"
    assert like("x", []) == ""
