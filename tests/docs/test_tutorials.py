"""The tutorials: every block runs and prints what the page shows. test_notebooks.py has the notebooks."""

from __future__ import annotations

import codeop
import importlib.util
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from places import ROOT
from tiny_models import MODELS
from tutorial_runner import blocks_of, run_page

pytestmark = pytest.mark.usefixtures("untouched")
PAGES = ROOT / "docs" / "tutorials"
WANTED = {
    "keyword_spotter": ("sklearn",),
    "camera": ("ai_edge_litert", "PIL"),
    "vibration": ("sklearn",),
    "no_labels": (),
    "wrong_button": (),
    "fleet": (),
    "benchmark": ("tcuq_lab",),
}
"""Packages that a page needs beside tcuq."""
LEAST = {
    "keyword_spotter": 5,
    "camera": 5,
    "vibration": 7,
    "no_labels": 8,
    "wrong_button": 4,
    "fleet": 9,
    "benchmark": 4,
}
"""Blocks that run at least, without the tools of a board."""


def need_packages(names: Iterable[str]) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is missing; the page says how to install it")


def folder_for(name: str, folder: Path) -> Path:
    """Give the folder that a reader has: empty, but for files that the page links to."""
    if name == "camera":
        shutil.copy(PAGES / "model.tflite", folder)
    return folder


def run_tutorial(name: str, folder: Path) -> None:
    need_packages(WANTED[name])
    ran, left_out = run_page(PAGES / f"{name}.md", folder_for(name, folder))
    assert ran >= LEAST[name]
    if left_out:
        pytest.skip(f"{ran} blocks ran; left out: {'; '.join(left_out)}")


def test_a_page_runs(tmp_path: Path) -> None:
    run_tutorial("no_labels", tmp_path)
    assert "<svg" in (tmp_path / "stuck.svg").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WANTED if name != "no_labels"])
def test_every_page_runs(name: str, tmp_path: Path) -> None:
    run_tutorial(name, tmp_path)


def test_all_pages_are_tested_and_in_the_index() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert pages == set(WANTED) == set(LEAST)
    linked = re.findall(r"\((\w+)\.md\)", (PAGES / "index.md").read_text(encoding="utf-8"))
    assert pages == set(linked) and len(linked) == len(pages)


@pytest.mark.parametrize("name", WANTED)
def test_blocks_can_be_pasted_at_the_prompt_of_python(name: str) -> None:
    """Before Python 3.13 the prompt takes lines one by one: a blank line ends a loop, and must be there."""
    for block in blocks_of((PAGES / f"{name}.md").read_text(encoding="utf-8")):
        held: list[str] = []
        for line in [*block.text.splitlines(), ""] if block.language == "python" else []:
            held.append(line)
            if codeop.compile_command("\n".join(held), f"{name}.md, line {block.line}", "single") is not None:
                held = []
        assert not held, block


def test_files_beside_the_pages_are_small_and_known() -> None:
    assert (PAGES / "model.tflite").read_bytes() == (MODELS / "int8.tflite").read_bytes()
    assert max(path.stat().st_size for path in PAGES.iterdir()) < 150_000
