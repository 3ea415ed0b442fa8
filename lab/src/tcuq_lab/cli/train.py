"""`tcuq-lab train` and `networks`: train backbones as configurations say; what the stored ones are worth."""

from __future__ import annotations

import argparse
import json
from typing import Any

from tcuq.base.checks import number
from tcuq.cli.common import answer, given, note, progress
from tcuq.cli.process import UsageError

from ..changes import put
from ..experiments import networks as stored
from ..home import folder, library


def networks(args: argparse.Namespace) -> int:
    """Do one of the things with stored networks; nothing stored changes without being told to."""

    def keep(path: Any, text: str) -> None:
        put(path, text, args.write, lambda line: note(args, line))

    weights, few = folder(args.weights, "weights"), given(args, "examples")
    pages = folder(None, "../docs/corruptions")
    if sum(map(bool, (args.choose, args.sample, args.damage))) > 1:
        raise UsageError("one of --choose, --sample and --damage is expected")
    if args.damage:
        for path in args.files:
            with progress(args) as bar:
                found = stored.damage(path, bar, **few)
            answer(args, found, stored.damage_table(found))
            keep(args.out or pages / f"{found['dataset']}.json", json.dumps(found, indent=1) + "\n")
        if not args.files:
            keep(pages / "README.md", stored.damage_page(pages))
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


def train_networks(args: argparse.Namespace) -> int:
    """Train the members."""
    library("torch", "for training")
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
