# SPDX-License-Identifier: MIT
"""The edges of what the core accepts, in numbers of SPEC.md: fields, rules, memory, counters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
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


def test_a_build_says_what_it_lacks(tmp_path: Path) -> None:
    need_compiler("gcc", "plain", tmp_path)
    program = tmp_path / "run_lacks"
    sources = [ROOT / "tests" / "c" / "run_lacks.c", *CORE_SOURCES]
    subprocess.run(["gcc", *FLAGS, "-DTCUQ_SIGNALS=0x00Cu", f"-I{CORE}", *sources, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("tcuq_fields.h", "NUMBER(burst, uint16_t, 1, 10000", "NUMBER(burst, uint16_t, 1, 10001"),
        ("tcuq_state.c", "m->head <= depth && ", "m->head < depth && "),
    ],
)
def test_a_limit_that_moved_is_noticed(file: str, old: str, new: str, tmp_path: Path) -> None:
    core = tmp_path / "core"
    core.mkdir()
    for path in CORE.iterdir():
        (core / path.name).write_text(path.read_text())
    text = (core / file).read_text()
    assert text.count(old) == 1
    (core / file).write_text(text.replace(old, new))
    done = run_limits(core, tmp_path)
    assert done.returncode == 1 and "expected" in done.stdout
