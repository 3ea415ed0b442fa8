"""All that the pages are made from, read and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .about import ordered
from .claim_lines import as_found
from .claims import Claims, load_claims
from .field import Field, load_fields
from .figures import Found
from .load import load_found
from .paper import Paper, Part, load_paper
from .targets import Targets, load_targets
from .targets import Verdict as TargetVerdict
from .targets import judge as judge_targets
from .verdicts import Judged, judge

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
        Experiments that repeat the paper's, in the order in which they are shown.
    fields : mapping of str to Field
        Experiments on streams as users have them; those that were not run are missing.
    paper : Paper
    targets : Targets
    claims : Claims
    targets_judged : sequence of targets.Verdict
    claims_judged : sequence of Judged
    """

    found: Mapping[str, Found]
    fields: Mapping[str, Field]
    paper: Paper
    targets: Targets
    claims: Claims
    targets_judged: Sequence[TargetVerdict]
    claims_judged: Sequence[Judged]

    @classmethod
    def of(cls, folder: str | Path) -> Content:
        """Read a folder of result files with `paper.json`, `claims.json` and `targets.json`."""
        home = Path(folder)
        read = load_found(home)
        found = {name: read[name] for name in ordered(list(read))}
        fields = load_fields(home)
        paper = load_paper(home / "paper.json")
        targets, claims = load_targets(home / "targets.json"), load_claims(home / "claims.json")
        return cls(
            found,
            fields,
            paper,
            targets,
            claims,
            judge_targets(targets, fields),
            judge(claims, claimed(found, fields), paper),
        )

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
        every = [each.versions for each in self.found.values()]
        every = [*(each.about["versions"] for each in self.fields.values()), *every]
        return list(
            dict.fromkeys(", ".join(f"{name} {number}" for name, number in each.items()) for each in every)
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


def claimed(found: Mapping[str, Found], fields: Mapping[str, Field]) -> dict[str, Found]:
    """Return all experiments that claims may ask for."""
    return {**found, **{name: as_found(each) for name, each in fields.items()}}


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
