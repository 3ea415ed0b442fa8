# SPDX-License-Identifier: MIT
"""The C core gives the integers of the vectors, with every compiler and every optimization."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import gen
import pytest
from compilers import need_compiler
from places import CORE, CORE_SOURCES, ROOT
from vector_files import FULL_BUILD

VECTORS = ROOT / "vectors"

WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic"]
MODES = {
    "O0": ["-O0", "-Werror"],
    "O3": ["-O3", "-Werror"],
    "Ofast": ["-Ofast"],  # newer clang warns about the option itself
    "sanitized": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Werror"],
}
# As in Debian 12; the number is the version of the compiler.


def files() -> list[Path]:
    return sorted(VECTORS.glob("*.vec"))


def build(compiler: str, mode: str, folder: Path, mask: str = FULL_BUILD, name: str = "run_vectors") -> Path:
    need_compiler(compiler, mode, folder)
    runner = folder / name
    sources = [ROOT / "tests" / "c" / f"{name}.c", *CORE_SOURCES]
    command = [compiler, *WARNINGS, *MODES[mode], mask, f"-I{CORE}", *sources, "-o", runner]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return runner


def run(runner: Path, paths: list[Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([runner, *paths], capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = "gcc" if shutil.which("gcc") else "clang"
    return build(compiler, "O0", tmp_path_factory.mktemp("runner"))


@pytest.mark.cases(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_core_equals_vectors(compiler: str, mode: str, tmp_path: Path) -> None:
    done = run(build(compiler, mode, tmp_path), files())
    assert done.returncode == 0, done.stderr
    steps = sum(path.read_bytes().count(b"\nstep ") for path in files())
    assert done.stdout == f"{len(files())} cases, {steps} steps, all equal\n"


@pytest.mark.cases(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_gauges_equal_vectors(compiler: str, mode: str, tmp_path: Path) -> None:
    path = VECTORS / "gauges.txt"
    done = run(build(compiler, mode, tmp_path, name="run_gauges"), [path])
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{path.read_text().count(':')} inputs, all equal\n"


@pytest.mark.parametrize("name", ["learned_only_disbelief", "look_posteriors", "save_load_paper"])
def test_a_build_for_its_signals_alone_equals_vectors(name: str, tmp_path: Path) -> None:
    """What a build leaves out takes no memory, and what it needs has some."""
    path = VECTORS / f"{name}.vec"
    mask = re.search(r"signals=(\d+)", path.read_text())[1]
    done = run(build("gcc", "sanitized", tmp_path, f"-DTCUQ_SIGNALS={mask}"), [path])
    assert done.returncode == 0, done.stderr[:2000]


@pytest.fixture(scope="module")
def generated() -> tuple[dict[str, str], Counter[str]]:
    return gen.generate()


@pytest.fixture
def check(
    generated: tuple[dict[str, str], Counter[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[Path], tuple[int, list[str]]]:
    """Give `gen.py --check` of a folder, which asks the reference once for all tests."""
    monkeypatch.setattr(gen, "generate", lambda: generated)

    def checked(folder: Path) -> tuple[int, list[str]]:
        monkeypatch.setattr(gen, "FOLDER", folder)
        status = gen.main(["--check"])
        return status, capsys.readouterr().err.splitlines()

    return checked


def test_vectors_are_those_of_the_reference(check: Callable[[Path], tuple[int, list[str]]]) -> None:
    assert gen.FOLDER == VECTORS
    status, said = check(VECTORS)
    assert status == 0, said
