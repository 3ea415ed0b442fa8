"""Print what CHANGELOG.md says of one version, as Markdown whose links work anywhere.

    python tools/release_notes.py 0.2.0

Needs setuptools, as setup.py does. Exit status: 0; 2 with one line where the version is not there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from archives import absolute

ROOT = Path(__file__).resolve().parent.parent


def notes(changes: str, version: str) -> str:
    """Return the entry of a version, without its heading."""
    entry = re.search(rf"^## {re.escape(version)}(?![\w.])[^\n]*\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if entry is None:
        known = ", ".join(re.findall(r"^## (\d\S*)", changes, re.M)) or "none"
        raise ValueError(f"version is {version}, expected one of CHANGELOG.md: {known}")
    if not entry[1].strip():
        raise ValueError(f"CHANGELOG.md: the entry of {version} is empty, expected what changes for users")
    made: str = absolute(entry[1].strip() + "\n", "CHANGELOG.md", version)
    return made


def main(arguments: list[str]) -> int:
    """Print the notes of one version."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: release_notes.py VERSION", file=sys.stderr)
        return 2
    try:
        print(
            notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), arguments[0].removeprefix("v")), end=""
        )
    except ValueError as wrong:
        print(f"release_notes: {wrong}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
