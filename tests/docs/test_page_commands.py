"""Commands of the documentation that no test runs: they can be parsed and exist."""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
from pathlib import Path

import pytest
from doc_blocks import documentation, page_files
from places import ROOT

PYTHONS = ("python", "python3")
"""Names of Python, in whichever folder."""


def parsers() -> dict[str, argparse.ArgumentParser]:
    import tcuq.cli
    import tcuq_lab.cli

    return {"tcuq": tcuq.cli.build_parser(), "tcuq-lab": tcuq_lab.cli.build_parser()}


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


def test_extras_that_pages_install_exist() -> None:
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    for project, path in (("tcuq", "pyproject.toml"), ("lab", "lab/pyproject.toml")):
        extras = tomllib.loads((ROOT / path).read_text())["project"]["optional-dependencies"]
        for file in page_files():
            for named in re.findall(rf"{project}\[([\w,]+)\]", file.read_text(encoding="utf-8")):
                assert set(named.split(",")) <= set(extras), (file, named)
