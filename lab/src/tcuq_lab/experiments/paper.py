"""The paper's tables and figures: what each kind of them measures. `paper.json` declares them one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..harness.declare import Metric, Play, Row
from ..harness.laws import BACKBONES, CLEAN_TEST, DEV
from ..harness.types import CLEAN
from ..methods.confidence import Base
from ..methods.tcuq import Tcuq
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.rows import row_of
from ..reproduce.units import ONCE
from . import paper_metrics as metrics
from .paper_rows import Clock, altered, fit, fit_posteriors, rows_of
from .paper_streams import STRANGE, UNSEEN, PaperUnit
from .paper_table import POOLED, PaperExperiment

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
