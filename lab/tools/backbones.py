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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer, known, number
from tcuq_lab.experiments import backbones
from tcuq_lab.experiments.backbones import TASK_OF
from tcuq_lab.experiments.paper import PAPER
from tcuq_lab.experiments.result_files import result_text
from tcuq_lab.experiments.run import Experiment, run
from tcuq_lab.reproduce.recordings import Recordings
from tcuq_lab.reproduce.run_size import run_size

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
    setting = run_size("backbones")
    if args.examples is not None:
        if args.write:
            raise ValueError("--write stores results of all examples: leave out --examples")
        few = integer("examples", args.examples, 50, 10**6)
        setting = replace(run_size("trial"), examples=few, dev_examples=few)
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
    skip, seconds = ",".join(skipped), round(time.monotonic() - began)
    command = f"python lab/tools/backbones.py --out out/backbones --share {share:g}"
    command += f" --skip {skip}" if skip else ""
    said = notes(share, skipped, with_tables)
    experiments: list[Experiment] = [replace(backbones.SPEC, tasks=tuple(chosen), notes=tuple(said))]
    experiments += [PAPER[name] for name in TABLES if with_tables]
    recordings = Recordings(str(home / "weights"), str(home / "recorded"), setting, device, progress=_shown)
    texts = {}
    for experiment in experiments:
        _say(began, f"measuring {experiment.name}")
        outcome = run(experiment, recordings, _shown, jobs)
        if experiment is experiments[0]:
            about = {"networks": [_brief(card) for card in cards], "training seconds": seconds}
            outcome = outcome._replace(about={**outcome.about, **about})
        print(experiment.shown(outcome))
        texts[experiment.name] = result_text(experiment, setting, outcome, command)
    for target in (home, *([Path(args.write)] if args.write else [])):
        target.mkdir(parents=True, exist_ok=True)
        for name, each in texts.items():
            write_whole(target / f"{name}.json", each)
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


def notes(share: float, skipped: Sequence[str], with_tables: bool) -> list[str]:
    """Return what a reader of the result file must know."""
    most = run_size("backbones").examples
    found = [
        f"each network was trained once, for {share:.0%} of the epochs of its configuration",
        f"at most {most:,} test examples of each dataset; TinyImageNet has 800 of 16 classes",
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
