"""Choose, on development data, among networks of one recipe, and write what was found beside the weights.

    python lab/tools/choose.py             # what would change in lab/weights/choices.json
    python lab/tools/choose.py --write     # write it

Needs the datasets (TCUQ_DATA) and the extra all; about ten minutes on two cores. Every network of
seed 0 is shown clean dev examples and the same under the kinds of corruption that development may see, at
severities 2 and 4 (MNIST-C has one each). The method searches its own grid; the AUROC of its errors counts.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tcuq.metrics import auroc
from tcuq_lab.changes import put
from tcuq_lab.corruptions import suite_of
from tcuq_lab.data.parts import load_part
from tcuq_lab.methods.banks import record_banks
from tcuq_lab.methods.method import Method, Observed, Recorded
from tcuq_lab.methods.registry import CHOICES, SUFFIXES, load_networks, method
from tcuq_lab.reproduce.rows import KEPT

WEIGHTS = Path(__file__).resolve().parents[1] / "weights"
DATASETS = {backbone: task for task, backbone in KEPT.items()}
METHODS = {"dropout": "mc_dropout", "early_exit": "early_exit", "hydra": "hydra"}
SEVERITIES = (2, 4)
WORTH = 0.005
"""AUROC that a configuration must add to an earlier one to be chosen before it: less is chance."""


def quality(each: Method, bank: dict[str, Recorded], y: npt.NDArray[np.int64]) -> tuple[float, float]:
    """Return the AUROC of a method's errors with its best setting, and its accuracy on clean examples."""
    rows = list(bank.values())
    extra = {name: np.concatenate([row.extra[name] for row in rows]) for name in rows[0].extra}
    seen = Observed(np.concatenate([row.probs for row in rows]), None, extra)
    labels = np.tile(y, len(rows))
    best, right = -1.0, np.zeros(0, dtype=bool)
    for setting in each.grid:  # examples in the order of a dataset are no stream: drops mean nothing here
        found = each.score(seen, setting)
        answered = found.predictions() == labels
        quality = auroc(found.score, ~answered)
        if quality > best:
            best, right = quality, answered
    return best, float(right[: len(y)].mean())


def best(table: dict[str, float]) -> str:
    """Return the configuration that is chosen."""
    found = next(iter(table))
    for suffix, value in table.items():
        if value > table[found] + WORTH:
            found = suffix
    return found


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--weights", default=str(WEIGHTS), help="folder of checkpoints")
    parser.add_argument("--write", action="store_true", help="write choices.json")
    parser.add_argument("--examples", type=int, default=1200, help="dev examples, the first ones")
    args = parser.parse_args()
    chosen: dict[str, dict[str, object]] = {}
    for backbone, name in DATASETS.items():
        part = load_part(name, "dev")
        data = replace(part, x=part.x[: args.examples], y=part.y[: args.examples])
        suite = suite_of(name)
        shifted = (f"{kind}/{level}" for kind in suite.seen for level in suite.severities(kind, SEVERITIES))
        offered = {
            (recipe, suffix): method(by)(load_networks(method(by), backbone, 0, args.weights, suffix))
            for recipe, by in METHODS.items()
            for suffix in SUFFIXES[recipe]
        }
        banks = record_banks(offered, data, ["clean", *shifted])
        tables: dict[str, dict[str, dict[str, float]]] = {}
        for (recipe, suffix), each in offered.items():
            error_auroc, accuracy = quality(each, banks[recipe, suffix], data.y)
            measured = {"error_auroc": round(error_auroc, 4), "accuracy": round(accuracy, 4)}
            tables.setdefault(recipe, {})[suffix] = measured
            print(f"{backbone}{suffix}: error AUROC {error_auroc:.4f}, clean {accuracy:.4f}", flush=True)
        chosen[backbone] = {
            recipe: {
                "chosen": best({suffix: row["error_auroc"] for suffix, row in table.items()}),
                "dev_examples": len(data.y),
                "measured": table,
            }
            for recipe, table in tables.items()
        }
    put(Path(args.weights) / CHOICES, json.dumps(chosen, indent=1) + "\n", args.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
