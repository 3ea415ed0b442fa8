"""The core gives the integers of the vectors on the other architecture as well."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cross import COMPILER, need_other, run_other
from places import ROOT
from tiers import first_quick
from vector_files import FULL_BUILD

CORE = ROOT / "src" / "tcuq" / "core"


def run_there(name: str, level: str, folder: Path, files: list[Path]) -> str:
    """Return what a program of tests/c says on the other architecture, which must find all equal."""
    need_other()
    program = folder / name
    sources = [ROOT / "tests" / "c" / f"{name}.c", *sorted(CORE.glob("*.c"))]
    command = [COMPILER, "-std=c99", level, "-static", FULL_BUILD, f"-I{CORE}", *sources, "-o", program]
    subprocess.run(command, check=True)
    done = run_other(program, files)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.mark.parametrize("level", first_quick(["-O3", "-Ofast", "-O0"]))
def test_core_equals_vectors_on_the_other_architecture(level: str, tmp_path: Path) -> None:
    vectors = sorted((ROOT / "vectors").glob("*.vec"))
    steps = sum(path.read_bytes().count(b"\nstep ") for path in vectors)
    found = run_there("run_vectors", level, tmp_path, vectors)
    assert found == f"{len(vectors)} cases, {steps} steps, all equal\n"


@pytest.mark.parametrize("level", first_quick(["-O3", "-Ofast", "-O0"]))
def test_gauges_equal_vectors_on_the_other_architecture(level: str, tmp_path: Path) -> None:
    path = ROOT / "vectors" / "gauges.txt"
    found = run_there("run_gauges", level, tmp_path, [path])
    assert found == f"{path.read_text().count(':')} inputs, all equal\n"
