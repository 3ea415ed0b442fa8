"""Record what the networks of every method say to a few development examples, for tests without the data.

    python tools/record.py

Needs the data sets (TCUQ_DATA) and the extras lab and zoo; about two minutes on two cores. The first
dev examples are shown clean and under every kind of corruption that development may see, at severity 3.
Methods that share networks and recordings share a file. Nothing of the data itself is kept but labels.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from tcuq._version import VERSION
from tcuq.base.whole_files import write_whole
from tcuq_lab.corruptions import suite_of
from tcuq_lab.data.parts import load_part
from tcuq_lab.methods.bank_files import save_bank
from tcuq_lab.methods.gather import record_banks
from tcuq_lab.methods.networks import load_networks, names_of, suffix_of
from tcuq_lab.methods.registry import METHODS, WEAKENED
from tcuq_lab.reproduce.rows import KEPT
from tcuq_lab.zoo.examples import inputs_of

DATASETS = {backbone: task for task, backbone in KEPT.items()}
SEVERITY = 3


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--weights", default="weights")
    parser.add_argument("--out", default="recorded")
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
        folder.mkdir(parents=True, exist_ok=True)
        for bank, found in record_banks(methods, data, ["clean", *shifted]).items():
            # Features serve the monitor alone, which takes the plain networks.
            kept = (
                found if bank == "plain" else {at: replace(row, features=None) for at, row in found.items()}
            )
            save_bank(folder / f"{bank}.npz", kept)
        about = {
            "dataset": name,
            "part": "dev",
            "examples": len(data.y),
            "sources": ["clean", *shifted],
            "networks": networks,
            "versions": {"tcuq": VERSION, "numpy": np.__version__},
            "labels": data.y.tolist(),
        }
        write_whole(folder / "about.json", json.dumps(about) + "\n")
        print(backbone, sum(path.stat().st_size for path in folder.glob("*")), "bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
