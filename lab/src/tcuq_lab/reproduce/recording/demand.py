"""What experiments need: rows of each task, sources, and streams that are recorded step by step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...corruptions import suite_of
from ...data.ood import has_ood, ood_name
from ...harness.laws import NETWORKS, UnitPlan, sizes_of
from ...methods.registry import METHODS
from ...streams import Description
from ..recordings import beside_sources, stream_sources
from ..rows import ASSISTED, TUNED, Row, row_of
from ..run_size import RunSize

PARTS = ("dev", "test")


class Demand(NamedTuple):
    """Rows of a task whose weights are there, the networks that are not, and for which rows they lack."""

    rows: list[Row]
    absent: list[str]


def rows_of(task: str, experiments: Iterable[Any], tables: bool = True) -> list[Row]:
    """Return the rows that experiments show of a task, each bank of some networks once.

    Streams as users have them are shown to every method; the other experiments name their rows.
    """
    if not tables:
        return [row_of("base"), *map(row_of, TUNED), ASSISTED] if task in NETWORKS else []
    found = [row_of(name) for name in METHODS] if task in NETWORKS else []
    return found + [row for each in experiments if task in each.tasks for row in each.networks]


def available(task: str, seeds: Sequence[int], rows: Iterable[Row], weights: str) -> Demand:
    """Return the rows that at least one seed has networks for, one for each bank and networks."""
    kept: dict[tuple[str, ...], Row] = {}
    absent: dict[str, None] = {}
    for row in rows:
        try:
            named = [row.networks(task, seed, weights) for seed in seeds]
        except ValueError:  # nothing was chosen for this backbone, so there are no networks either
            absent[f"{row.backbone or task} {row.method.recipe}"] = None
            continue
        have = [names for names in named if all((Path(weights) / f"{n}.npz").exists() for n in names)]
        if have:
            kept.setdefault((row.method.bank, *have[0]), row)
        else:
            absent[named[0][0]] = None
    return Demand(list(kept.values()), list(absent))


def sources(task: str, part: str, setting: RunSize, tables: bool = True) -> list[str]:
    """Return all sources that any experiment shows of a part."""
    suite = suite_of(task)
    more = beside_sources() if part == "test" and task in NETWORKS else []
    if not tables:
        return [*stream_sources(task, part, setting), *more]
    kinds = suite.seen if part == "dev" else (*suite.seen, *setting.spread(suite.unseen))
    shifted = [f"{kind}/{n}" for kind in kinds for n in suite.severities(kind, setting.severities)]
    ood = [f"ood/{ood_name(task, part)}"] if has_ood(task) else []
    return ["clean", *shifted, *ood, *more]


def streams(task: str, seed: int, setting: RunSize) -> list[Description]:
    """Return the stretches that are recorded step by step: held pictures, or continuous sound."""
    if task not in NETWORKS:
        return []
    found: dict[Description, None] = {}
    plan = UnitPlan(task, seed, sizes_of(setting.name), setting.severities, setting.streams)
    for role in plan.roles:
        law = role.partition(" ")[2]
        if role.startswith("test ") and law in plan.laws and law not in plan.judged:
            continue
        shown = plan.stretches(role)
        if shown[0].held is not None or shown[0].sliding is not None:
            found.update(dict.fromkeys(shown))
    return list(found)
