"""The paper's tables and figures: what each kind measures, and its lines. `paper.json` declares them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..harness.declare import Key, Metric, Play, Row
from ..harness.intervals import Drawn
from ..harness.laws import BACKBONES, CLEAN_TEST, DEV
from ..harness.types import CLEAN
from ..methods.confidence import Base
from ..methods.tcuq import Tcuq
from ..reproduce.recordings import Recordings
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.rows import row_of
from ..reproduce.run_size import RunSize
from ..reproduce.units import ONCE, Unit
from . import paper_metrics as metrics
from .drops import mean
from .experiment import StreamExperiment
from .paper_streams import STRANGE, UNSEEN, Clock, PaperPlan, PaperUnit, altered, fit, fit_posteriors, rows_of
from .run import NoNetworks, Outcome

Line = dict[str, Any]
"""A figure of a table, with what it was made from."""
POOLED = "pooled"
"""Stream under which figures over all streams stand."""
LEVEL, REPLICATES = 0.95, 1000


@dataclass(frozen=True)
class PaperExperiment(StreamExperiment):
    """A table that repeats one of the paper's: rows, dwells, and figures under the titles of columns."""

    dwells: tuple[float, ...] = (16.0,)
    columns: Mapping[str, str] = field(default_factory=dict)
    format: ClassVar[str] = "tcuq experiment 1"

    def narrowed(self, tasks: Sequence[str], dwells: Sequence[float]) -> PaperExperiment:
        """Return the experiment with some of its tasks and dwells alone."""
        for dwell in dwells:
            if dwell not in self.dwells:
                expected = ", ".join(f"{each:g}" for each in self.dwells)
                raise ValueError(f"dwell of {self.name} is {dwell:g}, expected one of {expected}")
        found: PaperExperiment = super().narrowed(tasks, ())
        return replace(found, dwells=tuple(dict.fromkeys(dwells)) or self.dwells)

    def absent(self, recordings: Recordings) -> list[str]:
        """Return nothing: a network that is missing leaves out its seed, or its row."""
        return []

    def plans(self, recordings: Recordings) -> list[PaperPlan]:
        """Return the streams whose first row has networks, and is not alone where there are others."""
        seeds, first = recordings.setting.seeds, self.networks[0]
        found = []
        for task in self.tasks:
            for seed in seeds:
                there = [row for row in self.networks if recordings.has(task, seed, row)]
                if first in there and len(there) >= min(2, len(self.networks)):
                    found += [PaperPlan(task, dwell, seed, recordings.setting) for dwell in self.dwells]
        if not found:
            names = first.networks(self.tasks[0], seeds[0], recordings.weights)
            raise NoNetworks(
                f"{self.name} finds no networks to compare in {recordings.weights}, expected "
                f"{', '.join(names)} of {first.label}, and those of another row"
            )
        return found

    def unit(self, plan: PaperPlan, recordings: Recordings) -> Unit:
        """Return the streams of a plan."""
        return PaperUnit(plan, recordings, self.networks)

    def lines(self, figures: Mapping[Any, Mapping[Key, Drawn]]) -> list[Line]:
        """Return a line for each task, dwell, row and column."""
        found: list[Line] = []
        for task in self.tasks:
            for dwell in self.dwells:
                chosen = [
                    _by_row(each)
                    for plan, each in figures.items()
                    if (plan.task, plan.dwell) == (task, dwell)
                ]
                for row in dict.fromkeys(row for each in chosen for row, _ in each):
                    for column, title in self.columns.items():
                        picked = [each.get((row, column), {}) for each in chosen]
                        if any(picked):
                            about = {"task": task, "dwell": dwell, "row": row, "column": title}
                            found.append(about | summary(picked))
        return found

    def shown(self, outcome: Outcome) -> str:
        """Return the title and a table for each task and dwell."""
        return f"{self.title}\n\n{text(outcome.lines)}"

    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return what the result file says about how figures were made."""
        return {"paper": self.paper, "setting": asdict(setting)}


Streams = Mapping[str, Drawn]
"""A figure of one network by stream."""


def _by_row(figures: Mapping[Key, Drawn]) -> dict[tuple[str, str], dict[str, Drawn]]:
    found: dict[tuple[str, str], dict[str, Drawn]] = {}
    for key, each in figures.items():
        found.setdefault((key.row, key.column), {})[key.stream] = each
    return found


def summary(picked: Sequence[Streams]) -> Line:
    """Return the mean over networks of a figure by stream, and how far to trust it.

    Corruption types are drawn again. A figure over all streams reaches from the least network to the largest;
    one that brings an interval of its own has the mean of those of the networks.
    """
    seeds = [mean([each.value for each in streams.values()]) for streams in picked]
    by_stream: dict[str, list[Drawn]] = {}
    for streams in picked:
        for name, each in streams.items():
            if name != POOLED and not math.isnan(each.value):
                by_stream.setdefault(name, []).append(each)
    values = {name: mean([each.value for each in found]) for name, found in by_stream.items()}
    if any(POOLED in streams for streams in picked):
        defined = [value for value in seeds if not math.isnan(value)] or [math.nan]
        low, high, n = min(defined), max(defined), sum(map(len, picked))
    else:
        (low, high), n = drawn_again(list(values.values())), sum(map(len, by_stream.values()))
    alone = [next(iter(streams.values())) for streams in picked if streams]
    if all(len(streams) < 2 for streams in picked) and all(map(_has_interval, alone)):
        low, high = _interval(alone)
    about = {"seeds": seeds, "networks": sum(map(bool, picked)), "streams": values, "n": n}
    spans = {
        name: _interval(kept)
        for name, found in by_stream.items()
        if (kept := [each for each in found if _has_interval(each)])
    }
    return {"value": mean(seeds), "low": low, "high": high, **about, **({"spans": spans} if spans else {})}


def _has_interval(each: Drawn) -> bool:
    return not bool(np.isnan(each.replicates).any())


def _interval(found: Sequence[Drawn]) -> list[float]:
    return [mean([float(each.replicates[end]) for each in found]) for end in (0, 1)]


def drawn_again(values: Sequence[float]) -> tuple[float, float]:
    """Return a 95 % percentile interval of the mean of values, each drawn again and again.

    Examples
    --------
    >>> low, high = drawn_again([0.2, 0.4, 0.6])
    >>> 0.2 <= low < 0.4 < high <= 0.6
    True
    """
    if len(values) < 2:
        return math.nan, math.nan
    rng = np.random.default_rng(0)
    means = np.array(values)[rng.integers(0, len(values), (REPLICATES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def text(lines: Sequence[Line]) -> str:
    """Return the figures as Markdown, a table for each task and dwell.

    A figure that is defined on fewer streams than others of its column says on how many.
    """
    out = []
    for task, dwell in dict.fromkeys((line["task"], line["dwell"]) for line in lines):
        here = [line for line in lines if (line["task"], line["dwell"]) == (task, dwell)]
        columns = list(dict.fromkeys(line["column"] for line in here))
        out += [f"{task}, dwell {dwell:g}", "", "| | " + " | ".join(columns) + " |"]
        out.append("| --- |" + " ---: |" * len(columns))
        most: dict[tuple[str, int], int] = {}  # rows with networks of fewer seeds have fewer streams
        for line in here:
            group = line["column"], line["networks"]
            most[group] = max(line["n"], most.get(group, 0))
        for row in dict.fromkeys(line["row"] for line in here):
            found = {line["column"]: line for line in here if line["row"] == row}
            cells = [_cell(found.get(column), most) for column in columns]
            out.append(f"| {row} | " + " | ".join(cells) + " |")
        out.append("")
    return "\n".join(out)


def _cell(line: Line | None, most: Mapping[tuple[str, int], int]) -> str:
    if line is None:
        return ""
    value, all_ = line["value"], most[line["column"], line["networks"]]
    if math.isnan(value):
        return "-"
    figure = f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"
    return figure if line["n"] == all_ else f"{figure} ({line['n']} of {all_})"


OURS = row_of("tcuq_standard")._replace(label="tcuq")


def _severities(unit: PaperUnit) -> Iterator[str]:
    for level in unit.plan.setting.severities:
        yield from (f"type {kind}/{level}" for kind in unit.unseen if level in unit.levels(kind))


def _once(unit: PaperUnit) -> Iterator[str]:
    for kind in unit.unseen:
        yield from (f"{ONCE} {kind}/{level}" for level in unit.levels(kind))


ROLES: Mapping[str, Callable[[PaperUnit], Any]] = {
    "types": lambda unit: [f"type {kind}" for kind in unit.kinds],
    "unseen types": lambda unit: [f"type {kind}" for kind in unit.unseen],
    "severities": _severities,
    "literal": lambda unit: [f"literal {kind}" for kind in unit.unseen],
    "ood": lambda unit: [f"ood {layout}" for layout in STRANGE],
    "once clean": lambda unit: [f"{ONCE} {CLEAN}"],
    "once corrupted": _once,
    UNSEEN: lambda unit: [UNSEEN],
    CLEAN_TEST: lambda unit: [CLEAN_TEST],
}
"""Roles of streams that are shown together."""


def _plays(shown: tuple[str, ...], unit: PaperUnit) -> Iterator[Play]:
    """Give streams under the type that they show; those that show an example once, also its severity."""
    for role in (role for name in shown for role in ROLES[name](unit)):
        kind, _, of = role.partition(" ")
        stream = POOLED if role in (UNSEEN, CLEAN_TEST) else of if kind == ONCE else of.partition("/")[0]
        yield Play(stream, role, dev=DEV)


def _type_by_type(play: Play) -> bool:
    return play.role.startswith("type ")


def _all_together(play: Play) -> bool:
    return not _type_by_type(play)


def _differing(metric: Metric, shown: Callable[[Play], bool], unit: PaperUnit) -> list[Row]:
    """Return the rows, and by how much the standard monitor differs from the first one."""
    return rows_of(unit) + [
        Row(f"{row.label} - base", partial(fit, row), network=row, metrics=(metric,), shown=shown)
        for row in unit.networks
        if row.method is OURS.method and unit.plain.method is Base
    ]


def _with_clock(unit: PaperUnit) -> list[Row]:
    return [*rows_of(unit), Row("clock", lambda unit, role: Clock())]


def _with_settings(unit: PaperUnit) -> list[Row]:
    """Return the rows, and monitors with something changed in their best setting that looks at the past."""
    found = rows_of(unit)
    for row in unit.networks:
        if issubclass(row.method, Tcuq):
            curved = CURVED if "blend" in row.method.grid[0] else {}
            levels = {f"level {each:g}": {"level": "budget", "budget": each} for each in LEVELS}
            found += [
                Row(f"{row.label}, {what}", partial(altered, row, changes), network=row, metrics=(metric,))
                for changed, metric in ((curved, metrics.curve), (levels, metrics.decided))
                for what, changes in changed.items()
            ]
    return found


LAGS = ((1,), (1, 2), (1, 2, 4), (1, 2, 4, 8), (4, 8))
CURVED: dict[str, dict[str, Any]] = {
    **{f"blend {value:g}": {"blend": value} for value in (0, 0.3, 0.5, 0.7, 1)},
    **{f"lags {'+'.join(map(str, lags))}": {"lags": lags} for lags in LAGS},
}
"""Settings of the paper's monitor that a curve is drawn for."""
LEVELS = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Levels of monitors, to which the budget is tied."""


class Kind(NamedTuple):
    """What tables have in common that are measured alike."""

    cells: str
    metric: Metric
    shown: tuple[str, ...]  # in `ROLES`
    rows: Callable[[Any], list[Row]] = rows_of


_of_types = partial(_differing, metrics.gain, _type_by_type)
_of_all = partial(_differing, metrics.headline_differences, _all_together)
_posteriors = partial(rows_of, fitting=fit_posteriors)
_corrupted = ("once clean", "once corrupted")
KINDS = {
    "compare": Kind("comparison", metrics.comparison, ("types", "ood"), _of_types),
    "severity": Kind("severity", metrics.by_severity, ("severities",)),
    "orders": Kind("literal", metrics.in_orders, ("literal", "unseen types"), _with_clock),
    "headline": Kind("headlines", metrics.headlines, ("unseen types", "ood", UNSEEN), _of_all),
    "calibrate": Kind("calibration", metrics.calibration, ("once clean",), _posteriors),
    "calibrate_corrupted": Kind("calibration corrupted", metrics.calibration, _corrupted, _posteriors),
    "audit": Kind("rate_audit", metrics.rates, (CLEAN_TEST, "unseen types")),
    "selective": Kind("selective", metrics.curve, ("unseen types",), _with_settings),
}
"""By the word that a declaration has for it."""


def _row(given: str | Mapping[str, Any]) -> NetworkRow:
    if isinstance(given, str):
        return OURS if given == OURS.label else row_of(given)
    rest = {name: value for name, value in given.items() if name != "method"}
    return row_of(given["method"])._replace(**rest)


def _declared() -> Iterator[PaperExperiment]:
    content = json.loads(Path(__file__).with_name("paper.json").read_text(encoding="utf-8"))
    for each in content["tables"]:
        kind = KINDS[each["measures"]]
        rows, columns = each["rows"], each["columns"]
        yield PaperExperiment(
            each["name"],
            each["title"],
            kind.rows,
            partial(_plays, kind.shown),
            (kind.metric,),
            tasks=tuple(each.get("tasks", BACKBONES)),
            paper=each["paper"],
            networks=tuple(map(_row, content["rows"][rows] if isinstance(rows, str) else rows)),
            cells=kind.cells,
            dwells=tuple(map(float, each.get("dwells", (16,)))),
            columns=content["columns"][columns] if isinstance(columns, str) else columns,
        )


PAPER = {each.name: each for each in _declared()}
"""The tables by name."""
