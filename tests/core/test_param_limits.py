# SPDX-License-Identifier: MIT
"""The edges of what the core accepts, in numbers of SPEC.md: fields, rules, memory, counters."""

from __future__ import annotations

import subprocess
from pathlib import Path

from compilers import need_compiler
from places import CORE, CORE_SOURCES, ROOT
from vector_files import FULL_BUILD

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-O1"]


def run_limits(core: Path, folder: Path, mode: str = "plain") -> subprocess.CompletedProcess[str]:
    need_compiler("gcc", mode, folder)
    program = folder / "run_limits"
    sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] if mode == "sanitized" else []
    sources = [ROOT / "tests" / "c" / "run_limits.c", *(core / path.name for path in CORE_SOURCES)]
    subprocess.run(["gcc", *FLAGS, FULL_BUILD, *sanitized, f"-I{core}", *sources, "-o", program], check=True)
    return subprocess.run([program], capture_output=True, text=True)


def test_limits_are_those_of_the_specification(tmp_path: Path) -> None:
    done = run_limits(CORE, tmp_path, "sanitized")
    assert done.stdout == "all limits hold\n", done.stdout + done.stderr
    assert done.returncode == 0
