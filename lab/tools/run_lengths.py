"""How often the fitted alarm is false, against what was asked for.

    python lab/tools/run_lengths.py

Risk is drawn anew for each row: independent, or with a level that dwells for 8 steps on average. The alarm
is set on so many clean steps and counted on 400,000 others; each row shows five seeds.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tcuq.fitting.alarms import alarms_in, choose_alarm

FRESH = 400_000
SEEDS = range(5)
ROWS = ((50_000, 1000), (12_000, 10_000), (12_000, 100_000), (5000, 10_000), (2000, 1000), (2000, 10_000))


def risk(kind: str, steps: int, rng: np.random.Generator) -> Any:
    """Return clean risk."""
    if kind == "independent":
        return rng.beta(2, 6, steps)
    changes = rng.random(steps) < 1 / 8
    changes[0] = True
    level = rng.beta(1.2, 6, int(changes.sum()))[np.cumsum(changes) - 1]
    return np.clip(level + rng.normal(0, 0.05, steps), 0, 1)


def achieved(kind: str, clean: int, wanted: int, seed: int) -> float:
    """Return clean steps per false alarm of either side, on fresh data."""
    rng = np.random.default_rng(seed)
    alarm = choose_alarm([risk(kind, clean, rng)], wanted, rng)
    return FRESH / max(1, alarms_in([risk(kind, FRESH, rng)], alarm)[0])


def main() -> int:
    """Print the table."""
    print(f"{'risk':<12}{'clean steps':>12}{'asked':>9}   achieved, five seeds")
    for kind in ("independent", "dwelling"):
        for clean, wanted in ROWS:
            found = [achieved(kind, clean, wanted, seed) for seed in SEEDS]
            print(f"{kind:<12}{clean:>12,}{wanted:>9,}   " + "  ".join(f"{value:>9,.0f}" for value in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
