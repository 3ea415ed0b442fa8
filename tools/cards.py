"""Write docs/MODELS.md from the cards inside the weight files; with a file, measure that network again.

python tools/cards.py
python tools/cards.py weights/resnet8-0.npz     # accuracy on dev and test, from the data
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "MODELS.md"


def cards() -> list[dict[str, Any]]:
    """Return the cards of all weight files, sorted by name and seed."""
    found = []
    for path in (ROOT / "weights").glob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            found.append(json.loads(bytes(file["card"])))
    return sorted(found, key=lambda card: (card["config"]["name"], card["config"]["seed"]))


def page() -> str:
    """Return the page."""
    lines = [
        "# Networks",
        "",
        "Trained on the train part of their data set, measured on dev and test after rounding to half",
        "precision, as stored. A file in `weights/` holds its card: configuration, versions, losses.",
        "A row is made by `tcuq train NAME --seed SEED --out weights` (on a GPU not to the last bit), and",
        "measured again by `python tools/cards.py weights/NAME-SEED.npz`.",
        "This page is written by `python tools/cards.py`.",
        "",
        "| network | seed | recipe | parameters | multiply-adds | epochs | dev, % | test, % |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for card in cards():
        config = card["config"]
        settings = ", ".join(f"{name} {value}" for name, value in card["settings"].items())
        recipe = card["recipe"] + (f" ({settings})" if settings else "")
        lines.append(
            f"| {config['name']} | {config['seed']} | {recipe} | {card['parameters']:,} | "
            f"{card['multiply_adds']:,} | {config['epochs']} | {100 * card['dev_accuracy']:.2f} | "
            f"{100 * card['test_accuracy']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def measured(path: str) -> dict[str, float]:
    """Return the accuracy of a stored network on dev and test, from the data."""
    from tcuq.data.parts import load_part
    from tcuq.zoo.examples import inputs_of
    from tcuq.zoo.outputs import accuracy
    from tcuq.zoo.weights import load_weights

    network, card = load_weights(path)
    parts = {name: load_part(card["config"]["dataset"], name) for name in ("dev", "test")}
    return {name: accuracy(network, inputs_of(part), part.y) for name, part in parts.items()}


def main(arguments: list[str]) -> int:
    """Run the command."""
    if not arguments:
        PAGE.write_text(page())
        return 0
    try:
        for path in arguments:
            shown = ", ".join(f"{name} {value:.4f}" for name, value in measured(path).items())
            print(f"{path}: {shown}")
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
