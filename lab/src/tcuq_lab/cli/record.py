"""`tcuq-lab record`: run all networks once over all examples, for all experiments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers

ABOUT = """\
Every experiment of 'tcuq-lab reproduce' then runs from the files, without a GPU. Both commands must name
the same --setting. An interrupted run resumes. Datasets are in the folder that the variable TCUQ_DATA names.

A manifest has files, bytes and SHA-256 of every folder. Another GPU, processor or version of PyTorch may
round differently: the checksums are for files that are copied, and figures are compared by
'tcuq-lab reproduce'."""


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "record",
        "run all networks once over all examples and store their outputs",
        "tcuq-lab record --setting full --device cuda --jobs 16",
        record,
        "tcuq-lab reproduce drop --setting full --jobs 16",
        about=ABOUT,
    )
    option = parser.add_argument
    option("--setting", default="full", metavar="S", help="size of the run: full (default), reduced or trial")
    option("--task", action="append", metavar="T", help="only this dataset; may be repeated")
    option("--seed", action="append", type=int, metavar="N", help="only this seed; may be repeated")
    option("--row", action="append", metavar="M", help="only this method; may be repeated")
    option("--no-streams", action="store_true", help="leave out held pictures and continuous sound")
    option("--no-tables", action="store_true", help="leave out what only the tables of the paper show")
    option("--device", default="auto", metavar="D", help="cpu, cuda or auto (default)")
    option("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    option("--weights", metavar="DIR", help="folder of checkpoints (default: lab/weights of the checkout)")
    option("--cache", metavar="DIR", help="where files are kept (default: out/reproduce of the checkout)")
    option("--manifest", metavar="FILE", help="where checksums go (default: recordings.json in the cache)")
    option("--check", metavar="FILE", help="record nothing; compare the files with this manifest")


def record(args: argparse.Namespace) -> int:
    """Make all recordings, and say what they took."""
    import time
    from pathlib import Path

    from tcuq.base.atomic_files import write_whole
    from tcuq.base.checks import integer, known

    from ..experiments.paper import PAPER
    from ..home import library
    from ..reproduce.recorder import available, checksums, differing, manifest, record_all, rows_of
    from ..reproduce.rows import TASKS, row_of
    from ..reproduce.run_size import run_size
    from .shared import forecast, recordings_of

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
