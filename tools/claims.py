# SPDX-License-Identifier: MIT
"""Check docs/claims.toml: every command of a claim names files, tests, targets and commands that exist.

python tools/claims.py          print what does not exist; status 1 if anything
python tools/claims.py WORD     print the claims with a word: figure, status, command
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COMMAND = re.compile(r"`([^`]+)`")


class Claim(NamedTuple):
    """One promise or target."""

    claim: str
    command: str
    figure: str
    status: str


def claims() -> list[Claim]:
    """Return all claims."""
    import tomllib

    told = tomllib.loads((ROOT / "docs" / "claims.toml").read_text(encoding="utf-8"))
    return [Claim(*row) for section in told["section"] for row in section.get("claims", [])]


def missing(command: str) -> Iterator[str]:
    """Yield what a command names and is not there.

    Examples
    --------
    >>> list(missing("pytest tests/NAME.py")), list(missing("make test")), list(missing("make tea"))
    (['tests/NAME.py'], [], ['make tea'])
    """
    words = command.split()
    folders = r"(?:tests|tools|bench|fuzz|proofs|docs|examples|vectors|watch|device|lab|src)/[\w./*-]*\w\.\w+"
    for path in re.findall(rf"(?<![\w/]){folders}", command):
        if not any(ROOT.glob(path)):
            yield path
    if words[0] == "make" and not re.search(rf"(?m)^{words[1]}:", (ROOT / "Makefile").read_text()):
        yield f"make {words[1]}"
    if words[0] in ("tcuq", "tcuq-lab") and len(words) > 1:
        homes = (
            "src/tcuq/cli",
            "watch/src/tcuq_watch/cli",
            "device/src/tcuq_device/cli",
            "lab/src/tcuq_lab/cli",
        )
        sources = "".join(
            path.read_text() for home in homes for path in (ROOT / home).iterdir() if path.is_file()
        )
        if f'"{words[1]}"' not in sources:
            yield f"{words[0]} {words[1]}"
    if words[0] == "pytest" and "-k" in words:
        names = re.findall(r"\w+", " ".join(words[words.index("-k") + 1 :]).partition(" -m ")[0])
        files = [path for word in words[1:] for path in ROOT.glob(word) if "/" in word]
        tests = "".join(
            each.read_text(encoding="utf-8")
            for path in files
            for each in ([path] if path.is_file() else path.rglob("*.py"))
        ).lower()
        yield from (
            f"{command}: {name}"
            for name in names
            if name not in ("or", "and", "not") and name.lower() not in tests
        )


def main(words: list[str]) -> int:
    """Print claims, or what they name in vain."""
    if words:
        for each in claims():
            if words[0].lower() in " ".join(each).lower():
                print(f"{each.claim}\n    {each.figure}\n    {each.status}: {each.command}")
        return 0
    wrong = [
        part for each in claims() for command in COMMAND.findall(each.command) for part in missing(command)
    ]
    print(*dict.fromkeys(wrong), sep="\n", end="\n" if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
