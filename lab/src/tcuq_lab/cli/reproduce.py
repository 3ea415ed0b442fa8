"""`tcuq-lab reproduce`: run the experiments again, from networks and data to tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, declare, progress
from tcuq.cli.edge import UsageError

if TYPE_CHECKING:
    from tcuq.cli.common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "reproduce",
        "run experiments again, from networks and data to tables",
        "tcuq-lab reproduce drop --setting reduced",
        reproduce,
    )
    option = parser.add_argument
    option("names", nargs="*", metavar="NAME", help="experiments, or all; none lists them")
    option("--setting", default="reduced", metavar="S", help="reduced (default) or full")
    option("--task", action="append", metavar="T", help="only this data set; again for more")
    option("--dwell", action="append", type=float, metavar="D", help="only this dwell; again for more")
    option("--experiments", metavar="DIR", help="their folder (default: lab/experiments of the checkout)")
    option("--weights", metavar="DIR", help="folder of networks (default: lab/weights of the checkout)")
    option("--cache", default="out/reproduce", metavar="DIR", help="what is kept (default: out/reproduce)")
    option("--device", default="auto", metavar="D", help="cpu, cuda or auto (default)")
    option("--write", metavar="DIR", help="also write a result file for each experiment there")
    option("--workers", type=int, default=1, metavar="N", help="processes that corrupt (default: 1)")


def reproduce(args: argparse.Namespace) -> int:
    """Run experiments and print their tables."""
    from dataclasses import replace
    from pathlib import Path

    from tcuq.base.checks import integer, known

    from ..home import folder
    from ..reproduce.experiment import load_experiments
    from ..reproduce.setting import setting_of

    found = load_experiments(folder(args.experiments, "experiments"))
    if not args.names:
        listed = {name: {"title": each.title, "paper": each.paper} for name, each in found.items()}
        wide = max(map(len, found), default=0)
        lines = [f"{name:<{wide}} {each.title}. Paper: {each.paper}." for name, each in found.items()]
        answer(args, listed, "\n".join(lines))
        return 0
    if args.write and (args.task or args.dwell):
        raise UsageError("--write takes whole experiments; it is accepted without --task and --dwell")
    names = list(found) if args.names == ["all"] else [known("experiment", n, found) for n in args.names]
    setting = setting_of(args.setting)
    integer("workers", args.workers, 1, 256)
    if args.write:  # hours of work must not end at a folder that cannot be made
        Path(args.write).mkdir(parents=True, exist_ok=True)
    chosen = []
    for name in names:
        each = found[name]
        tasks = tuple(known(f"task of {name}", task, each.tasks) for task in args.task or each.tasks)
        for dwell in args.dwell or ():
            if dwell not in each.dwells:
                raise UsageError(
                    f"dwell of {name} is {dwell:g}; {', '.join(f'{d:g}' for d in each.dwells)} is accepted"
                )
        dwells = tuple(dict.fromkeys(args.dwell or each.dwells))
        chosen.append(replace(each, tasks=tuple(dict.fromkeys(tasks)), dwells=dwells))

    try:
        from ..zoo.make import find_device
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError("PyTorch is needed to run networks: pip install 'tcuq-lab[all]'") from None
    from ..reproduce.recordings import Recordings
    from ..reproduce.result_files import save_result
    from ..reproduce.run import run, seconds
    from ..reproduce.table import plain, table, text

    device = find_device(args.device)
    tables = {}
    with progress(args) as bar:
        for each in chosen:
            recordings = Recordings(
                str(folder(args.weights, "weights")), args.cache, setting, device, args.workers, bar
            )
            records = run(each, recordings, bar)
            tables[each.name] = table(each, records)
            if args.write:
                path = Path(args.write) / f"{each.name}.json"
                save_result(path, each, setting, tables[each.name], seconds(records))
    shown = "\n".join(f"{found[name].title}\n\n{text(lines)}" for name, lines in tables.items())
    answer(args, {name: plain(lines) for name, lines in tables.items()}, shown)
    return 0
