# SPDX-License-Identifier: MIT
"""Try every fault at every file operation of everything that writes; say how many there were.

    python tools/faults.py [--case TEXT] [--stride N] [--jobs N]

At each operation the process is killed before, in the middle and after it; the operation fails with a full
disk, an error of the disk, a read-only disk and missing rights, once and from there on; and after each change
of the disk the power is lost in several ways. Exit status 0 when everything held, else 1.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools")]

from fault_cases import all_cases, folder_cases, kept_cases  # noqa: E402
from fault_checks import Going, Tried  # noqa: E402
from fleet_runs import folder_in_memory  # noqa: E402

from tcuq_device.tools import missing  # noqa: E402


def cases() -> dict[str, Any]:
    """Return what is tried, by name: callables that take a folder."""
    found: dict[str, Any] = {}
    for kept in kept_cases():
        found[kept.name] = partial(Going, kept)
    for folder in folder_cases():
        for words, system in (
            ("", {}),
            (", no exchange", {"exchange": False}),
            (", no links", {"links": False}),
        ):
            found[folder.name + words] = partial(Tried, folder, **system)
    for case in all_cases():
        if not case.tools or missing() is None:
            found[case.name] = partial(Tried, case)
    return found


def tried(job: tuple[str, int]) -> tuple[str, str, list[str]]:
    """Try one case; return its name, what was done in words, and what did not hold."""
    name, stride = job
    bad: list[str] = []
    begun, count = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as other, folder_in_memory(Path(other)) as folder:
        try:
            each = cases()[name](folder / "case")
        except Exception:
            return name, "could not be begun", [traceback.format_exc(limit=3)]
        checks = [partial(each.fault, fault) for fault in each.faults()]
        checks += [partial(each.loss, *loss) for loss in each.losses(3)]
        for check in itertools.islice(checks, 0, None, stride):
            count += 1
            try:
                check()
            except AssertionError as error:
                bad.append(str(error)[:400])
        each.close()
    points = f"{len(each.clean.listed):4} operations, {len(each.record.changes):4} changes, {count:5} faults"
    return name, f"{points}, {time.monotonic() - begun:6.1f} s", bad


def main() -> int:
    """Try the cases that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", default="", help="only cases whose names hold this text")
    parser.add_argument("--stride", type=int, default=1, help="try one of so many (default: all)")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    jobs = [(name, args.stride) for name in cases() if args.case in name]
    total, wrong = 0, 0
    with multiprocessing.get_context("spawn").Pool(args.jobs) as pool:
        for name, text, bad in pool.imap_unordered(tried, jobs):
            print(f"{name:24} {text}", flush=True)
            for line in bad[:5]:
                print(f"    {line}", flush=True)
            total += int(text.split(" faults")[0].split()[-1]) if " faults" in text else 0
            wrong += len(bad)
    print(f"{total:,} faults in {len(jobs)} cases, {wrong:,} did not hold")
    return 1 if wrong or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
