"""Refuse a release whose tag, version and changelog do not agree.

    python3 .github/check_release.py v0.2.0

Needs no installed package. Exit status: 0; 2 with one line that says what is wrong.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problem(tag: str, root: Path) -> str:
    """Return what keeps a tag from being released, or "".

    Parameters
    ----------
    tag : str
        Such as ``v0.2.0``.
    root : path
        Of the checkout.
    """
    source = root / "src/tcuq/_version.py"
    found = re.search(r'^VERSION = "([^"]+)"', source.read_text(encoding="utf-8"), re.M)
    if found is None:
        return f"{source} names no VERSION"
    version = found[1]
    if tag != f"v{version}":
        return f"tag is {tag}, expected v{version}: change src/tcuq/_version.py or the tag"
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        # Its site and its release page would be taken for the newest.
        return f"version is {version}, expected X.Y.Z: candidates are not published"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    entry = re.search(rf"^## {re.escape(version)}(?![\w.])([^\n]*)\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if entry is None:
        return f"CHANGELOG.md has no entry '## {version}': write what changes for users"
    if not re.fullmatch(r" - \d{4}-\d\d-\d\d", entry[1]):
        return f"CHANGELOG.md: the entry of {version} has no date, expected '## {version} - YYYY-MM-DD'"
    if not re.search(r"^- ", entry[2], re.M):
        return f"CHANGELOG.md: the entry of {version} is empty: write what changes for users"
    for part in ("device", "watch", "lab"):
        asked = (root / part / "pyproject.toml").read_text(encoding="utf-8")
        told = set(re.findall(r'(?:^version = "|"tcuq(?:-device)?==)([^"]+)"', asked, re.M))
        if told != {version}:
            return f"{part}/pyproject.toml says {', '.join(sorted(told))}, expected {version} everywhere"
    cited = re.search(r"^version: *(\S+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    if cited is None or cited[1].strip("\"'") != version:
        return f"CITATION.cff does not say 'version: {version}'"
    return ""


def main() -> int:
    """Run the check on this checkout."""
    if len(sys.argv) != 2:
        print(f"usage: {Path(sys.argv[0]).name} TAG", file=sys.stderr)
        return 2
    found = problem(sys.argv[1], ROOT)
    if found:
        print(f"release: {found}", file=sys.stderr)
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
