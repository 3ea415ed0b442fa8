# SPDX-License-Identifier: MIT
"""The fuzz targets for a moment each: corpora, a second of mutations, and the reference on some programs."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

FUZZ = ROOT / "fuzz"
MOST_BYTES = 100_000
"""Of the corpus of a target."""


@pytest.fixture(scope="module")
def targets() -> Any:
    """Return the module that builds and runs the targets."""
    sys.path.insert(0, str(FUZZ))
    try:
        return importlib.import_module("targets")
    finally:
        sys.path.remove(str(FUZZ))


@pytest.fixture(scope="module")
def programs(targets: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the programs by target."""
    try:
        compiler = targets.find_compiler()
    except targets.Unable as error:
        pytest.skip(str(error))
    built: dict[str, Path] = targets.build(tmp_path_factory.mktemp("fuzz"), compiler, jobs=1, flags=["-O0"])
    return built


@pytest.mark.parametrize("name", ["load", "steps", "frames"])
def test_no_finding(name: str, targets: Any, programs: dict[str, Path], tmp_path: Path) -> None:
    corpus = list((FUZZ / "corpus" / "c" / name).iterdir())
    assert corpus and sum(path.stat().st_size for path in corpus) < MOST_BYTES
    done = targets.run_target(programs[name], 1, 1, tmp_path)
    assert done.findings == [], (tmp_path / f"{name}.log").read_text(errors="replace")[-3000:]
    assert done.runs > len(corpus)
    assert done.steps > 1000


def test_core_and_reference_agree_on_random_programs() -> None:
    command = [sys.executable, str(FUZZ / "against_reference.py"), "--programs", "60", "--steps", "30"]
    done = subprocess.run([*command, "--seed", "5"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(value) for name, value in (word.split("=") for word in done.stdout.split())}
    assert counts["programs"] == 60 and counts["step"] > 50 * 30
    assert min(counts[name] for name in ("reset", "save", "load", "accepted", "taken")) > 20
