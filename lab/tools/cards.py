"""Compare docs/MODELS.md with the cards of all networks, or write it; measure one network again.

    python lab/tools/cards.py                              # what would change in the page
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
    from tcuq_lab.zoo.count import Use

ROOT = Path(__file__).resolve().parents[1]
WEIGHTS = ROOT / "weights"
PAGE = ROOT.parent / "docs" / "MODELS.md"

HEAD = (
    "| network | seed | recipe | parameters | multiply-adds | epochs | dev, % | test, % |",
    "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
)
ABOUT = (
    "# Networks",
    "",
    "These are the trained networks of the lab. Each was trained on the train part of its dataset and "
    "measured on dev and test after rounding to half precision, as stored.",
    "",
    "- A checkpoint in `lab/weights/` also holds its card: configuration, versions, losses.",
    "- Train one yourself: `tcuq-lab train NAME --seed SEED --out DIR`. On a GPU the last bits may differ.",
    "- Measure one again: `python lab/tools/cards.py lab/weights/NAME-SEED.npz`.",
    "- Parameters and multiply-adds are those of one answer. A head that a recipe replaced is not counted.",
    "- `python lab/tools/cards.py --write` writes this page.",
    "",
)
NOT_KEPT = (
    "",
    "## Networks without stored weights",
    "",
    "These were trained and measured the same way. Only the card is stored, in `lab/weights/cards/`.",
    "",
)
CHOSEN = (
    "",
    "## How configurations were chosen",
    "",
    "Some recipes have several configurations. `python lab/tools/choose.py` compares them on dev examples, "
    "clean and under the corruption types that development may see. It uses the networks of seed 0. A later "
    "configuration is chosen if its error AUROC is higher by 0.005 or more. The chosen one is trained for "
    "all seeds.",
    "",
    "| network | error AUROC | accuracy on clean examples, % | chosen |",
    "| --- | ---: | ---: | --- |",
)


def cards() -> list[dict[str, Any]]:
    """Return the cards of all weight files, sorted by name and seed."""
    return _sorted(_read(path) for path in WEIGHTS.glob("*.npz"))


def lone_cards() -> list[dict[str, Any]]:
    """Return the cards of networks whose weights are not kept, sorted by name and seed."""
    return _sorted(_read(path) for path in (WEIGHTS / "cards").glob("*.json"))


def page() -> str:
    """Return the page."""
    lines = [*ABOUT, *HEAD, *map(row, cards())]
    lone = lone_cards()
    if lone:
        lines += [*NOT_KEPT, *HEAD, *map(row, lone)]
    return "\n".join([*lines, *chosen()]) + "\n"


def chosen() -> list[str]:
    """Return the lines of the table of what was chosen among configurations of a recipe."""
    try:
        found = json.loads((WEIGHTS / "choices.json").read_text())
    except FileNotFoundError:
        return []
    lines = list(CHOSEN)
    for backbone, recipes in found.items():
        for choice in recipes.values():
            for suffix, each in choice["measured"].items():
                mark = "yes" if suffix == choice["chosen"] else ""
                figures = f"{each['error_auroc']:.4f} | {100 * each['accuracy']:.2f}"
                lines.append(f"| {backbone}{suffix} | {figures} | {mark} |")
    return lines


def row(card: dict[str, Any]) -> str:
    """Return the line of a network."""
    config = card["config"]
    settings = ", ".join(f"{name} {value}" for name, value in card["settings"].items())
    recipe = card["recipe"] + (f" ({settings})" if settings else "")
    count = used_by(card)
    return (
        f"| {config['name']} | {config['seed']} | {recipe} | {count.parameters:,} | "
        f"{count.multiply_adds:,} | {config['epochs']} | {100 * card['dev_accuracy']:.2f} | "
        f"{100 * card['test_accuracy']:.2f} |"
    )


def used_by(card: dict[str, Any]) -> Use:
    """Return what an answer of a network takes, counted on a network built as its card says."""
    names = ("backbone", "options", "recipe", "settings")
    return _used(card["config"]["dataset"], json.dumps([card[name] for name in names]))


@cache  # members of an ensemble are alike
def _used(dataset: str, built: str) -> Use:
    need_torch()
    import torch

    from tcuq_lab.zoo.count import used
    from tcuq_lab.zoo.examples import form_of
    from tcuq_lab.zoo.outputs import core
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
        raise ImportError("PyTorch is needed to build networks: pip install 'tcuq-lab[zoo]'") from None


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
    parser.add_argument("--write", action="store_true", help="write the page")
    args = parser.parse_args(arguments)
    try:
        if not args.weights:
            put(PAGE, page(), args.write)
        for path in args.weights:
            shown = ", ".join(f"{name} {value:.4f}" for name, value in measured(path).items())
            print(f"{path}: {shown}")
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
