"""Train networks beyond a microcontroller, watch them, and repeat the paper's tables of TinyImageNet.

    python lab/tools/backbones.py --out out/backbones --device cuda --jobs 16
    python lab/tools/backbones.py --out out/backbones --device cuda --jobs 16 --share 1    # all epochs
    python lab/tools/backbones.py --out out/try --examples 60 --share 0.01 --only vit,text    # a trial

Needs the datasets tinyimagenet20 and cifar10 (TCUQ_DATA) and the extra zoo. It writes to FOLDER:

- weights/: MobileNetV2 (five members, dropout, exits, G-ODIN, HYDRA), ResNet-50 (with exits too), ViT, text;
- backbones.json: accuracy, error AUROC and errors at 90 % coverage of confidence and of the monitor;
- severity_tinyimagenet.json, calibration_tinyimagenet.json, ablation_tinyimagenet.json, deeper.json: tables
  of the paper, from the same networks of one seed.

What is there is not done again: networks, recordings, comparisons. `--share` trains each network for that
share of the epochs of its configuration; the result file says so. `--skip hydra` leaves out HYDRA, which
waits for its five teachers, and the tables then lack its row. `--write DIR` also puts the result files there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq_lab.reproduce.experiment import Outcome
from tcuq_lab.reproduce.kinds.unit import Unit
from tcuq_lab.reproduce.paper import PaperExperiment, load_experiments
from tcuq_lab.reproduce.result_files import result_text
from tcuq_lab.reproduce.run import run

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer, known, number
from tcuq_lab.harness.laws import StreamSizes
from tcuq_lab.home import folder
from tcuq_lab.reproduce import backbones
from tcuq_lab.reproduce.backbones import SETTING, TASK_OF, Measured
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.rows import Row, row_of
from tcuq_lab.reproduce.run_size import RunSize

if TYPE_CHECKING:
    from tcuq_lab.zoo.config import Config

TABLES = ("severity_tinyimagenet", "calibration_tinyimagenet", "ablation_tinyimagenet", "deeper")
"""Tables of the paper whose networks are trained here."""
TINY = "tinyimagenet20"
MEMBERS = 5
HYDRA = "mobilenetv2_hydra_t1"
VARIANTS = ("mobilenetv2_dropout_10", "mobilenetv2_exits", "mobilenetv2_godin", HYDRA, "resnet50_exits")
"""Networks of the tables beside the plain ones."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("--out", required=True, metavar="FOLDER")
    option("--device", default="auto", metavar="D", help="cpu, cuda or auto (default)")
    option("--jobs", type=int, default=1, metavar="N", help="processes side by side (default: 1)")
    option("--share", type=float, default=0.7, metavar="S", help="of the epochs (default: 0.7)")
    option("--only", metavar="LIST", help=f"of {','.join(TASK_OF)}: these alone, and no tables of the paper")
    option(
        "--skip",
        default="",
        metavar="LIST",
        help="leave out hydra, tables, or a backbone; the tables need mobilenetv2 and resnet50",
    )
    option("--examples", type=int, metavar="N", help="of dev and of test: a trial")
    option("--write", metavar="DIR", help="put the result files there too, such as lab/results")
    args = parser.parse_args(arguments)
    try:
        _run(args)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(args: argparse.Namespace) -> None:
    jobs, share = integer("jobs", args.jobs, 1, 256), number("share", args.share, 0.001, 1)
    parts = ("hydra", "tables", *TASK_OF)
    skipped = [known("part to skip", name, parts) for name in args.skip.split(",") if name]
    chosen = [known("backbone", name, TASK_OF) for name in (args.only or ",".join(TASK_OF)).split(",")]
    chosen = [name for name in chosen if name not in skipped]
    with_tables = not args.only and "tables" not in skipped
    if with_tables and {"mobilenetv2", "resnet50"} & set(skipped):
        raise ValueError("--skip leaves out a network of the tables, expected tables to be skipped too")
    if not chosen:
        raise ValueError(f"--skip leaves no backbone, expected one of {', '.join(TASK_OF)} to stay")
    setting, sizes = SETTING, StreamSizes()
    if args.examples is not None:
        if args.write:
            raise ValueError("--write stores results of all examples: leave out --examples")
        few = integer("examples", args.examples, 50, 10**6)
        setting = replace(
            SETTING, examples=few, dev_examples=few, steps=1500, clean_steps=2000, replicates=50
        )
        sizes = StreamSizes(stretch=500, dev=3, test=3)
    home = Path(args.out)
    began = time.monotonic()
    from tcuq_lab.zoo.make import find_device, train_all

    # Workers would get in each other's way: each has a core of its own.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS") if jobs > 1 else ():
        os.environ.setdefault(name, "1")
    device = find_device(args.device)
    plans = planned(chosen, with_tables, "hydra" not in skipped, share)
    _say(began, f"training {len(plans)} networks")
    cards = train_all(plans, home / "weights", device=device, workers=jobs, progress=_shown)
    experiments = tables("hydra" not in skipped) if with_tables else []
    _say(began, "running them over dev and test examples")
    made = partial(Recordings, str(home / "weights"), str(home / "recorded"), setting, device)
    recorded(made(), chosen, experiments, jobs)
    _say(began, f"measuring {len(chosen)} networks and {len(experiments)} tables")
    files = measured(chosen, experiments, home, setting, sizes, jobs)
    command = f"python lab/tools/backbones.py --out out/backbones --share {share:g}"
    command += f" --skip {','.join(skipped)}" if skipped else ""
    seconds = round(time.monotonic() - began)
    about = {"command": command, "seconds": seconds, "networks": [_brief(card) for card in cards]}
    lines = [line for name in chosen for line in files[name].lines]
    choices = {name: files[name].choices for name in chosen}
    text = backbones.result_text(setting, sizes, lines, choices, notes(share, skipped, with_tables), about)
    texts = {"backbones": text}
    for experiment in experiments:
        texts[experiment.name] = result_text(experiment, setting, files[experiment.name], command)
    for target in (home, *([Path(args.write)] if args.write else [])):
        target.mkdir(parents=True, exist_ok=True)
        for name, each in texts.items():
            write_whole(target / f"{name}.json", each)
    for line in lines:
        print(f"{line.task:12} {line.stream:9} {line.row:12} {line.column:15} "
              f"{line.value:.4f} ({line.low:.4f} to {line.high:.4f})")  # fmt: skip
    _say(began, f"wrote {', '.join(f'{name}.json' for name in texts)} to {home}")


def planned(chosen: Sequence[str], with_tables: bool, with_hydra: bool, share: float) -> list[Config]:
    """Return the configurations that are trained, the longest trainings first."""
    from tcuq_lab.zoo.make import find_config

    def shorter(name: str, seed: int = 0) -> Config:
        config = find_config(name)
        return config.with_(seed=seed, epochs=max(1, round(share * config.epochs)))

    plans = [shorter(name) for name in sorted(chosen, key=("resnet50", "vit", "mobilenetv2", "text").index)]
    if with_tables:
        plans += [shorter(name) for name in VARIANTS if with_hydra or name != HYDRA]
        plans += [shorter("mobilenetv2", seed) for seed in range(1, MEMBERS)]
    return plans


def tables(with_hydra: bool) -> list[PaperExperiment]:
    """Return the tables of the paper that these networks serve."""
    found = load_experiments(folder(None, "experiments"))
    return [
        replace(
            found[name], rows=tuple(r for r in found[name].rows if with_hydra or r.method.name != "hydra")
        )
        for name in TABLES
    ]


def recorded(
    recordings: Recordings, chosen: Sequence[str], experiments: Iterable[PaperExperiment], jobs: int
) -> None:
    """Run all networks over all sources, a few sources in each process; files keep what they said."""
    from tcuq_lab.zoo.make import side_by_side

    rows: dict[str, list[Row]] = {}
    for name in chosen:
        rows.setdefault(TASK_OF[name], []).append(Row(f"plain {name}", row_of("base").method, "", name))
    shown: dict[str, dict[str, list[str]]] = {}
    for place, experiment in enumerate(experiments):
        several = [row._replace(label=f"{place} {row.label}") for row in experiment.rows]
        rows.setdefault(TINY, []).extend(several)
        schedule = Unit(TINY, 1.0, 0).schedule(recordings)
        shown[TINY] = {part: schedule.sources(part) for part in ("dev", "test")}
    work = []
    for task, shared in rows.items():
        for part in ("dev", "test"):
            sources = recordings.sources(task, part) + shown.get(task, {}).get(part, [])
            sources = list(dict.fromkeys(sources))
            step = -(-len(sources) // jobs)
            work += [(task, part, shared, sources[at : at + step]) for at in range(0, len(sources), step)]
    for done, _ in enumerate(_each(side_by_side, work, jobs, _record, recordings), 1):
        _shown(done, len(work), "recordings")


def _record(job: tuple[str, str, list[Row], list[str]], recordings: Recordings) -> None:
    task, part, rows, sources = job
    for source in sources:  # one at a time: what is loaded again is let go
        recordings.banks(task, part, 0, rows, [source])


def measured(
    chosen: Sequence[str],
    experiments: Sequence[PaperExperiment],
    home: Path,
    setting: RunSize,
    sizes: StreamSizes,
    jobs: int,
) -> dict[str, Any]:
    """Return what each network, and each table, gives."""
    from tcuq_lab.zoo.make import side_by_side

    work: list[str | PaperExperiment] = [*experiments, *chosen]
    found: dict[str, Any] = {}
    for name, got in _each(side_by_side, work, jobs, _measure, home, setting, sizes):
        found[name] = got
        _shown(len(found), len(work), name)
    return found


def _measure(
    job: str | PaperExperiment, home: Path, setting: RunSize, sizes: StreamSizes
) -> tuple[str, Measured | Outcome]:
    # All is recorded: no network runs from here on.
    recordings = Recordings(str(home / "weights"), str(home / "recorded"), setting)
    if isinstance(job, str):
        return job, backbones.measure(backbones.plan_of(job, sizes), recordings)
    return job.name, run(job, recordings)


def _each(side_by_side: Any, work: Sequence[Any], jobs: int, do: Any, *others: Any) -> Iterable[Any]:
    return (do(each, *others) for each in work) if jobs == 1 else side_by_side([work], jobs, do, *others)


def notes(share: float, skipped: Sequence[str], with_tables: bool) -> list[str]:
    """Return what a reader of the result file must know."""
    found = [
        f"each network was trained once, for {share:.0%} of the epochs of its configuration",
        f"at most {SETTING.examples:,} test examples of each dataset; TinyImageNet has 800 of 16 classes",
        "text is source code in chunks of 64 bytes; its corruption types are our own",
    ]
    if "hydra" in skipped or not with_tables:
        found.append("HYDRA on TinyImageNet was not run: it is taught by five networks, one after the others")
    found += [f"{name} was not run" for name in TASK_OF if name in skipped]
    if not with_tables:
        found.append("the tables of TinyImageNet, its ablation among them, were not run")
    return found


def _brief(card: dict[str, Any]) -> dict[str, Any]:
    kept = ("file", "parameters", "multiply_adds", "test_accuracy", "seconds", "device")
    return {name: card[name] for name in kept if name in card} | {"epochs": card["config"]["epochs"]}


def _shown(done: int, of: int, what: str) -> None:
    print(f"  {done}/{of} {what}", flush=True)


def _say(began: float, what: str) -> None:
    print(f"{time.monotonic() - began:5.0f} s: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
