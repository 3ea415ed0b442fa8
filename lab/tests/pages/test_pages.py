"""Pages of results: made from files alone, never a crash, never too long."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_field import MAKERS, write_field
from made_results import change, write
from places import LAB, ROOT

from tcuq_lab.cli import main
from tcuq_lab.pages import build_pages
from tcuq_lab.pages.build import HTML, MARKDOWN
from tcuq_lab.pages.content import Content
from tcuq_lab.pages.first_page import PLOT
from tcuq_lab.pages.grids import MOST_LINES
from tcuq_lab.pages.headline import all_places
from tcuq_lab.pages.load import load_found
from tcuq_lab.pages.numbers import beyond, number
from tcuq_lab.pages.shortfalls import closer, shortfalls, worse_laws
from tcuq_lab.pages.verdicts import CANNOT, FAILS, HOLDS, MIXED, NOT_RUN
from tcuq_lab.reproduce.field.lines import Line

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


def test_the_first_page_says_what_it_lost_before_it_explains() -> None:
    heads = re.findall(r"^## (.*)", (DOCS / MARKDOWN).read_text(encoding="utf-8"), re.MULTILINE)
    assert heads == [
        "Where it does not help",
        "What the paper claims and what we found",
        "A page for each experiment",
        "Targets",
        "How to read the tables",
        "How it was run",
    ]


def test_the_page_of_limits_has_the_figures_of_the_results() -> None:
    said = " ".join((DOCS / "concepts" / "when_not.md").read_text(encoding="utf-8").split())
    fields = Content.of(RESULTS).fields
    answers, estimates = fields["answers"], fields["accuracy"]
    found = shortfalls(answers)
    gaps = [gap for each in found for gap in each.gaps.values()]
    asked = sum(len(place.gaps) for place in all_places(answers))
    assert f"{len(gaps)} of {asked}, in {sum(map(beyond, gaps))} of them beyond" in said

    def closer_on(rival: str, *tasks: str) -> list[Line]:
        return [gap for task in tasks for gap in closer(estimates, "tcuq answer", rival)[task]]

    hard = closer_on("ATC", "speech_commands", "cifar10")
    settled = sum(map(beyond, hard))
    assert f"plain ATC was closer on {len(hard)} of 26 streams, in {settled} of them beyond" in said
    several = closer_on("ATC, deep", "speech_commands", "cifar10")
    assert f"ATC was closer on {len(several)} of the 26" in said and not closer_on("ATC", "mnist")
    left = "errors at 90 %"
    filters = [
        (
            answers.look("cifar10", stream, "belief_told", left, "told"),
            answers.look("cifar10", stream, "tcuq answer", left),
        )
        for stream in ("class 16", "class 64")
    ]
    (near, ours), (nearer, behind) = [[number(left, each.value) for each in pair if each] for pair in filters]
    assert f"class 16: {near}, ours {ours}; class 64: {nearer}, ours {behind} (within the interval)" in said
    gap = answers.pair("cifar10", "class 64", "tcuq answer", "belief_told", left, second_fit="told")
    assert gap is not None and not beyond(gap)
    held = [number("errors", gap.value) for gap in worse_laws(answers) if gap.stream == "object 16"]
    assert "On MNIST object 16 by {}, on CIFAR-10 with 2 classes by {}.".format(*held) in said
    figures = re.findall(r"(\d+\.\d) %", said[said.index("vibration.md") :])[:2]
    shown = (DOCS / "tutorials" / "vibration.md").read_text(encoding="utf-8")
    assert "after the fault" in said and len(figures) == 2
    assert f"{figures[1]}% of the predictions, {figures[0]}% of the answers" in shown


@pytest.mark.slow
def test_pages_of_a_whole_run_are_short_and_small(folder: Path) -> None:
    for name in ("severity", "literal", "selective", "calibration", "exits", "promises", "ablation"):
        write(folder, name)
    for name in (*MAKERS, "backbones"):
        write_field(folder, name)
    pages = build_pages(folder)
    for name, text in pages.items():
        if name.endswith(".md"):
            assert len(text.splitlines()) <= MOST_LINES, name
    assert len(pages[HTML].encode()) < MOST_HTML and len(pages[PLOT].encode()) < MOST_PLOT
    links = {name: re.findall(r"\]\(([^)#]+\.(?:md|svg|html))", text) for name, text in pages.items()}
    for name, targets in links.items():
        for target in targets:
            place = os.path.normpath(os.path.join(os.path.dirname(name), target))
            assert place in pages or (DOCS / place).exists(), (name, target)


def test_without_results_nothing_has_a_verdict(tmp_path: Path) -> None:
    for name in INPUTS:
        shutil.copy(RESULTS / name, tmp_path)
    content = Content.of(tmp_path)
    assert {v.word for each in content.claims_judged for v in each.verdicts} == {NOT_RUN, CANNOT}
    assert {each.words for each in content.targets_judged} == {"not run yet"}
    pages = build_pages(tmp_path)
    assert "no result files" in pages[MARKDOWN] and "Not run yet" in pages[PLOT]
    for name in MAKERS:
        assert "Not run yet" in pages[f"results/{name}.md"]
        assert f"tcuq-lab reproduce {name}" in pages[f"results/{name}.md"]


def test_other_networks_stand_in_one_table(tmp_path: Path) -> None:
    for name in INPUTS:
        shutil.copy(RESULTS / name, tmp_path)
    assert "Not run yet" in build_pages(tmp_path)["results/backbones.md"]
    write_field(tmp_path, "backbones", notes=["Trained for a short time."])
    pages = build_pages(tmp_path)
    page = pages["results/backbones.md"]
    (answer,) = re.findall(r"\*\*Answer\.\*\* (.*)", page)
    assert answer.endswith(
        "better behind MobileNetV2; worse behind text transformer; not settled for vision transformer."
    )
    assert page.count("| vision transformer |") == 2 and "- Trained for a short time." in page
    assert "MobileNetV2" in pages[HTML]


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_any_one_experiment_may_be_missing(folder: Path, name: str) -> None:
    for other in ("answers", "alarms", "accuracy", "questions"):
        if other != name:
            lines = list(MAKERS[other](("mnist",)))
            write_field(folder, other, lines)
    pages = build_pages(folder)
    assert "Not run yet" in pages[f"results/{name}.md"]
    assert all(f"results/{each}_mnist.md" in pages for each in MAKERS if each != name)


@pytest.mark.slow
def test_a_figure_changes_the_page_and_flips_verdicts(folder: Path) -> None:
    place = {"task": "mnist", "dwell": 16.0, "row": "deep", "column": "AUPRC, unseen kinds"}
    before, judged = build_pages(folder), verdicts(folder, "drop-best")
    assert judged["drop-best", "tcuq"] == HOLDS
    change(folder / "drop.json", place, 0.95)
    after = build_pages(folder)
    for name in (MARKDOWN, HTML, "results/drop.md"):
        assert before[name] != after[name]
    assert verdicts(folder, "drop-best")["drop-best", "tcuq"] == MIXED


def verdicts(folder: Path, *names: str) -> dict[tuple[str, str], str]:
    found = Content.of(folder).claims_judged
    return {(j.claim.name, v.row): v.word for j in found for v in j.verdicts if j.claim.name in names}


def test_a_page_has_question_answer_tables_and_command(folder: Path) -> None:
    pages = build_pages(folder)
    page, first = pages["results/drop.md"], pages[MARKDOWN]
    said = first[first.index("## A page for each experiment") :]
    for words in ("61 s", "6,000", "0, 1, 2", f"numpy {np.__version__}"):
        assert words in said
    assert "Does a score rise when accuracy falls?" in page
    (answer,) = re.findall(r"\*\*Answer\.\*\* (.*)", page)
    assert "MNIST best 0." in answer and "`base` 0." in answer
    assert "Run it again: `tcuq-lab reproduce drop --setting reduced` (took 61 s)" in page
    whole = page[page.index("**MNIST, dwell 16**") : page.index("**MNIST, dwell 16, differences**")]
    assert "`godin_energy`" in whole and "| 0.66 |" in whole  # the paper's figure beside tcuq_paper


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
    assert words["exits-eight", "8 exits"] == words["exits-nll", "2 exits"] == HOLDS
    assert words["exits-weights", "4 + 0.5 k"] == FAILS  # made up to fall
    assert words["assistance-loss", "assisted"] == HOLDS and words["exits-accuracy", ""] == FAILS
    assert "Number of assisting exits" in build_pages(folder)["results/trainings_exits.md"]
    path.write_text(json.dumps({**content, "trial": True}))
    with pytest.raises(ValueError, match="trainings on a few examples"):
        load_found(folder)


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_process(folder: Path) -> None:
    code = (
        "import sys, hashlib; from tcuq_lab.pages import build_pages; "
        "print(*(hashlib.sha256(t.encode()).hexdigest() for t in build_pages(sys.argv[1]).values()))"
    )
    seen = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", code, str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        seen.add(done.stdout)
    assert len(seen) == 1


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


@pytest.mark.slow
def test_pages_of_experiments_that_are_gone_are_removed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "failure.json").unlink()
    where = ["--results", str(folder), "--out", str(tmp_path / "docs")]
    (tmp_path / "docs").mkdir()
    assert main(["results", "--write", *where]) == 0
    old = tmp_path / "docs/results/delay.md"
    old.write_text("# Delay\n")
    assert main(["results", "--check", *where]) == 1
    assert "delay.md: no result file" in capsys.readouterr().out and old.exists()
    assert main(["results", "--write", *where]) == 0
    assert not old.exists() and main(["results", "--check", *where]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "change_", "message"),
    [
        ("drop.json", lambda c: {**c, "name": "x"}, "name is 'x', expected 'drop'"),
        ("drop.json", lambda c: {**c, "lines": []}, "there are 0 lines"),
        ("drop.json", lambda c: {**c, "lines": [c["lines"][0]] * 2}, "line 1 repeats mnist"),
        ("drop.json", lambda c: {**c, "lines": [{"task": "a"}]}, "line 0 lacks dwell"),
        ("drop.json", lambda c: {**c, "lines": [{**c["lines"][0], "value": "x"}]}, "number is 'x'"),
        ("paper.json", lambda c: {**c, "format": "x"}, "expected 'tcuq paper 1'"),
        ("paper.json", lambda c: {**c, "parts": [{"where": ""}]}, "part 0 lacks experiment"),
        ("paper.json", lambda c: {**c, "parts": [c["parts"][0]] * 2}, "part 1 repeats drop"),
        ("claims.json", lambda c: {**c, "claims": [{"id": "a"}]}, "claim a: where is None"),
        ("claims.json", lambda c: {**c, "claims": [c["claims"][0]] * 2}, "comes twice"),
        ("targets.json", lambda c: {**c, "format": "x"}, "expected 'tcuq targets 1'"),
        ("targets.json", lambda c: {k: v for k, v in c.items() if k != "about"}, "lacks about"),
        ("targets.json", lambda c: {**c, "targets": [c["targets"][0]] * 2}, "comes twice"),
        ("targets.json", lambda c: {**c, "targets": [{"id": "a"}]}, "target a: about is None"),
        ("answers.json", lambda c: {**c, "format": "x"}, "expected the format 'tcuq field 1'"),
        ("answers.json", lambda c: {**c, "name": "x"}, "name is 'x', expected 'answers'"),
        ("answers.json", lambda c: {**c, "lines": [c["lines"][0]] * 2}, "come twice"),
        ("answers.json", lambda c: {**c, "lines": [{"task": "a"}]}, "lacks name"),
        ("answers.json", lambda c: {**c, "lines": [{**c["lines"][0], "value": "x"}]}, "could not convert"),
        ("answers.json", lambda c: {k: v for k, v in c.items() if k != "lines"}, "lacks lines"),
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
        write_field(folder, "answers", list(MAKERS["answers"](("mnist",)))[:3])
    path = folder / name
    path.write_text(json.dumps(change_(json.loads(path.read_text()))))
    assert main(["results", "--results", str(folder), "--out", str(folder)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and message in said and name in said
    assert not (folder / HTML).exists()
