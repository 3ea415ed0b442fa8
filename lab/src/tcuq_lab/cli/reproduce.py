"""`tcuq-lab reproduce`: run the experiments again, from networks and data to tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.common import answer, note
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tcuq.cli.parser import Subparsers

TRY = "tcuq-lab reproduce answers --setting trial --task mnist --seed 0"
ABOUT = """\
Datasets are in the folder that the variable TCUQ_DATA names; 'tcuq-lab data get' fills it. Dwell is the
mean number of steps for which a stream shows one class: 1 is a shuffled dataset. Network outputs come from
'tcuq-lab record' with the same --setting, or are made when they are needed. An interrupted run resumes."""
HEAD = 8192
"""Characters of a result file that hold all but its figures, which are megabytes."""
LONGEST = 100
"""Characters of a title in the list."""


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "reproduce",
        "run experiments, from checkpoints and datasets to tables",
        TRY,
        reproduce,
        "tcuq-lab reproduce answers --write lab/results",
        about=ABOUT,
    )
    option = parser.add_argument
    option("names", nargs="*", metavar="NAME", help="experiments to run, or all; without a name: list them")
    option("--setting", default="full", metavar="S", help="size: full (default), reduced or trial")
    option("--task", action="append", metavar="T", help="only this dataset; may be repeated")
    option(
        "--dwell",
        action="append",
        type=float,
        metavar="D",
        help="only streams of this dwell; may be repeated",
    )
    option(
        "--experiments",
        metavar="DIR",
        help="folder of experiments (default: lab/experiments of the checkout)",
    )
    option("--weights", metavar="DIR", help="folder of checkpoints (default: lab/weights of the checkout)")
    option("--cache", metavar="DIR", help="intermediate results (default: out/reproduce of the checkout)")
    option("--device", default="auto", metavar="D", help="cpu, cuda or auto (default)")
    option(
        "--write",
        metavar="DIR",
        help="write a result file for each experiment there, after showing what changed",
    )
    option(
        "--seed", action="append", type=int, metavar="N", help="only networks of this seed; may be repeated"
    )
    option("--jobs", type=int, default=1, metavar="N", help="processes that compute figures (default: 1)")
    option(
        "--workers", type=int, default=1, metavar="N", help="processes that apply corruptions (default: 1)"
    )


def reproduce(args: argparse.Namespace) -> int:
    """Run experiments and print their tables."""
    from dataclasses import replace
    from pathlib import Path

    from tcuq.base.checks import integer, known

    from ..changes import update
    from ..home import folder
    from ..reproduce.experiment import load_experiments
    from ..reproduce.field.specs import TITLES
    from ..reproduce.run_size import run_size

    found = load_experiments(folder(args.experiments, "experiments"))
    if not args.names:
        listed = {name: {"title": title, "paper": ""} for name, title in TITLES.items()}
        listed |= {name: {"title": each.title, "paper": each.paper} for name, each in found.items()}
        answer(args, listed, _listed({name: each["title"] for name, each in listed.items()}))
        return 0
    if args.write and (args.task or args.dwell or args.seed):
        raise UsageError("--write stores whole experiments: leave out --task, --dwell and --seed")
    integer("jobs", args.jobs, 1, 256)
    if args.names[0] in TITLES:
        return _field(args)
    names = list(found) if args.names == ["all"] else [known("experiment", n, found) for n in args.names]
    setting = run_size(args.setting)
    if args.seed:
        setting = replace(setting, seeds=tuple(dict.fromkeys(args.seed)))
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
                    f"dwell of {name} is {dwell:g}, expected one of "
                    f"{', '.join(f'{d:g}' for d in each.dwells)}"
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
    from ..reproduce.result_files import result_text
    from ..reproduce.run import NoNetworks, run, seconds
    from ..reproduce.table import plain, table, text
    from .forecast import forecast

    device, cache = find_device(args.device), str(folder(args.cache, "../out/reproduce"))
    tables = {}
    with forecast(args) as bar:
        for each in chosen:
            recordings = Recordings(
                str(folder(args.weights, "weights")), cache, setting, device, args.workers, bar
            )
            try:
                records = run(each, recordings, bar, args.jobs)
            except NoNetworks as error:
                if len(chosen) == 1:
                    raise
                note(args, f"left out: {error}")
                continue
            tables[each.name] = table(each, records)
            if args.write:
                path = Path(args.write) / f"{each.name}.json"
                written = update(path, result_text(each, setting, tables[each.name], seconds(records)))
                for line in written.lines():
                    note(args, line)
                written.write()
    shown = "\n".join(f"{found[name].title}\n\n{text(lines)}" for name, lines in tables.items())
    answer(args, {name: plain(lines) for name, lines in tables.items()}, shown)
    return 0


def _listed(titles: Mapping[str, str]) -> str:
    """Return a line for each experiment: its name, its title, the time and size of the stored run."""
    from ..home import folder
    from ..pages.wording import lasting

    results = folder(None, "results")
    name_width, title_width = (max(map(len, texts), default=0) for texts in (titles, titles.values()))
    lines = []
    for name, title in titles.items():
        first = title.partition(". ")[0]
        short = first if len(first) <= LONGEST else f"{first[: LONGEST - 3]}..."
        took = _last_run(results / f"{name}.json")
        time = "" if took is None else f"{lasting(took[0])} on one core ({took[1]})"
        lines.append(f"{name:<{name_width}}  {short:<{min(title_width, LONGEST)}}  {time}".rstrip())
    return "\n".join([*lines, f"needs TCUQ_DATA; try: {TRY}"])


def _last_run(path: Path) -> tuple[float, str] | None:
    """Return seconds and setting in the head of a result file; None where there are none."""
    import re

    try:
        with path.open(encoding="utf-8") as file:
            head = file.read(HEAD)
    except (OSError, UnicodeDecodeError):
        return None
    setting = re.search(r'^ "setting": \{\s*"name": "(\w+)"', head, re.MULTILINE)
    seconds = re.search(r'^ "seconds": ([0-9.]+),$', head, re.MULTILINE)
    return (float(seconds[1]), setting[1]) if seconds and setting else None


def _field(args: argparse.Namespace) -> int:
    """Run experiments on streams as users have them."""
    from pathlib import Path

    from tcuq.base.checks import known

    from ..changes import update
    from ..home import folder
    from ..reproduce.field.lines import entries
    from ..reproduce.field.plan import NETWORKS, SMALL
    from ..reproduce.field.results import result_text
    from ..reproduce.field.run import run
    from ..reproduce.field.specs import TITLES, spec
    from ..reproduce.field.units import PLAIN
    from ..reproduce.recordings import Recordings
    from ..reproduce.run_size import run_size
    from ..reproduce.table import plain
    from .forecast import forecast

    specs = [spec(known("experiment on streams", name, TITLES)) for name in args.names]
    setting = run_size(args.setting)
    seeds = tuple(args.seed or setting.seeds)
    if args.write:
        Path(args.write).mkdir(parents=True, exist_ok=True)
    recordings = Recordings(
        str(folder(args.weights, "weights")), str(folder(args.cache, "../out/reproduce")), setting
    )
    absent = [task for task in SMALL if not all(recordings.has(task, seed, PLAIN) for seed in seeds)]
    if absent and not args.task:
        names = " ".join(SMALL[task] for task in absent)
        note(args, f"left out: {', '.join(absent)}. Train their networks: tcuq-lab train {names} --members 5")
    tables = {}
    with forecast(args) as bar:
        for each in specs:
            there = [task for task in each.tasks if task not in absent]
            tasks = tuple(known(f"task of {each.name}", task, NETWORKS) for task in args.task or there)
            lines, about = run(each, recordings, tasks, seeds, args.jobs, bar)
            tables[each.name] = lines
            if args.write:
                text = result_text(each, setting, seeds, lines, about)
                written = update(Path(args.write) / f"{each.name}.json", text)
                for line in written.lines():
                    note(args, line)
                written.write()
    shown = [
        f"{line.task:16} {line.stream:16} {line.row:40} {line.fit:7} {line.column:28} "
        f"{line.value:.4f} ({line.low:.4f} to {line.high:.4f}), {line.networks} networks"
        for lines in tables.values()
        for line in lines
    ]
    answer(args, {name: plain(entries(lines)) for name, lines in tables.items()}, "\n".join(shown))
    return 0
