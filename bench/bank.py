"""Time a bank beside a dict of monitors: the same devices, the same events, one run.

python bench/bank.py [--json] [--devices N]
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bench import CLASSES, FEATURES, stream

from tcuq import Bank, FitOptions, Log, Monitor, Params, __version__, fit
from tcuq.monitor.quantize import quantize_features, quantize_probs

EVENTS = 200_000
GOALS = {
    "times": 5.0,
    "million_a_second": 2.5,
    "bytes": 320,
    "bytes_with_features": 640,
    "seconds_to_make": 5,
}


def fitted(profile: str, features: bool) -> Params:
    """Return the parameters of a profile, fitted to a made-up log."""
    probs, values = stream(4000)
    labels = np.repeat(np.arange(400) % CLASSES, 10)
    log = Log(probs, features=values if features else None, labels=labels)
    return fit(log, profile=profile, run_length=1000, options=FitOptions(explain=False))


def least(action: Callable[[], Any]) -> float:
    """Return CPU seconds, the least of three runs: other work on the machine only adds."""
    times = []
    for _ in range(3):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def compare(profile: str, features: bool, devices: int) -> dict[str, Any]:
    """Return the figures of one profile."""
    params = fitted(profile, features)
    probs, values = stream(EVENTS)
    probs = quantize_probs(probs)
    reads = params.features > 0
    more = quantize_features(values, params.feature_scale, params.feature_zero_point) if reads else None
    slots = np.random.default_rng(1).integers(0, devices, EVENTS)
    bank = Bank(params, devices)
    monitors = {number: Monitor(params) for number in range(devices)}
    rows = list(zip(slots.tolist(), probs, [None] * EVENTS if more is None else more, strict=True))

    def by_dict() -> None:
        for device, row, feature_row in rows:
            monitors[device].step(row, feature_row)

    of_bank, of_dict = least(lambda: bank.run(slots, probs, more)), least(by_dict)
    return {
        "profile": profile,
        "features": params.features,
        "devices": devices,
        "bytes": bank.slot_bytes,
        "million_a_second": EVENTS / of_bank / 1e6,
        "dict_million_a_second": EVENTS / of_dict / 1e6,
        "times": of_dict / of_bank,
    }


def main() -> int:
    """Print the figures, and whether each goal is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--devices", type=int, nargs="*", default=[10_000, 100_000])
    args = parser.parse_args()
    found: dict[str, Any] = {
        "tcuq": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    found |= {"machine": platform.machine(), "events": EVENTS, "rows": []}
    for profile, features in (("standard", False), ("standard", True), ("paper", False)):
        found["rows"] += [compare(profile, features, devices) for devices in args.devices]
    params = fitted("standard", False)
    found["seconds_to_make"] = least(lambda: Bank(params, 1_000_000))
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"tcuq {found['tcuq']}, python {found['python']}, numpy {found['numpy']}, {found['machine']}")
    print(f"{CLASSES} classes, int8, {EVENTS:,} events in random order, CPU seconds, least of three runs")
    print(
        f"goals: {GOALS['times']:g} times a dict, {GOALS['million_a_second']:g} M/s without features,",
        end=" ",
    )
    print(f"{GOALS['bytes']} bytes a device, {GOALS['bytes_with_features']} with {FEATURES} features\n")
    print("profile   features   devices  bytes   bank, M/s   dict, M/s   times")
    for row in found["rows"]:
        print(
            f"{row['profile']:<9}{row['features']:>9}{row['devices']:>10,}{row['bytes']:>7}"
            f"{row['million_a_second']:>12.2f}{row['dict_million_a_second']:>12.3f}{row['times']:>8.1f}"
        )
    print(f"\n10^6 devices are made in {found['seconds_to_make']:.2f} s (goal {GOALS['seconds_to_make']} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
