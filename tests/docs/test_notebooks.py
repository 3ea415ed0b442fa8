"""The notebooks: made from their pages, and the files themselves are executed by a kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import notebooks
import pytest
from checkout_files import entries
from notebook_runner import execute, lacking
from test_tutorials import PAGES, WANTED, need_packages
from tutorial_runner import blocks_of, masked, missing_lines

pytestmark = pytest.mark.usefixtures("untouched")
SLOW = ("vibration",)
"""Those that take longer than ten seconds."""


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


def test_a_stale_notebook_is_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in notebooks.NOTEBOOKS:
        (tmp_path / f"{name}.md").write_text("# A\n\nSee [B](../B.md).\n\n```python\n1\n```\n")
    assert notebooks.main(["--folder", str(tmp_path)]) == 1 and "out of date" in capsys.readouterr().out
    assert notebooks.main(["--folder", str(tmp_path), "--write"]) == 0
    assert notebooks.main(["--folder", str(tmp_path)]) == 0
    assert f"[B]({notebooks.SITE}B.md)" in (tmp_path / "no_labels.ipynb").read_text()
    (tmp_path / "vibration.md").unlink()
    assert notebooks.main(["--folder", str(tmp_path)]) == 2


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


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in notebooks.NOTEBOOKS],
)
def test_notebooks_are_executed(name: str, kernel: None, tmp_path: Path) -> None:
    need_packages(WANTED[name])
    cells = execute(PAGES / f"{name}.ipynb", tmp_path)
    assert unsaid(PAGES / f"{name}.md", cells) == []
    assert any("image/svg+xml" in cell["shown"] for cell in cells), "no picture was shown"
    assert list(tmp_path.glob("*.svg"))


def test_a_notebook_with_a_cell_that_raises_fails(kernel: None, tmp_path: Path) -> None:
    book = json.loads((PAGES / "no_labels.ipynb").read_text(encoding="utf-8"))
    cell = next(each for each in book["cells"] if each["cell_type"] == "code")
    cell["source"] = ["no_such_name\n"]
    damaged = tmp_path / "damaged.ipynb"
    damaged.write_text(json.dumps(book))
    with pytest.raises(AssertionError, match="NameError: name 'no_such_name' is not defined"):
        execute(damaged, tmp_path)


def test_a_cell_that_prints_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\na = 2\n```\n\n```python\nprint(a, 'pears')\n```\n\n```text\n2 pears\n```\n")
    assert unsaid(page, [{"printed": ""}, {"printed": "3 pears\n"}]) == []
    assert unsaid(page, [{"printed": "2 pears\n"}, {"printed": "2 plums\n"}]) == ["# pears"]


def test_a_file_that_is_left_in_a_checkout_is_seen(tmp_path: Path) -> None:
    for name in ("docs/tutorials/a.md", "examples/b.py", "docs/build/c.html", "lab/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    before = entries(tmp_path)
    assert before == {"docs", "examples", "lab", "docs/tutorials/a.md", "examples/b.py"}
    for name in ("stuck.svg", "docs/tutorials/stuck.svg", "docs/__pycache__/a.pyc", ".coverage"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert entries(tmp_path) - before == {"stuck.svg", "docs/tutorials/stuck.svg"}
