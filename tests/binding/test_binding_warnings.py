# SPDX-License-Identifier: MIT
"""The binding has no warning, with either compiler, with and without the stable interface of Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import extensions
import pytest
from compilers import need_compiler

FLAGS = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
BINDING = [path for path in extensions.SOURCES if path.parent.name == "binding"]
NATIVE = sorted((extensions.ROOT / "watch/src/tcuq_watch/native").glob("*.c"))


@pytest.mark.parametrize("sources", [BINDING, NATIVE], ids=["core", "watch"])
@pytest.mark.parametrize("stable", [True, False], ids=["stable", "full"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warning(compiler: str, stable: bool, sources: list[Path], tmp_path: Path) -> None:
    need_compiler(compiler, "plain", tmp_path)
    include, _, free = extensions.facts(sys.executable)
    if stable and (free or sys.version_info < (3, 11)):
        pytest.skip("this Python has no stable interface with buffers")
    # Python's own headers are not ours to judge.
    command = [compiler, *FLAGS, *([extensions.LIMITED] if stable else [])]
    where = ["-I", str(extensions.ROOT / "src/tcuq"), "-isystem", include]
    done = subprocess.run(
        [*command, *where, "-c", *map(str, sources)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
