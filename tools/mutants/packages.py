# SPDX-License-Identifier: MIT
"""Export the monitors whose self-checks meet mutants. Needs the package tcuq, unlike what runs them.

python tools/mutants/packages.py FOLDER
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tcuq import Alarm, AlarmSide, Params
from tcuq.export import export
from tcuq_device.cost.stock import monitors


def profiles() -> dict[str, Params]:
    """Return the monitors, by the name of their folder: with all that a fit can give them.

    Examples
    --------
    >>> sorted(profiles())[:2]
    ['paper', 'standard']
    """
    every = monitors()
    sides = Alarm(0.45, AlarmSide(0.05, 20.0), AlarmSide(0.05, 12.0))
    plain = {"alarm": sides, "horizon": 64, "expected_start": 0.9, "warmup": 30}
    return {
        "standard": every["standard, bet"],
        "standard_posteriors_alone": every["standard, posteriors alone"],
        "paper": every["paper"].replace(**plain),
    }


def write(folder: Path) -> list[Path]:
    """Export all profiles into folders of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name, params in profiles().items():
        export(params, folder / name, force=True)
        found.append(folder / name)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Export the monitors whose self-checks meet mutants.")
    parser.add_argument("folder", type=Path, help="where each monitor gets a folder")
    for path in write(parser.parse_args(arguments).folder):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
