# SPDX-License-Identifier: MIT
"""What a run of mutants says: rates a file, and the survivors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .judge import EQUAL, INVALID, KILLED, SURVIVED, Verdict
from .places import SOURCES, Mutant

EXPLAINED = Path(__file__).with_name("survivors.txt")

Result = tuple[Mutant, Verdict]


Key = tuple[str, str, int, str, str]


def key(mutant: Mutant) -> Key:
    """Return what a mutant is known by when lines have moved: file, line of code, place in it, change."""
    indent = mutant.column - 1 - mutant.indent
    return mutant.file, _plain(mutant.context), indent, _plain(mutant.old), _plain(mutant.new)


def _plain(text: str) -> str:
    return " ".join(text.split())


def explained(path: Path = EXPLAINED) -> set[Key]:
    """Return the mutants that a file explains, each in a row `file | line of code | at | change | why`.

    Examples
    --------
    >>> explained(Path("no such file"))
    set()
    """
    if not path.exists():
        return set()
    found = set()
    for line in path.read_text("utf-8").splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in _cells(line)]
        if len(cells) == 5 and cells[0].endswith((".c", ".h")):
            old, _, new = cells[3].partition(" → ")
            found.add((cells[0], cells[1].strip("`"), int(cells[2]), old.strip("`"), new.strip("`")))
    return found


def _cells(line: str) -> list[str]:
    if not line.startswith("| "):
        return []
    return (
        line[1:].rstrip().rstrip("|").replace("\\|", "\0").replace("|", "\n").replace("\0", "\\|").split("\n")
    )


def names_in(path: Path) -> set[str]:
    """Return the names of the survivors that a run wrote."""
    return {each["name"] for each in json.loads(path.read_text("utf-8"))["survivors"]}


def write(results: Sequence[Result], folder: Path) -> float:
    """Print the rates, write the survivors, and return the percent killed of those that nothing explains."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in SOURCES}
    known = explained()
    for mutant, verdict in results:
        counts[mutant.file][verdict.status] += 1
        if verdict.status == SURVIVED and key(mutant) in known:
            counts[mutant.file]["explained"] += 1
    total = sum(counts.values(), Counter())
    rows = [(name, count) for name, count in counts.items() if count] + [("all", total)]
    lines = [f"{'file':18}{'killed':>8}{'of':>7}{'rate':>9}{'explained':>11}{'equal':>7}{'no C':>6}"]
    for name, count in rows:
        of = count[KILLED] + count[SURVIVED]
        share = f"{percent(count[KILLED], of):8.1f}%"
        others = f"{count['explained']:11}{count[EQUAL]:7}{count[INVALID]:6}"
        lines.append(f"{name:18}{count[KILLED]:8}{of:7}{share}{others}")
    of = total[KILLED] + total[SURVIVED]
    rest = of - total["explained"]
    rate = percent(total[KILLED], rest)
    lines.append(f"killed {total[KILLED]} of {of}: {percent(total[KILLED], of):.1f} %")
    lines.append(
        f"killed {total[KILLED]} of {rest} without the {total['explained']} that survivors.txt explains:"
        f" {rate:.1f} %"
    )
    by = Counter(verdict.by for _, verdict in results if verdict.status == KILLED)
    lines.append("killed by " + ", ".join(f"{name}: {count}" for name, count in by.most_common()))
    print("\n".join(lines))
    folder.mkdir(parents=True, exist_ok=True)
    survivors = [(mutant, verdict) for mutant, verdict in results if verdict.status == SURVIVED]
    (folder / "mutants.txt").write_text("\n".join([*lines, "", *_readable(survivors, known)]) + "\n", "utf-8")
    data = {
        "killed": total[KILLED],
        "of": of,
        "explained": total["explained"],
        "equal": total[EQUAL],
        "invalid": total[INVALID],
        "survivors": [
            {
                "name": mutant.name,
                "file": mutant.file,
                "line": mutant.line,
                "column": mutant.column,
                "kind": mutant.kind,
                "old": mutant.old,
                "new": mutant.new,
                "context": mutant.context,
                "build": verdict.build,
                "explained": key(mutant) in known,
            }
            for mutant, verdict in survivors
        ],
    }
    (folder / "mutants.json").write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    print(f"survivors: {folder / 'mutants.txt'}")
    return rate


def _readable(survivors: Sequence[Result], known: set[Key]) -> list[str]:
    return [
        f"{mutant.name} ({mutant.kind}, {verdict.build})"
        f"{' explained' if key(mutant) in known else ''}\n    {mutant.context}"
        for mutant, verdict in survivors
    ]


def percent(part: int, whole: int) -> float:
    """Return a share in percent; 100 of nothing.

    Examples
    --------
    >>> percent(19, 20), percent(0, 0)
    (95.0, 100.0)
    """
    return 100.0 * part / whole if whole else 100.0
