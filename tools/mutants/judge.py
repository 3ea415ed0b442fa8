# SPDX-License-Identifier: MIT
"""Whether a test notices a mutant: compile what has changed, link, run."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .builds import CORE, LEVEL, SANITIZED, TESTS, Build, compile_one, includers, link, run
from .places import Mutant

KILLED, SURVIVED, EQUAL, INVALID = "killed", "survived", "equal", "invalid"

QUICK = ("errors", "limits")
"""Programs of tests/c that take no argument and little time: run_errors.c, run_limits.c."""

SLOW = "flips"
STRIDE = "8"
"""Of all bit flips, one in so many: the others tell hardly more."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    status: str
    by: str = ""
    build: str = ""


class Judge:
    """The original core, compiled in several ways, to compare mutants with."""

    def __init__(
        self, cc: str, builds: Sequence[Build], folder: Path, flips: bool = True, sanitizers: bool = True
    ) -> None:
        self._cc, self._builds, self._folder, self._flips = cc, builds, folder, flips
        # Another compiler may see that a mutant is the same where the first does not.
        self._others = [path for path in map(shutil.which, ("clang-19", "clang")) if path][:1]
        self._inside = includers(CORE)
        self._kills: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._compiling = threading.Lock()
        self._seconds: dict[str, float] = {}
        self._core = folder / "original"
        shutil.copytree(CORE, self._core)
        self.sanitized = sanitizers and self._can_sanitize()
        for build in builds:
            self._prepare(build)

    def _can_sanitize(self) -> bool:
        source = self._folder / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        return run([self._cc, *SANITIZED, source, "-o", self._folder / "empty"], 60)[0] == 0

    def _prepare(self, build: Build) -> None:
        """Compile the original, and see that its tests pass."""
        home = self._folder / build.name
        home.mkdir()
        sources = sorted(path.name for path in self._core.glob("*.c"))
        objects = [self._original(build, LEVEL, name) for name in sources]
        for program in self._programs(build):
            level = "-O2" if program == SLOW else LEVEL
            self._program_object(program, build, self._core, home, level)
            if not link(self._cc, [home / f"run_{program}.o", *objects], home / program):
                raise RuntimeError(f"run_{program}.c does not link for the build {build.name}")
            start = time.monotonic()
            status, said = self._execute(home / program, program, build, 600.0)
            self._seconds[f"{build.name} {program}"] = time.monotonic() - start
            if status != 0:
                raise RuntimeError(f"run_{program} fails without a mutant: {said}")

    def _original(self, build: Build, level: str, name: str, cc: str = "") -> Path:
        """Return the object of a file of the original, compiled when it is asked for first."""
        folder = self._folder / build.name / (Path(cc).name + level if cc not in ("", self._cc) else level)
        target = folder / f"{name[:-2]}.o"
        with self._compiling:
            folder.mkdir(exist_ok=True)
            if not target.exists() and not self._object(self._core, name, build, level, folder, cc):
                raise RuntimeError(f"{name} does not compile for the build {build.name}")
        return target

    def _programs(self, build: Build) -> list[str]:
        """Return the test programs of a build, those that take longest last."""
        if build.name == "small":
            return ["vectors", "corners"]
        if build.name != "default":
            return ["vectors"]
        return ["vectors", *QUICK, *([SLOW] if self._flips else [])]

    def _object(self, core: Path, name: str, build: Build, level: str, into: Path, cc: str = "") -> bool:
        target = into / f"{name[:-2]}.o"
        return compile_one(cc or self._cc, core / name, target, (level, *build.flags), core)

    def _program_object(self, program: str, build: Build, core: Path, into: Path, level: str = LEVEL) -> bool:
        target = into / f"run_{program}.o"
        return compile_one(self._cc, TESTS / f"run_{program}.c", target, (level, *build.flags), core)

    def _execute(self, runner: Path, program: str, build: Build, seconds: float) -> tuple[int, str]:
        with self._lock:
            order = sorted(build.vectors, key=lambda path: -self._kills[path.name])
        given: list[Path | str] = [*order] if program == "vectors" else [STRIDE] if program == SLOW else []
        status, said = run([runner, *given], seconds)
        if program == "vectors" and status == 1:
            name = Path(said.rpartition("\n/")[2].partition(".vec:")[0]).name + ".vec"
            with self._lock:
                self._kills[name] += 1
        return status, said

    def judge(self, mutant: Mutant, place: Path) -> Verdict:
        """Return what becomes of a mutant; `place` is a folder of its own."""
        core = place / "core"
        if not core.exists():
            shutil.copytree(self._core, core)
        original = (self._core / mutant.file).read_text("utf-8")
        (core / mutant.file).write_text(mutant.apply(original), "utf-8")
        try:
            return self._judge(mutant, place, core)
        finally:
            (core / mutant.file).write_text(original, "utf-8")

    def _judge(self, mutant: Mutant, place: Path, core: Path) -> Verdict:
        survived = []
        for build in self._builds:
            changed = self._compiled(mutant, place, core, build, LEVEL)
            if changed is None:
                return Verdict(INVALID)
            if not changed:
                continue
            killer = self._killer(mutant, place, core, build, changed)
            if killer:
                return Verdict(KILLED, killer, build.name)
            survived.append(build)
        if SLOW in self._programs(self._builds[0]) and self._builds[0] in survived:
            build = self._builds[0]
            changed = self._compiled(mutant, place, core, build, LEVEL) or ()
            if self._fails(SLOW, build, place, self._objects(place, core, build, changed)):
                return Verdict(KILLED, SLOW, build.name)
        for build in survived:
            if self._differs(mutant, place, core, build):
                return Verdict(SURVIVED, "", build.name)
        return Verdict(EQUAL)

    def _compiled(
        self, mutant: Mutant, place: Path, core: Path, build: Build, level: str, cc: str = ""
    ) -> tuple[str, ...] | None:
        """Return the C files whose object code differs from the original's; None where it is no C."""
        changed = []
        for name in self._inside[mutant.file]:
            if not self._object(core, name, build, level, place, cc):
                return None
            mine = (place / f"{name[:-2]}.o").read_bytes()
            if mine != self._original(build, level, name, cc).read_bytes():
                changed.append(name)
        return tuple(changed)

    def _differs(self, mutant: Mutant, place: Path, core: Path, build: Build) -> bool:
        """Return whether the object code differs in every way that products are built."""
        ways = [(self._cc, level) for level in ("-O2", "-Os", "-O3")] + [
            (other, "-O2") for other in self._others
        ]
        return all(self._compiled(mutant, place, core, build, level, cc) for cc, level in ways)

    def _killer(self, mutant: Mutant, place: Path, core: Path, build: Build, changed: tuple[str, ...]) -> str:
        """Return what notices a mutant, or nothing."""
        objects = self._objects(place, core, build, changed)
        for program in [name for name in self._programs(build) if name != SLOW]:
            if self._fails(program, build, place, objects):
                return program
        if self.sanitized and build.name == "default" and self._sanitizer_sees(place, core, build):
            return "vectors, sanitized"
        return ""

    def _objects(self, place: Path, core: Path, build: Build, changed: tuple[str, ...]) -> list[Path]:
        original = self._folder / build.name / LEVEL
        names = sorted(path.name for path in core.glob("*.c"))
        return [(place if name in changed else original) / f"{name[:-2]}.o" for name in names]

    def _fails(self, program: str, build: Build, place: Path, objects: list[Path]) -> bool:
        part = self._folder / build.name / f"run_{program}.o"
        runner = place / program
        if not link(self._cc, [part, *objects], runner):
            return True  # a name is missing
        usual = self._seconds[f"{build.name} {program}"]
        return self._execute(runner, program, build, max(10 * usual, 5.0))[0] != 0

    def _sanitizer_sees(self, place: Path, core: Path, build: Build) -> bool:
        runner = place / "sanitized"
        sources = [TESTS / "run_vectors.c", *sorted(core.glob("*.c"))]
        flags = ["-std=c99", "-w", *SANITIZED, *build.flags, f"-I{core}"]
        command: list[str | Path] = [self._cc, *flags, *sources, "-o", runner]
        if run(command, 300)[0] != 0:
            return False
        usual = self._seconds[f"{build.name} vectors"]
        return self._execute(runner, "vectors", build, max(100 * usual, 60.0))[0] != 0
