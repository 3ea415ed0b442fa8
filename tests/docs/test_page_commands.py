"""Commands of the documentation that no test runs: they can be parsed and exist."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from doc_blocks import documentation
from places import ROOT

PYTHONS = ("python", "python3")
"""Names of Python, in whichever folder."""


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the programs that are installed."""
    found = {}
    for program, package in (("tcuq", "tcuq"), ("tcuq-lab", "tcuq_lab")):
        with contextlib.suppress(ModuleNotFoundError):
            found[program] = importlib.import_module(f"{package}.cli").build_parser()
    return found


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


INSTALL = re.compile(r"""pip install((?: +(?:'[^'\n]+'|"[^"\n]+"|[\w./*=<>\[\],-]+))+)""")
PROJECT = re.compile(r"(\.{1,2}(?:/\w+)*)(?:\[([\w,]+)\])?")
"""A folder to install, with extras."""


def projects() -> dict[Path, tuple[str, list[str], dict[str, list[str]]]]:
    """Return name, dependencies and extras of the distributions, by their folder."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    found = {}
    for folder in (ROOT, *(ROOT / each for each in ("device", "watch", "lab"))):
        told = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        found[folder] = told["name"], told["dependencies"], told.get("optional-dependencies", {})
    return found


def test_what_is_installed_anywhere_can_be() -> None:
    """No index has our packages, so folders are named, with all that they need of ours, and extras exist."""
    known, seen = projects(), 0
    ours = {name: folder for folder, (name, *_) in known.items()}
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for file in map(Path, listed.stdout.splitlines()):
        if file.name in ("CHANGELOG.md", Path(__file__).name) or not (ROOT / file).is_file():
            continue
        text = (ROOT / file).read_bytes().decode("utf-8", "replace").replace('\\"', '"')
        assert not re.search(r"git clone [^\n]*tcuq", text), file
        for line in INSTALL.finditer(text):
            words = [word.strip("'\"") for word in re.findall(r"'[^']+'|\"[^\"]+\"|\S+", line[1])]
            assert not any(word.startswith("tcuq") for word in words), (file, line[0])
            named = [PROJECT.fullmatch(word) for word in words]
            folders = {
                (ROOT / (file.parent if each[1].startswith("..") else "") / each[1]).resolve(): each[2]
                for each in filter(None, named)
            }
            for folder, extras in folders.items():
                _, needed, more = known[folder]
                for extra in (extras or "").split(",") if extras else ():
                    needed = [*needed, *more[extra]]
                names = {re.split(r"[\[=<>]", each)[0] for each in needed}
                assert {ours[name] for name in names & set(ours)} - {folder} <= set(folders), (file, line[0])
                seen += 1
    assert seen > 40
