"""Measure what every corruption does to a trained network: accuracy at each type and severity.

    python lab/tools/damage.py lab/weights/resnet8-0.npz    # compare with docs/corruptions/cifar10.json
    python lab/tools/damage.py --page                       # compare docs/corruptions/README.md

Both print what would change; --write writes it. A severity counts as an exception
when the network is right more often than at the severity before, by more than two standard errors of the
paired difference.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tcuq_lab.changes import put

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "corruptions"


def measure(weights: str, examples: int, seed: int, workers: int) -> dict[str, Any]:
    """Return accuracy and mean confidence of a network under every kind and severity, on the test part."""
    from tcuq_lab.corruptions import corrupt, suite_of
    from tcuq_lab.data.parts import load_part
    from tcuq_lab.zoo.examples import front_end
    from tcuq_lab.zoo.outputs import outputs
    from tcuq_lab.zoo.weights import load_weights

    network, card = load_weights(weights)
    name = card["config"]["dataset"]
    part = load_part(name, "test")
    # Spread over the whole part: some datasets are sorted by class.
    rows = np.unique(np.linspace(0, len(part.y) - 1, min(examples, len(part.y))).astype(np.int64))
    x, y = part.x[rows], part.y[rows]

    def right(given: Any) -> tuple[Any, float]:
        found = outputs(network, front_end(given)).probs
        return found.argmax(1) == y, float(found.max(1).mean())

    suite = suite_of(name)
    clean, sure = right(x)
    kinds: dict[str, Any] = {}
    for kind, about in suite.kinds.items():
        rows_of = {"accuracy": [], "confidence": [], "exceptions": []}
        before = clean
        for severity in range(1, len(about.settings) + 1):
            made = corrupt(x, suite.name, kind, severity, seed, index=rows, workers=workers)
            found, confidence = right(made)
            gain = found.astype(float) - before
            if gain.mean() > 2 * gain.std() / math.sqrt(len(gain)):
                rows_of["exceptions"].append(severity)
            rows_of["accuracy"].append(round(float(found.mean()), 4))
            rows_of["confidence"].append(round(confidence, 4))
            before = found
        kinds[kind] = rows_of
        print(f"{kind:<20} {rows_of['accuracy']} {rows_of['exceptions'] or ''}", file=sys.stderr, flush=True)
    head = {
        "dataset": name,
        "suite": suite.name,
        "weights": card["file"],
        "examples": len(rows),
        "seed": seed,
    }
    return {
        **head,
        "clean": {"accuracy": round(float(clean.mean()), 4), "confidence": round(sure, 4)},
        "kinds": kinds,
    }


def table(found: dict[str, Any]) -> str:
    """Return a result as a Markdown table."""
    most = max(len(each["accuracy"]) for each in found["kinds"].values())
    lines = [
        f"{found['weights']}, {found['examples']:,} examples of the test part of {found['dataset']}, seed "
        f"{found['seed']}: accuracy {100 * found['clean']['accuracy']:.1f} % without corruption.",
        "",
        "| corruption type | "
        + " | ".join(f"severity {n}" if most > 1 else "accuracy, %" for n in range(1, most + 1))
        + " |",
        "| --- |" + " ---: |" * most,
    ]
    for kind, each in found["kinds"].items():
        shown = [
            f"{100 * value:.1f}{' *' if number in each['exceptions'] else ''}"
            for number, value in enumerate(each["accuracy"], 1)
        ]
        lines.append(f"| {kind} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def page() -> str:
    """Return the page of all results."""
    head = (FOLDER / "head.txt").read_text()
    parts = [head.rstrip()]
    for path in sorted(FOLDER.glob("*.json")):
        found = json.loads(path.read_text())
        parts += [f"## {found['dataset']} ({found['suite']})", table(found)]
        exceptions = {kind: each["exceptions"] for kind, each in found["kinds"].items() if each["exceptions"]}
        named = ", ".join(f"{kind} {'/'.join(map(str, which))}" for kind, which in exceptions.items())
        parts.append(f"Exceptions (*): {named or 'none'}.")
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?")
    parser.add_argument("--out", help="file to compare or write (default: docs/corruptions/DATASET.json)")
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="make the page from the files")
    parser.add_argument("--write", action="store_true", help="write what was compared")
    args = parser.parse_args(arguments)
    if args.page:
        put(FOLDER / "README.md", page(), args.write)
        return 0
    if not args.weights:
        parser.error("expected a file of weights, or --page")
    try:
        found = measure(args.weights, args.examples, args.seed, args.workers)
    except (ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(table(found))
    put(args.out or FOLDER / f"{found['dataset']}.json", json.dumps(found, indent=1) + "\n", args.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
