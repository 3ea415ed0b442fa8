# SPDX-License-Identifier: MIT
"""Whether the self-check of an exported package notices what the vectors notice."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from .builds import CORE, LEVEL, TESTS, Build, compile_one, includers, link, run, vectors_of
from .judge import EQUAL, INVALID, KILLED, SURVIVED, Verdict
from .places import Mutant

UNSEEN = "unseen"
"""Not noticed by the vectors that the build can run, so nothing is asked of the self-check."""

NOT_LINKED = "tcuq_error.c"
"""A program that prints no errors in words does not carry it."""

_MAIN = """#include "monitor.h"
#include "monitor_selfcheck.h"
int main(void)
{
    static uint32_t ring[MONITOR_RING_BYTES / 4u];
    return monitor_selfcheck(ring, sizeof ring) != 0;
}
"""


class SelfCheck:
    """One exported package, compiled as its header says."""

    def __init__(self, cc: str, package: Path, folder: Path) -> None:
        self.name = package.name
        self._cc, self._home = cc, folder / f"package_{package.name}"
        shutil.copytree(package, self._home / "package")
        self._core = self._home / "package"
        self._inside = {
            name: tuple(one for one in files if one != NOT_LINKED) for name, files in includers(CORE).items()
        }
        self._build = _build_of(package)
        (self._core / "check.c").write_text(_MAIN)
        self._sources = sorted(path.name for path in CORE.glob("*.c"))
        self._check = [self._home / f"{name}.o" for name in ("check", "monitor", "monitor_selfcheck")]
        for name in self._sources:
            self._must(
                compile_one(cc, self._core / name, self._object(name, self._home), self._flags, self._core)
            )
        for target in self._check:
            self._must(compile_one(cc, self._core / f"{target.stem}.c", target, self._flags, self._core))
        self._runner = self._home / "run_vectors.o"
        self._must(compile_one(cc, TESTS / "run_vectors.c", self._runner, self._flags, self._core))
        self._usual = {"check": 0.0, "vectors": 0.0}
        objects = [self._object(name, self._home) for name in self._sources]
        for program in self._usual:
            start = time.monotonic()
            self._must(not self._fails(program, objects, self._home, 600.0))
            self._usual[program] = time.monotonic() - start

    @property
    def _flags(self) -> tuple[str, ...]:
        return (LEVEL, *self._build.flags)

    def _must(self, done: bool) -> None:
        if not done:
            raise RuntimeError(f"the package {self.name} does not build or fails without a mutant")

    def _object(self, source: str, folder: Path) -> Path:
        return folder / f"{source[:-2]}.o"

    def judge(self, mutant: Mutant, place: Path) -> Verdict:
        """Return what becomes of a mutant; `place` is a folder of its own."""
        core = place / self.name
        if not core.exists():
            core.mkdir()
            for path in self._core.glob("tcuq*.[ch]"):
                shutil.copy(path, core)
        original = (self._core / mutant.file).read_text("utf-8")
        (core / mutant.file).write_text(mutant.apply(original), "utf-8")
        try:
            return self._judge(mutant, core)
        finally:
            (core / mutant.file).write_text(original, "utf-8")

    def _judge(self, mutant: Mutant, core: Path) -> Verdict:
        changed = []
        for name in self._inside[mutant.file]:
            target = self._object(name, core)
            if not compile_one(self._cc, core / name, target, self._flags, core):
                return Verdict(INVALID)
            if target.read_bytes() != self._object(name, self._home).read_bytes():
                changed.append(name)
        if not changed:
            return Verdict(EQUAL)
        objects = [self._object(name, core if name in changed else self._home) for name in self._sources]
        if not self._fails("vectors", objects, core, max(10 * self._usual["vectors"], 5.0)):
            return Verdict(UNSEEN)
        if self._fails("check", objects, core, max(10 * self._usual["check"], 5.0)):
            return Verdict(KILLED, "self-check", self.name)
        return Verdict(SURVIVED, "", self.name)

    def _fails(self, program: str, objects: list[Path], place: Path, seconds: float) -> bool:
        parts = [self._runner] if program == "vectors" else self._check
        runner = place / f"{program}.out"
        if not link(self._cc, [*parts, *objects], runner):
            return True
        vectors = self._build.vectors if program == "vectors" else ()
        return run([runner, *vectors], seconds)[0] != 0


def _build_of(package: Path) -> Build:
    """Return how a package is compiled, from the comment of its header."""
    header = (package / "monitor.h").read_text("utf-8")
    signals = int(re.findall(r"-DTCUQ_SIGNALS=0x([0-9A-F]+)u", header)[0], 16)
    own = (f"-DTCUQ_SIGNALS=0x{signals:X}u",)
    evidence, instant = bool(signals & ~0xF), bool(signals >> 8 & 1)
    return Build(package.name, own, vectors_of(signals, evidence, instant))
