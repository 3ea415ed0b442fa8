# SPDX-License-Identifier: MIT
"""Memory errors (SPEC.md section 12): every bit of counters, ring, state and params, with sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from compilers import need_compiler
from places import CORE, CORE_SOURCES, ROOT
from vector_files import FULL_BUILD

FLAGS = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
FLAGS += [FULL_BUILD]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLIPS = 15_000
PARAM_FLIPS = 19_000
SOME = 200
"""In the short form, one flip of so many is tried."""


def flips(
    core: Path, compiler: str, folder: Path, *flags: str, sanitized: bool = True, stride: int = 1
) -> subprocess.CompletedProcess[str]:
    """Build the program that flips bits with a core, and run it."""
    need_compiler(compiler, "sanitized" if sanitized else "plain", folder)
    program = folder / "run_flips"
    sources = [ROOT / "tests" / "c" / "run_flips.c", *(core / path.name for path in CORE_SOURCES)]
    command = [
        compiler,
        *FLAGS,
        *(SANITIZED if sanitized else ()),
        *flags,
        f"-I{core}",
        *sources,
        "-o",
        program,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return subprocess.run([program, str(stride)], capture_output=True, text=True, timeout=300)


def all_flips(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a program that flips every bit there is, and run it."""
    need_compiler("gcc", "sanitized", folder)
    program = folder / name
    sources = [ROOT / "tests" / "c" / f"{name}.c", *CORE_SOURCES]
    command = ["gcc", *FLAGS, *SANITIZED, f"-I{CORE}", *sources, "-o", program]
    subprocess.run(command, check=True)
    return subprocess.run([program], capture_output=True, text=True, timeout=300)


def test_every_flip_of_what_labels_need_comes_back(tmp_path: Path) -> None:
    done = all_flips("run_label_flips", tmp_path)
    assert (done.returncode, done.stdout) == (0, "512 bits, all came back\n"), done.stderr[:2000]


def test_every_flip_of_params_is_found(tmp_path: Path) -> None:
    done = all_flips("run_param_flips", tmp_path)
    assert done.returncode == 0, done.stderr[:2000]
    assert done.stdout.endswith(" flips, all found\n") and int(done.stdout.split()[0]) > PARAM_FLIPS


def test_some_flips_come_back_and_lead_nowhere(tmp_path: Path) -> None:
    done = flips(CORE, "gcc", tmp_path, stride=SOME)
    assert done.returncode == 0, done.stderr[:2000]
    assert done.stdout.endswith(" flips, all came back\n") and int(done.stdout.split()[0]) > FLIPS // SOME


@pytest.mark.slow
def test_a_tenth_of_all_flips_come_back(tmp_path: Path) -> None:
    # All of them take half a minute: run the program that this builds without a number.
    done = flips(CORE, "gcc", tmp_path, "-O2", sanitized=False, stride=10)
    assert done.returncode == 0, done.stderr[:2000]
    assert int(done.stdout.split()[0]) > FLIPS // 10


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "stride"), [("gcc", 40), ("clang", 80)])
def test_no_flip_leads_out_of_memory(compiler: str, stride: int, tmp_path: Path) -> None:
    done = flips(CORE, compiler, tmp_path, stride=stride)
    assert done.returncode == 0, done.stderr[:2000]
    assert int(done.stdout.split()[0]) > FLIPS // stride
