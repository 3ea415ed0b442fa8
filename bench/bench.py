"""Time the monitor beside its peers, in one run on one machine.

python bench/bench.py [--json]
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from goals import all_met, verdict
from numpy_step import NumpyStep

from tcuq import Monitor, Params, __version__
from tcuq.log.quantize import quantize_features, quantize_probs

CLASSES, FEATURES = 10, 32
GOALS = {"run, int8": 1.0, "step, int8": 3.0, "step, float": 6.0, "times": -100.0, "import": 50.0}
"""Most microseconds a step, least times of the numpy step (negative), most milliseconds of an import."""


def stream(steps: int) -> tuple[Any, Any]:
    """Return posteriors and features of a made-up stream with dwell."""
    rng = np.random.default_rng(0)
    label = np.repeat(rng.integers(0, CLASSES, steps // 8 + 1), 8)[:steps]
    logits = rng.normal(0, 1, (steps, CLASSES)) + 3 * np.eye(CLASSES)[label]
    exps = np.exp(logits)
    features = np.maximum(
        0, rng.normal(0, 1, (CLASSES, FEATURES))[label] + rng.normal(0, 0.5, (steps, FEATURES))
    )
    return exps / exps.sum(1, keepdims=True), features


def best(action: Callable[[], None], steps: int, repeats: int = 5) -> float:
    """Return microseconds a step, the least of several runs: other work on the machine only adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times) / steps * 1e6


def each(call: Callable[..., Any], *columns: Any) -> Callable[[], None]:
    """Return an action that calls once a row."""
    rows = list(zip(*columns, strict=True))

    def action() -> None:
        for row in rows:
            call(*row)

    return action


def start_seconds(code: str) -> float:
    """Return the least time of a fresh interpreter that runs some code."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> dict[str, Any]:
    """Return all figures."""
    steps = 20_000
    probs, features = stream(steps)
    params = Params(classes=CLASSES, features=FEATURES, feature_scale=4 / 255, feature_zero_point=-128)
    probs8 = quantize_probs(probs)
    features8 = quantize_features(features, params.feature_scale, params.feature_zero_point)
    monitor = Monitor(params)
    us: dict[str, float] = {
        "run, int8": best(lambda: monitor.run(probs8, features8), steps),
        "run, float": best(lambda: monitor.run(probs, features), steps),
        "step, int8": best(each(monitor.step, probs8, features8), steps),
        "step, float": best(each(monitor.step, probs, features), steps),
        "numpy step of the paper": best(
            each(NumpyStep(CLASSES, FEATURES).step, probs[:2000], features[:2000]), 2000
        ),
    }
    peers = {}
    try:
        from river import __version__ as river_version
        from river import drift, stats

        risk = monitor.run(probs8, features8)["risk"].tolist()
        peers["river"] = river_version
        us["river stats.Quantile (P2), the quantile alone"] = best(
            each(stats.Quantile(0.9).update, risk), steps
        )
        us["river drift.ADWIN, the drift test alone"] = best(each(drift.ADWIN().update, risk), steps)
    except ImportError:
        peers["river"] = "not installed"
    flat = {}
    for power in range(3, 8):
        monitor = Monitor(params)
        chunks = max(1, 10**power // steps)
        size = min(10**power, steps)

        def action(monitor: Monitor = monitor, chunks: int = chunks, size: int = size) -> None:
            for _ in range(chunks):
                monitor.run(probs8[:size], features8[:size])

        flat[10**power] = best(action, chunks * size, 1 if power > 5 else 5)
    return {
        "tcuq": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        **peers,
        "us_per_step": us,
        "us_per_step_by_length": flat,
        "import_ms": {
            "numpy": start_seconds("import numpy") * 1e3,
            "tcuq": start_seconds("import tcuq; tcuq.Monitor; tcuq.Params; tcuq.Log") * 1e3,
        },
    }


def main() -> int:
    """Print the figures, and whether each goal is met; return 1 where one is missed."""
    found = measure()
    if "--json" in sys.argv[1:]:
        print(json.dumps(found, indent=2))
        return 0
    us, imports = found["us_per_step"], found["import_ms"]
    versions = ", ".join(f"{name} {found[name]}" for name in ("tcuq", "python", "numpy", "river"))
    print(f"{versions}, {found['machine']}")
    print(f"{CLASSES} classes, {FEATURES} features, lags 1 2 4, paper profile; least of several runs\n")
    for name, value in us.items():
        print(f"{name:<46}{value:>10.3f} us a step{verdict(value, GOALS.get(name))}")
    ratio, extra = us["numpy step of the paper"] / us["run, int8"], imports["tcuq"] - imports["numpy"]
    print(f"{'numpy step against run':<46}{ratio:>10.0f} times    {verdict(-ratio, GOALS['times'])}")
    print("\nflat in the length of the stream (run, int8):")
    for length, value in found["us_per_step_by_length"].items():
        print(f"{length:>12,} steps {value:>8.3f} us a step")
    said = verdict(extra, GOALS["import"])
    print(f"\nimport: numpy {imports['numpy']:.0f} ms, tcuq {extra:+.0f} ms on top{said}")
    return 0 if all_met({**us, "times": -ratio, "import": extra}, GOALS) else 1


if __name__ == "__main__":
    sys.exit(main())
