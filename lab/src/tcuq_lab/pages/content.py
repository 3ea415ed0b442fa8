"""All that both pages are made from, read and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .about import ordered
from .claims import Claims, load_claims
from .figures import Found
from .load import load_found
from .paper import Paper, Part, load_paper
from .verdicts import FAILS, HOLDS, MIXED, Judged, judge

TITLE = "Results"
TARGET_WORDS: Mapping[str, str] = {HOLDS: "met", FAILS: "missed", MIXED: "partly met"}
"""Words for targets in place of those for claims."""
SIZES = (
    ("examples", "test examples of a dataset"),
    ("dev_examples", "development examples"),
    ("steps", "steps of a stream with shifts"),
    ("clean_steps", "steps of a clean stream"),
    ("seeds", "seeds of networks and streams"),
    ("severities", "severities shown"),
    ("kinds", "unseen corruption types at most"),
    ("replicates", "draws of an interval"),
)


@dataclass(frozen=True)
class Content:
    """Results with what they are held against.

    Parameters
    ----------
    found : mapping of str to Found
        In the order in which they are shown.
    paper : Paper
    targets, claims : Claims
    targets_judged, claims_judged : list of Judged
    """

    found: Mapping[str, Found]
    paper: Paper
    targets: Claims
    claims: Claims
    targets_judged: Sequence[Judged]
    claims_judged: Sequence[Judged]

    @classmethod
    def of(cls, folder: str | Path) -> Content:
        """Read a folder of result files with `paper.json`, `claims.json` and `targets.json`."""
        home = Path(folder)
        read = load_found(home)
        found = {name: read[name] for name in ordered(list(read))}
        paper = load_paper(home / "paper.json")
        targets, claims = load_claims(home / "targets.json"), load_claims(home / "claims.json")
        return cls(found, paper, targets, claims, judge(targets, found, paper), judge(claims, found, paper))

    @property
    def settings(self) -> list[tuple[Mapping[str, Any], list[str]]]:
        """Different settings, each with the experiments that were run with it."""
        seen: list[tuple[Mapping[str, Any], list[str]]] = []
        for name, each in self.found.items():
            for setting, names in seen:
                if setting == each.setting:
                    names.append(name)
                    break
            else:
                seen.append((each.setting, [name]))
        return seen

    @property
    def versions(self) -> list[str]:
        """Different sets of versions that results were made with."""
        return list(
            dict.fromkeys(
                ", ".join(f"{name} {number}" for name, number in each.versions.items())
                for each in self.found.values()
            )
        )

    @property
    def alone(self) -> list[Part]:
        """Figures of the paper that have no counterpart among the results."""
        return [
            part
            for part in self.paper.parts
            if part.experiment not in self.found
            or part.task not in self.found[part.experiment].tasks
            or part.column not in self.found[part.experiment].columns
        ]


def size(value: Any) -> str:
    """Return a size of a setting in words.

    Examples
    --------
    >>> size(6000), size([0, 1, 2]), size(None)
    ('6,000', '0, 1, 2', 'all')
    """
    if value is None:
        return "all"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) else str(value)
