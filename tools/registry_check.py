"""Check the folders of tools/registry.py: by our own words for the published rules, and by the linters.

    python tools/registry_check.py OUT

A linter that is not installed is named and left out:

    arduino-lint        https://arduino.github.io/arduino-lint
    pio                 pip install platformio
    compote             pip install idf-component-manager

Exit status: 0, 1 when something is wrong, 2 when a folder is missing.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from registry import LIBRARY
from registry_rules import RULES

# PlatformIO loads the list of licenses from the network; without one, a list with ours stands in for it.
_PIO = """
import sys
from platformio.package.manifest.schema import ManifestSchema
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "MIT"}]})
from platformio.__main__ import main
sys.exit(main(["pio", *sys.argv[1:]]))
"""


@dataclass(frozen=True)
class Result:
    """What one linter said of one folder."""

    linter: str
    passed: bool | None
    said: str = ""


def installed(name: str) -> str | None:
    """Return the path of a program: beside this Python, where pip puts it, or in PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    return beside or shutil.which(name)


def _ran(command: Sequence[str | Path], folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=300
    )
    return done.returncode, (done.stdout + done.stderr).strip()


def _version(command: Sequence[str], folder: Path) -> str:
    return (_ran(command, folder)[1].splitlines() or ["unknown version"])[-1].strip()


def arduino_lint(folder: Path) -> Result:
    """Run arduino-lint as the Library Manager does for a new library."""
    tool = installed("arduino-lint")
    if tool is None:
        return Result("arduino-lint", None)
    status, said = _ran([tool, "--library-manager", "submit", "--compliance", "strict", "."], folder)
    return Result(_version([tool, "--version"], folder), status == 0, said)


def pio_pack(folder: Path) -> Result:
    """Pack as `pio pkg publish` does before it sends."""
    tool = installed("pio")
    if tool is None:
        return Result("pio pkg pack", None)
    version, remark = _version([tool, "--version"], folder), ""
    with tempfile.TemporaryDirectory() as work:
        command: list[str | Path] = [tool, "pkg", "pack", "-o", Path(work) / "tcuq.tar.gz", "."]
        status, said = _ran(command, folder)
        if status != 0 and "Could not load SPDX licenses" in said:
            interpreter = Path(tool).read_text(encoding="utf-8").splitlines()[0].removeprefix("#!")
            status, said = _ran([interpreter, "-c", _PIO, *command[1:]], folder)
            remark = "without its list of licenses: no network"
    return Result(f"{version}, pkg pack", status == 0, remark if status == 0 else said)


def compote_pack(folder: Path) -> Result:
    """Pack as `compote component upload` does before it sends."""
    tool = installed("compote")
    if tool is None:
        return Result("compote component pack", None)
    with tempfile.TemporaryDirectory() as work:
        command = [tool, "component", "pack", "--name", "tcuq", "--dest-dir", work]
        status, said = _ran(command, folder)
    passed = status == 0 and "WARNING" not in said
    return Result(
        f"compote {_version([tool, 'version'], folder)}, component pack", passed, "" if passed else said
    )


LINTERS = {"arduino": arduino_lint, "platformio": pio_pack, "espidf": compote_pack}
"""The linter of each registry, by the name of the folder around a package."""


def checked(name: str, folder: Path) -> list[Result]:
    """Return what our rules and the linter say of one folder."""
    broken = list(RULES[name](folder))
    found = [Result("rules", not broken, "\n".join(broken))]
    return found + ([LINTERS[name](folder)] if name in LINTERS else [])


def main(argv: list[str] | None = None) -> int:
    """Check every folder; a line for each check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="what tools/registry.py made")
    out: Path = parser.parse_args(argv).out
    failed = False
    for name in RULES:
        folder = out / name / LIBRARY
        if not folder.is_dir():
            print(
                f"registry_check: {folder} is missing; make it: python tools/registry.py {out}",
                file=sys.stderr,
            )
            return 2
        for each in checked(name, folder):
            word = {True: "passed", False: "FAILED", None: "not installed"}[each.passed]
            print(f"{name}: {each.linter}: {word}" + (f" ({each.said})" if each.passed and each.said else ""))
            if each.passed is False:
                failed = True
                print(each.said)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
