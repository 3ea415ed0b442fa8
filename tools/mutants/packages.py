# SPDX-License-Identifier: MIT
"""Export the monitors whose self-checks meet mutants. Needs the package tcuq, unlike what runs them.

python tools/mutants/packages.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from tcuq import Params
from tcuq.device.cost.stock import monitors
from tcuq.export import export

PROFILES = (
    "standard",
    "standard, bet",
    "standard, class mix",
    "standard, posteriors alone",
    "paper",
    "extended",
)


def profiles() -> dict[str, Params]:
    """Return the monitors, by the name of their folder.

    Examples
    --------
    >>> sorted(profiles())[:2]
    ['extended', 'paper']
    """
    every = monitors()
    return {name.replace(", ", "_").replace(" ", "_"): every[name] for name in PROFILES}


def write(folder: Path) -> list[Path]:
    """Export all profiles into folders of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for name, params in profiles().items():
        export(params, folder / name, force=True)
        found.append(folder / name)
    return found


if __name__ == "__main__":
    for path in write(Path(sys.argv[1])):
        print(path)
