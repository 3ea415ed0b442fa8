"""Pages of results: made from files alone, never a crash, never too long."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_field import answers, write_field
from made_results import change, write
from places import LAB, ROOT

from tcuq_lab.cli import main
from tcuq_lab.pages import build_pages
from tcuq_lab.pages.build import HTML, MARKDOWN
from tcuq_lab.pages.content import Content, load_found
from tcuq_lab.pages.first_page import PLOT
from tcuq_lab.pages.grids import MOST_LINES
from tcuq_lab.pages.verdicts import cases, plain_points

RESULTS, DOCS = LAB / "results", ROOT / "docs"
INPUTS = ("paper.json", "claims.json", "targets.json")
TASKS = ("mnist", "speech_commands", "cifar10")
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


def trained(question: str, backbone: str, dataset: str, settings: dict[str, Any], nll: float) -> list[Any]:
    figures: dict[str, float] = {"accuracy": 0.8, "f1": 0.8, "brier": 0.3, "nll": nll, "ece": 0.05}
    about = {"ablations": [question], "backbone": backbone, "dataset": dataset, "settings": settings}
    curve = [2 - step / 100 for step in range(101)]
    return [
        {
            **about,
            "seed": seed,
            "seconds": 5.0,
            "epochs": 30,
            "test": figures,
            "curves": {"exit_1": curve} if settings else {},
        }
        for seed in (0, 1)
    ]


@pytest.mark.slow
def test_trainings_become_experiments(folder: Path) -> None:
    networks = []
    for count, nll in ((0, 2.0), (2, 1.9), (4, 1.8), (6, 1.7), (8, 1.5), (10, 1.6)):
        settings: dict[str, Any] = {"exits": count} if count else {}
        networks += trained("exits", "mobilenetv2", "tinyimagenet20", settings, nll)
    for name in TASKS:
        for first in (2, 3, 4, 5):
            settings = {"first": first, "step": 0.5, "probe": 0}
            networks += trained("weights", "x", name, settings, 1 - first / 10)
        for settings in ({}, {"probe": 0}, {"probe": 1}):
            networks += trained("assistance", "x", name, settings, 1.0)
    content = {"format": "tcuq-assistance", "version": "1", "trial": False, "networks": networks}
    path = folder / "trainings.json"
    path.write_text(json.dumps(content))
    found = load_found(folder)
    exits = found["trainings_exits"].get("tinyimagenet20", 1.0, "8 exits", "NLL, nats")
    assert exits.value == 1.5 and exits.seeds == (1.5, 1.5)
    loss = found["trainings"].get("cifar10", 1.0, "probe", "loss of exit 1, 20 % of training")
    assert loss.value == pytest.approx(1.8)
    words = verdicts(folder, "exits-eight", "exits-nll", "exits-weights", "assistance-loss", "exits-accuracy")
    assert words["exits-eight", "8 exits"] == words["exits-nll", "2 exits"] == "1 of 1"
    assert words["exits-weights", "4 + 0.5 k"].startswith("0 of ")  # made up to fall
    assert words["assistance-loss", "assisted"] == "9 of 9" and words["exits-accuracy", ""] == "0 of 1"
    assert "Number of assisting exits" in build_pages(folder)["results/trainings_exits.md"]
    path.write_text(json.dumps({**content, "trial": True}))
    with pytest.raises(ValueError, match="trainings on a few examples"):
        load_found(folder)


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
    capsys.readouterr()
    assert main(["results", "--check", *where]) == 1
    said = capsys.readouterr().out
    assert "drop.md: " in said or "drop_2.md: " in said
    assert " -> " in said and "0.123" in said
    assert (out / "results/drop.md").read_text() == before
    (out / HTML).unlink()  # is in nobody's repository, so that its absence is no fault
    (folder / "drop.json").unlink()
    write(folder, "drop")
    assert main(["results", "--check", *where]) == 0
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
        ("answers.json", lambda c: {**c, "lines": [c["lines"][0]] * 2}, "come twice"),
        ("answers.json", lambda c: {k: v for k, v in c.items() if k != "versions"}, "lacks versions"),
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
    if name == "answers.json":
        write_field(folder, "answers", list(answers(("mnist",)))[:3])
    path = folder / name
    path.write_text(json.dumps(change_(json.loads(path.read_text()))))
    assert main(["results", "--results", str(folder), "--out", str(folder)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and message in said and name in said
    assert not (folder / HTML).exists()
