"""`tcuq-lab record`: run all networks once over all examples, for all experiments."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer, known
from tcuq.cli.common import answer, note

from ..experiments.paper import PAPER
from ..home import library
from ..reproduce.recorder import available, checksums, differing, manifest, record_all, rows_of
from ..reproduce.rows import TASKS, row_of
from ..reproduce.run_size import run_size
from .shared import forecast, recordings_of


def record(args: argparse.Namespace) -> int:
    """Make all recordings, and say what they took."""
    jobs, setting = integer("jobs", args.jobs, 1, 256), run_size(args.setting)
    recordings = recordings_of(args, setting)
    cache = Path(recordings.folder)
    if args.check:
        lines = differing(checksums(cache, jobs), Path(args.check))
        text = "\n".join(lines) if lines else "all files are as the manifest says"
        answer(args, {"differing": lines}, text)
        return int(bool(lines))
    tasks = [known("task", task, TASKS) for task in args.task or TASKS]
    seeds = tuple(args.seed or setting.seeds)
    chosen = [row_of(name) for name in args.row or ()]
    rows = {}
    for task in tasks:
        wanted = chosen or rows_of(task, PAPER.values(), not args.no_tables)
        found, absent = available(recordings, task, seeds, wanted)
        if absent:
            note(args, f"{task}: no weights of {', '.join(absent)}; rows that need them are left out")
        if found:
            rows[task] = found
    torch = library("torch", "to run networks")
    from ..zoo.make import find_device

    device = recordings.device = find_device(args.device)
    cache.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with forecast(args) as tell:
        made = record_all(recordings, rows, seeds, jobs, tell, not args.no_streams, not args.no_tables)
    took = round(time.monotonic() - began)
    sums = checksums(cache, jobs)
    size = sum(entry[1] for entry in sums.values())
    path = Path(args.manifest) if args.manifest else cache / "recordings.json"
    about = {"device": device, "torch": torch.__version__, "seconds": took}
    write_whole(path, manifest(sums, setting, about))
    count = sum(entry[0] for entry in sums.values())
    answer(
        args,
        {"made": made, "files": count, "bytes": size, "seconds": took, "manifest": str(path)},
        f"{made} files made in {took} s; {count} files of {size / 1e6:.0f} MB are kept; checksums in {path}",
    )
    return 0
