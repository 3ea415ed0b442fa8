"""Variants of the demo's monitor on seeds that the demo does not use.

    python tools/demo_variants.py

Each row: AUROC of errors on unseen kinds of corruption, mean and least over the seeds. Needs scikit-learn.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tcuq import Monitor, fit
from tcuq.demo import DEV_CORRUPTIONS, TEST_CORRUPTIONS, make_log, train
from tcuq.demo.digits import load
from tcuq.metrics.ranking import auroc
from tcuq.monitor.log import watch

SEEDS = range(20, 26)
STEPS = 12_000
VARIANTS: dict[str, dict[str, Any]] = {
    "confidence alone": {"blend": 0.0, "use_features": False},
    "paper": {},
    "paper, signs >= 0": {"nonnegative": True},
    "paper, posteriors only": {"use_features": False},
    "extended": {"profile": "extended"},
    "extended, signs >= 0": {"profile": "extended", "nonnegative": True},
    "extended, posteriors only": {"profile": "extended", "use_features": False},
}


def main() -> int:
    """Print the table."""
    scores: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for seed in SEEDS:
        train_part, dev_part, test_part = load(seed)
        classifier = train(train_part, seed)
        dev = make_log(classifier, dev_part, DEV_CORRUPTIONS, STEPS, seed + 1)
        test = make_log(classifier, test_part, TEST_CORRUPTIONS, STEPS, seed + 2)
        for name, options in VARIANTS.items():
            params = fit(dev, level="budget", run_length=1000, **options)
            scores[name].append(auroc(watch(Monitor(params), test)["risk"], test.errors()))
    print(f"seeds {SEEDS.start} to {SEEDS.stop - 1}, {STEPS:,} steps each\n{'':<28}{'mean':>8}{'least':>8}")
    for name, values in scores.items():
        print(f"{name:<28}{np.mean(values):>8.3f}{min(values):>8.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
