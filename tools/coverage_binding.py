# SPDX-License-Identifier: MIT
"""Print which lines and branches of the compiled parts the tests run; exit 1 where some are not.

    python tools/coverage_binding.py

gcc builds the binding of the core and the native part of the fleet with counters beside copies of the Python
files, in a scratch folder, and gcovr reads them. EXCEPTIONS names what no test can reach, with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = (
    *("tests/binding", "tests/monitor/test_bank.py", "tests/monitor/test_feedback.py"),
    *("tests/monitor/test_input.py", "tests/io/test_binary_frames.py", "watch/tests/fleet/test_native.py"),
    *("watch/tests/fleet/test_event_order.py", "watch/tests/fleet/test_fleet_tallies.py"),
    *("tests/core/test_gauges.py", "tests/monitor/test_monitor_refusals.py"),
    *("watch/tests/fleet/test_fleet_labels.py", "watch/tests/fleet/test_fleet_sight.py"),
)
EXCEPTIONS = {
    "more > UINT32_MAX || all > UINT32_MAX": "the last condition holds only where addresses have 32 bits",
    "kwargs != NULL && PyDict_Size(kwargs) > 0": "Python passes NULL for no keywords; C alone an empty dict",
    "room <= (size_t)PY_SSIZE_T_MAX / self->record / 2u": "a bank of half of all addresses fits no memory",
    "Py_CLEAR(tuple);": "the macro asks again whether there is a tuple",
    "!PyErr_ExceptionMatches(PyExc_MemoryError)": "an interrupt comes from a __buffer__ of Python 3.12 alone",
    't->view.format == NULL ? "B"': "an exporter in C may leave it out; those of Python and numpy say it",
    "units >= 0.0 ? (int)units : 0": "only where another thread writes between the check and here",
}
"""A part of the line, and the reason; one that is reached is an error as well."""


def build(folder: Path, source: Path, name: str, measured: str) -> None:
    """Build one extension beside a copy of its package, one folder of its C with counters."""
    package = folder / "src" / source.name
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    flags = ["-std=c99", "-g0", "-fPIC", "-DTCUQ_SIGNALS=TCUQ_EVERYTHING", f"-I{package}"]
    if sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED"):
        flags.append("-DPy_LIMITED_API=0x030B0000")
    for part in (measured, "core"):
        how = ["--coverage", "-fprofile-update=atomic", "-O0"] if part == measured else ["-O2"]
        include = ["-isystem", sysconfig.get_paths()["include"]]
        for path in sorted((package / part).glob("*.c")):
            target = folder / f"{source.name}-{path.stem}.o"
            subprocess.run(["gcc", *flags, *how, *include, "-c", path, "-o", target], check=True)
    library = package / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    objects = sorted(folder.glob(f"{source.name}-*.o"))
    subprocess.run(["gcc", "-shared", "--coverage", *objects, "-o", library], check=True)


def main() -> int:
    """Build, run, print; return the exit status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        build(folder, ROOT / "src" / "tcuq", "_core", "binding")
        build(folder, ROOT / "watch" / "src" / "tcuq_watch", "_native", "native")
        environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
        code = "import tcuq._core as a, tcuq_watch._native as b; print(a.__file__, b.__file__)"
        used = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
        if used.count(str(folder)) != 2:
            sys.exit(f"the tests would use {used.strip()}, expected the builds in {folder}")
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS]
        subprocess.run(pytest, cwd=ROOT, env=environment, check=True)
        gcovr = ["gcovr", "--root", folder, "--txt", "-", "--json", folder / "found.json"]
        subprocess.run([sys.executable, "-m", *gcovr, folder], check=True)
        open_lines, excused = [], set()
        for file in json.loads((folder / "found.json").read_text())["files"]:
            text = (folder / file["file"]).read_text(encoding="utf-8").splitlines()
            for line in file["lines"]:
                here = text[line["line_number"] - 1].strip()
                if line["count"] and all(branch["count"] for branch in line["branches"]):
                    continue
                known = {part for part in EXCEPTIONS if part in here}
                excused |= known
                if not known:
                    open_lines.append(f"{file['file']}:{line['line_number']} is not reached: {here}")
    stale = [
        f"is reached, expected no exception for it: {part}" for part in EXCEPTIONS if part not in excused
    ]
    print(*open_lines, *stale, sep="\n")
    return int(bool(open_lines or stale))


if __name__ == "__main__":
    sys.exit(main())
