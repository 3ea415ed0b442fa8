"""The table of error control, from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..bench.interface import MAX_ERROR
from ..bench.table import markdown
from .rules import RULES
from .run import OURS, SETTINGS, SLACK

BEGIN, END = "<!-- labels: begin -->", "<!-- labels: end -->"

HOW = {"random": "at random", "asked": "asked where unsure", "wrong": "only errors"}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table: one line a method and setting, over all streams within reach."""
    lines = [
        [
            "method",
            "labels",
            "how late",
            "wrong of accepted",
            "worst",
            "accepted",
            f"within {MAX_ERROR + SLACK:.0%}",
        ]
    ]
    for setting in SETTINGS:
        for name in (OURS, *(rule.name for rule in RULES)):
            mine = [
                row
                for row in rows
                if (row["method"], row["rate"], row["delay"], row["how"])
                == (name, setting.rate, setting.delay, setting.how)
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


def placed(page: str, made: str) -> str:
    """Return a page with the table between its marks."""
    before, found, rest = page.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{after}"
