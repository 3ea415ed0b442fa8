# SPDX-License-Identifier: MIT
"""Lines, branches and conditions (MC/DC) of the C that tests reach: the core and what `tcuq export` ships.

    python tools/coverage_c.py [--all]

Builds core and exported C with clang's coverage, several times, as the code has parts that only some builds
compile; runs the vectors and the programs of tests/c, and joins what each build reached. Prints a table, one
row a file, and every line, branch and condition that was not reached. Exit 1 where one of them is not
explained in tools/coverage_explained.py, or where an explanation is needed no more. `--all` prints what is
explained too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "vectors"), str(ROOT / "tools")]

from coverage_explained import EXPLAINED, Explained  # noqa: E402
from llvm_coverage import Found, Homes, Spot, read  # noqa: E402

CORE, EXPORT_C, DRIVERS = ROOT / "src/tcuq/core", ROOT / "src/tcuq/export/c", ROOT / "tests/c"
KINDS = {"line": "lines", "branch": "branches", "condition": "conditions"}
VERSION = "19"
TOOLS = [f"{name}-{VERSION}" for name in ("clang", "llvm-profdata", "llvm-cov")]
CLANG, PROFDATA, COV = TOOLS
C99 = ["-std=c99", "-O0", f"-I{CORE}", f"-I{EXPORT_C}"]
MEASURED = ["-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc", "-Werror"]
PAPER = 0x00F
CHECKED = ("step", "load", "save", "init", "verify", "ring_size", "debt_bounds", "softmax", "project")
"""Functions that the self-check calls and that are broken once each: tests/c/run_selfcheck.c."""


@dataclass
class Program:
    """A program of tests/c and how it is run."""

    source: str
    arguments: Sequence[str | Path] = ()
    said: str = ""
    more: Sequence[Path] = ()
    flags: Sequence[str] = ()


@dataclass
class Build:
    """One way to compile core and exported C."""

    name: str
    flags: Sequence[str]
    programs: list[Program] = field(default_factory=list)


class NotRun(Exception):
    """A program did not compile, or what it tests is wrong."""


def vectors(signals: int | None = None) -> list[Path]:
    """Return the vectors, or those that need these signals and no head."""
    found = []
    for path in sorted((ROOT / "vectors").glob("*.vec")):
        if signals is None:
            found.append(path)
            continue
        head = path.read_text("ascii").partition("\nsizes ")[0]
        used = int(head.partition(" signals=")[2].split()[0])
        if not used & ~signals and not any(
            f"\n{name} " in head for name in ("evidence", "instant", "feedback")
        ):
            found.append(path)
    return found


def frames() -> str:
    """Return a script for run_frames: the vectors of frames and steps of all kinds."""
    from frame_scripts import GAUGES, random_cases
    from frame_scripts import vectors as stored

    cases = [case for case, _ in stored()] + random_cases(60, seed=1)
    lines = [line for case in cases for line in case.script()]
    return "\n".join([*lines, f"writer {GAUGES} 0 0 0 0 2 0 0 384"]) + "\n"  # gauges of params without any


def self_check(folder: Path, which: str) -> Program:
    """Write an exported package; return the program that breaks what it checks."""
    from exported import package

    package(folder / which, "c", which)
    for copy in (folder / which).glob("tcuq*"):
        copy.unlink()  # the core is measured where it comes from
    own = [folder / which / "kws.c", folder / which / "kws_selfcheck.c"]
    return Program("run_selfcheck", more=own, flags=[f"-I{folder / which}"])


def builds(folder: Path) -> list[Build]:
    """Return all builds, with what is run in each."""
    labels = "-DTCUQ_SIGNALS=TCUQ_EVERYTHING"  # not in a default build
    whole = Build("whole", [labels])
    whole.programs += [Program("run_vectors", vectors()), Program("run_errors"), Program("run_corners")]
    whole.programs += [Program("run_gauges", [ROOT / "vectors" / "gauges.txt"])]
    whole.programs += [Program("run_frames", said=frames()), Program("run_parts"), Program("run_limits")]
    whole.programs += [self_check(folder / "exported", which) for which in ("plain", "everything")]
    loops = Build("loops", [labels, "-DTCUQ_TEST_LOOPS"])
    loops.programs += [Program("run_vectors", vectors())]
    paper = Build("paper", [f"-DTCUQ_SIGNALS={PAPER:#x}u"])
    paper.programs += [Program("run_vectors", vectors(PAPER)), Program("run_corners")]
    signals = Build("signals", ["-DTCUQ_SIGNALS=TCUQ_ALL_SIGNALS"])  # all of them, and no baseline
    signals.programs += [Program("run_corners")]
    return [whole, loops, paper, signals]


def asked(command: Sequence[str | Path], said: str = "", **environment: str) -> str:
    """Run a command; return what it prints."""
    done = subprocess.run(
        command, input=said, capture_output=True, text=True, env={**os.environ, **environment}
    )
    if done.returncode != 0:
        text = (done.stderr or done.stdout).strip().splitlines() or ["nothing said"]
        raise NotRun(f"{Path(command[0]).name} ends with {done.returncode}: {text[0]}")
    return done.stdout


def objects_of(sources: Sequence[Path], flags: Sequence[str], folder: Path) -> list[Path]:
    """Compile files, with coverage; return the objects."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / f"{source.stem}.o" for source in sources]
    for source, target in zip(sources, made, strict=True):
        asked([CLANG, *C99, *MEASURED, *flags, "-c", source, "-o", target])
    return made


def measured(build: Build, folder: Path, homes: Homes) -> Found:
    """Compile one build and run its programs; return what they reached."""
    sources = [*sorted(CORE.glob("*.c")), *sorted(EXPORT_C.glob("*.c"))]
    shared = objects_of(sources, build.flags, folder)
    programs, profiles = [], []
    for number, program in enumerate(build.programs):
        flags = [*build.flags, *program.flags]
        broken = [f"-Dtcuq_{name}=bad_{name}" for name in CHECKED] if program.more else []
        own = objects_of(program.more, [*flags, *broken], folder / str(number))
        programs.append(folder / f"{program.source}_{number}")
        driver = [DRIVERS / f"{program.source}.c", *own, *shared]
        asked([CLANG, *C99, *MEASURED, *flags, *driver, "-o", programs[-1]])
        profiles.append(folder / f"{number}.profraw")
        asked([programs[-1], *program.arguments], program.said, LLVM_PROFILE_FILE=str(profiles[-1]))
    return joined(programs, profiles, folder, homes)


def joined(programs: Sequence[Path], profiles: Sequence[Path], folder: Path, homes: Homes) -> Found:
    """Return what some programs of one build reached together."""
    merged = folder / "all.profdata"
    asked([PROFDATA, "merge", *profiles, "-o", merged])
    given: list[str | Path] = [f"-instr-profile={merged}", programs[0]]
    for program in programs[1:]:
        given += ["-object", program]
    told = json.loads(asked([COV, "export", *given]))
    lines = asked([COV, "export", "-format=lcov", *given])
    return read(told, lines, asked([COV, "show", "-show-mcdc", *given]), homes)


def shown(spot: Spot, homes: Homes) -> tuple[str, str]:
    """Return `file:line` of the first place on the way to a spot that is no list of fields, and its text."""
    for place in spot.way:
        text = homes.line(place)
        if not re.search(r"TCUQ_(\w*NUMBERS|RULES)\(", text):
            break
    return place.rpartition(":")[0], text


def explained(spot: Spot, text: str, inner: str) -> Explained | None:
    """Return why a spot is never reached, where that is known."""
    for why in EXPLAINED:
        if why.kind == spot.kind and spot.function in why.functions and why.holds(text, inner, spot.side):
            return why
    return None


def table(found: Found, why: dict[Spot, Explained]) -> str:
    """Return one row a file: reached and all of each kind, and how many of the rest are explained."""
    rows = [["file", *KINDS.values(), "explained"]]
    files = sorted({spot.file for spot in found.reached})
    for file in [*files, ""]:
        row = [file or "all"]
        spots: list[Spot] = []
        for kind in KINDS:
            of = [found.of(kind, name) for name in (files if file == "" else [file])]
            row.append(f"{sum(sum(each.values()) for each in of)}/{sum(map(len, of))}")
            spots += [spot for each in of for spot in each]
        rows.append([*row, str(sum(spot in why for spot in spots))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) if at == 0 else cell.rjust(width) for at, (cell, width) in enumerate(row))
        for row in (list(zip(each, widths, strict=True)) for each in rows)
    )


def report(found: Found, homes: Homes, every: bool) -> int:
    """Print what was reached and what not; return the exit status."""
    missed = sorted(spot for spot, reached in found.reached.items() if not reached)
    why: dict[Spot, Explained] = {}
    open_spots: list[str] = []
    for spot in missed:
        place, text = shown(spot, homes)
        named = f"{place}: {' '.join((spot.kind, *spot.side.split()))} in {spot.function}()"
        reason = explained(spot, text, homes.line(spot.way[-1]))
        if reason is None:
            open_spots.append(f"{named} is not reached: {text}")
        else:
            why[spot] = reason
            if every:
                print(f"{named}, explained: {reason.reason}")
    needless = [each for each in EXPLAINED if each not in why.values()]
    print(table(found, why))
    print("\n".join(open_spots), end="\n" if open_spots else "")
    for each in needless:
        print(f"explained and reached, or gone: {each.kind} '{each.text}' in {', '.join(each.functions)}")
    return 1 if open_spots or needless else 0


def run(folder: Path, homes: Homes) -> Found:
    """Return what all builds reached together."""
    found = Found()
    for build in builds(folder):
        found.join(measured(build, folder / build.name, homes))
    return found


def lacking() -> str:
    """Return which tool is missing and how to install it, `` when all are there."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"{missing[0]} is missing: apt-get install clang-{VERSION} llvm-{VERSION}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            asked(
                [CLANG, *MEASURED, "-x", "c", "-", "-o", Path(folder) / "empty"],
                "int main(void) { return 0; }",
            )
        except NotRun:
            return f"{CLANG} has no runtime for coverage: apt-get install libclang-rt-{VERSION}-dev"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--all", action="store_true", help="print what is explained too")
    given = parser.parse_args(arguments)
    missing = lacking()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        homes = Homes([CORE, EXPORT_C, Path(name) / "exported"])
        try:
            return report(run(Path(name), homes), homes, given.all)
        except NotRun as error:
            print(f"coverage_c: {error}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
