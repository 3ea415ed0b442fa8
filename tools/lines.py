# SPDX-License-Identifier: MIT
"""Count the lines of the repository's text, part by part, beside the most that each part may have.

    python tools/lines.py [COMMIT]

All lines of tracked text files count, but those of data and of the fuzzers' corpus. Without a commit, HEAD is
counted. Exit status 1 where a part or the whole is over its ceiling.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = (".json", ".csv", ".vec", ".svg", ".ipynb", "vectors/frames.txt")
PARTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "src/tcuq": (28_500, ("src/",)),
    "device without tests": (11_800, ("device/",)),
    "watch without tests": (9_400, ("watch/",)),
    "lab/src": (24_000, ("lab/src/",)),
    "lab without src and tests": (400, ("lab/",)),
    "tests": (33_000, ("tests/", "device/tests/", "watch/tests/", "lab/tests/")),
    "vectors, fuzz, proofs, tools/hostile": (9_000, ("vectors/", "fuzz/", "proofs/", "tools/hostile/")),
    "tools without hostile": (4_400, ("tools/",)),
    "bench": (900, ("bench/",)),
    "docs": (6_800, ("docs/",)),
    "examples": (1_300, ("examples/",)),
    "root, .github, .ci, packaging": (2_500, ("",)),
}
"""The most lines of each part, and where its files lie; a file belongs to the part with the longest name."""
WHOLE = 130_000


def counted(commit: str = "HEAD", root: Path = ROOT) -> Counter[str]:
    """Return how many lines of text each part has in a commit."""
    empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name of a tree without files
    told = subprocess.check_output(["git", "diff", "--numstat", empty, commit], cwd=root, text=True)
    found: Counter[str] = Counter()
    for lines, _, path in (row.split("\t") for row in told.splitlines()):
        if lines != "-" and not path.endswith(DATA) and not path.startswith("fuzz/corpus/"):
            homes = ((home, part) for part, (_, all_) in PARTS.items() for home in all_)
            found[max((len(home), part) for home, part in homes if path.startswith(home))[1]] += int(lines)
    return found


if __name__ == "__main__":
    parts = counted(*sys.argv[1:2])
    rows = [(part, parts[part], most) for part, (most, _) in PARTS.items()]
    rows.append(("whole", sum(parts.values()), WHOLE))
    for part, lines, most in rows:
        print(f"{part:37} {lines:8,} of {most:8,}" + (f"  over by {lines - most:,}" if lines > most else ""))
    sys.exit(int(any(lines > most for _, lines, most in rows)))
