"""`tcuq-lab reproduce` and `tcuq-lab labels`: run experiments again, from networks and data to tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer, known
from tcuq.cli.common import answer, note, progress
from tcuq.cli.process import UsageError

from ..benchmark.files import load
from ..changes import update
from ..experiments import labels as late
from ..experiments.registry import ALONE, EXPERIMENTS
from ..experiments.result_files import result_text
from ..experiments.run import NoNetworks, run
from ..harness.lines import plain
from ..home import folder, home
from ..pages.words import lasting
from ..reproduce.run_size import run_size
from . import main
from .shared import forecast, recordings_of

ELSEWHERE = {
    "benchmark": ("Label-free monitors on the streams of the benchmark", ["bench", "all"]),
    "labels": ("Error control by labels that come late", ["labels"]),
}
"""Tables of stored streams, and the command that each stands for."""
TRY = "tcuq-lab reproduce answers --setting trial --task mnist --seed 0"
LONGEST = 100
"""Characters of a title in the list."""


def labels(args: argparse.Namespace) -> int:
    """Measure, compare and, if asked to, store."""
    stored, page = home() / "results" / "late" / "labels.json", home().parent / "docs" / "LABELS.md"
    with progress(args) as bar:
        rows = late.run(load(home() / "benchmark"), bar)
    text = json.dumps({"command": "tcuq-lab labels --write", "rows": rows}, indent=0) + "\n"
    same = stored.exists() and stored.read_text(encoding="utf-8") == text
    if args.write:
        write_whole(stored, text)
        write_whole(page, late.on_page(page.read_text(encoding="utf-8"), late.table(rows)))
        note(args, f"wrote {stored} and {page}")
    answer(args, {"same": same, "rows": rows}, late.table(rows))
    return 0 if same or args.write else 1


def reproduce(args: argparse.Namespace) -> int:
    """Run experiments and print their tables."""
    found = EXPERIMENTS
    if not args.names:
        listed = {name: {"title": each.title, "paper": each.paper} for name, each in found.items()}
        listed |= {name: {"title": title, "paper": ""} for name, (title, _) in ELSEWHERE.items()}
        answer(args, listed, _listed({name: each["title"] for name, each in listed.items()}))
        return 0
    if args.write and (args.task or args.dwell or args.seed):
        raise UsageError("--write stores whole experiments: leave out --task, --dwell and --seed")
    jobs = args.jobs or (2 if args.setting == "trial" else 1)
    integer("jobs", jobs, 1, 256)
    integer("workers", args.workers, 1, 256)
    elsewhere = [name for name in args.names if name in ELSEWHERE]
    if elsewhere:
        if len(elsewhere) < len(args.names):
            raise UsageError(f"{elsewhere[0]} has other options: run it by itself")
        return max(main(ELSEWHERE[name][1]) for name in elsewhere)
    every = [name for name in found if name not in ALONE]
    names = every if args.names == ["all"] else [known("experiment", n, found) for n in args.names]
    setting = run_size(args.setting)
    first = 1 if setting.name == "trial" else None  # a trial is of the first task and dwell
    chosen = [
        each.narrowed(args.task or each.tasks[:first], args.dwell or each.dwells[:first])
        for each in (found[name] for name in names)
    ]
    if args.seed:
        setting = replace(setting, seeds=tuple(dict.fromkeys(args.seed)))
    if args.write:  # hours of work must not end at a folder that cannot be made
        Path(args.write).mkdir(parents=True, exist_ok=True)
    outcomes = {}
    with forecast(args) as bar:
        recordings = recordings_of(args, setting, _device(args.device), args.workers, bar)
        for each in chosen:
            if absent := each.absent(recordings):
                note(args, f"left out of {each.name}: {', '.join(absent)}, which lack networks or files")
            try:
                outcomes[each.name] = run(each, recordings, bar, jobs)
            except NoNetworks as error:
                if len(chosen) == 1:
                    raise
                note(args, f"left out: {error}")
                continue
            if args.write:
                text = result_text(each, setting, outcomes[each.name])
                written = update(Path(args.write) / f"{each.name}.json", text)
                for line in written.lines():
                    note(args, line)
                written.write()
    shown = "\n".join(found[name].shown(outcome) for name, outcome in outcomes.items())
    answer(args, {name: plain(outcome.lines) for name, outcome in outcomes.items()}, shown)
    return 0


def _device(name: str) -> str:
    """Return the device that networks run on; without PyTorch only what is recorded can be used."""
    if find_spec("torch") is None:
        return "cpu"
    from ..zoo.make import find_device

    return find_device(name)


def _listed(titles: Mapping[str, str]) -> str:
    """Return a line for each experiment: its name, its title, the time and size of the stored run."""
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
    """Return seconds and setting that a result file tells; None where it tells none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return float(found["seconds"]), str(found["setting"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
