"""All that the pages are made from, read and judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..reproduce.result_files import load_paper_result
from . import trainings
from .about import ordered
from .claims import Claims, load_claims
from .field import PAGED, Field, load_fields
from .figures import Found, found_from
from .paper import Paper, Part, load_paper
from .targets import Targets, load_targets
from .targets import Verdict as TargetVerdict
from .targets import judge as judge_targets
from .verdicts import Judged, as_found, judge
from .wording import readable

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


LEFT_OUT = (
    "paper.json",
    "claims.json",
    "targets.json",
    *(f"{name}.json" for name in PAGED),
)
"""Files that are no results, or are those of another format."""


def load_found(folder: str | Path) -> dict[str, Found]:
    """Return what the result files of a folder say, by the name of the experiment.

    Parameters
    ----------
    folder : path
        Files of experiments have their names; one of trainings may have any.
    """
    found: dict[str, Found] = {}
    for path in sorted(Path(folder).glob("*.json")):
        if path.name in LEFT_OUT:
            continue
        for each in _read(path):
            if each.name in found:
                raise ValueError(f"{path}: experiment {each.name} comes twice, expected each once")
            found[each.name] = each
    return found


def _read(path: Path) -> Iterator[Found]:
    try:
        if _format(path) == trainings.FORMAT:
            yield from trainings.trainings_from(readable(json.loads(path.read_text(encoding="utf-8"))))
            return
        content = load_paper_result(path)
        if content["name"] != path.stem:
            raise ValueError(f"name is {content['name']!r}, expected {path.stem!r}")
        yield found_from(readable(dict(content)))
    except ValueError as error:
        where = str(error) if str(path) in str(error) else f"{path}: {error}"
        raise ValueError(where) from None


def _format(path: Path) -> str:
    """Return what a file says that it is; what is wrong with it is for its reader to say."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return ""
    return str(content.get("format", "")) if isinstance(content, dict) else ""
