"""Time every kind of corruption.

    python lab/bench/corruptions.py [SUITE ...]

Pictures: 10,000 of 32 x 32 x 3 (CIFAR-10's test set where TCUQ_DATA holds it, else random ones) with two
workers, at every severity; the slowest is printed. Sound: 2,300 clips of a second.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from tcuq_lab.corruptions import corrupt, suite
from tcuq_lab.data import load

LIMIT = 20.0  # seconds a kind


def examples(name: str) -> Any:
    """Return what a suite is timed on."""
    rng = np.random.default_rng(0)
    if name == "speech_c":
        return (rng.normal(0, 2000, (2300, 16000)) * np.hanning(16000)).astype(np.int16)
    if name == "mnist_c":
        return rng.integers(0, 256, (10_000, 28, 28), dtype=np.uint8)
    try:
        return load("cifar10", "test").x
    except (ValueError, ImportError) as error:
        print(f"random pictures: {error}", file=sys.stderr)
        return rng.integers(0, 256, (10_000, 32, 32, 3), dtype=np.uint8)


def main(arguments: list[str]) -> int:
    """Print seconds a kind; the status is 1 when one takes longer than it may."""
    late = 0
    for name in arguments or ["cifar10_c"]:
        x = examples(name)
        for kind, about in suite(name).kinds.items():
            slowest = 0.0
            for severity in range(1, len(about.settings) + 1):
                began = time.perf_counter()
                corrupt(x, name, kind, severity, workers=2)
                slowest = max(slowest, time.perf_counter() - began)
            late += slowest > LIMIT
            print(f"{name:<12} {kind:<20} {slowest:6.1f} s", flush=True)
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
