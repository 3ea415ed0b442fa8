"""A bench that misses a goal fails, and no page calls it met."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bench
import claims
import fit_million
import goals
import pytest
from places import ROOT

STORED = sorted(
    path
    for path in (ROOT / "bench").glob("*.json")
    if "figures" in json.loads(path.read_text(encoding="utf-8"))
)


@pytest.mark.parametrize(("goal", "result"), [(1e9, 0), (0.0, 1)])
def test_a_bench_that_misses_a_goal_fails(
    goal: float,
    result: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sys, "argv", ["fit_million.py", "--steps", "6000", "--no-explain", "--write"])
    monkeypatch.setattr(fit_million, "GOALS", {"processor_seconds": goal})
    monkeypatch.setattr(fit_million, "STORED", tmp_path / "stored.json")
    assert fit_million.main() == result
    assert ("MISSED" in capsys.readouterr().out) == bool(result)
    stored = json.loads((tmp_path / "stored.json").read_text(encoding="utf-8"))
    assert goals.status(stored) == ("**not met**" if result else "met")


@pytest.mark.parametrize(("us", "result"), [(0.5, 0), (3.5, 1)])
def test_the_bench_of_steps_fails_too(us: float, result: int, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("tcuq", "python", "numpy", "river", "machine")
    found = {**dict.fromkeys(names, "1"), "import_ms": {"numpy": 90.0, "tcuq": 120.0}}
    found["us_per_step"] = {
        "run, int8": 0.3,
        "step, int8": us,
        "step, float": us,
        "numpy step of the paper": 90,
    }
    monkeypatch.setattr(bench, "measure", lambda: {**found, "us_per_step_by_length": {1000: 0.3}})
    monkeypatch.setattr(sys, "argv", ["bench.py"])
    assert bench.main() == result


def test_pages_say_met_where_the_stored_figures_meet_their_goals() -> None:
    pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    rows = claims.claims()
    assert STORED
    for path in STORED:
        stored = json.loads(path.read_text(encoding="utf-8"))
        (row,) = (each for each in rows if f"`python bench/{path.stem}.py`" in each.command)
        claim, _, figure, status = row
        assert status == goals.status(stored)
        for name, goal in stored["goals"].items():
            assert f"{goal:g} " in claim and f"{stored['figures'][name]:.0f} " in figure


def test_every_command_of_a_claim_names_what_exists(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tomllib", reason="Python 3.11 or newer reads TOML")
    assert claims.main([]) == 0, capsys.readouterr().out
    assert claims.main(["flag rate"]) == 0 and "tested" in capsys.readouterr().out
