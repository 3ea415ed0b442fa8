"""A method of the benchmark in 20 lines: doubt, and how much of it there was of late.

tcuq-lab bench lab/examples/bench_method.py
"""

from __future__ import annotations

import numpy as np

from tcuq_lab.bench import Dev, Said


class Method:
    """The confidence of the network, and a moving mean of it that gives alarm and accuracy."""

    name = "moving mean of doubt"
    uses_labels = False
    state_bytes = 4

    def fit(self, dev: Dev) -> None:
        """Learn how much doubt is usual on clean data."""
        self.usual = float(np.mean(1 - dev.clean.probs.max(axis=1)))

    def start(self) -> None:
        """Begin a stretch."""
        self.mean = self.usual

    def step(self, probs: np.ndarray, features: np.ndarray) -> Said:
        """Say something about one step."""
        doubt = 1 - float(probs.max())
        self.mean += 0.02 * (doubt - self.mean)
        return Said(doubt + self.mean, alarm=self.mean > 3 * self.usual, accuracy=1 - self.mean)
