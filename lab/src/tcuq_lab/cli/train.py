"""`tcuq-lab train`: train a backbone as a configuration says."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tcuq.cli.common import answer, declare, given, progress
from tcuq.cli.edge import UsageError

if TYPE_CHECKING:
    from tcuq.cli.common import Subparsers


def add(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = declare(
        subparsers,
        "train",
        "train a backbone on a data set of the lab",
        "tcuq-lab train resnet8 --out weights --members 7",
        train_networks,
    )
    parser.add_argument(
        "config", metavar="CONFIG", nargs="+", help="a JSON file, or the name of one that comes along"
    )
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the weights are put")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the first member, over the file's")
    parser.add_argument("--epochs", type=int, metavar="N", help="epochs, over the file's")
    parser.add_argument("--name", metavar="NAME", help="of the weights, over the file's")
    parser.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=setting,
        help="a setting of the recipe, over the file's (more than one --set is possible)",
    )
    parser.add_argument(
        "--curves", type=int, metavar="N", help="keep the losses of every Nth step in NAME-SEED.curves.json"
    )
    parser.add_argument("--members", type=int, metavar="N", default=1, help="networks, of seeds in a row")
    parser.add_argument("--device", metavar="D", default="auto", help="cpu, cuda or auto (default)")
    parser.add_argument("--workers", type=int, metavar="N", default=1, help="members trained side by side")


def setting(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no number is a text.

    Examples
    --------
    >>> setting("first=2"), setting("step=0.5"), setting("teacher=cnn4")
    (('first', 2), ('step', 0.5), ('teacher', 'cnn4'))
    """
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{text!r}; NAME=VALUE is accepted")
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
        raise ImportError("PyTorch is needed for training: pip install 'tcuq-lab[zoo]'") from None

    if args.name is not None and len(args.config) > 1:
        raise UsageError(f"--name is {args.name!r}; one configuration is accepted with it")
    settings = dict(args.set)
    if len(settings) < len(args.set):
        raise UsageError("a name is given to --set twice; once is accepted")
    changes = given(args, "seed", "epochs", "name")
    configs = [find_config(name).with_settings(settings).with_(**changes) for name in args.config]
    with progress(args) as bar:
        cards = train_all(configs, args.out, args.members, args.device, args.workers, bar, args.curves)
    lines = [
        f"{card['file']}: dev {card['dev_accuracy']:.4f}, test {card['test_accuracy']:.4f}" for card in cards
    ]
    answer(args, {"members": cards}, "\n".join(lines))
    return 0
