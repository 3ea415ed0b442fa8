"""Result files of the benchmark: what was run on which streams, and every figure with its interval."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcuq._version import VERSION
from tcuq.base.checks import integer
from tcuq.metrics import Interval

from ..harness.intervals import LEVEL, REPLICATES
from ..harness.lines import Found, entries, from_entries, plain, read_content
from ..metrics.errors import RELATIVE
from ..metrics.late import EXCESS
from .entry import is_name

if TYPE_CHECKING:
    from ..experiments.benchmark import Outcome

FORMAT = "tcuq bench 1"
WITH, WITHOUT, LATE = "with labels", "without labels", "late labels"
TRACKS = (WITHOUT, WITH, LATE)
RATES = (0.01, 0.1)
"""Shares of steps that get a label in the track with late labels."""
HEADLINES = (RELATIVE, *(f"{EXCESS}, {rate:.0%}" for rate in RATES))
"""Columns whose mean is the headline: one track has the first, the other the rest."""


def result_text(outcome: Outcome, streams: str, command: str) -> str:
    """Return a result file."""
    entry, found = outcome.entry, outcome.interval()
    content = {
        "format": FORMAT,
        "name": entry.name,
        "track": LATE if entry.told else WITH if entry.uses_labels else WITHOUT,
        "passes": entry.passes,
        "state_bytes": outcome.state_bytes,
        "method": {"file": entry.source, "sha256": entry.sha256},
        "streams": streams,
        "command": command,
        "versions": {"tcuq": VERSION, "numpy": np.__version__, "python": platform.python_version()},
        "timing": {
            "fit_seconds": round(outcome.fit_seconds, 2),
            "step_microseconds": round(outcome.step_microseconds, 1),
        },
        "replicates": REPLICATES,
        "level": LEVEL,
        "headline": {
            "value": round(found.estimate, 6),
            "low": round(found.low, 6),
            "high": round(found.high, 6),
        },
    }
    head = json.dumps(content, indent=1, allow_nan=False)[:-2]
    draws = json.dumps([None if math.isnan(each) else round(each, 5) for each in outcome.draws().tolist()])
    rows = ",\n".join(json.dumps(each, allow_nan=False) for each in plain(entries(outcome.lines)))
    return f'{head},\n "headline_draws": {draws},\n "lines": [\n{rows}\n]}}\n'


@dataclass(frozen=True, eq=False)
class Result:
    """A result file."""

    path: Path
    name: str
    track: str
    streams: str
    state_bytes: int | None
    headline: Interval
    draws: npt.NDArray[np.float64]
    found: Found
    content: Mapping[str, Any]

    @property
    def typed(self) -> str | None:
        """What to type after `tcuq-lab bench` to run the method: a built-in name, or a file."""
        name = str(self.content.get("command", "")).removeprefix("tcuq-lab bench ")
        return name if is_name(name) and "`" not in name else None


def load_result(path: str | Path) -> Result:
    """Return a result file."""
    return result_of(path, read_content(path, FORMAT, "the benchmark"))


def result_of(path: str | Path, content: Mapping[str, Any]) -> Result:
    """Return a result from the content of its file."""
    try:
        head = content["headline"]
        draws = [math.nan if each is None else float(each) for each in content["headline_draws"]]
        if content["track"] not in TRACKS:
            raise ValueError(f"track is {content['track']!r}, expected one of {', '.join(TRACKS)}")
        if not is_name(content["name"]):
            raise ValueError(f"name is {content['name']!r}, expected a text without |")
        if content["state_bytes"] is not None:
            integer("state_bytes", content["state_bytes"], 0, 2**40)
        found = Found(from_entries(content["lines"]))
        cells = [
            each.value for each in found.lines if each.column in HEADLINES and not math.isnan(each.value)
        ]
        if not cells or abs(sum(cells) / len(cells) - float(head["value"])) > 1e-4:
            raise ValueError(f"headline is {head['value']}, expected the mean of its {len(cells)} lines")
        return Result(
            Path(path),
            str(content["name"]),
            content["track"],
            str(content["streams"]),
            content["state_bytes"],
            Interval(float(head["value"]), float(head["low"]), float(head["high"]), 0),
            np.array(draws, dtype=np.float64),
            found,
            content,
        )
    except KeyError as error:
        raise ValueError(f"{path} lacks {error.args[0]}, expected a file of 'tcuq-lab bench --out'") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def load_results(paths: Sequence[str | Path], streams: str | None = None) -> list[Result]:
    """Return result files that were all made with the same streams."""
    found: list[Result] = []
    for path in paths:
        each = load_result(path)
        wanted = streams or (found[0].streams if found else each.streams)
        if each.streams != wanted:
            raise ValueError(
                f"{path}: made with the streams {each.streams[:12]}, expected {wanted[:12]}: run "
                f"'{each.content.get('command', 'tcuq-lab bench')}' again with these streams"
            )
        if found and len(each.draws) != len(found[0].draws):
            raise ValueError(f"{path}: has {len(each.draws)} draws, expected {len(found[0].draws)}")
        twice = [other.path for other in found if (other.name, other.track) == (each.name, each.track)]
        if twice:
            raise ValueError(
                f"{path}: is about {each.name!r}, as is {twice[0]}; give one of them another name"
            )
        found.append(each)
    return found


def same_figures(path: str | Path, text: str) -> bool:
    """Return whether a result file says the same as a text, but for times and versions."""
    try:
        there = json.loads(Path(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    new = json.loads(text)
    return bool(there == {**new, **{name: there.get(name) for name in ("timing", "versions")}})


def stored(folder: str | Path, streams: str) -> list[Result]:
    """Return the results of a folder that were made with some streams; those of others are left out."""
    found = [load_result(path) for path in sorted(Path(folder).glob("*.json"))]
    return [each for each in found if each.streams == streams]


def beside(results: Sequence[Result], others: Sequence[Result]) -> list[Result]:
    """Return those of other results that no new one replaces: each has its name and track for itself."""
    names = {(each.name, each.track) for each in results}
    lengths = {len(each.draws) for each in results} or {len(each.draws) for each in others}
    return [each for each in others if (each.name, each.track) not in names and len(each.draws) in lengths]
