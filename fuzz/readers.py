# SPDX-License-Identifier: MIT
"""Feed damaged files to every reader: `python fuzz/readers.py --seconds 60 --seed 1 [--reader NAME]`.

A reader may accept a file, if what it gives keeps the reader's promises, or refuse it by a ValueError of one
line. Everything else is a finding: other exceptions, warnings, output, files, more than 2 seconds of the
processor or 300 MB of memory, a crash. Inputs of findings are kept in out/fuzz/readers.

Seeds are the files of fuzz/corpus/readers. A file that is refused in a new way, or accepted, joins those that
are mutated further.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from reader_targets import TARGETS, missing
from reader_watch import Worker, case_content, keep

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "fuzz" / "readers"

SILENT = 90.0
"""Seconds without a word from a worker after which it hangs."""


def work(
    name: str, seed: int, first: int, seconds: float, scratch: Path, out: Path, answer: SimpleQueue[Any]
) -> None:
    """Run cases of a reader, in a process of its own so that a crash ends only that."""
    os.dup2(os.open(scratch / "said", os.O_WRONLY | os.O_CREAT), 2)
    answer.put(Worker(name, seed, scratch, out, limited=True).run(first, seconds))


def run(name: str, seed: int, out: Path, seconds: float) -> tuple[Counter[str], list[str]]:
    """Run a reader until the time is over, starting anew after a crash; return counts and findings."""
    counts, findings, first, context = Counter[str](), list[str](), 0, get_context("spawn")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0.2:
        with tempfile.TemporaryDirectory(dir=_memory()) as folder:
            scratch, answer = Path(folder), context.SimpleQueue()
            worker = context.Process(target=work, args=(name, seed, first, left, scratch, out, answer))
            worker.start()
            why = _wait(worker, scratch / "case")
            first = _number(scratch / "case")
            if not answer.empty():
                found = answer.get()
                first = found.pop("next")
                findings += found.pop("said")
                counts.update(found)
                continue
            # The worker died: the file that it was reading is the finding.
            told = (scratch / "said").read_text()[-400:] if (scratch / "said").exists() else ""
            why = why or f"the process ended with {worker.exitcode}: {told}"
            findings.append(keep(out, name, why, case_content(scratch)))
            counts.update(cases=1, findings=1)
            first += 1
    return counts, findings


def _wait(worker: BaseProcess, heart: Path) -> str:
    last, since = -1, time.monotonic()
    while worker.is_alive():
        worker.join(0.05)
        now = _number(heart)
        if now != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since > SILENT:
            worker.kill()
            worker.join()
            return f"the reader hangs for {SILENT:g} s"
    return ""


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
    args = parser.parse_args(arguments)
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
        share = (until - time.monotonic()) / (len(names) - place)
        counts, findings = run(name, args.seed, args.out, share)
        total += counts["findings"]
        print(
            f"{name:<18} {counts['cases']:>8,} {counts['accepted']:>9,} {counts['refused']:>8,} "
            f"{counts['ways']:>5} {counts['findings']:>9}",
            flush=True,
        )
        for each in findings:
            print(f"  {each}", flush=True)
    print(f"{total} findings" + (f" in {args.out}" if total else ""))
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
