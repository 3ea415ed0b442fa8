"""Commands and imports of the documentation that no test runs: they can be parsed and exist."""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import re
import shlex
from pathlib import Path

import pytest
from doc_blocks import documentation, page_files
from places import ROOT

PYTHONS = ("python", "python3")
"""Names of Python, in whichever folder."""
ROWS = {"tcuq 0.1", "tcuq answer"}
"""Names of rows in tables of results."""


def parsers() -> dict[str, argparse.ArgumentParser]:
    import tcuq.cli
    import tcuq_lab.cli

    return {"tcuq": tcuq.cli.build_parser(), "tcuq-lab": tcuq_lab.cli.build_parser()}


def unparsed(words: list[str], parser: argparse.ArgumentParser) -> str:
    """Return the first subcommand or option of a command that does not exist, or an empty text."""
    for word in words:
        below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if word in ("|", ">", "<", "&&", ";"):
            break
        if below and not word.startswith("-"):
            if word not in below[0].choices and not word.isupper() and word != "...":
                return word
            parser = below[0].choices.get(word, parser)
        elif re.match(r"--?[a-z]", word):
            known = {option for action in parser._actions for option in action.option_strings}
            if word.partition("=")[0] not in known:
                return word
    return ""


def test_commands_in_sentences_exist() -> None:
    programs = parsers()
    wrong, count = [], 0
    for file in page_files():
        if "results" in file.parent.name or file.name == "RESULTS.md":  # rows of tables have such names
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            for text in re.findall(r"`([^`]+)`", line):
                if not text.startswith(("tcuq ", "tcuq-lab ")) or text in ROWS:
                    continue
                program, *words = text.replace("\\|", "|").replace("'", "").replace('"', "").split()
                count += 1
                if found := unparsed(words, programs[program]):
                    wrong.append(f"{file.name}: {text}: {found}")
    assert count > 100 and wrong == []


def test_commands_that_are_not_run_exist() -> None:
    programs = parsers()
    for page in documentation():
        # The page of an example is read in its folder, all others at the top of a checkout.
        start = ROOT / Path(page.name).parent if page.name.startswith("examples/") else ROOT
        for block in page.blocks:
            if block.language != "sh" or block.runs:
                continue
            for line in block.code.splitlines():
                words = shlex.split(line, comments=True)
                if not words:
                    continue
                if words[0] in programs:
                    with contextlib.suppress(SystemExit):
                        programs[words[0]].parse_args(words[1:])
                        continue
                    pytest.fail(f"{block.place}: {line}")
                if words[0] == "make" and "-C" not in words:  # in a folder of another project
                    targets = re.findall(r"^([\w-]+):", (start / "Makefile").read_text(), re.M)
                    assert set(words[1:]) <= set(targets), (block.place, line)
                if Path(words[0]).name in PYTHONS and words[1] != "-m":
                    assert (start / words[1]).is_file(), (block.place, line)


def test_code_that_is_not_run_is_python_and_imports_what_exists() -> None:
    for page in documentation():
        for block in page.blocks:
            if block.language != "python" or block.runs:
                continue
            for node in ast.walk(ast.parse(block.code, block.place)):
                if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith("tcuq"):
                    continue
                with contextlib.suppress(ImportError):  # of another package
                    module = importlib.import_module(str(node.module))
                    assert all(hasattr(module, each.name) for each in node.names), block.place


def test_extras_that_pages_install_exist() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    for project, path in (("tcuq", "pyproject.toml"), ("lab", "lab/pyproject.toml")):
        extras = tomllib.loads((ROOT / path).read_text())["project"]["optional-dependencies"]
        for file in page_files():
            for named in re.findall(rf"{project}\[([\w,]+)\]", file.read_text(encoding="utf-8")):
                assert set(named.split(",")) <= set(extras), (file, named)
