# SPDX-License-Identifier: MIT
"""Adversaries that know the coming threshold (tools/hostile): every bound holds, a broken core is found."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT, broken_core

COMMAND = ROOT / "tools" / "hostile" / "run.py"

MUTANTS = {
    "spends without a budget": ("tcuq.c", " && m->credit >= p->budget_den", "", "abstentions"),
    "debt not updated": (
        "tcuq.c",
        "m->debt += out->flagged != 0u ? up : down;",
        "m->debt += 0 * (up - down);",
        "debt",
    ),
    "threshold clamped": (
        "tcuq.c",
        "return p->reference + (int32_t)((distance ^ sign) - sign);",
        "int32_t t = p->reference + (int32_t)((distance ^ sign) - sign); return t > 65535 ? 65535 : t;",
        "flags stay below the upper bound",
    ),
    "vouches for doubtful steps": (
        "tcuq.c",
        "== 0u && !doubtful ? STEP_VOUCHED",
        "== 0u ? STEP_VOUCHED",
        "entry",
    ),
    "a label counts twice": ("tcuq_feedback.c", "entry >= STEP_KNOWN", "entry > 0xFFFFu", "first label"),
    "errors are forgiven too soon": (
        "tcuq_feedback.c",
        "sum > -(int32_t)head->error_shut ? sum : -(int32_t)head->error_shut",
        "sum > 0 ? sum : 0",
        "error debt",
    ),
}
"""Ways to break the core: the file, the text, what takes its place, and what must be found."""


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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (at > 0)) for at, name in enumerate(MUTANTS)]
)
def test_a_broken_core_is_found(name: str, tmp_path: Path) -> None:
    file, old, new, found = MUTANTS[name]
    done = attack("--steps", "500000", "--core", str(broken_core(tmp_path, file, old, new)))
    assert done.returncode == 1
    assert found in done.stdout
