"""`tcuq-lab boards bench`: figures of stock monitors, stored and compared."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from refusals import refused

from tcuq_device.tools import missing
from tcuq_lab.boards import costs
from tcuq_lab.boards.costs import load
from tcuq_lab.cli import main

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
STORED = ROOT / "bench" / "monitors.json"


def test_what_a_projection_costs() -> None:
    (found,) = costs.bench_monitors(["stm32l432kc"], 5, ("-O2",), only=[costs.PROJECTION])["measured"]
    # A byte a weight, five an output, a loop; several instructions a weight.
    assert 64 * 32 + 5 * 32 < found["overhead"]["flash"] < 64 * 32 + 5 * 32 + 400
    assert 3 * 64 * 32 < found["step"]["instructions"]["mean"] < 12 * 64 * 32


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    """Figures of the repository."""
    found = load(STORED)
    return {**found, "goals": costs.goals(found)}


def run_bench(measured: dict[str, Any], monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    """Run the command with figures that are known, in place of a minute of emulation."""
    monkeypatch.setattr(costs, "bench_monitors", lambda *_, **__: copy.deepcopy(measured))
    return main(["boards", "bench", *options])


def changed(measured: dict[str, Any], /, **more: Any) -> str:
    content = copy.deepcopy(measured)
    content["measured"][0]["flash"]["code"] //= 2
    return json.dumps({**content, **more}, indent=1)


def test_the_command_writes_nothing_unless_told_to(
    measured: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "monitors.json"
    where = ["--stored", str(path)]
    assert run_bench(measured, monkeypatch, *where) == 0 and not path.exists()
    path.write_text(changed(measured))
    assert run_bench(measured, monkeypatch, *where) == 0 and path.read_text() == changed(measured)
    assert run_bench(measured, monkeypatch, "--write", *where) == 0
    assert load(path)["measured"] == measured["measured"]


def test_the_command_checks(
    measured: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "monitors.json"
    where = ["--check", "--stored", str(path)]
    path.write_text(json.dumps(measured))
    assert run_bench(measured, monkeypatch, *where) == 0
    path.write_text(changed(measured))
    capsys.readouterr()
    assert run_bench(measured, monkeypatch, *where) == 1
    assert capsys.readouterr().err.count("stale: ") == 1
    stale = copy.deepcopy(measured)
    stale["measured"][0]["overhead"]["flash"] += 1  # less than what has always been called growth
    path.write_text(json.dumps(stale))
    assert run_bench(measured, monkeypatch, *where, "--quiet") == 1
    path.write_text(changed(measured, compiler="another"))
    assert run_bench(measured, monkeypatch, *where) == 0
    for text in (b"{}", b'{"format": "tcuq-device"}', b"\xff", changed(measured, measured=[{}]).encode()):
        path.write_bytes(text)
        with refused("damaged"):
            load(path)


@pytest.mark.parametrize(
    "options",
    [
        ["--board", "esp32", "--check"],
        ["--check", "--stored", "x.json"],
        ["--write", "--stored", "/nowhere/x.json"],
        ["--write", "--board", "microbit"],
    ],
)
def test_bad_options(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["boards", "bench", *options]) == 2 and not list(tmp_path.iterdir())


def test_a_file_of_figures_has_a_limit(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    with refused("limit"):
        load(tmp_path / "huge.json")
