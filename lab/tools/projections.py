"""Compare projections of wide features on recorded development examples: held-out AUROC of errors.

    python lab/tools/projections.py

Needs no data: the recorded outputs of DS-CNN and ResNet-8, both with 64 features. The monitor has the four
signals of the paper; coefficients are fitted to some kinds of corruption and judged on the others.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tcuq_lab.methods.banks import load_bank, observed
from tcuq_lab.methods.method import Labeled
from tcuq_lab.methods.paper import TcuqPaper
from tcuq_lab.methods.projection import KINDS, WIDTH
from tcuq_lab.metrics.drops import errors_alone
from tcuq_lab.streams import Description, Geometric, Segments, Shift, build

FOLDER = Path(__file__).resolve().parents[1] / "recorded"


def development(backbone: str, dwell: int, steps: int = 9000) -> Labeled:
    """Return a development stream of recorded outputs."""
    about = json.loads((FOLDER / backbone / "about.json").read_text())
    shifts = [source.split("/") for source in about["sources"] if source != "clean"]
    plan = Description(
        dataset=about["dataset"],
        part="dev",
        seed=0,
        steps=steps,
        dwell=Geometric(dwell),
        layout=Segments(),
        shifts=tuple(Shift(kind, (int(level),)) for kind, level in shifts),
    )
    stream = build(plan, about["labels"])
    seen = observed(stream, load_bank(FOLDER / backbone / "plain.npz"))
    return Labeled(seen, stream.label, stream.shift.astype(np.uint8))


def compared(dev: Labeled, draws: int = 3) -> dict[str, float]:
    """Return the held-out AUROC of errors with each projection, and without features.

    Nothing but the projection differs. Coefficients are refitted each time, to other folds than those
    that they are judged on, and a projection is made from clean steps. The monitor has the signals of the
    paper, of which one reads features.
    """
    features = dev.observed.features
    width = 0 if features is None else features.shape[1]
    if width <= WIDTH:
        raise ValueError(f"features are {width} wide, expected more than {WIDTH}, or there is no projection")
    base, judge = TcuqPaper.grid[1], TcuqPaper()

    def quality(kind: str | None, seed: int = 0) -> float:
        return judge.quality(dev, {**base, "features": kind, "seed": seed}, errors_alone)

    found = {"none": quality(None)}
    for kind in KINDS:
        drawn = [quality(kind, seed) for seed in (range(draws) if kind == "random" else (0,))]
        found[kind] = float(np.mean(drawn))
    return found


def main() -> None:
    """Print the table."""
    print("| network | dwell | none | average | pca | random |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for backbone in ("dscnn", "resnet8"):
        for dwell in (1, 4, 16):
            found = compared(development(backbone, dwell))
            shown = " | ".join(f"{found[name]:.4f}" for name in ("none", "average", "pca", "random"))
            print(f"| {backbone} | {dwell} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
