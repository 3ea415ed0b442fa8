"""Time and memory of `fit` on a long log: seconds, and peak resident memory beyond the input arrays.

python bench/fit_million.py [--steps N] [--profile P] [--int8] [--no-explain] [--json]

The log is made up: 10 classes that dwell, 32 features, labels, one stretch in four degraded. Each stage of
the fit is timed through its progress callback.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tcuq import FitOptions, Log, fit
from tcuq.monitor.quantize import quantize_features, quantize_probs
from tcuq.monitor.state import fingerprint

CLASSES, FEATURES, DWELL, STRETCH, CHUNK = 10, 32, 8, 500, 50_000
GOALS = {"seconds": 90.0, "peak_mb": 600.0}


def long_log(steps: int, int8: bool, seed: int = 0) -> Log:
    """Return a labeled log with degraded stretches, made in chunks so that making it needs no memory."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, 1, (CLASSES, FEATURES))
    kind = np.int8 if int8 else np.float32
    probs, features = np.empty((steps, CLASSES), kind), np.empty((steps, FEATURES), kind)
    labels, shifted = np.empty(steps, np.int64), np.arange(steps) // STRETCH % 4 == 3
    for start in range(0, steps, CHUNK):
        part = slice(start, min(steps, start + CHUNK))
        size = part.stop - part.start
        truth = np.repeat(rng.integers(0, CLASSES, size // DWELL + 1), DWELL)[:size]
        noise = np.where(shifted[part], 2.0, 1.0)[:, None]
        logits = rng.normal(0, 1, (size, CLASSES)) * noise + 3 * np.eye(CLASSES)[truth]
        exps = np.exp(logits - logits.max(1, keepdims=True))
        soft = exps / exps.sum(1, keepdims=True)
        deep = np.maximum(0, centers[truth] + rng.normal(0, 0.5, (size, FEATURES)) * noise)
        probs[part] = quantize_probs(soft) if int8 else soft
        features[part] = quantize_features(deep, 6 / 255, -128) if int8 else deep
        labels[part] = truth
    return Log(probs, features, labels, shifted=shifted)


def resident_mb() -> float:
    """Return the memory that this process holds now (Linux alone says so)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def resident_peak_mb() -> float:
    """Return the most memory that this process has held so far (Linux gives kilobytes)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(steps: int, int8: bool, profile: str, explain: bool) -> dict[str, Any]:
    """Fit once; return seconds, those of the processor, seconds by stage, and the peak beyond the inputs."""
    log = long_log(steps, int8)
    assert log.features is not None
    zero_point = -128 if int8 else None
    told = FitOptions(explain=explain, feature_zero_point=zero_point)
    options: dict[str, Any] = {"profile": profile, "options": told}
    fit(log.take(slice(0, 5000)), **options)  # imports what a fit needs
    before, begin, busy = resident_mb(), time.perf_counter(), time.process_time()
    stages: dict[str, float] = {}
    now = ["", begin]

    def progress(stage: str, done: int, total: int) -> None:
        at = time.perf_counter()
        if now[0]:
            stages[now[0]] = stages.get(now[0], 0.0) + at - now[1]
        now[:] = [stage, at]

    params = fit(log, progress=progress, **options)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    return {
        "steps": steps,
        "input_mb": (log.probs.nbytes + log.features.nbytes) / 2**20,
        "seconds": seconds,
        "processor_seconds": busy,
        "stages": stages,
        "peak_mb": resident_peak_mb() - before,
        "fingerprint": f"{fingerprint(params):08x}",
    }


def main() -> int:
    """Print the figures, and whether each goal is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--profile", default="standard", choices=("standard", "paper"))
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--no-explain", action="store_false", dest="explain")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = measure(args.steps, args.int8, args.profile, args.explain)
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"{found['steps']:,} steps, input {found['input_mb']:.0f} MB")
    for name, most in GOALS.items():
        print(f"{name:<10}{found[name]:>8.1f}   goal {most:g}: {'met' if found[name] <= most else 'MISSED'}")
    print(f"of these {found['processor_seconds']:.1f} s of the processor")
    for stage, seconds in found["stages"].items():
        print(f"  {stage:<12}{seconds:>8.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
