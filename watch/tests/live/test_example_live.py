"""The live loop, with made pictures."""

from __future__ import annotations

import re
import runpy

import pytest
from places import ROOT

LOOP = ROOT / "examples" / "live_loop" / "watch_live.py"


def test_the_alarm_comes_while_a_hand_covers_the_lens(capsys: pytest.CaptureFixture[str]) -> None:
    program = runpy.run_path(str(LOOP))
    assert program["main"](["--steps", "1300"]) == 0
    *_, first, second, counts = capsys.readouterr().out.splitlines()
    raised, cleared = (int(re.findall(r"step (\d+): ", line)[0]) for line in (first, second))
    assert "ALARM" in first and 500 <= raised < 560
    assert "has cleared" in second and 900 <= cleared < 950
    assert sum(map(int, re.findall(r"\d+", counts))) == 1300
    # A camera and a microphone give four energies a step, as the made pictures do.
    assert program["corners"](program["np"].full((12, 20), 51.0)).tolist() == [0.2] * 4
