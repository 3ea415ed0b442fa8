"""Train and measure what temporal assistance does: on and off, its weights, the number of exits.

    python lab/tools/assistance.py --out out/assistance --seeds 3 --workers 8
    python lab/tools/assistance.py --out out/assistance --seeds 3 --workers 8 --epochs 50    # none longer
    python lab/tools/assistance.py --out out/try --epochs 1 --examples 256 --device cpu    # a trial

Needs the datasets (TCUQ_DATA) and the extra zoo. Per seed there are 8 networks of CNN4, DS-CNN and ResNet-8
each, and 6 of MobileNetV2:

- assistance: plain, assisted, and probe, whose exits learn while the backbone is trained as plain;
- weights: `first` 2 to 5 at `step` 0.5, and `step` 0, 0.5 and 1 at `first` 3;
- exits (MobileNetV2): plain, and 2, 4, 6, 8 and 10 exits.

Weights and curves go to the folder; a network that is there is not trained again, one that was cut off is
resumed. Seed after seed, all is measured and written to results.json in the folder: for each network its
settings, accuracy, macro F1, Brier score (sum over classes), NLL and ECE on dev and test, and its curves as
means over at most 300 stretches of the training. On a CPU, OMP_NUM_THREADS=1 keeps workers out of each
other's way.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tcuq._version import VERSION
from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import integer, known

if TYPE_CHECKING:
    from torch import nn

    from tcuq_lab.zoo.make import Parts
    from tcuq_lab.zoo.train import Examples

FORMAT = "tcuq-assistance"
POINTS = 300
FIRSTS = (2, 3, 4, 5)
STEPS = (0, 0.5, 1)
USUAL = (3, 0.5)
"""The paper's first and step, which the recipe has by default."""

EXITS = (2, 4, 6, 8, 10)
BACKBONES = ("mobilenetv2", "resnet8", "dscnn", "cnn4")
"""The longest trainings come first, so that no worker is left alone with one at the end."""


class Variant(NamedTuple):
    """A network of an ablation: its questions, its name after that of the backbone, changed settings."""

    ablations: tuple[str, ...]
    suffix: str
    settings: dict[str, float]


def variants(backbone: str) -> list[Variant]:
    """Return the networks that are trained of a backbone.

    Examples
    --------
    >>> [each.suffix for each in variants("mobilenetv2")][:3]
    ['', '_assisted_exits2', '_assisted_exits4']
    """
    if backbone == "mobilenetv2":
        counts = [Variant(("exits",), f"_assisted_exits{count}", {"exits": count}) for count in EXITS]
        return [Variant(("exits",), "", {}), *counts]
    return [
        Variant(("assistance",), "", {}),
        Variant(("assistance", "weights"), "_assisted", {}),
        Variant(("assistance",), "_assisted_probe", {"probe": 1}),
        *(
            Variant(("weights",), f"_assisted_first{first}", {"first": first})
            for first in FIRSTS
            if first != USUAL[0]
        ),
        *(
            Variant(("weights",), f"_assisted_step{step}", {"step": step})
            for step in STEPS
            if step != USUAL[1]
        ),
    ]


class Job(NamedTuple):
    """One training, and how it is run; what a worker is sent."""

    backbone: str
    variant: Variant
    seed: int
    folder: Path
    device: str
    epochs: int | None
    examples: int | None
    curves: int


def config_of(job: Job) -> Any:
    """Return the configuration of a training."""
    from tcuq_lab.zoo.make import find_config

    kind = "_assisted" if job.variant.suffix else ""
    config = find_config(f"{job.backbone}{kind}").with_settings(job.variant.settings)
    changes = {} if job.epochs is None else {"epochs": min(job.epochs, config.epochs)}
    return config.with_(name=f"{job.backbone}{job.variant.suffix}", seed=job.seed, **changes)


@lru_cache(maxsize=4)  # one each: a worker comes back to a dataset with every seed
def parts_of(dataset: str, examples: int | None) -> Parts:
    """Return the parts of a dataset, or only so many examples of each."""
    from tcuq_lab.zoo.make import load_parts

    found = load_parts(dataset)
    return found._replace(**{name: few(getattr(found, name), examples) for name in ("train", "dev", "test")})


def few(part: Examples, examples: int | None) -> Examples:
    """Return examples spread evenly over a part: the first ones may be of one class."""
    if examples is None or examples >= len(part.y):
        return part
    import torch

    chosen = torch.linspace(0, len(part.y) - 1, examples).long()
    return type(part)(part.x[chosen], part.y[chosen])


def work(job: Job) -> dict[str, Any]:
    """Train a network unless it is there, and return its row of the results."""
    from tcuq_lab.zoo.curves import curves_of, read_curves, thinned
    from tcuq_lab.zoo.heads import recipe
    from tcuq_lab.zoo.make import file_of, train_one
    from tcuq_lab.zoo.weights import load_weights

    config = config_of(job)
    parts = parts_of(config.dataset, job.examples)
    job.folder.mkdir(parents=True, exist_ok=True)
    card = train_one(config, job.folder, job.device, parts, curves=job.curves)
    path = job.folder / file_of(config)
    if card["examples"] != len(parts.train.y):
        raise ValueError(
            f"{path}: trained on {card['examples']} examples; {len(parts.train.y)} are asked for, "
            "another folder is needed"
        )
    network = load_weights(path)[0]
    plan = recipe(config.recipe, config.settings)
    return {
        "name": config.name,
        "ablations": list(job.variant.ablations),
        "backbone": config.backbone,
        "dataset": config.dataset,
        "seed": config.seed,
        "recipe": config.recipe,
        "settings": {each.name: plan.setting(each.name) for each in plan.accepted},
        "epochs": config.epochs,
        "examples": {
            "train": len(parts.train.y),
            "dev": len(parts.dev.y),
            "test": len(parts.test.y),
        },
        "dev": figures(network, parts.dev, job.device),
        "test": figures(network, parts.test, job.device),
        "device": card["device"],
        "seconds": card["seconds"],
        "curves": thinned(read_curves(curves_of(path)), POINTS),
    }


def figures(network: nn.Module, part: Examples, device: str) -> dict[str, float]:
    """Return the figures of a network on a part."""
    from tcuq_lab.metrics import accuracy, brier, ece, macro_f1, nll
    from tcuq_lab.zoo.outputs import outputs

    probs, labels = outputs(network, part.x.numpy(), device).probs, part.y.numpy()
    answers = probs.argmax(1)
    found = {
        "accuracy": accuracy(answers, labels),
        "f1": macro_f1(answers, labels, probs.shape[1]),
        "brier": brier(probs, labels),
        "nll": nll(probs, labels),
        "ece": ece(probs.max(1), answers == labels),
    }
    return {name: round(value, 6) for name, value in found.items()}


def done(jobs: Sequence[Job], workers: int) -> Iterator[dict[str, Any]]:
    """Give the rows of all jobs, as soon as each is there."""
    from tcuq_lab.zoo.make import side_by_side

    if workers == 1:
        yield from map(work, jobs)
    else:
        yield from side_by_side([jobs], workers, work)


def planned(args: argparse.Namespace) -> list[Job]:
    """Return all trainings; what is wrong with one is said before the first begins."""
    from tcuq_lab.zoo.make import check_config, check_data, find_device, found_card

    device = find_device(args.device)
    seeds = range(integer("seeds", args.seeds, 1, 1000))
    jobs = []
    for seed in seeds:  # a run that is cut off leaves whole seeds
        for backbone in args.backbone or BACKBONES:
            for variant in variants(known("backbone", backbone, BACKBONES)):
                given = (Path(args.out), device, args.epochs, args.examples, args.curves)
                jobs.append(Job(backbone, variant, seed, *given))
    for config in map(config_of, jobs):
        check_config(config)
        check_data(config.dataset)
        found_card(config, Path(args.out), args.curves)
    return jobs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument(
        "--backbone", action="append", metavar="B", help=f"one of {', '.join(BACKBONES)}; all by default"
    )
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="0 to N - 1; 1 by default")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="trainings side by side")
    parser.add_argument("--device", default="auto", metavar="D", help="cpu, cuda or auto (default)")
    parser.add_argument("--curves", type=int, default=1, metavar="N", help="note every Nth step (1)")
    parser.add_argument("--epochs", type=int, metavar="N", help="at most so many")
    parser.add_argument("--examples", type=int, metavar="N", help="of each part, evenly spread: a trial")
    args = parser.parse_args(arguments)
    try:
        workers = integer("workers", args.workers, 1, 256)
        if args.examples is not None:
            integer("examples", args.examples, 100, 10**9)  # with fewer, a class may be missing
        jobs = planned(args)
        rows: list[dict[str, Any]] = []
        names = list(dict.fromkeys(config_of(job).name for job in jobs))
        for row in done(jobs, workers):
            rows.append(row)
            rows.sort(key=lambda row: (names.index(row["name"]), row["seed"]))
            content = {"format": FORMAT, "version": VERSION, "trial": _trial(args), "networks": rows}
            write_whole(Path(args.out) / "results.json", json.dumps(content, allow_nan=False) + "\n")
            shown = ", ".join(f"{name} {value:.4f}" for name, value in row["test"].items())
            print(f"{len(rows)}/{len(jobs)} {row['name']}-{row['seed']}: {shown}", flush=True)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _trial(args: argparse.Namespace) -> bool:
    """Return whether the networks saw a few examples only: what they show then is that the tool runs."""
    return args.examples is not None


if __name__ == "__main__":
    sys.exit(main())
