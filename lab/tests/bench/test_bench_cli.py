"""`tcuq-lab bench` as it is typed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from places import ROOT
from small_benchmark import made_folder

from tcuq_lab.benchmark.entries import BUILT_IN
from tcuq_lab.cli import main

EXAMPLE = ROOT / "lab" / "examples" / "bench_method.py"


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(made_folder(tmp_path_factory.mktemp("streams"), ["east"]))


def code_lines(text: str) -> int:
    """Return the lines that are neither empty, nor comments, nor docstrings."""
    silent = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            silent |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" for n, line in lines if n not in silent)


def test_the_example_runs_and_has_ten_lines(
    streams: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_lines(EXAMPLE.read_text()) <= 10
    out = tmp_path / "results"
    assert main(["bench", str(EXAMPLE), "--streams", streams, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "moving mean of doubt (without labels): relative errors" in said and "class 16" in said
    assert f"next: tcuq-lab bench --table {out}/*.json --streams {streams}" in said
    assert main(["bench", "confidence", "--streams", streams, "--out", str(out), "--quiet"]) == 0
    files = sorted(map(str, out.glob("*.json")))
    assert main(["bench", "--table", *files]) == 0  # the built-in results are of other streams
    said, beside = capsys.readouterr()
    assert "the built-in results are left out: they were made with other streams" in beside
    assert "tcuq_no_labels" not in said
    assert "### Track: without labels" in said and "| confidence | 1.00 (1.00 to 1.00) |" in said
    page = tmp_path / "page.md"
    page.write_text("top\n<!-- leaderboard: begin -->\n<!-- leaderboard: end -->\n")
    command = ["bench", "--table", *files, "--only", "--page", str(page)]
    assert main([*command, "--check"]) == 1 and "Track" not in page.read_text()
    assert main([*command, "--write"]) == 0 and "Track" in page.read_text()
    assert main([*command, "--check"]) == 0


def test_a_run_ends_with_its_rank_among_the_built_in_methods(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    streams = made_folder(tmp_path / "streams", ["east"])
    command = ["bench", str(EXAMPLE), "--streams", str(streams)]
    assert main(command) == 0 and "rank" not in capsys.readouterr().out
    built_in, out = streams / "results", tmp_path / "mine"
    for name in ("confidence", "mean_8"):
        assert main(["bench", name, "--streams", str(streams), "--out", str(built_in), "--quiet"]) == 0
    assert main([*command, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert " of 3 in the track without labels, " in said and "confidence 1.00" in said
    table = ["bench", "--table", str(out / "bench_method.json"), "--streams", str(streams)]
    assert main(table) == 0
    said = capsys.readouterr().out
    assert "| moving mean of doubt (`bench_method.py`) |" in said and "| mean of 8 (`mean_8`) |" in said
    assert main([*table, "--only"]) == 0 and "mean of 8" not in capsys.readouterr().out


def test_one_command_renews_results_and_table_and_compares_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = {name: BUILT_IN[name] for name in ("confidence", "hmm", "alarm_distance", "alarm_bocpd")}
    monkeypatch.setattr("tcuq_lab.cli.bench.BUILT_IN", few)
    streams, page = made_folder(tmp_path / "streams", ["east"]), tmp_path / "page.md"
    page.write_text("top\n<!-- leaderboard: begin -->\n<!-- leaderboard: end -->\n")
    command = ["bench", "all", "--streams", str(streams), "--page", str(page)]
    assert main([*command, "--check"]) == 1
    assert "5 files would change; nothing written" in capsys.readouterr().out
    assert not (streams / "results").exists() and "Track" not in page.read_text()
    assert main([*command, "--write"]) == 0 and "CUSUM, feature distance, tuned" in page.read_text()
    assert len(list((streams / "results").glob("*.json"))) == 4
    capsys.readouterr()
    assert main([*command, "--check"]) == 0 and "no change" in capsys.readouterr().out


def test_a_recording_in_a_file_is_scored_with_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng, steps = np.random.default_rng(0), 4000
    labels, shifted = rng.integers(0, 3, steps), (np.arange(steps) // 400 % 2).astype(int)
    logits = 4 * np.eye(3)[labels] * (1 - 0.8 * shifted[:, None]) + rng.normal(0, 1, (steps, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gauges = rng.normal(0, 1, (steps, 2)) + 9 * shifted[:, None]
    path = tmp_path / "mine.npz"
    named = {"gauges": gauges, "gauge_names": np.array(["brightness", "contrast"])}
    np.savez(path, probs=probs, labels=labels, shifted=shifted, segments=np.arange(steps) // 1000, **named)
    few = {name: BUILT_IN[name] for name in ("confidence", "always_on", "alarm_gauges", "fixed")}
    monkeypatch.setattr("tcuq_lab.cli.bench.BUILT_IN", few)
    assert main(["bench", "all", "--log", str(path)]) == 0
    said = capsys.readouterr().out
    [gauged] = [line for line in said.splitlines() if "T2 window, gauges" in line and " 100 %" in line]
    assert gauged.startswith("| 1 |") and "Track: late labels" in said
    [on] = [line for line in said.splitlines() if "alarm always on" in line]
    assert "| 0 % (0 % to 0 %) |" in on and on.endswith("| 100.0 % |")
    np.savez(path, probs=probs, labels=labels)
    assert main(["bench", "all", "--log", str(path)]) == 2
    assert "has no shifted, expected labels and shifted" in capsys.readouterr().err
    assert main(["bench", "all", "--log", str(path), "--page", "x"]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody.py"], "nobody.py: No such file or directory"),
        (["vote_9"], "method 'vote_9' is unknown; did you mean vote_8? (a file of yours ends in .py)"),
        (["."], "method '.' is unknown, expected one of confidence, entropy, "),
        (["confidence", "--table"], "METHOD and --table exclude each other"),
        (["--log", "x.csv"], "--log needs METHOD or all"),
        (["confidence", "--check"], "--check needs --page FILE"),
        (["confidence", "--write"], "--write needs --page FILE"),
        (["confidence", "--page", "x"], "--page needs --table, or all"),
        (["--table", "--only"], "--only needs --table FILE: a result file of yours"),
        (["confidence", "--streams", "nowhere"], "nowhere has no streams.json, expected the streams"),
        (["vote_8.json"], "vote_8.json is not a method; for a result file type: tcuq-lab bench --table"),
        (["a/mine.py", "b/mine.py"], "b/mine.py would have the result file of a/mine.py"),
        (["--table", "nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_numpy_alone_is_enough(streams: str) -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'scipy', 'PIL', 'matplotlib', 'audiomentations'):\n"
        "    sys.modules[name] = None\n"
        "from tcuq_lab.cli import main\n"
        f"sys.exit(main(['bench', 'vote_8', '--streams', {streams!r}, '--quiet']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
