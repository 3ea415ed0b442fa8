"""The demo of a fleet, with fewer devices."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from places import ROOT


@pytest.mark.slow
def test_the_demo_finds_the_devices_that_degrade(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "tools" / "fleet_demo.py", tmp_path, "--devices", "60"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    [found, wrong] = re.findall(r"in alarm: \d+; (\d+) of them degrade, (\d+) do not", done.stdout)[0]
    assert int(found) >= 8 and int(wrong) <= 1  # 12 degrade
    assert (tmp_path / "fleet.html").stat().st_size > 10_000 and time.monotonic() - began < 60
