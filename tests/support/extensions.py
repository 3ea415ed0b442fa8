# SPDX-License-Identifier: MIT
"""Extensions that tests build for a Python of their choice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for part in ("binding", "core") for path in sorted((ROOT / "src/tcuq" / part).glob("*.c"))]
LIMITED = "-DPy_LIMITED_API=0x030B0000"
ASK = (
    "import json, sys, sysconfig; print(json.dumps([sysconfig.get_paths()['include'], "
    "sysconfig.get_config_var('EXT_SUFFIX'), bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


def facts(python: str) -> tuple[str, str, bool]:
    """Return where a Python has its headers, how extensions end, and whether it is free-threaded; or skip."""
    done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True)
    include, suffix, free = json.loads(done.stdout)
    if not (Path(include) / "Python.h").exists():
        pytest.skip(f"{python} has no Python.h: install its development files")
    return include, suffix, free


def compiler() -> str:
    """Return a C compiler, or skip."""
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        pytest.skip("no C compiler: install the Debian package gcc")
    return found


def build(python: str, sources: list[Path], target: Path, *flags: str) -> Path:
    """Build sources into the extension module `target` (without its suffix)."""
    include, suffix, _ = facts(python)
    library = target.with_name(target.name + suffix)
    library.parent.mkdir(parents=True, exist_ok=True)
    shared = [compiler(), "-shared", "-fPIC", "-O1", f"-I{ROOT / 'src/tcuq'}", f"-I{include}"]
    subprocess.run([*shared, *flags, *map(str, sources), "-o", str(library)], check=True)
    return library


def requests(program: Path, folder: Path) -> dict[str, list[int]]:
    """Run a program of cases whose requests for memory fail; return how many each has, one or all failing."""
    build(sys.executable, [ROOT / "tests/c/failing_memory.c"], folder / "failing_memory", "-Wall")
    path = os.pathsep.join([str(folder), str(ROOT / "tests/support"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(program)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.rsplit(maxsplit=2) for line in done.stdout.splitlines()]
    return {name: [int(one), int(all_after)] for name, one, all_after in rows}
