# SPDX-License-Identifier: MIT
"""Feed damaged files to every reader: `python fuzz/readers.py --seconds 60 --seed 1 [--reader NAME]`.

A reader may accept a file, if what it gives keeps the reader's promises, or refuse it by a ValueError of one
line. Everything else is a finding: other exceptions, warnings, output, files, more than 2 seconds of the
processor or 300 MB of memory, a crash. Inputs of findings are kept in out/fuzz/readers.

A file that is refused in a new way, or accepted, joins those that are mutated further.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reader_targets import TARGETS, missing
from reader_watch import Worker, case_content

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "fuzz" / "readers"

SILENT = 90.0
"""Seconds without a word from a worker after which it hangs."""


class Run:
    """One reader's share of the work, in processes of its own so that a crash ends only them."""

    def __init__(self, name: str, seed: int, out: Path) -> None:
        self.name, self.seed, self.out = name, seed, out
        self.counts = {"cases": 0, "accepted": 0, "refused": 0, "ways": 0, "findings": 0}
        self.findings: list[str] = []
        self._first = 0

    def go(self, seconds: float) -> None:
        """Run until the time is over, starting anew after a crash."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.2:
            self._worker(left)

    def _worker(self, seconds: float) -> None:
        command = [sys.executable, __file__, "--worker", self.name, "--seed", str(self.seed)]
        command += ["--seconds", f"{seconds:.1f}", "--first", str(self._first), "--out", str(self.out)]
        with tempfile.TemporaryDirectory(dir=_memory()) as scratch:
            heart = Path(scratch) / "case"
            command += ["--scratch", scratch]
            with (Path(scratch) / "said").open("w+") as said:
                worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
                why = self._wait(worker, heart)
                text = worker.stdout.read() if worker.stdout else ""
                if worker.stdout:
                    worker.stdout.close()
                said.seek(0)
                told = said.read()[-400:]
            self._first = _number(heart)
            if worker.returncode == 0 and text:
                found = json.loads(text)
                self._first = found.pop("next")
                self.findings += found.pop("said")
                for key in self.counts:
                    self.counts[key] += found[key]
                return
            # The worker died: the file that it was reading is the finding.
            content = case_content(Path(scratch))
            self._keep(why or f"the process ended with {worker.returncode}: {told}", content)
            self.counts["cases"] += 1
            self._first += 1

    def _wait(self, worker: subprocess.Popen[str], heart: Path) -> str:
        last, since = -1, time.monotonic()
        while worker.poll() is None:
            time.sleep(0.05)
            now = _number(heart)
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > SILENT:
                worker.kill()
                worker.wait()
                return f"the reader hangs for {SILENT:g} s"
        return ""

    def _keep(self, why: str, content: bytes) -> None:
        from reader_watch import keep

        self.counts["findings"] += 1
        self.findings.append(keep(self.out, self.name, why, content))


def _number(heart: Path) -> int:
    try:
        return int(heart.read_text() or 0)
    except (OSError, ValueError):
        return 0


def _memory() -> str | None:
    """Return a folder in memory, where there is one: waiting for a disk finds nothing."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main(arguments: list[str] | None = None) -> int:
    """Run all readers, or one; 1 where there are findings."""
    parser = argparse.ArgumentParser(description="Feed damaged files to every reader.")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all readers together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", choices=sorted(TARGETS), help="one reader alone")
    parser.add_argument("--out", type=Path, default=OUT, help="where inputs of findings go")
    parser.add_argument(
        "--again", type=Path, metavar="FILE", help="with --reader: read one file, say what comes"
    )
    parser.add_argument("--worker", choices=sorted(TARGETS), help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.worker:
        worker = Worker(args.worker, args.seed, args.scratch, args.out, limited=True)
        found: dict[str, Any] = worker.run(args.first, args.seconds)
        print(json.dumps(found))
        return 0
    if args.again is not None:
        with tempfile.TemporaryDirectory() as scratch:
            said = Worker(args.reader, 0, Path(scratch), args.out).judge(args.again.read_bytes())
        print(said or "no finding")
        return int(bool(said))
    names = [args.reader] if args.reader else list(TARGETS)
    for name in names:
        if (package := missing(name)) is not None:
            print(f"{name} is left out: it needs {package}")
    names = [name for name in names if missing(name) is None]
    total = 0
    print(
        f"{'reader':<18} {'cases':>8} {'accepted':>9} {'refused':>8} {'ways':>5} {'findings':>9}",
        f"  seed {args.seed}",
    )
    until = time.monotonic() + args.seconds
    for place, name in enumerate(names):
        run = Run(name, args.seed, args.out)
        run.go((until - time.monotonic()) / (len(names) - place))
        counts = run.counts
        total += counts["findings"]
        print(
            f"{name:<18} {counts['cases']:>8,} {counts['accepted']:>9,} {counts['refused']:>8,} "
            f"{counts['ways']:>5} {counts['findings']:>9}",
            flush=True,
        )
        for each in run.findings:
            print(f"  {each}", flush=True)
    print(f"{total} findings" + (f" in {args.out}" if total else ""))
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
