# SPDX-License-Identifier: MIT
"""Adversaries that know the coming threshold (tools/hostile): every bound holds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
from places import ROOT

COMMAND = ROOT / "tools" / "hostile" / "run.py"


def attack(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the adversaries; skip where there is no compiler."""
    if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        pytest.skip("no C compiler: install the Debian package gcc")
    # Isolated: the command promises to need nothing but Python and a compiler.
    command = [sys.executable, "-I", str(COMMAND), "--jobs", "1", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_every_bound_holds_for_a_million_steps() -> None:
    done = attack("--steps", "1000000", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    steps = re.match(r"([\d,]+) steps", done.stdout)
    assert steps and int(steps.group(1).replace(",", "")) >= 1_000_000
    assert "\n0 violations" in done.stdout
    # The attack is a real one: some game reaches each end of the debt, and a full credit.
    for bound in ("debt, upper bound", "debt, lower bound", "credit", "rise sum"):
        assert re.search(rf"^{bound} +100\.0000%", done.stdout, re.M), done.stdout
    # Adversaries that choose labels and delays come close to the bound on errors, too.
    errors = re.search(r"^errors among labels +([\d.]+)%", done.stdout, re.M)
    assert errors and 50 <= float(errors.group(1)) <= 100, done.stdout
