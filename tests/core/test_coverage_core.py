# SPDX-License-Identifier: MIT
"""Every line, branch and condition of the C is reached by a test, or it is explained why none can."""

from __future__ import annotations

import subprocess
from pathlib import Path

import coverage_c
import pytest
from compilers import need_compiler
from exported import package
from frame_scripts import EXPORT_C
from llvm_coverage import Found, Homes
from places import CORE, CORE_SOURCES, ROOT

STRICT = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-pedantic",
    "-Werror",
    f"-I{CORE}",
    f"-I{EXPORT_C}",
]
SANITIZED = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SOURCES = [*CORE_SOURCES, *sorted(EXPORT_C.glob("*.c"))]


def need_llvm() -> None:
    missing = coverage_c.lacking()
    if missing:
        pytest.skip(missing)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return Homes([CORE, EXPORT_C, tmp_path_factory.mktemp("coverage") / "exported"])


@pytest.fixture(scope="module")
def found(homes: Homes) -> Found:
    need_llvm()
    return coverage_c.run(homes.folders[-1].parent, homes)


def test_all_is_reached_or_explained(found: Found, homes: Homes, capsys: pytest.CaptureFixture[str]) -> None:
    status = coverage_c.report(found, homes, every=False)
    said = capsys.readouterr().out
    assert status == 0, said
    files = {line.split()[0] for line in said.splitlines()[1:]}
    assert files >= {path.name for path in SOURCES} | {"plain/kws_selfcheck.c", "everything/kws_selfcheck.c"}
    assert files >= {"tcuq_internal.h"}
    # As many as there were: a tool that loses sight of some would find no gap among the rest.
    count = {kind: sum(spot.kind == kind for spot in found.reached) for kind in coverage_c.KINDS}
    assert count["line"] > 1200 and count["branch"] > 1300 and count["condition"] > 200


def ran(program: Path, *command: object) -> str:
    """Compile a program with its own compiler and flags, run it, return what it prints."""
    subprocess.run([*map(str, command), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Objects of core and exported C, once for all programs."""
    folder = tmp_path_factory.mktemp("sanitized")
    need_compiler("gcc", "sanitized", folder)
    subprocess.run(["gcc", *STRICT, *SANITIZED, "-c", *SOURCES], cwd=folder, check=True)
    return sorted(folder.glob("*.o"))


@pytest.mark.parametrize("driver", ["run_corners", "run_parts", "run_errors"])
def test_corners_under_sanitizers(driver: str, sanitized: list[Path], tmp_path: Path) -> None:
    source = ROOT / "tests" / "c" / f"{driver}.c"
    said = ran(tmp_path / driver, "gcc", *STRICT, *SANITIZED, source, *sanitized)
    assert said.endswith("all held\n") or driver == "run_errors"


@pytest.mark.parametrize(
    "mask", [0x3F0, 0x00C, *(pytest.param(mask, marks=pytest.mark.slow) for mask in (0x00F, 0x08, 0x38))]
)
def test_corners_of_smaller_builds(mask: int, tmp_path: Path) -> None:
    """What a build leaves out is refused as such; all else holds there too."""
    need_compiler("gcc", "plain", tmp_path)
    command = ["gcc", *STRICT, f"-DTCUQ_SIGNALS={mask:#x}u", ROOT / "tests" / "c" / "run_corners.c"]
    assert ran(tmp_path / "run_corners", *command, *CORE_SOURCES).endswith("all held\n")


@pytest.mark.parametrize("which", [pytest.param("plain", marks=pytest.mark.slow), "everything"])
def test_every_way_out_of_a_self_check(which: str, tmp_path: Path) -> None:
    need_compiler("gcc", "plain", tmp_path)
    package(tmp_path, "c", which)
    broken = [f"-Dtcuq_{name}=bad_{name}" for name in coverage_c.CHECKED]
    check = tmp_path / "kws_selfcheck.o"
    subprocess.run(["gcc", *STRICT, *broken, "-c", tmp_path / "kws_selfcheck.c", "-o", check], check=True)
    driver = [f"-I{tmp_path}", ROOT / "tests" / "c" / "run_selfcheck.c", check, tmp_path / "kws.c"]
    assert ran(tmp_path / "run_selfcheck", "gcc", *STRICT, *driver, *SOURCES).endswith("every way out\n")
