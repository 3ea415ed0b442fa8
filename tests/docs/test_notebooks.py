"""The notebooks: made from their pages, and the files themselves are executed by a kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import notebooks
import pytest
from notebook_runner import execute, lacking
from test_tutorials import PAGES, WANTED, need_packages
from tutorial_runner import blocks_of, masked, missing_lines

pytestmark = pytest.mark.usefixtures("untouched")


@pytest.fixture
def kernel() -> None:
    """Skip where no notebook can be executed."""
    if name := lacking():
        pytest.skip(f"{name} is missing: pip install nbclient ipykernel")


def test_notebooks_are_those_of_their_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert notebooks.main([]) == 0, capsys.readouterr().out
    for name in notebooks.NOTEBOOKS:
        found = json.loads((PAGES / f"{name}.ipynb").read_text(encoding="utf-8"))
        ids = [cell["id"] for cell in found["cells"]]
        assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[\w-]{1,64}", each) for each in ids)
        assert not any(cell.get("outputs") for cell in found["cells"])
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        code = ["".join(cell["source"]) for cell in found["cells"] if cell["cell_type"] == "code"]
        assert code == [each.text.rstrip("\n") for each in blocks_of(page) if each.language == "python"]


def unsaid(page: Path, cells: list[dict[str, Any]]) -> list[str]:
    """Return lines that a page shows behind a cell and that the cell did not print."""
    lost, at = [], -1
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language == "python":
            at += 1
        elif block.language == "text":
            lost += missing_lines(masked(block.text), masked(cells[at]["printed"]), exact=False)
    assert at == len(cells) - 1
    return lost


@pytest.mark.slow
@pytest.mark.parametrize("name", notebooks.NOTEBOOKS)
def test_notebooks_are_executed(name: str, kernel: None, tmp_path: Path) -> None:
    need_packages(WANTED[name])
    cells = execute(PAGES / f"{name}.ipynb", tmp_path)
    assert unsaid(PAGES / f"{name}.md", cells) == []
    assert any("image/svg+xml" in cell["shown"] for cell in cells), "no picture was shown"
    assert list(tmp_path.glob("*.svg"))
