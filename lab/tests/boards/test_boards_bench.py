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
from tcuq_lab.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


def test_what_a_projection_costs() -> None:
    (found,) = costs.bench_monitors(["stm32l432kc"], 5, ("-O2",), only=[costs.PROJECTION])["measured"]
    # A byte a weight, five an output, a loop; several instructions a weight.
    assert 64 * 32 + 5 * 32 < found["overhead"]["flash"] < 64 * 32 + 5 * 32 + 400
    assert 3 * 64 * 32 < found["step"]["instructions"]["mean"] < 12 * 64 * 32


def test_the_command_checks_and_writes_nothing_unless_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = costs.load(ROOT / "bench" / "monitors.json")
    # Figures that are known, in place of a minute of emulation.
    monkeypatch.setattr(costs, "bench_monitors", lambda *_, **__: copy.deepcopy(measured))
    path = tmp_path / "monitors.json"

    def changed(**more: Any) -> str:
        content = copy.deepcopy(measured)
        content["measured"][0]["overhead"]["flash"] += 1
        return json.dumps({**content, **more}, indent=1)

    def run(*options: str) -> int:
        return main(["boards", "bench", "--stored", str(path), *options])

    assert run() == 0 and not path.exists()
    path.write_text(changed())
    assert run() == 0 and path.read_text() == changed()
    capsys.readouterr()
    assert run("--check") == 1 == run("--check", "--quiet")
    assert capsys.readouterr().err.count("stale: ") == 2
    assert run("--write") == 0 == run("--check") and costs.load(path)["measured"] == measured["measured"]
    path.write_text(changed(compiler="another"))
    assert run("--check") == 0
    for text in (b"{}", b'{"format": "tcuq-device"}', b"\xff", changed(measured=[{}]).encode()):
        path.write_bytes(text)
        with refused("damaged"):
            costs.load(path)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with refused("limit"):
        costs.load(path)


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
