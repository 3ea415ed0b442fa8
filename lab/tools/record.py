"""Record what the networks of every method say to a few development examples, for tests without the data.

    python lab/tools/record.py             # compare with lab/recorded
    python lab/tools/record.py --write     # replace the recordings there

Needs the datasets (TCUQ_DATA) and the extra all; about two minutes on two cores. The first
dev examples are shown clean and under every kind of corruption that development may see, at severity 3.
Methods that share networks and recordings share a file. Nothing of the data itself is kept but labels.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from tcuq._version import VERSION
from tcuq_lab.changes import put
from tcuq_lab.corruptions import suite_of
from tcuq_lab.data.parts import load_part
from tcuq_lab.methods.banks import load_bank, record_banks, save_bank
from tcuq_lab.methods.method import Recorded
from tcuq_lab.methods.registry import METHODS, WEAKENED, load_networks, names_of, suffix_of
from tcuq_lab.reproduce.rows import KEPT
from tcuq_lab.zoo.examples import inputs_of

LAB = Path(__file__).resolve().parents[1]
DATASETS = {backbone: task for task, backbone in KEPT.items()}
SEVERITY = 3


def differing(path: Path, bank: Mapping[str, Recorded]) -> str:
    """Say how far recordings are from those in a file."""
    if not path.exists():
        return f"{path}: new file"
    before = load_bank(path)
    if before.keys() != bank.keys():
        return f"{path}: other sources: {', '.join(sorted(before.keys() ^ bank.keys()))}"
    gaps = {source: float(np.abs(before[source].probs - row.probs).max()) for source, row in bank.items()}
    worst = max(gaps, key=lambda source: gaps[source])
    return f"{path}: posteriors differ by up to {gaps[worst]:.2g} ({worst})"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--weights", default=str(LAB / "weights"), help="folder of checkpoints")
    parser.add_argument("--out", default=str(LAB / "recorded"), help="folder of recordings")
    parser.add_argument("--write", action="store_true", help="replace recordings that differ")
    parser.add_argument("--examples", type=int, default=300)
    args = parser.parse_args()
    # One method a recording: those that share one differ in what they make of it.
    kept = [each for each in METHODS.values() if each not in WEAKENED and not each.name.endswith("_plus")]
    kinds = {each.bank: each for each in reversed(kept)}
    for backbone, name in DATASETS.items():
        part = load_part(name, "dev")
        data = replace(part, x=part.x[: args.examples], y=part.y[: args.examples])
        suite = suite_of(name)
        shifted = [f"{kind}/{level}" for kind in suite.seen for level in suite.severities(kind, (SEVERITY,))]
        methods, networks = {}, {}
        for bank, kind in sorted(kinds.items()):
            networks[bank] = names_of(kind, backbone, 0, suffix_of(kind, backbone, args.weights))
            methods[bank] = kind(load_networks(kind, backbone, 0, args.weights))
            methods[bank].ready(inputs_of(data), data.y)
        folder = Path(args.out) / backbone
        if args.write:
            folder.mkdir(parents=True, exist_ok=True)
        for bank, found in record_banks(methods, data, ["clean", *shifted]).items():
            # Features serve the monitor alone, which takes the plain networks.
            kept = (
                found if bank == "plain" else {at: replace(row, features=None) for at, row in found.items()}
            )
            place = folder / f"{bank}.npz"
            print(differing(place, kept), flush=True)
            if args.write:
                save_bank(place, kept)
        about = {
            "dataset": name,
            "part": "dev",
            "examples": len(data.y),
            "sources": ["clean", *shifted],
            "networks": networks,
            "versions": {"tcuq": VERSION, "numpy": np.__version__},
            "labels": data.y.tolist(),
        }
        put(folder / "about.json", json.dumps(about) + "\n", args.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
