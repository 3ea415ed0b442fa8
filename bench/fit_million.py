"""Time and memory of `fit` on a long log: seconds, and peak resident memory beyond the input arrays.

python bench/fit_million.py [--steps N] [--profile P] [--int8] [--no-explain] [--json | --write]

The log is made up: 10 classes that dwell, 32 features, labels, one stretch in four degraded by one of four
kinds of shift in turn. A clean log of a fifth of the steps stands beside it. Each stage of the fit is timed
through its progress callback.
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
from goals import all_met, compare_and_write, verdict

from tcuq import FitOptions, Log, fit
from tcuq.log.quantize import quantize_features, quantize_probs
from tcuq.monitor.state import fingerprint

CLASSES, FEATURES, DWELL, STRETCH, CHUNK = 10, 32, 8, 500, 50_000
NOISE = np.array([1.0, 2.0, 1.75, 2.25, 2.5])
"""Of clean steps, then of each kind of shift."""

GOALS = {"processor_seconds": 35.5, "peak_mb": 600.0}
STORED = Path(__file__).with_suffix(".json")


def long_log(steps: int, int8: bool, seed: int = 0, clean: bool = False) -> Log:
    """Return a labeled log, degraded in turn or clean, made in chunks so that making it needs no memory."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(0, 1, (CLASSES, FEATURES))
    kind = np.int8 if int8 else np.float32
    probs, features = np.empty((steps, CLASSES), kind), np.empty((steps, FEATURES), kind)
    labels, stretch = np.empty(steps, np.int64), np.arange(steps) // STRETCH
    shifted = np.where(stretch % 4 == 3, 1 + stretch // 4 % (len(NOISE) - 1), 0).astype(np.uint8)
    shifted *= not clean
    for start in range(0, steps, CHUNK):
        part = slice(start, min(steps, start + CHUNK))
        size = part.stop - part.start
        truth = np.repeat(rng.integers(0, CLASSES, size // DWELL + 1), DWELL)[:size]
        noise = NOISE[shifted[part], None]
        logits = rng.normal(0, 1, (size, CLASSES)) * noise + 3 * np.eye(CLASSES)[truth]
        exps = np.exp(logits - logits.max(1, keepdims=True))
        soft = exps / exps.sum(1, keepdims=True)
        deep = np.maximum(0, centers[truth] + rng.normal(0, 0.5, (size, FEATURES)) * noise)
        probs[part] = quantize_probs(soft) if int8 else soft
        features[part] = quantize_features(deep, 6 / 255, -128) if int8 else deep
        labels[part] = truth
    if clean:
        return Log(probs, features, labels, segments=stretch)
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
    log, clean = long_log(steps, int8), long_log(steps // 5, int8, 1, True)
    assert log.features is not None and clean.features is not None
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

    params = fit(log, clean=clean, progress=progress, **options)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    return {
        "steps": steps,
        "input_mb": sum(each.nbytes for each in (log.probs, log.features, clean.probs, clean.features))
        / 2**20,
        "seconds": seconds,
        "processor_seconds": busy,
        "stages": stages,
        "peak_mb": resident_peak_mb() - before,
        "fingerprint": f"{fingerprint(params):08x}",
    }


def main() -> int:
    """Print the figures, and whether each goal is met; return 1 where one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--profile", default="standard", choices=("standard", "paper"))
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--no-explain", action="store_false", dest="explain")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help="store the figures that the claims go by")
    args = parser.parse_args()
    found = measure(args.steps, args.int8, args.profile, args.explain)
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"{found['steps']:,} steps, input {found['input_mb']:.0f} MB")
    for name, goal in GOALS.items():
        print(f"{name:<18}{found[name]:>8.1f}{verdict(found[name], goal)}")
    print(f"{'seconds':<18}{found['seconds']:>8.1f}")
    for stage, seconds in found["stages"].items():
        print(f"  {stage:<12}{seconds:>8.1f} s")
    compare_and_write(STORED, GOALS, found, args.write)
    return 0 if all_met(found, GOALS) else 1


if __name__ == "__main__":
    sys.exit(main())
