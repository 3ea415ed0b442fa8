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


@pytest.mark.parametrize("level", first_quick(["-O3", "-Ofast", "-O0"]))
def test_core_equals_vectors_on_the_other_architecture(level: str, tmp_path: Path) -> None:
    need_other()
    program, vectors = tmp_path / "run_vectors", sorted((ROOT / "vectors").glob("*.vec"))
    sources = [ROOT / "tests" / "c" / "run_vectors.c", *sorted(CORE.glob("*.c"))]
    command = [COMPILER, "-std=c99", level, "-static", FULL_BUILD, f"-I{CORE}", *sources, "-o", program]
    subprocess.run(command, check=True)
    done = run_other(program, vectors)
    steps = sum(path.read_bytes().count(b"\nstep ") for path in vectors)
    assert (done.returncode, done.stdout) == (0, f"{len(vectors)} cases, {steps} steps, all equal\n"), (
        done.stderr
    )
