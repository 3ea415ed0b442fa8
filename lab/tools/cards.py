"""Compare lab/weights/networks.csv with the cards of all networks, or write it; measure one network again.

    python lab/tools/cards.py                              # what would change in the table
    python lab/tools/cards.py --write                      # write it
    python lab/tools/cards.py lab/weights/resnet8-0.npz    # accuracy on dev and test, from the data

A card lies inside its file of weights, or alone in lab/weights/cards where the weights are not kept. What a
network costs is counted on the network itself, which is built for it: both need PyTorch.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from tcuq_lab.changes import put

if TYPE_CHECKING:
    from tcuq_lab.zoo.outputs import Use

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "weights"
TABLE = WEIGHTS / "networks.csv"

FIELDS = "network,seed,recipe,parameters,multiply_adds,epochs,dev_accuracy,test_accuracy,weights"


def cards() -> list[dict[str, Any]]:
    """Return the cards of all weight files, sorted by name and seed."""
    return _sorted(_read(path) for path in WEIGHTS.glob("*.npz"))


def lone_cards() -> list[dict[str, Any]]:
    """Return the cards of networks whose weights are not kept, sorted by name and seed."""
    return _sorted(_read(path) for path in (WEIGHTS / "cards").glob("*.json"))


def table() -> str:
    """Return the table as CSV."""
    rows = [row(card, True) for card in cards()] + [row(card, False) for card in lone_cards()]
    return "\n".join([FIELDS, *rows]) + "\n"


def row(card: dict[str, Any], kept: bool) -> str:
    """Return the line of a network."""
    config, count = card["config"], used_by(card)
    settings = " ".join(f"{name} {value}" for name, value in card["settings"].items())
    recipe = card["recipe"] + (f" ({settings})" if settings else "")
    return (
        f"{config['name']},{config['seed']},{recipe},{count.parameters},{count.multiply_adds},"
        f"{config['epochs']},{card['dev_accuracy']:.4f},{card['test_accuracy']:.4f},"
        f"{'kept' if kept else 'not kept'}"
    )


def used_by(card: dict[str, Any]) -> Use:
    """Return what an answer of a network takes, counted on a network built as its card says."""
    names = ("backbone", "options", "recipe", "settings")
    return _used(card["config"]["dataset"], json.dumps([card[name] for name in names]))


@cache  # members of an ensemble are alike
def _used(dataset: str, built: str) -> Use:
    need_torch()
    import torch

    from tcuq_lab.zoo.examples import form_of
    from tcuq_lab.zoo.outputs import core, used
    from tcuq_lab.zoo.weights import build

    network = build(*json.loads(built))
    inputs = core(network).prepare(torch.from_numpy(form_of(dataset).blank))
    return used(network, tuple(inputs.shape[1:]))


def measured(path: str) -> dict[str, float]:
    """Return the accuracy of a stored network on dev and test, from the data."""
    need_torch()
    from tcuq_lab.data.parts import load_part
    from tcuq_lab.zoo.examples import inputs_of
    from tcuq_lab.zoo.outputs import accuracy
    from tcuq_lab.zoo.weights import load_weights

    network, card = load_weights(path)
    parts = {name: load_part(card["config"]["dataset"], name) for name in ("dev", "test")}
    return {name: accuracy(network, inputs_of(part), part.y) for name, part in parts.items()}


def need_torch() -> None:
    """Say how to get PyTorch where there is none."""
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ImportError("PyTorch is needed to build networks: pip install torch") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".json":
            return dict(json.loads(path.read_text()))
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            return dict(json.loads(bytes(file["card"])))
    except (ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path}: no card ({type(error).__name__})") from None


def _sorted(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda card: (card["config"]["name"], card["config"]["seed"]))


def main(arguments: list[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="*", metavar="FILE", help="checkpoints to measure again")
    parser.add_argument("--write", action="store_true", help="write the table")
    args = parser.parse_args(arguments)
    try:
        if not args.weights:
            put(TABLE, table(), args.write)
        for path in args.weights:
            shown = ", ".join(f"{name} {value:.4f}" for name, value in measured(path).items())
            print(f"{path}: {shown}")
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
