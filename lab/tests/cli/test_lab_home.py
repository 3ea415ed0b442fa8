"""Commands outside a checkout, and the folder that they find."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import LAB

import tcuq_lab
from tcuq_lab.cli import build_parser, main
from tcuq_lab.cli.reproduce import _listed
from tcuq_lab.home import NoCheckout, folder, home


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package as pip would install it: a copy, away from any checkout."""
    where = tmp_path / "site"
    shutil.copytree(Path(tcuq_lab.__file__).parent, where / "tcuq_lab")
    monkeypatch.delenv("TCUQ_LAB", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(where))
    return tmp_path


def run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tcuq_lab", *words], cwd=where, capture_output=True, text=True
    )


@pytest.mark.parametrize("words", [["reproduce"], ["reproduce", "drop"], ["results"], ["results", "--write"]])
def test_a_command_that_needs_a_checkout_says_so_in_one_line(installed: Path, words: list[str]) -> None:
    done = run(installed, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tcuq-lab: this command needs a checkout of tcuq")
    assert "set TCUQ_LAB" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in installed.iterdir()] == ["site"]


def test_other_commands_need_no_checkout(installed: Path) -> None:
    assert "mnist" in run(installed, "data", "list").stdout
    assert "gaussian_noise" in run(installed, "corrupt", "list").stdout
    done = run(installed, "train", "cnn5", "--out", "w")
    assert done.returncode == 2 and "did you mean cnn4" in done.stderr


def test_a_checkout_is_found_by_its_variable_and_from_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TCUQ_LAB", str(LAB))
    monkeypatch.chdir(tmp_path)
    assert home() == LAB and folder(None, "../docs") == LAB.parent / "docs"
    assert folder("mine", "results") == Path("mine")
    monkeypatch.delenv("TCUQ_LAB")
    for inside in (LAB, LAB.parent, LAB / "src", LAB.parent / "docs"):
        monkeypatch.chdir(inside)
        assert home() == LAB
    monkeypatch.setenv("TCUQ_LAB", str(tmp_path))
    with pytest.raises(NoCheckout, match=r"which has no experiments/fields\.json: set it to"):
        home()


def test_the_list_of_experiments_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "needs TCUQ_DATA; try: tcuq-lab reproduce answers --setting trial --task mnist --seed 0"
    by_name = {line.split()[0]: line for line in lines}
    title = "Which answers are wrong, and how many errors are left"
    assert re.fullmatch(rf"answers +{title} +[\d.]+ (min|h) on one core \(full\)", by_name["answers"])
    assert "drop" in by_name and max(map(len, lines)) <= 26 + 100 + 40


def test_a_long_title_is_cut_at_its_first_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcuq_lab.home.home", lambda: tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.json").write_text('{\n "setting": {\n  "name": "full"\n },\n "seconds": 90,\n')
    (tmp_path / "results" / "b.json").write_text('{\n "seconds": null,\n')
    titles = {"a": "One. Two", "b": "x" * 101, "long_name": "y"}
    assert _listed(titles).splitlines()[:3] == [
        f"a          One{'':97}  90 s on one core (full)",
        f"b          {'x' * 97}...",
        "long_name  y",
    ]


@pytest.mark.parametrize("command", ["record", "reproduce"])
def test_both_commands_speak_of_the_same_size_and_of_the_data(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build_parser().parse_args([command]).setting == "full"
    assert main([command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "TCUQ_DATA" in said and "An interrupted run resumes." in said


def test_results_of_a_missing_folder_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["results", "--results", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == f"tcuq-lab: {tmp_path / 'none'}: no such folder\n"


def test_changed_lines_of_pages_are_shortened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tcuq_lab.pages.build_pages", lambda source: {"RESULTS.md": "x" * 400 + " 0.25 |"})
    (tmp_path / "RESULTS.md").write_text("x" * 400 + " 0.75 |")
    assert main(["results", "--results", str(tmp_path), "--out", str(tmp_path)]) == 0
    changed = capsys.readouterr().out.splitlines()[1]
    assert changed.startswith("  line 1: ...xxx") and len(changed) <= 160
    assert "x 0.75 | -> ...x" in changed and changed.endswith("x 0.25 |...")


def test_a_wrong_variable_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TCUQ_LAB", str(tmp_path))
    assert main(["reproduce"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tcuq-lab: TCUQ_LAB is {tmp_path}, which has no") and err.count("\n") == 1
