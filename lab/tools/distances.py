"""Compare ways to measure the distance of features from the center of their class, on recorded examples.

    python lab/tools/distances.py

Needs no data: the recorded outputs of development examples. AUROC of shifted against clean examples, and of
errors among shifted ones, by the logarithm of the squared distance, centered by the clean mean of its class.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tcuq.metrics import auroc
from tcuq_lab.methods.banks import load_bank
from tcuq_lab.methods.projection import projection

FOLDER = Path(__file__).resolve().parents[1] / "recorded"
Floats = npt.NDArray[np.float64]


def spaces(clean: Floats, labels: npt.NDArray[np.int64]) -> dict[str, Floats]:
    """Return a matrix for each way: features as they are, scaled one by one, whitened."""
    within = clean - np.stack([clean[labels == label].mean(0) for label in labels])
    variance = within.var(0) + 0.1 * within.var(0).mean()
    white = projection("whiten", clean, clean.shape[1], labels=labels)
    assert white is not None
    return {"plain": np.eye(clean.shape[1]), "scaled": np.diag(variance**-0.5), "whitened": white.matrix}


def far(x: Floats, centers: Floats, label: npt.NDArray[np.int64]) -> Floats:
    """Return the logarithm of the squared distance from the center of each class."""
    return np.asarray(np.log2(np.square(x - centers[label]).sum(1) + 1e-9))


def by_class(values: Floats, label: npt.NDArray[np.int64], classes: int) -> Floats:
    """Return the mean of each class; that of all where a class has none."""
    return np.stack(
        [values[label == c if (label == c).any() else slice(None)].mean(0) for c in range(classes)]
    )


def judged(backbone: str) -> dict[str, list[float]]:
    """Return AUROCs of shifts and of errors, one for each way. Half of the clean examples set the space."""
    truth = np.array(json.loads((FOLDER / backbone / "about.json").read_text())["labels"])
    bank = load_bank(FOLDER / backbone / "plain.npz")
    rows = {name: (each.probs.argmax(1), np.asarray(each.features, float)) for name, each in bank.items()}
    label, clean = rows.pop("clean")
    classes = bank["clean"].probs.shape[1]
    shifted = np.concatenate([x for _, x in rows.values()])
    answered = np.concatenate([found for found, _ in rows.values()])
    wrong = np.concatenate([found != truth for found, _ in rows.values()])
    known = np.arange(len(clean)) % 2 == 0
    found: dict[str, list[float]] = {"shifts": [], "errors": []}
    for matrix in spaces(clean[known], label[known]).values():
        inside, outside = clean @ matrix, shifted @ matrix
        centers = by_class(inside[known], label[known], classes)
        here, there = far(inside, centers, label), far(outside, centers, answered)
        usual = by_class(here[~known], label[~known], classes)
        here, there = (here - usual[label])[~known], there - usual[answered]
        found["shifts"].append(auroc(np.append(here, there), np.arange(len(here) + len(there)) >= len(here)))
        found["errors"].append(auroc(there, wrong))
    return found


def main() -> None:
    """Print the table."""
    print("| network | AUROC of | plain | scaled | whitened |")
    print("| --- | --- | ---: | ---: | ---: |")
    for backbone in ("cnn4", "dscnn", "resnet8"):
        for what, values in judged(backbone).items():
            print(f"| {backbone} | {what} | {' | '.join(f'{value:.3f}' for value in values)} |", flush=True)


if __name__ == "__main__":
    main()
