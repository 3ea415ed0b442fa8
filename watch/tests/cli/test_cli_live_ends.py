# SPDX-License-Identifier: MIT
"""How `tcuq live` ends."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from live_runs import PARAMS, json_lines, steps_of

from tcuq.cli import main


def test_a_reader_that_goes_away_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.chdir(tmp_path)
    PARAMS.save("m.json")
    Path("in.jsonl").write_bytes(json_lines(steps_of(5)))
    monkeypatch.setattr(sys, "stdout", Gone())
    assert main(["live", "m.json", "in.jsonl", "--no-page", "--json"]) != 0
