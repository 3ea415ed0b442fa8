"""Error control by labels that come late, at other shares and delays than the benchmark's, and rivals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..benchmark.draw import DEV
from ..benchmark.files import Benchmark
from ..benchmark.late import RULES, Ruled, Told, within
from ..benchmark.results import markdown, placed
from ..harness.checks import Checked, Entry
from ..harness.declare import Case, Late, Play, Row
from ..harness.measure import case_of
from ..harness.types import MAX_ERROR
from .benchmark import late_streams

SLACK = 0.02
"""By how much the error of a stream's second half may be above it."""
REACHABLE = 0.02
"""Share of the second half that one threshold on the risk must accept at `MAX_ERROR`, to be within reach."""
OURS = "tcuq"
FIRST = Late(0.01, 20)
SETTINGS = (
    FIRST,
    *(Late(rate, delay) for rate in (0.001, 0.01, 0.1) for delay in (0, 1000)),
    Late(0.01, 20, "asked"),
    Late(0.01, 20, "wrong"),
)
MARKS = "<!-- labels: begin -->", "<!-- labels: end -->"
HOW = {"random": "at random", "asked": "asked where unsure", "wrong": "only errors"}


def rows(late: Late) -> list[Row]:
    """Return the monitor that takes labels so late, and in the first setting the rules beside it."""
    memory = min(1024, max(16, late.delay + 24))
    made: dict[str, Callable[[], Told]] = {OURS: partial(Told, memory)}
    if late == FIRST:
        made |= {rule.name: partial(Ruled, rule, memory) for rule in RULES}
    return [Row(name, partial(_fitted, name, make)) for name, make in made.items()]


def _fitted(name: str, make: Callable[[], Told], task: Any, role: str) -> Checked:
    entry = Entry(make, name, True, 1, "", "", name, True)
    return Checked(entry, task.dev(role, True), task.name, rules=False)


def figures(case: Case) -> dict[str, float | int | bool | None]:
    """Return what a method reached on the second half of a stream."""
    truth, said = case.truth, case.answers
    second = (np.arange(len(truth)) >= len(truth) // 2) & truth.judged
    kept, wrong = second & said.accept, case.wrong
    errors = wrong[second][np.argsort(said.risk[second], kind="stable")]
    return {
        "labels": case.method.labels,
        "error": float(wrong[kept].mean()) if kept.any() else None,
        "accepted": float(said.accept[second].mean()),
        "reachable": within(errors, MAX_ERROR) >= max(1, REACHABLE * len(errors)),
        "debt": case.method.method.most if case.row == OURS else None,
    }


def run(benchmark: Benchmark, tell: Callable[[int, int, str], None] | None = None) -> list[dict[str, Any]]:
    """Run ours in all settings, rivals in the first."""
    found: list[dict[str, Any]] = []
    total, done = sum(len(late_streams(task)) for task in benchmark.tasks) * len(SETTINGS), 0
    for task in benchmark.tasks:
        for late in SETTINGS:
            fits = {row: row.fit(task, DEV) for row in rows(late)}
            for stream in late_streams(task):
                play = Play(stream, stream, "", DEV, late)
                for row, fitted in fits.items():
                    about = {"task": task.name, "stream": stream, "method": row.name}
                    reached = figures(case_of(row, task, play, fitted, {}))
                    found.append({**about, **late._asdict(), **reached})
                done += 1
                if tell is not None:
                    tell(done, total, f"{task.name}, {stream}")
    return found


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table: one line a method and setting, over all streams within reach."""
    head = ["method", "labels", "how late", "wrong of accepted", "worst", "accepted"]
    lines = [[*head, f"within {MAX_ERROR + SLACK:.0%}"]]
    for setting in SETTINGS:
        for name in (OURS, *(rule.name for rule in RULES)):
            mine = [
                row
                for row in rows
                if (row["method"], row["rate"], row["delay"], row["how"]) == (name, *setting)
                and row["reachable"]
            ]
            if not mine:
                continue
            errors = [row["error"] for row in mine if row["error"] is not None]
            within = sum(row["error"] is None or row["error"] <= MAX_ERROR + SLACK for row in mine)
            share = "10% of errors" if setting.how == "wrong" else f"{setting.rate:.1%} {HOW[setting.how]}"
            lines.append(
                [
                    name,
                    share,
                    f"{setting.delay:,} steps",
                    f"{sum(errors) / len(errors):.1%}",
                    f"{max(errors):.1%}",
                    f"{sum(row['accepted'] for row in mine) / len(mine):.0%}",
                    f"{within} of {len(mine)}",
                ]
            )
    return "\n".join(markdown(lines, 3))


def on_page(page: str, made: str) -> str:
    """Return docs/LABELS.md with the table between its marks."""
    return placed(page, made, MARKS, "\n\n")
