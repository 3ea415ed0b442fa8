"""`tcuq-lab train` and `networks`: train backbones as configurations say; what the stored ones are worth."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, given, note, progress
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

from .shared import options

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the commands."""
    _declare_networks(subparsers)
    parser = declare(
        subparsers,
        "train",
        "train a backbone on a dataset",
        "tcuq-lab train resnet8 --out weights --members 7",
        train_networks,
        "tcuq-lab record --weights weights --task cifar10",
        about="Writes a checkpoint for each network into a folder. Needs PyTorch.",
    )
    options(parser, ("config", "CONFIG", "name of a built-in configuration, or a JSON file"), nargs="+")
    options(parser, ("--out", "FOLDER", "folder for the checkpoints"), required=True)
    options(
        parser,
        ("--seed", "N", "seed of the first network (default: the configuration's)"),
        ("--epochs", "N", "epochs (default: the configuration's)"),
        ("--share", "SHARE", "share of the configuration's epochs"),
        ("--name", "NAME", "name of the checkpoints (default: the configuration's)"),
    )
    changed = ("--set", "NAME=VALUE", "a setting of the recipe; may be repeated")
    options(parser, changed, action="append", default=[], type=setting)
    options(
        parser,
        ("--curves", "N", "store the losses of every Nth step in NAME-SEED.curves.json"),
        ("--members", "N", "number of networks, with consecutive seeds", 1),
        ("--device", "D", "cpu, cuda or auto", "auto"),
        ("--workers", "N", "networks trained in parallel", 1),
    )


def _declare_networks(subparsers: Subparsers) -> None:
    parser = declare(
        subparsers,
        "networks",
        "list the stored networks, and measure them again",
        "tcuq-lab networks lab/weights/resnet8-0.npz",
        networks,
        "tcuq-lab networks --write",
        about="Without an option: compares weights/networks.csv with the cards of all networks. Needs "
        "PyTorch, and datasets for all else.",
    )
    options(parser, ("files", "FILE", "measure the accuracy of these checkpoints again"), nargs="*")
    options(
        parser,
        ("--choose", "", "choose, on dev examples, among networks of one recipe: weights/choices.json"),
        ("--sample", "", "run all networks over a few dev examples: lab/recorded, for tests without data"),
        ("--damage", "", "measure FILE under every corruption; without FILE: the page of all results"),
        ("--weights", "DIR", "folder of checkpoints (default: lab/weights)"),
        ("--examples", "N", "examples of --choose (1200), --sample (300) or --damage (2000)"),
        ("--out", "PATH", "what --sample (a folder) or --damage (a file) compares and writes"),
        ("--write", "", "show what changed, then overwrite"),
    )


def networks(args: argparse.Namespace) -> int:
    """Do one of the things with stored networks; nothing stored changes without being told to."""
    import json

    from ..changes import put
    from ..experiments import damage
    from ..experiments import networks as stored
    from ..home import folder

    def keep(path: Any, text: str) -> None:
        put(path, text, args.write, lambda line: note(args, line))

    weights, few = folder(args.weights, "weights"), given(args, "examples")
    pages = folder(None, "../docs/corruptions")
    if sum(map(bool, (args.choose, args.sample, args.damage))) > 1:
        raise UsageError("one of --choose, --sample and --damage is expected")
    if args.damage:
        for path in args.files:
            with progress(args) as bar:
                found = damage.damage(path, bar, **few)
            answer(args, found, damage.damage_table(found))
            keep(args.out or pages / f"{found['dataset']}.json", json.dumps(found, indent=1) + "\n")
        if not args.files:
            keep(pages / "README.md", damage.damage_page(pages))
    elif args.choose:
        chosen = dict(stored.choices(str(weights), **few))
        answer(args, chosen, "\n".join(f"{name}: {each}" for name, each in chosen.items()))
        keep(weights / "choices.json", json.dumps(chosen, indent=1) + "\n")
    elif args.sample:
        for path, said in stored.sample(str(weights), folder(args.out, "recorded"), bool(args.write), **few):
            if path.suffix == ".json":
                keep(path, said)
            else:
                note(args, f"{path}: {said}")
    elif args.files:
        rates = {path: stored.measured(path) for path in args.files}
        shown = (f"{path}: dev {each['dev']:.4f}, test {each['test']:.4f}" for path, each in rates.items())
        answer(args, rates, "\n".join(shown))
    else:
        keep(weights / "networks.csv", stored.table(weights))
    return 0


def setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no number is a text."""
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{text!r}, expected NAME=VALUE")
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


def train_networks(args: argparse.Namespace) -> int:
    """Train the members."""
    from ..home import library

    library("torch", "for training")
    from tcuq.base.checks import number

    from ..zoo.make import find_config, train_all

    if args.name is not None and len(args.config) > 1:
        raise UsageError(f"--name is {args.name!r}, expected one configuration with it")
    settings = dict(args.set)
    if len(settings) < len(args.set):
        raise UsageError("a name is given to --set twice, expected once")
    changes = given(args, "seed", "epochs", "name")
    configs = [find_config(name).with_settings(settings).with_(**changes) for name in args.config]
    if args.share is not None:
        share = number("share", args.share, 0.001, 1)
        configs = [each.with_(epochs=max(1, round(share * each.epochs))) for each in configs]
    with progress(args) as bar:
        cards = train_all(configs, args.out, args.members, args.device, args.workers, bar, args.curves)
    lines = [
        f"{card['file']}: dev {card['dev_accuracy']:.4f}, test {card['test_accuracy']:.4f}" for card in cards
    ]
    answer(args, {"members": cards}, "\n".join(lines))
    return 0
