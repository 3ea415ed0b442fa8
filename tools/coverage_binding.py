# SPDX-License-Identifier: MIT
"""Print which lines and branches of the compiled parts the tests run; exit 1 where some are not.

The binding of the core and the native part of the fleet are built by gcc with counters, without optimization,
beside copies of the Python files in a scratch folder; nothing of the checkout changes. EXCEPTIONS names what
no test can reach, with the reason; one that is reached is an error as well.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COUNTED = {"binding": "src/tcuq/binding", "native": "watch/src/tcuq_watch/native"}
"""Folders whose lines count, by their name."""
TESTS = (
    "tests/binding",
    "tests/monitor/test_bank.py",
    "tests/monitor/test_feedback.py",
    "tests/monitor/test_input.py",
    "watch/tests/fleet/test_native.py",
    "watch/tests/fleet/test_event_order.py",
    "watch/tests/fleet/test_fleet_tallies.py",
    "tests/io/test_binary_frames.py",
)
EXCEPTIONS: tuple[tuple[str, str, str, str], ...] = (
    (
        "binding/bank.c",
        "extend",
        "if (more > UINT32_MAX || all > UINT32_MAX || all > (size_t)PY_SSIZE_T_MAX / self->record) {",
        "the last condition holds only where addresses have 32 bits",
    ),
    (
        "binding/bank.c",
        "bank_new",
        "if (kwargs != NULL && PyDict_Size(kwargs) > 0) {",
        "Python passes NULL for no keywords; an empty dict comes from C alone",
    ),
    (
        "binding/core.c",
        "core_new",
        "if (kwargs != NULL && PyDict_Size(kwargs) > 0) {",
        "Python passes NULL for no keywords; an empty dict comes from C alone",
    ),
    (
        "binding/bank.c",
        "reserve",
        "size_t room = self->room > all / 2u && self->room <= (size_t)PY_SSIZE_T_MAX / self->record / 2u "
        "? 2u * self->room : all;",
        "a bank of half of all addresses fits no memory",
    ),
    (
        "binding/module.c",
        "signal_meanings",
        "Py_CLEAR(tuple);",
        "the macro asks again whether there is a tuple",
    ),
    (
        "binding/input.c",
        "table_open",
        "if (PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) {",
        "an interrupt comes from a __buffer__ of Python 3.12 alone",
    ),
    (
        "binding/input.c",
        "table_open",
        'format = t->view.format == NULL ? "B" : t->view.format;',
        "an exporter in C may leave the format out; those of Python and numpy say it",
    ),
    (
        "binding/input.c",
        "probs_row",
        "u = units >= 255.0 ? 255 : units >= 0.0 ? (int)units : 0;",
        "below 0 only where another thread writes between the check and here",
    ),
)
"""File, function, text of the line, reason."""


def build(folder: Path) -> None:
    """Build the extensions into copies of their packages."""
    counts = ["--coverage", "-fprofile-update=atomic"]
    extension(folder, ROOT / "src" / "tcuq", "_core", {"binding": counts, "core": ["-O2"]})
    extension(folder, ROOT / "watch" / "src" / "tcuq_watch", "_native", {"native": counts})


def extension(folder: Path, source_of: Path, name: str, parts: dict[str, list[str]]) -> None:
    """Build one extension from the C of some folders, each with flags of its own."""
    package = folder / "src" / source_of.name
    shutil.copytree(source_of, package, ignore=shutil.ignore_patterns("*.so", "__pycache__", "*.pyd"))
    flags = [
        "-std=c99",
        "-O0",
        "-g0",
        "-fPIC",
        "-DTCUQ_SIGNALS=TCUQ_EVERYTHING",
    ]  # as in setup.py
    if sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
        flags.append("-DPy_LIMITED_API=0x030B0000")
    include = sysconfig.get_paths()["include"]
    objects = []
    for part, counted in parts.items():
        for source in sorted((package / part).glob("*.c")):
            target = folder / f"{part}-{source.stem}.o"
            command: list[str | Path] = [
                "gcc",
                *flags,
                *counted,
                "-I",
                package,
                "-isystem",
                include,
                "-c",
                source,
                "-o",
                target,
            ]
            subprocess.run(command, check=True)
            objects.append(target)
    library = package / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["gcc", "-shared", "--coverage", *map(str, objects), "-o", str(library)], check=True)


def run_tests(folder: Path) -> int:
    """Run the tests against that build; return the exit status."""
    tests = [name for name in TESTS if (ROOT / name).exists()]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    found = subprocess.run(
        [sys.executable, "-c", "import tcuq._core, tcuq_watch._native as n; print(n.__file__)"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    if not found.stdout.startswith(str(folder)):
        sys.exit(f"the tests would use {found.stdout.strip()}, expected the build in {folder}")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def counted(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what gcov says of each line, by file."""
    objects = [str(path) for path in sorted(folder.glob("*.gcda"))]
    subprocess.run(
        ["gcov", "--json-format", "--branch-probabilities", *objects],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    lines: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.gcov.json.gz")):
        for file in json.loads(gzip.decompress(path.read_bytes()))["files"]:
            name = Path(file["file"])
            if name.parent.name in COUNTED and name.suffix == ".c":
                lines.setdefault(f"{name.parent.name}/{name.name}", []).extend(file["lines"])
    return lines


def missing(line: dict[str, Any]) -> int:
    """Return how many branches of a line never went that way, 1 for a line that never ran."""
    if line["count"] == 0:
        return max(1, len(line["branches"]))
    return sum(branch["count"] == 0 for branch in line["branches"])


def main() -> int:
    """Build, run, print; return the exit status."""
    if shutil.which("gcc") is None or shutil.which("gcov") is None:
        print("gcc or gcov is missing: install the Debian package gcc", file=sys.stderr)
        return 2
    excused: Counter[tuple[str, str, str]] = Counter()
    known = {each[:3]: each[3] for each in EXCEPTIONS}
    open_lines: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        build(folder)
        status = run_tests(folder)
        if status != 0:
            print(f"the tests ended with {status}, expected 0", file=sys.stderr)
            return 1
        totals = [0, 0, 0, 0]
        print(f"{'file':<20}{'lines':>14}{'branches':>14}")
        for file, lines in sorted(counted(folder).items()):
            part, _, base = file.partition("/")
            text = (ROOT / COUNTED[part] / base).read_text(encoding="utf-8").splitlines()
            ways = [branch for line in lines for branch in line["branches"]]
            counts = [
                sum(line["count"] > 0 for line in lines),
                len(lines),
                sum(way["count"] > 0 for way in ways),
                len(ways),
            ]
            totals = [a + b for a, b in zip(totals, counts, strict=True)]
            print(f"{file:<20}{f'{counts[0]}/{counts[1]}':>14}{f'{counts[2]}/{counts[3]}':>14}")
            for line in lines:
                lacking = missing(line)
                key = (file, line.get("function_name", ""), text[line["line_number"] - 1].strip())
                if lacking and key in known:
                    excused[key] += 1
                elif lacking:
                    what = "never runs" if line["count"] == 0 else f"{lacking} ways never taken"
                    open_lines.append(f"{COUNTED[part]}/{base}:{line['line_number']}: {what}: {key[2]}")
        print(f"{'all':<20}{f'{totals[0]}/{totals[1]}':>14}{f'{totals[2]}/{totals[3]}':>14}")
    for key in excused:
        print(f"excepted: {key[0]} {key[1]}: {key[2]} ({known[key]})")
    print("\n".join(open_lines))
    stale = [key for key in known if key not in excused]
    for key in stale:
        print(f"{key[0]} {key[1]}: {key[2]!r} is reached, expected no exception for it")
    return 1 if open_lines or stale else 0


if __name__ == "__main__":
    sys.exit(main())
