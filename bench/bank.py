"""Time a bank beside a dict of monitors: the same devices, the same events, one run.

python bench/bank.py [--json] [--devices N ...] [--threads N ...]

One thread is timed in CPU seconds, several by the clock: run those on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from bench import CLASSES, stream

from tcuq import Bank, FitOptions, Log, Monitor, Params, __version__, fit
from tcuq.log.quantize import quantize_features, quantize_probs

EVENTS = 200_000
MOST_SINGLE = 100_000
"""Devices that are also made as single monitors: more of them take minutes."""
GOALS: dict[str, Any] = {
    "times": 5.0,
    "million_a_second": {"paper": 5.0, "standard": 3.0},
    "bytes": 320,
    "bytes_with_features": 640,
    "seconds_to_make": 5,
}


def fitted(profile: str, features: int) -> Params:
    """Return the parameters of a profile, fitted to a made-up log."""
    probs, values = stream(4000)
    labels = np.repeat(np.arange(400) % CLASSES, 10)
    log = Log(probs, features=values[:, :features] if features else None, labels=labels)
    return fit(log, profile=profile, run_length=1000, options=FitOptions(explain=False), force=True)


def least(action: Callable[[], Any], runs: int = 3, clock: Callable[[], float] = time.process_time) -> float:
    """Return the least seconds of some runs: other work on the machine only adds."""
    times = []
    for _ in range(runs):
        start = clock()
        action()
        times.append(clock() - start)
    return min(times)


def compare(profile: str, features: int, devices: int, threads: list[int]) -> dict[str, Any]:
    """Return the figures of one profile."""
    params = fitted(profile, features)
    probs, values = stream(EVENTS)
    probs, values = quantize_probs(probs), values[:, :features]
    more = quantize_features(values, params.feature_scale, params.feature_zero_point) if features else None
    slots = np.random.default_rng(1).integers(0, devices, EVENTS)
    bank = Bank(params, devices)
    single = devices <= MOST_SINGLE
    monitors = {number: Monitor(params) for number in range(devices if single else 0)}
    rows = list(zip(slots.tolist(), probs, [None] * EVENTS if more is None else more, strict=True))

    def by_dict() -> None:
        for device, row, feature_row in rows:
            monitors[device].step(row, feature_row)

    of_dict = least(by_dict) if single else None
    rates = {}
    for number in threads:
        clock = time.process_time if number == 1 else time.perf_counter
        seconds = least(partial(bank.run, slots, probs, more, threads=number), 15, clock)
        rates[number] = EVENTS / seconds / 1e6
    return {
        "profile": profile,
        "features": params.features,
        "devices": devices,
        "bytes": bank.slot_bytes,
        "million_a_second": rates,
        "dict_million_a_second": EVENTS / of_dict / 1e6 if of_dict else None,
        "times": rates[threads[0]] * 1e6 * of_dict / EVENTS if of_dict else None,
    }


def main() -> int:
    """Print the figures, and whether each goal is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--devices", type=int, nargs="*", default=[10_000, 1_000_000])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    args = parser.parse_args()
    found: dict[str, Any] = {
        "tcuq": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    found |= {"machine": platform.machine(), "events": EVENTS, "rows": []}
    for profile in ("standard", "paper"):
        for features in (0, 16):
            found["rows"] += [compare(profile, features, devices, args.threads) for devices in args.devices]
    params = fitted("standard", 0)
    found["seconds_to_make"] = least(lambda: Bank(params, 1_000_000))
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"tcuq {found['tcuq']}, python {found['python']}, numpy {found['numpy']}, {found['machine']}")
    print(f"{CLASSES} classes, int8, {EVENTS:,} events in random order, least of several runs")
    goals = ", ".join(f"{goal:g} M/s {name}" for name, goal in GOALS["million_a_second"].items())
    print(f"goals: {GOALS['times']:g} times a dict; one thread, without features: {goals};", end=" ")
    print(f"{GOALS['bytes']} bytes a device, {GOALS['bytes_with_features']} with features\n")
    heads = "".join(f"{f'{number} threads':>11}" for number in args.threads)
    print(f"profile   features   devices  bytes{heads}   dict, M/s   times")
    for row in found["rows"]:
        rates = "".join(f"{rate:>11.2f}" for rate in row["million_a_second"].values())
        print(
            f"{row['profile']:<9}{row['features']:>9}{row['devices']:>10,}{row['bytes']:>7}"
            f"{rates}{row['dict_million_a_second'] or 0:>12.3f}{row['times'] or 0:>8.1f}"
        )
    print(f"\n10^6 devices are made in {found['seconds_to_make']:.2f} s (goal {GOALS['seconds_to_make']} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
