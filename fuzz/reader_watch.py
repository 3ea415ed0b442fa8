# SPDX-License-Identifier: MIT
"""One case after the other: run a reader on a damaged file and judge how it ends."""

from __future__ import annotations

import hashlib
import os
import random
import re
import resource
import shutil
import signal
import time
import warnings
from pathlib import Path
from typing import Any

from reader_mutations import MOST, any_bytes
from reader_targets import TARGETS, Broken

from tcuq.io import InputNote

CORPUS = Path(__file__).resolve().parent / "corpus" / "readers"

SECONDS = 2.0
"""Of the processor, for one file of some kilobytes."""

MEMORY = 300 << 20
"""Bytes that one file may take."""

LONGEST = 1000
"""Characters of a message."""

MOST_KEPT = 400
"""Mutated files that are mutated further."""


FEWEST = 20
"""Cases that a worker runs at least."""


class Slow(BaseException):
    """A reader takes too long."""


def keep(out: Path, name: str, why: str, content: bytes) -> str:
    """Keep the input of a finding; return what is said about it."""
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}{TARGETS[name].suffix}"
    target.write_bytes(content)
    return f"{target.name}: {why}"


def case_content(scratch: Path) -> bytes:
    """Return the file that a worker was reading when it died."""
    for path in scratch.glob("work/in.*"):
        return path.read_bytes()
    return b""


class Worker:
    """Runs cases of one reader in this process: `scratch` holds the file that is read, `out` what is found.

    `limited` limits the memory of this process and watches what is printed: in a process of its own alone.
    """

    def __init__(self, name: str, seed: int, scratch: Path, out: Path, limited: bool = False) -> None:
        self.name, self.target, self.seed, self.out = name, TARGETS[name], seed, out
        self.scratch, self.work = scratch, scratch / "work"
        self.work.mkdir(exist_ok=True)
        self.seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
        self.pool = list(self.seeds)
        self.counts = {"cases": 0, "accepted": 0, "refused": 0, "ways": 0, "findings": 0}
        self.said: list[str] = []
        self._ways: set[str] = set()
        self._printed = -1
        self._told: set[str] = set()
        self._limited = limited

    def run(self, first: int, seconds: float) -> dict[str, Any]:
        """Run cases until the time is over; return what came of them."""
        keep_out = os.dup(1)
        if self._limited:
            # What a reader prints goes to a file, whose size tells.
            self._printed = os.open(self.scratch / "printed", os.O_RDWR | os.O_CREAT)
            os.dup2(self._printed, 1)
        until, case = time.monotonic() + seconds, first
        for content in self.seeds:
            self._one(content, "a seed")
        if self._limited and Path("/proc/self/statm").exists():
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
        heart = self.scratch / "case"
        # A machine that is busy may spend a short share on starting: a few cases run all the same.
        while time.monotonic() < until or case < first + FEWEST:
            heart.write_text(str(case))
            self.case(case)
            case += 1
        os.dup2(keep_out, 1)
        return {**self.counts, "next": case, "said": self.said}

    def case(self, number: int) -> None:
        """Run one case; the same number gives the same damage while the pool is the same."""
        draw = random.Random(f"{self.seed} {self.name} {number}")
        content = draw.choice(self.seeds if draw.random() < 0.4 else self.pool)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            try:
                content = self.target.mutate(content, draw, self.pool)[:MOST]
            except Exception:  # what was damaged before may have lost what a mutation looks for
                content = any_bytes(content, draw, self.pool)[:MOST]
        self._one(content, f"case {number}")

    def _one(self, content: bytes, what: str) -> None:
        why = self.judge(content)
        self.counts["cases"] += 1
        if why:
            kind = re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "#", why)[:120]
            self.counts["findings"] += 1
            if kind not in self._told and len(self._told) < 40:  # one input of a kind is enough
                self._told.add(kind)
                self.said.append(keep(self.out, self.name, f"{what}: {why}", content))

    def judge(self, content: bytes) -> str:
        """Read a file; return what is wrong with how that ended, nothing where it is as promised."""
        path = self.work / f"in{self.target.suffix}"
        path.write_bytes(content)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun = time.process_time()
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            why, way = self._read(path)
        took = time.process_time() - begun
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if not why and took > SECONDS:
            why = f"takes {took:.1f} s"
        if not why and grown > MEMORY:
            why = f"takes {grown >> 20} MB"
        if not why:
            why = self._noted(notes)
        if not why and self._printed >= 0 and os.fstat(self._printed).st_size:
            os.ftruncate(self._printed, 0)
            why = "prints something"
        left = [each for each in self.work.iterdir() if each != path]
        if left and not why and not self.target.writes:
            why = f"leaves {left[0].name} behind"
        for each in left:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        if not why:
            self._count(way, content)
        return why

    def _count(self, way: str, content: bytes) -> None:
        self.counts["accepted" if way.startswith("accepted") else "refused"] += 1
        if way not in self._ways and len(self._ways) < MOST_KEPT:
            self._ways.add(way)
            self.counts["ways"] = len(self._ways)
            self.pool.append(content)

    def _read(self, path: Path) -> tuple[str, str]:
        """Return what is wrong, and how it ended."""

        def late(number: int, frame: Any) -> None:
            raise Slow

        old = signal.signal(signal.SIGPROF, late)
        signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
        try:
            self.target.read(path)
            return "", "accepted"
        except Slow:
            return f"takes more than {2 * SECONDS:g} s", ""
        except Broken as error:
            return f"breaks a promise: {error}", ""
        except ValueError as error:
            return self._refusal(error, str(path))
        except OSError as error:
            if error.errno and error.filename:  # a file that another one names is missing
                return "", f"OSError {error.errno}"
            return f"{type(error).__name__}: {error}", ""
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            return f"{type(error).__name__}: {str(error)[:300]}{_place(error)}", ""
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, old)

    def _refusal(self, error: ValueError, path: str) -> tuple[str, str]:
        text = str(error)
        if type(error) is not ValueError and not type(error).__module__.startswith("tcuq"):
            return f"{type(error).__name__}: {text[:300]}{_place(error)}", ""
        if not text.isprintable():
            return f"the message has odd characters: {text[:300]!r}", ""
        if len(text) > LONGEST:
            return f"the message has {len(text)} characters: {text[:200]!r}", ""
        return "", re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "#", text.replace(path, ""))[:200]

    def _noted(self, notes: list[Any]) -> str:
        for note in notes:
            text = str(note.message)
            if not issubclass(note.category, InputNote):
                return f"warns: {note.category.__name__}: {text[:300]}"
            if not text.isprintable() or len(text) > LONGEST:
                return f"a note has odd characters or is long: {text[:300]!r}"
        return ""


def _place(error: BaseException) -> str:
    """Return where an exception was raised, in our own code."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "/tcuq/" in file:
            place = f" at {file.rpartition('/tcuq/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
