"""Pages of results: made from files alone, every figure one of theirs, short, never a crash."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from made_results import stream_line, write_answers, write_paper_result, write_streams
from places import LAB, ROOT

from tcuq_lab.cli import main
from tcuq_lab.experiments.result_files import pack
from tcuq_lab.pages import MARKDOWN, build_pages, build_readme
from tcuq_lab.pages.claims import card
from tcuq_lab.pages.figures import Repeated, Sources, load
from tcuq_lab.pages.plots import Panel, Series, curves, dots

RESULTS, DOCS = LAB / "results", ROOT / "docs"
PAPER = "results/paper.md"


@pytest.fixture(scope="module")
def pages() -> dict[str, Any]:
    return build_pages(RESULTS)


def tables(text: str) -> Iterator[list[list[str]]]:
    """Give the tables of a page, as cells without their marks."""
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        rows = [line.strip().strip("|").split("|") for line in block.splitlines()]
        del rows[1]  # how columns are aligned
        yield [[cell.strip().strip("*") for cell in row] for row in rows]


def table(text: str, begin: str) -> list[list[str]]:
    """Return the rows of the table whose head begins with some words."""
    return next(each[1:] for each in tables(text) if each[0][0].startswith(begin))


def in_percent(value: float) -> str:
    return f"{100 * value:.1f}".replace("-0.0", "0.0").replace("-", "\u2212")


def test_the_pages_of_the_repository_are_what_its_results_give(pages: dict[str, Any]) -> None:
    for name, made in pages.items():
        text = made if isinstance(made, str) else made.text(DOCS / name)
        assert (DOCS / name).read_text(encoding="utf-8") == text, (
            f"{name} is stale: run tcuq-lab results --pack --write"
        )
    lying = {f"results/{path.name}" for path in (DOCS / "results").iterdir()}
    assert lying == set(pages) - {MARKDOWN}


def test_a_picture_is_drawn_anew_where_its_figures_change(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / "a.svg"
    for make in (dots, lambda title, rows, series: curves(title, [Panel(rows[0], "x", series)])):
        one, other = (make("a < b", ["r"], [Series("s", "o", [(0, y), (1, 0.2)])]) for y in (0.5, 0.6))
        path.write_text(one.svg())
        assert one.text(path) == path.read_text() == one.svg() != other.text(path)
        path.write_text(path.read_text().replace("svg", "SVG"))  # as another version may have drawn it
        assert one.text(path) == path.read_text()
        assert "a < b" in [each.text for each in ElementTree.fromstring(other.svg())]


def test_the_first_page_is_short(pages: dict[str, str]) -> None:
    first = pages[MARKDOWN]
    assert len(first.splitlines()) <= 100
    assert all(len(row) <= 5 for each in tables(first) for row in each)
    assert all(each[0][1].startswith("tcuq") for each in tables(first) if each[0][0] != "streams")
    assert max(len(text.splitlines()) for name, text in pages.items() if name.endswith(".md")) <= 500


@pytest.mark.parametrize(
    ("ours", "rival", "verdict", "fewer", "more"),
    [
        (0.10, 0.20, "fewer errors", 5, 0),
        (0.20, 0.10, "more errors", 0, 5),
        (0.10, 0.105, "no clear difference", 0, 0),
    ],
)
def test_sentences_turn_with_the_figures(
    tmp_path: Path, ours: float, rival: float, verdict: str, fewer: int, more: int
) -> None:
    write_answers(tmp_path, ours, rival)
    first = build_pages(tmp_path)[MARKDOWN]
    assert f"| classes stay (5) | {verdict} ({fewer} fewer, {more} more) |" in first
    for name in ("the Bayes filter", "confidence", "the simple rule that is best on that very stream"):
        assert f"Against {name}: fewer errors on {fewer} of 5 streams, more on {more}" in first
    lost = 10 if more else 0  # confidence and the filter take one pass, the ensemble does not
    assert f"In {lost} of 10 comparisons a rival of one pass is better" in first
    assert f"in {10 if fewer else 0} tcuq is." in first
    assert ("The largest losses" in first) == bool(lost)
    bold = re.findall(r"\*\*([0-9.]+)\*\*", first)
    assert set(bold) == {in_percent(min(ours, rival))}


@pytest.mark.parametrize("on", [0.02, 0.9])
def test_label_shift_is_told_as_it_is(tmp_path: Path, on: float) -> None:
    lines = [
        stream_line("cifar10/class 16/tcuq/found", 0.9),
        stream_line("cifar10/class 16/tcuq/clean on", 0.05),
        stream_line("cifar10/clean/tcuq/clean on", 0.01),
        stream_line("cifar10/label shift/tcuq/clean on", on),
    ]
    write_streams(tmp_path, "alarms", lines)
    first = build_pages(tmp_path)[MARKDOWN]
    said = f"the alarm is on in {in_percent(on)} % of the time; in clean streams of the usual mix in 1.0 %"
    assert said in first
    write_streams(tmp_path, "alarms", lines[:3])
    assert "mix of classes" not in build_pages(tmp_path)[MARKDOWN]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("recorded", [False, True])
def test_the_readme_says_what_an_alarm_was_fitted_on(tmp_path: Path, mixed: bool, recorded: bool) -> None:
    write_answers(tmp_path, 0.1, 0.2)
    here = "cifar10/class 16/tcuq"
    lines = [stream_line(f"{here}/found", 0.9), stream_line(f"{here}/false per 10,000", 5.5)]
    if mixed:
        lines.append(stream_line(f"{here}/found", 0.25, fit="untold"))
        lines.append(stream_line(f"{here}/false per 10,000", 12.0, fit="untold"))
    if recorded:
        lines.append(stream_line("signs/recorded/tcuq/found", 0.8, fit="untold"))
        lines.append(stream_line("signs/recorded/tcuq/false per 10,000", 21.0, fit="untold"))
    write_streams(tmp_path, "alarms", lines)
    said = build_readme(tmp_path, "<!-- gain: begin -->\n<!-- gain: end -->")
    assert "fitted on the same kind of stream" in said
    assert ("(1 stream), false alarms come 12.0 times (12.0 to 12.0) and 25.0 % are found" in said) is mixed
    assert ("On real recordings false alarms come 21.0 times." in said) is recorded


def test_the_paper_page_names_the_version_of_each_experiment(tmp_path: Path) -> None:
    for name, version in (("failure", "0.2.0"), ("drop", "0.2.0"), ("rate_audit", "0.3.0")):
        path = write_paper_result(tmp_path, name, {"mnist/1/base/x": 0.5})
        path.write_text(path.read_text().replace('"tcuq": "0.0"', f'"tcuq": "{version}"'))
    said = build_pages(tmp_path)[PAPER]
    assert "are of version 0.2.0 of tcuq; those of `rate_audit` are of version 0.3.0." in said
    assert "ours is v0.01" in said


@pytest.mark.parametrize(("found", "word"), [(0.4, "never"), (0.6, "not known")])
def test_an_infinite_delay_does_not_say_that_shifts_were_missed(
    tmp_path: Path, found: float, word: str
) -> None:
    delay = ["cifar10", "class 16", "tcuq", "told", "delay", "inf", None, None, 3]
    lines = [stream_line("cifar10/class 16/tcuq/found", found), delay]
    write_streams(tmp_path, "alarms", lines)
    assert f"| {in_percent(found)} | {word} |" in build_pages(tmp_path)[MARKDOWN]


@pytest.mark.parametrize("change", [0.0, 0.25])
def test_sensitivity_turns_with_the_figures(tmp_path: Path, change: float) -> None:
    write_streams(
        tmp_path, "questions", [stream_line("cifar10/class 16/other lags and window/risk change", change)]
    )
    write_paper_result(
        tmp_path, "rate_audit", {"cifar10/16/tcuq_paper/largest change of risk over windows 12 to 24": change}
    )
    text = build_pages(tmp_path)[PAPER]
    assert ("other lags and windows change no risk" in text) == (change == 0)
    assert ("windows change a risk by up to 0.250" in text) == (change > 0)
    assert ("steps: no risk changes" in text) == (change == 0)
    assert ("steps: a risk changes by up to 0.250" in text) == (change > 0)


@pytest.mark.parametrize(("ours", "best"), [(0.9, "tcuq"), (0.1, "confidence"), (0.5, "confidence and tcuq")])
def test_the_best_of_a_table_of_the_paper_is_read_from_it(tmp_path: Path, ours: float, best: str) -> None:
    shutil.copy(RESULTS / "paper.json", tmp_path)
    column = "AUPRC, unseen kinds"
    figures = {f"mnist/1/base/{column}": 0.5, f"mnist/1/tcuq/{column}": ours}
    write_paper_result(tmp_path, "drop", figures)
    text = build_pages(tmp_path)[PAPER]
    assert f"Best on MNIST: in the paper TCUQ (paper); here {best} (shuffled)." in text


def test_new_tasks_and_streams_just_appear(tmp_path: Path) -> None:
    path = write_answers(tmp_path, 0.1, 0.2)
    content = json.loads(path.read_text())
    content["lines"] += [
        [*(task, stream), *line[2:]]
        for line in content["lines"]
        if line[1] == "class 16"
        for task, stream in (("signs", "tracks"), ("birds", "garden"))
    ]
    path.write_text(json.dumps(content))
    pages = build_pages(tmp_path)
    assert table(pages[MARKDOWN], "wrong, %")[0][0] == "Traffic signs, tracks"
    assert "birds, garden" in pages["results/answers.md"] and "real recordings (1)" in pages[MARKDOWN]


def test_packing_keeps_four_digits_and_what_pages_read(tmp_path: Path) -> None:
    answers = write_answers(tmp_path, 0.123456, 0.2)
    exits = write_paper_result(tmp_path, "exits", {"cifar10/1/early_exit/NLL, nats, corrupted": 0.5})
    before = load(tmp_path)
    content = json.loads(answers.read_text())
    content["lines"].append(stream_line("cifar10/class 16/tcuq - base/errors", 0.3))
    answers.write_text(json.dumps(content))
    for path in (answers, exits):
        for place, text in pack(path).items():
            place.parent.mkdir(exist_ok=True)
            place.write_text(text)
        assert pack(path) == {}
    head = json.loads(answers.read_text())
    assert head["tables"] == ["answers/cifar10.csv"] and "lines" not in head
    assert head["choices"] == {"net-0": {"EWMA": {"setting": {"rate": 0.123457}}}}
    after = load(tmp_path)
    old, new = (sources.fields["answers"].lines for sources in (before, after))
    assert {line[:5] for line in old} == {line[:5] for line in new}
    figures = {line[:5]: line for line in new}
    assert all(abs(figures[line[:5]].value - line.value) < 1e-4 for line in old)
    assert after.repeated["exits"].figures == before.repeated["exits"].figures
    assert after.repeat("exits").get("cifar10", "early_exit", "NLL, nats, severity 2") == pytest.approx(0.7)


def test_the_command_writes_packs_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "results", tmp_path / "docs"
    folder.mkdir()
    (out / "results").mkdir(parents=True)
    (out / "results" / "old.md").write_text("old")
    write_answers(folder, 0.1, 0.2)
    where = ["--results", str(folder), "--out", str(out)]
    assert main(["results", "--check", *where]) == 1
    assert main(["results", *where]) == 0
    assert not (out / MARKDOWN).exists()
    assert "nothing written; run 'tcuq-lab results --write'" in capsys.readouterr().out
    assert main(["results", "--pack", "--write", *where]) == 0
    assert not (out / "results" / "old.md").exists() and (folder / "answers" / "cifar10.csv").exists()
    assert main(["results", "--check", *where]) == 0
    capsys.readouterr()
    write_answers(folder, 0.15, 0.2)
    assert main(["results", "--check", *where]) == 1
    assert "15.0" in capsys.readouterr().out
    assert main(["results", "--check", "--write", *where]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("drop.json", lambda c: {**c, "lines": [c["lines"][0]] * 2}, "line 1 repeats mnist"),
        ("drop.json", lambda c: {**c, "lines": [{**c["lines"][0], "value": "x"}]}, "could not convert"),
        ("answers.json", lambda c: {**c, "lines": [[1]]}, "answers.json"),
        ("answers.json", lambda c: {**c, "tables": ["drop.json"]}, "is not a table of results"),
        ("answers.json", lambda c: [], "is not a result file"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    tmp_path: Path,
    name: str,
    change: Callable[[dict[str, Any]], Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_answers(tmp_path, 0.1, 0.2)
    write_paper_result(tmp_path, "drop", {"mnist/1/base/AUPRC, unseen kinds": 0.5})
    path = tmp_path / name
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    assert main(["results", "--results", str(tmp_path), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and message in said


def test_what_was_not_run_is_left_out_and_said(tmp_path: Path) -> None:
    pages = build_pages(tmp_path)
    assert pages[MARKDOWN].count("Not run yet.") == 4 and "{" not in pages[MARKDOWN] + pages[PAPER]
    assert pages["results/answers.md"].endswith("\n\nNot run yet.\n")
    assert "- Lags: not measured." in pages[PAPER] and "all six rivals" not in pages[PAPER]
    shutil.copy(RESULTS / "paper.json", tmp_path)
    assert "all six rivals have the same figure" in build_pages(tmp_path)[PAPER]
    assert "a step counter has an AUPRC" not in build_pages(tmp_path)[PAPER]


def test_a_claim_holds_of_all_of_some_or_of_no_dataset() -> None:
    def verdict(cifar: float, whole: float) -> str:
        repeated = {}
        for name, task, last in (
            ("severity", "cifar10", cifar),
            ("severity_tinyimagenet", "tinyimagenet", whole),
        ):
            ours = dict.fromkeys((1, 2, 3, 4), 0.9) | {5: last}
            figures = {
                (task, 16.0, "tcuq_paper", f"AUPRC, severity {at}"): value for at, value in ours.items()
            }
            figures |= {(task, 16.0, "deep", f"AUPRC, severity {at}"): 0.5 for at in ours}
            repeated[name] = Repeated({}, figures)
        lines = card(Sources({}, repeated, (), (), {})).splitlines()
        return next(line for line in lines if "every severity" in line)

    assert "*holds*" in verdict(0.8, 0.8) and "TinyImageNet best at 5 of 5" in verdict(0.8, 0.8)
    assert "*holds in part*" in verdict(0.8, 0.4) and "TinyImageNet best at 4 of 5" in verdict(0.8, 0.4)
    assert "*does not hold*" in verdict(0.5, 0.4)  # a tie is no win
    lines = card(Sources({}, {}, (), (), {})).splitlines()[2:]
    assert lines and all("*cannot be tested here*" in line for line in lines)
