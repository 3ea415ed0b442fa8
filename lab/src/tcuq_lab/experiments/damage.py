"""What every corruption does to a trained network: accuracy at each type and severity, and the page of it.

A severity counts as an exception when the network is right more often than at the severity before, by more
than two standard errors of the paired difference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..corruptions import corrupt, suite_of
from ..data.parts import load_part
from ..zoo.examples import front_end


def damage(
    weights: str,
    tell: Callable[[int, int, str], None],
    examples: int = 2000,
    seed: int = 0,
    workers: int = 2,
) -> dict[str, Any]:
    """Return accuracy and mean confidence of a network under every kind and severity, on the test part."""
    from ..zoo.outputs import outputs
    from ..zoo.weights import load_weights

    network, card = load_weights(weights)
    name = card["config"]["dataset"]
    part, suite = load_part(name, "test"), suite_of(name)
    # Spread over the whole part: some datasets are sorted by class.
    rows = np.unique(np.linspace(0, len(part.y) - 1, min(examples, len(part.y))).astype(np.int64))
    x, y = part.x[rows], part.y[rows]

    def right(given: Any) -> tuple[Any, float]:
        found = outputs(network, front_end(given)).probs
        return found.argmax(1) == y, float(found.max(1).mean())

    clean, sure = right(x)
    kinds: dict[str, Any] = {}
    for number, (kind, about) in enumerate(suite.kinds.items()):
        tell(number, len(suite.kinds), kind)
        each: dict[str, list[Any]] = {"accuracy": [], "confidence": [], "exceptions": []}
        before = clean
        for severity in range(1, len(about.settings) + 1):
            made = corrupt(x, suite.name, kind, severity, seed, index=rows, workers=workers)
            found, confidence = right(made)
            gain = found.astype(float) - before
            if gain.mean() > 2 * gain.std() / math.sqrt(len(gain)):
                each["exceptions"].append(severity)
            each["accuracy"].append(round(float(found.mean()), 4))
            each["confidence"].append(round(confidence, 4))
            before = found
        kinds[kind] = each
    return {
        "dataset": name,
        "suite": suite.name,
        "weights": card["file"],
        "examples": len(rows),
        "seed": seed,
        "clean": {"accuracy": round(float(clean.mean()), 4), "confidence": round(sure, 4)},
        "kinds": kinds,
    }


def damage_table(found: Mapping[str, Any]) -> str:
    """Return a result as a Markdown table."""
    most = max(len(each["accuracy"]) for each in found["kinds"].values())
    heads = [f"severity {n}" if most > 1 else "accuracy, %" for n in range(1, most + 1)]
    lines = [
        f"{found['weights']}, {found['examples']:,} examples of the test part of {found['dataset']}, seed "
        f"{found['seed']}: accuracy {100 * found['clean']['accuracy']:.1f} % without corruption.",
        "",
        f"| corruption type | {' | '.join(heads)} |",
        "| --- |" + " ---: |" * most,
    ]
    for kind, each in found["kinds"].items():
        shown = [
            f"{100 * value:.1f}{' *' if number in each['exceptions'] else ''}"
            for number, value in enumerate(each["accuracy"], 1)
        ]
        lines.append(f"| {kind} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def damage_page(folder: Path) -> str:
    """Return the page of all results of a folder."""
    parts = [(folder / "head.txt").read_text().rstrip()]
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text())
        parts += [f"## {found['dataset']} ({found['suite']})", damage_table(found)]
        exceptions = {kind: each["exceptions"] for kind, each in found["kinds"].items() if each["exceptions"]}
        named = ", ".join(f"{kind} {'/'.join(map(str, which))}" for kind, which in exceptions.items())
        parts.append(f"Exceptions (*): {named or 'none'}.")
    return "\n\n".join(parts) + "\n"
