# SPDX-License-Identifier: MIT
"""Print how much of the three products their tests have run, from pytest-cov's data; exit 1 below a floor."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from coverage import Coverage

ROOT = Path(__file__).parents[1]
FLOORS = {"lines": 97.0, "branches": 94.0}  # percent of the product's, as CONTRIBUTING.md says
WORST = 10


class Counts(NamedTuple):
    """Lines and branches of one or many modules, and how many of them ran."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    @property
    def missing(self) -> int:
        """Lines and branches that no test runs."""
        return self.lines - self.lines_run + self.branches - self.branches_run

    @property
    def shares(self) -> tuple[float, float]:
        """Percent of the lines and of the branches that ran."""
        return 100 * self.lines_run / max(self.lines, 1), 100 * self.branches_run / max(self.branches, 1)

    def __str__(self) -> str:
        return (
            f"{self.lines_run} of {self.lines} lines ({self.shares[0]:.1f} %), "
            f"{self.branches_run} of {self.branches} branches ({self.shares[1]:.1f} %)"
        )


def total(counts: Iterable[Counts]) -> Counts:
    """Return the sums of some counts."""
    return Counts(*map(sum, zip(*counts, strict=True)))


def counted(measured: Coverage, folder: Path) -> dict[str, Counts]:
    """Return the counts of each module of a folder, those that no test imports too."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        _, lines, _, missing, _ = measured.analysis2(str(path))
        branches = measured.branch_stats(str(path)).values()
        taken = [sum(each) for each in zip(*branches, strict=True)] or [0, 0]
        found[path.relative_to(ROOT).as_posix()] = Counts(len(lines), len(lines) - len(missing), *taken)
    return found


def main() -> int:
    """Print the shares of the product, its worst modules, and the lab's lines if its tests ran too."""
    measured = Coverage()
    measured.load()
    data = measured.get_data()
    if not data.has_arcs():
        print("the data of coverage hold no branches, expected what `make coverage` leaves", file=sys.stderr)
        return 2
    folders = [ROOT / "src", ROOT / "device" / "src", ROOT / "watch" / "src"]
    product = {name: found for folder in folders for name, found in counted(measured, folder).items()}
    overall = total(product.values())
    print(f"the product's tests run {overall}")
    for name in sorted(product, key=lambda name: -product[name].missing)[:WORST]:
        print(f"  {name}: {product[name]}")
    lab = ROOT / "lab" / "src"
    if any(data.arcs(name) for name in data.measured_files() if Path(name).is_relative_to(lab)):
        print(f"of the lab {total(counted(measured, lab).values()).shares[0]:.1f} % of lines run")
    below = [each for each in zip(FLOORS.items(), overall.shares, strict=True) if each[1] < each[0][1]]
    for (kind, floor), share in below:
        print(f"{share:.2f} % of {kind} of the product run, expected {floor:.0f} %", file=sys.stderr)
    return int(bool(below))


if __name__ == "__main__":
    sys.exit(main())
