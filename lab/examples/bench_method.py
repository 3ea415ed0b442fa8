"""A method of the benchmark in ten lines: doubt, and how much of it there was of late.

tcuq-lab bench lab/examples/bench_method.py --out results
"""

import numpy as np

from tcuq_lab.benchmark import Answers, Dev, Outputs


class Method:
    """Doubt of a step, and of the last fifty."""

    name, uses_labels = "moving mean of doubt", False

    def fit(self, dev: Dev) -> None:
        """Find a limit: three times the doubt that is usual."""
        self.limit = 3 * np.mean(1 - dev.clean.probs.max(axis=1))

    def watch(self, stream: Outputs) -> Answers:
        """Look at one stretch."""
        doubt = 1 - stream.probs.max(axis=1)
        mean = np.convolve(doubt, np.full(50, 1 / 50))[: len(doubt)]
        return Answers(doubt + mean, alarm=mean > self.limit, evidence=mean, accuracy=1 - mean)
