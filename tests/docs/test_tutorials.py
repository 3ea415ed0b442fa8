"""The tutorials: every block runs, prints what the page shows, and notebooks are those of their pages."""

from __future__ import annotations

import codeop
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import notebooks
import pytest
from places import ROOT
from tiny_models import MODELS
from tutorial_runner import Session, blocks_of, masked, missing_lines, run_page

PAGES = ROOT / "docs" / "tutorials"
WANTED = {
    "keyword_spotter": ("sklearn",),
    "camera": ("ai_edge_litert", "PIL"),
    "vibration": ("sklearn",),
    "no_labels": (),
    "fleet": (),
    "benchmark": ("tcuq_lab",),
}
"""Packages that a page needs beside tcuq."""
LEAST = {"keyword_spotter": 5, "camera": 5, "vibration": 7, "no_labels": 8, "fleet": 9, "benchmark": 4}
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
@pytest.mark.parametrize("name", [name for name in WANTED if name not in notebooks.NOTEBOOKS])
def test_every_page_runs(name: str, tmp_path: Path) -> None:
    run_tutorial(name, tmp_path)


def test_all_pages_are_tested_and_in_the_index() -> None:
    pages = {path.stem for path in PAGES.glob("*.md")} - {"index"}
    assert pages == set(WANTED) == set(LEAST)
    linked = re.findall(r"\((\w+)\.md\)", (PAGES / "index.md").read_text(encoding="utf-8"))
    assert pages == set(linked) and len(linked) == len(pages)


@pytest.mark.parametrize("name", WANTED)
def test_blocks_are_of_a_known_kind(name: str) -> None:
    for block in blocks_of((PAGES / f"{name}.md").read_text(encoding="utf-8")):
        assert block.language in ("sh", "python", "text"), block
        assert block.text.strip(), f"line {block.line} is empty"
        assert {mark.split(":")[0] for mark in block.marks} <= {"not run", "fails", "needs", "prints"}, block


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


EXECUTE = """
import json, sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(book)
NotebookClient(book, timeout=300, kernel_name="python3").execute()
cells = [cell for cell in book.cells if cell.cell_type == "code"]
print(json.dumps(["".join(out.get("text", "") for out in cell.outputs) for cell in cells]))
"""
"""Runs a notebook with its kernel and prints what each cell of code printed."""


def printed_by_kernel(path: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-c", EXECUTE, str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def printed_by_cells(path: Path, folder: Path) -> list[str]:
    found = []
    with Session(folder) as session:
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            if cell["cell_type"] == "code":
                status, printed = session.cell("".join(cell["source"]), f"cell {number}")
                assert status == 0, printed
                found.append(printed)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["kernel", "cells"])
@pytest.mark.parametrize("name", notebooks.NOTEBOOKS)
def test_notebooks_run(name: str, runner: str, tmp_path: Path) -> None:
    """Run through nbclient where it is installed, else cell by cell in a fresh interpreter."""
    need_packages(WANTED[name])
    kernel = all(importlib.util.find_spec(each) is not None for each in ("nbclient", "ipykernel"))
    if kernel != (runner == "kernel"):
        pytest.skip(
            "run through nbclient" if kernel else "nbclient or ipykernel is missing: run cell by cell"
        )
    path = PAGES / f"{name}.ipynb"
    printed = (printed_by_kernel if kernel else printed_by_cells)(path, tmp_path)
    last = ""
    for block in blocks_of(path.with_suffix(".md").read_text(encoding="utf-8")):
        if block.language == "python":
            last = printed.pop(0)
        else:
            assert not missing_lines(masked(block.text), masked(last), exact=False), (block, last)
    assert not printed and list(tmp_path.glob("*.svg"))


PAGE = """# A page

```python
a = 2
```

```sh
echo "$((40 + 2)) apples"
```

```text
7 apples
```

<!-- fails: 3 -->
```sh
exit 3
```

```python
print(a + 1, "pears")
```

<!-- prints: -->
```text
3 ...
```

<!-- not run: needs a board -->
```sh
exit 1
```

<!-- needs: sh, no_such_tool -->
```sh
exit 1
```
"""


def test_the_runner_keeps_to_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert run_page(page, tmp_path) == (4, ["page.md, line 35 needs no_such_tool"])


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("7 apples", "7 plums", "not printed"),
        ("3 ...", "4 ...", "not printed"),
        ("exit 3", "exit 4", "status 4"),
        ("a + 1", "b + 1", "NameError"),
        ("echo", "false; echo", "status 1"),
    ],
)
def test_the_runner_sees_what_is_wrong(tmp_path: Path, before: str, after: str, said: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace(before, after))
    with pytest.raises(AssertionError, match=said):
        run_page(page, tmp_path)


def test_lines_are_compared_without_their_figures() -> None:
    assert masked("-3.5 % of 12,000\n\n1e-3  left") == ["# % of #", "# left"]
    assert missing_lines(["a ...", "c"], ["a b", "b", "c"]) == []
    assert missing_lines(["c", "a ..."], ["a b", "c"]) == ["a ..."]
