# SPDX-License-Identifier: MIT
"""Static checks and proofs: the cheap ones, and that each of them can fail."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from places import CORE, ROOT


def script(path: str) -> ModuleType:
    """Import a script of the repository."""
    name = Path(path).stem + "_script"
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


checks, proofs = (script(path) for path in ("tools/static_checks.py", "proofs/run.py"))


@pytest.mark.skipif(shutil.which("avr-gcc") is None, reason="avr-gcc is missing")
def test_no_warnings_where_int_has_16_bits() -> None:
    for source in checks.PORTABLE:
        flags = [*checks.WARNINGS, "-mmcu=atmega2560", "-Os", f"-I{CORE}", "-c", "-o", os.devnull]
        assert checks.found_in(checks.said(["avr-gcc", *flags, source])) == []


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
def test_generated_c_has_no_warnings(tmp_path: Path) -> None:
    files = checks.generated(tmp_path)
    assert {file.name for file in files} == {
        *("main.c", "monitor.c", "monitor_selfcheck.c", "send_frames.c"),
    }
    for file in files:
        at = tmp_path / file.relative_to(tmp_path).parts[0]
        command = ["gcc", *checks.WARNINGS, f"-I{at}", "-fsyntax-only", file]
        assert checks.found_in(checks.said(command)) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cppcheck") is None, reason="cppcheck is missing")
def test_deviations_from_misra_are_those_of_the_page() -> None:
    assert checks.misra().findings == []


def test_the_budget_is_kept(tmp_path: Path) -> None:
    command = shlex.split(os.environ.get("CBMC", "cbmc"))
    if shutil.which(command[0]) is None:
        pytest.skip("cbmc is missing: install it, or name it in CBMC")
    for proof in ("budget", "damaged_credit"):
        assert proofs.cbmc(command, proofs.Job("rates.c", proof, ""), tmp_path, 60).failed == []
