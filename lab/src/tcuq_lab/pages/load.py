"""Reading a folder of result files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ..reproduce.result_files import load_paper_result
from . import trainings
from .field import PAGED
from .figures import Found, found_from
from .wording import readable

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
