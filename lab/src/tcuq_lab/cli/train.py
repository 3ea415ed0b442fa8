"""`tcuq-lab train`: train a backbone as a configuration says."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, given, progress
from tcuq.cli.parser import declare
from tcuq.cli.process import UsageError

from .shared import options

if TYPE_CHECKING:
    from tcuq.cli.parser import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
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
    try:
        from ..zoo.make import find_config, train_all
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError("PyTorch is needed for training: pip install torch") from None

    if args.name is not None and len(args.config) > 1:
        raise UsageError(f"--name is {args.name!r}, expected one configuration with it")
    settings = dict(args.set)
    if len(settings) < len(args.set):
        raise UsageError("a name is given to --set twice, expected once")
    changes = given(args, "seed", "epochs", "name")
    configs = [find_config(name).with_settings(settings).with_(**changes) for name in args.config]
    with progress(args) as bar:
        cards = train_all(configs, args.out, args.members, args.device, args.workers, bar, args.curves)
    lines = [
        f"{card['file']}: dev {card['dev_accuracy']:.4f}, test {card['test_accuracy']:.4f}" for card in cards
    ]
    answer(args, {"members": cards}, "\n".join(lines))
    return 0
