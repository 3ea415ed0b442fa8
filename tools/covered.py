"""Print how many lines of product and lab the tests have run, from the data that pytest-cov left."""

from __future__ import annotations

import io

from coverage import Coverage

PARTS = {"product": "src/tcuq/*", "lab": "lab/src/tcuq_lab/*"}


def shares() -> dict[str, float]:
    """Return the covered share of lines of each part, in percent."""
    measured = Coverage()
    measured.load()
    return {name: measured.report(include=[place], file=io.StringIO()) for name, place in PARTS.items()}


if __name__ == "__main__":
    print("lines run by the tests: " + ", ".join(f"{name} {share:.1f} %" for name, share in shares().items()))
