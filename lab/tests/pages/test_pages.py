"""Pages of results: made from files alone, never a crash, never too long."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_results import change, write
from places import LAB, ROOT

from tcuq_lab.cli import main
from tcuq_lab.pages import build_pages
from tcuq_lab.pages.build import HTML, MARKDOWN
from tcuq_lab.pages.content import Content
from tcuq_lab.pages.first_page import PLOT
from tcuq_lab.pages.grids import MOST_LINES
from tcuq_lab.pages.verdicts import cases, plain_points

RESULTS, DOCS = LAB / "results", ROOT / "docs"
INPUTS = ("paper.json", "claims.json", "targets.json")
MOST_HTML = 400_000
MOST_PLOT = 100_000


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the repository has beside results, and made-up results of two experiments."""
    home = tmp_path_factory.mktemp("results")
    for name in INPUTS:
        shutil.copy(RESULTS / name, home)
    for name in ("drop", "failure"):
        write(home, name)
    return home


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of that folder to be changed."""
    return Path(shutil.copytree(made, tmp_path / "results"))


def test_the_pages_of_the_repository_are_what_its_results_give() -> None:
    pages = build_pages(RESULTS)
    for name, text in pages.items():
        if name != HTML:
            there = (DOCS / name).read_text(encoding="utf-8")
            assert there == text, f"{name} is stale: run tcuq-lab results --write"
    lying = {f"results/{path.name}" for path in (DOCS / "results").iterdir()}
    assert lying == set(pages) - {HTML, MARKDOWN}
    # The HTML page is built where it is wanted: it is not under version control.
    assert HTML in (ROOT / ".gitignore").read_text()
    assert len(pages[HTML].encode()) < MOST_HTML and len(pages[PLOT].encode()) < MOST_PLOT
    assert all(len(text.splitlines()) <= MOST_LINES for name, text in pages.items() if name.endswith(".md"))


@pytest.mark.slow
def test_a_figure_changes_the_page_and_flips_verdicts(folder: Path) -> None:
    place = {"task": "mnist", "dwell": 16.0, "row": "deep", "column": "AUPRC, unseen kinds"}
    before, judged = build_pages(folder), verdicts(folder, "drop-best")
    assert judged["drop-best", "tcuq"] == "8 of 8"
    change(folder / "drop.json", place, 0.95)
    after = build_pages(folder)
    for name in (MARKDOWN, HTML, "results/drop.md"):
        assert before[name] != after[name]
    assert verdicts(folder, "drop-best")["drop-best", "tcuq"] == "7 of 8"
    content = Content.of(folder)
    rule = next(each.claim.rule for each in content.claims_judged if each.claim.name == "drop-best")
    assert rule and cases(plain_points(rule, content.found, content.paper)) == "0 of 8"


def verdicts(folder: Path, *names: str) -> dict[tuple[str, str], str]:
    found = Content.of(folder).claims_judged
    return {
        (j.claim.name, row): cases(p) for j in found for row, p in j.rows.items() if j.claim.name in names
    }


@pytest.mark.slow
def test_the_command_writes_and_checks(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs"
    out.mkdir()
    where = ["--results", str(folder), "--out", str(out)]
    assert main(["results", "--check", *where]) == 1
    assert main(["results", *where]) == 0
    assert not list(out.iterdir())
    assert "nothing written; run 'tcuq-lab results --write'" in capsys.readouterr().out
    assert main(["results", "--write", *where]) == 0
    assert {path.name for path in out.iterdir()} == {MARKDOWN, HTML, "results"}
    assert {"drop.md", "answers.md", "overview.svg", "overview-dark.svg", "overview-light.svg"} <= {
        path.name for path in (out / "results").iterdir()
    }
    assert main(["results", "--check", *where]) == 0
    place = {"task": "mnist", "dwell": 1.0, "row": "base", "column": "AUPRC, unseen kinds"}
    before = (out / "results/drop.md").read_text()
    change(folder / "drop.json", place, 0.1234)
    assert main(["results", "--check", *where]) == 1
    assert "0.123" in capsys.readouterr().out
    assert (out / "results/drop.md").read_text() == before
    assert main(["results", "--check", "--write", *where]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "change_", "message"),
    [
        ("drop.json", lambda c: {**c, "lines": []}, "there are 0 lines"),
        ("drop.json", lambda c: {**c, "lines": [c["lines"][0]] * 2}, "line 1 repeats mnist"),
        ("drop.json", lambda c: {**c, "lines": [{**c["lines"][0], "value": "x"}]}, "number is 'x'"),
        ("paper.json", lambda c: {**c, "parts": [c["parts"][0]] * 2}, "part 1 repeats drop"),
        ("claims.json", lambda c: {**c, "claims": [{"id": "a"}]}, "claim a: where is None"),
        ("targets.json", lambda c: {**c, "format": "x"}, "expected 'tcuq targets 1'"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    folder: Path,
    name: str,
    change_: Callable[[dict[str, Any]], dict[str, Any]],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "failure.json").unlink()
    path = folder / name
    path.write_text(json.dumps(change_(json.loads(path.read_text()))))
    assert main(["results", "--results", str(folder), "--out", str(folder)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and message in said and name in said
    assert not (folder / HTML).exists()
