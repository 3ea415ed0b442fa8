"""Questions about the parts of the monitor, each with the variants that answer it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ..reproduce.field.plan import CHANGING, UNTOLD
from .field import ANSWER, RISK, Field
from .grids import grid
from .numbers import around
from .wording import named

RANK, LEFT = "prediction error AUROC", "errors at 90 %"
ASKED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "What does memory add?": ("no memory", "memory, "),
        "What does gating add?": ("gate",),
        "What do features add?": ("posteriors only", "answer, posteriors"),
        "What does each signal add?": ("without ", "only "),
        "What do labels add?": ("no labels", "labels, clean", "tcuq no labels", "answer, labels", "alarm on"),
        "How many labeled or clean steps are enough?": ("labels, ", "clean, "),
        "What does int8 cost?": ("float", "int8", "rounded", "reals"),
        "What do weights with temporal assistance cost?": ("plain network", "assisted"),
        "What do settings change?": ("blend", "anchor", "l2 ", "budget", "other lags", "answer, class mix"),
    }
)
"""Beginnings of the rows that answer a question; the first question that fits a row has it."""


def question_of(row: str) -> str:
    """Return the question that a row answers.

    Examples
    --------
    >>> question_of("labels, 1,000 steps"), question_of("labels, clean only"), question_of("else")
    ('How many labeled or clean steps are enough?', 'What do labels add?', 'Other variants')
    """
    for question, beginnings in ASKED.items():
        if row.startswith(beginnings):
            return question
    return "Other variants"


def question_parts(field: Field) -> Iterator[Sequence[str]]:
    """Give a section for each question: what is lost by each variant on a stream of unknown pace.

    Parameters
    ----------
    field : Field
    """
    pairs = [line for line in field.found.lines if " - " in line.row and line.fit in (UNTOLD, "")]
    shown = {}
    for line in pairs:  # a column that the unknown pace lacks is shown on the first stream that has it
        if line.stream == CHANGING or line.column not in shown:
            shown[line.column] = line.stream
    found: dict[str, dict[tuple[str, str], dict[str, str]]] = {}
    for line in pairs:
        ours, _, variant = line.row.partition(" - ")
        if line.stream != shown[line.column]:
            continue
        plain = variant.removesuffix(", told").removesuffix(", unfitted")
        rows = found.setdefault(question_of(plain if ours in (RISK, ANSWER) else ours), {})
        name = f"`{variant}`" if ours in (RISK, ANSWER) else f"`{line.row}`"
        column = line.column if line.stream == CHANGING else f"{line.column}, {line.stream}"
        rows.setdefault((column, name), {})[line.task] = around(line, signed=True)
    if found:
        yield [
            f"Each figure: the standard monitor minus the variant, on streams of unknown pace, "
            f"where nothing else is said. {RANK}: above 0, the monitor is better; errors, delays and "
            "clean time: below 0. Other streams are on the pages of the tasks."
        ]
    for question in (*ASKED, "Other variants"):
        rows = found.get(question, {})
        if rows:
            lines = [
                [name, column, *(cells.get(task, "") for task in field.tasks)]
                for (column, name), cells in sorted(rows.items(), key=lambda each: each[0][0] != RANK)
            ]
            head = ["variant", "figure", *map(named, field.tasks)]
            yield [f"## {question}", grid(head, lines, len(field.tasks))]
