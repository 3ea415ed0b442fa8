"""Workflows of the host: linted, and what they run exists. They themselves have not run anywhere yet."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

FOLDER = ROOT / ".github" / "workflows"


def test_zizmor_finds_nothing() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("zizmor is missing: pip install zizmor")
    command = [zizmor, "--offline", "--quiet", "--config", ROOT / ".github" / "zizmor.yml", FOLDER]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_run_what_exists_and_every_target_has_a_line_of_help() -> None:
    targets = re.findall(r"(?m)^([a-z][\w-]*):", (ROOT / "Makefile").read_text())
    shown = re.findall(r'@echo "make ([\w-]+) ', (ROOT / "Makefile").read_text())
    assert sorted(shown) == sorted(set(targets) - {"help"}) and len(targets) <= 16
    text = "".join(path.read_text() for path in FOLDER.glob("*.yml"))
    asked = set(re.findall(r"run: make ([\w-]+)", text))
    asked |= {name for row in re.findall(r"target: \[(.*)\]", text) for name in row.split(", ")}
    assert asked <= set(targets) and {"test", "test-slow", "prove", "mutants", "fuzz"} <= asked
    scripts = re.findall(r"python3? ([\w./]+\.py)", text)
    assert scripts and all((ROOT / script).exists() for script in scripts)
