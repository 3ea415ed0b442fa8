"""A refused parameter is named: one error a field, one a rule between fields."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from compilers import need_compiler
from places import CORE, CORE_SOURCES, ROOT
from vector_files import FULL_BUILD

from tcuq.monitor.made import ROWS

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{CORE}"]
TEXT = (CORE / "tcuq_fields.h").read_text().split("#define TCUQ_RULES(X)")[1].split("\n\n")[0]
RULES = re.findall(r'^    X\((\w+), (\w+),(?:[^"]|\\\n)*?"(.*?)"\)', TEXT, re.MULTILINE)
NUMBERS = [row for row in ROWS if row.kind == "one" and row.name not in ("version", "fingerprint")]
OF_TYPES = ((0, 2**16 - 1), (0, 2**32 - 1), (-(2**15), 2**15 - 1))
WHOLE = {row for row in NUMBERS if (row.low, row.high) in OF_TYPES}
"""Fields whose range is that of their type; rules have the word on some of them."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("errors")
    need_compiler("gcc", "O0", folder)
    program = folder / "run_errors"
    sources = [ROOT / "tests" / "c" / "run_errors.c", *CORE_SOURCES]
    subprocess.run(["gcc", *STRICT, FULL_BUILD, *sources, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def test_every_error_is_reached_and_has_its_own_code(said: list[str]) -> None:
    codes = {int(line.split()[0]) for line in said}
    # All but ranges that a type cannot leave; the version has an error of its own.
    assert len(codes - {-5}) == len(NUMBERS) - len(WHOLE) + len(RULES)
    assert all(-128 < code < -6 for code in codes - {-5})


def test_errors_name_the_field_and_its_range(said: list[str]) -> None:
    words = {line.split(" ", 1)[1] for line in said}
    for row in set(NUMBERS) - WHOLE:
        name = row.name if row.part == "params" else f"{row.part} {row.name}"
        assert f"{name}: expected {row.low} to {row.high}" in words
    for _, field, expected in RULES:
        assert f"{field}: expected {expected}" in words
    assert "version: expected the layout of this tcuq.h: fit or export again" in words


def test_errors_in_words_are_not_linked_where_nobody_asks(tmp_path: Path) -> None:
    need_compiler("gcc", "O0", tmp_path)
    program = tmp_path / "step_count"
    sources = [ROOT / "bench" / "step_count.c", *CORE_SOURCES]
    sections = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    subprocess.run(["gcc", *STRICT, "-Os", *sections, *sources, "-o", program], check=True)
    assert b"expected" not in program.read_bytes() and b"at most steep_slope" not in program.read_bytes()
