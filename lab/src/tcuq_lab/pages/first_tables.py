"""Table 1 of the first screen: errors that are left, and how errors of the prediction are ranked."""

from __future__ import annotations

from collections.abc import Callable

from ..reproduce.field.lines import Line
from .field import SIMPLE, Field, direction
from .grids import grid
from .headline import AUROC, COLUMNS, LEFT, Place, called, first_streams, place
from .numbers import around, beyond, number, short
from .wording import listed, named

MOST_ROWS = 12
TITLE = f"errors left at 90 % coverage (lower is better) and {AUROC} (higher is better)"
CAPTION = (
    "Ours are two fits of the standard monitor: errors left are those of the default, `about='answer'` (row "
    "`tcuq answer`), AUROC that of `about='prediction'` (row `tcuq`)."
)
"""Which monitor a figure of ours belongs to."""
SHORT = {LEFT: "errors left", AUROC: "AUROC"}
INTERVALS = (
    "Intervals are made from stretches of the test streams, drawn again: they speak of other stretches of "
    "these networks, not of other networks."
)


def errors_table(field: Field) -> str:
    """Return the table: 4 rows a task; confidence, best simple rule, ensemble and ours by both figures."""
    rows = [
        [
            f"{named(task)}, {name}",
            *(cell for column in SHORT for cell in _cells(place(field, task, stream, column))),
        ]
        for task in field.first_tasks
        for name, stream in first_streams(task).items()
    ]
    others = ("confidence", "simple rule", "ensemble of five", "**ours**")
    head = ["", *(f"{words}: {each}" for words in SHORT.values() for each in others)]
    return grid(head, rows, len(head) - 1)


def _cells(here: Place) -> list[str]:
    def bold(line: Line | None) -> str:
        text = short(line)
        return f"**{text}**" if line is not None and line.value == here.best else text

    simple = f"{bold(here.simple)}<br><sub>{here.simple.row}</sub>" if here.simple else ""
    ours = around(here.ours, bold=here.ours is not None and here.ours.value == here.best)
    gap = around(here.gaps.get("confidence"), signed=True)
    both = "<br>".join(text for text in (ours, f"({gap})" if gap else "") if text)
    return [bold(here.confidence), simple, bold(here.deep), both]


def read_errors() -> str:
    """Return what the columns of the table are."""
    rules = ", ".join(f"`{name}` ({words})" for name, words in SIMPLE.items())
    return (
        "**Errors left**: the share of wrong answers among the 90 % of steps that a method trusts most. "
        f"**{AUROC}**: does the score rank errors of the plain network's prediction above its right answers. "
        "One rule: by errors left every method is judged by its own answers, ours by `tcuq answer`; by AUROC "
        "all are asked about the same events, ours with the risk of `tcuq`, which is fitted for the "
        "prediction (`about='prediction'`, not the default). **Ours** was fitted with labels "
        "of a development stream that mixes paces; in brackets: the difference to confidence. "
        "**Without labels**: fitted on that stream and on clean steps, both without labels "
        "(`tcuq no labels`; figures on the page of the [answers](results/answers.md)). **Confidence**: the "
        "network's largest posterior (`base`). **Ensemble of five**: "
        "five networks, five passes a step (`deep`). **Simple rule**: the best of "
        f"{len(SIMPLE)} on that very stream, which favors it. Bold: the best of confidence, simple "
        "rule, ensemble and ours. \u00b1: the longer side of a 95 % interval; the difference is paired. "
        f"{INTERVALS}\n\nThe simple rules: {rules}."
    )


def first_places(field: Field) -> list[Place]:
    """Return all places of the table that have a figure of ours."""
    places = [
        place(field, task, stream, column)
        for task in field.first_tasks
        for stream in first_streams(task).values()
        for column in COLUMNS
    ]
    return [each for each in places if each.ours is not None]


def leads(field: Field, of: Callable[[Place], Line | None] = lambda each: each.ours) -> tuple[int, int]:
    """Return at how many places one of the four, ours unless told, is the best, and how many there are."""
    there = first_places(field)
    lines = [(each, of(each)) for each in there if direction(each.column)]
    return sum(line is not None and line.value == each.best for each, line in lines), len(there)


def unlabeled(field: Field) -> str:
    """Return where ours without labels is worse than confidence, in one sentence."""
    parts = []
    asked = 0
    for column, words in ((LEFT, "errors left"), (AUROC, AUROC)):
        worse = []
        for task in field.first_tasks:
            for name, stream in first_streams(task).items():
                here = place(field, task, stream, column)
                if here.bare is None or here.confidence is None:
                    continue
                asked += 1
                bare, plain = short(here.bare), short(here.confidence)
                if bare != plain and direction(column) * (here.bare.value - here.confidence.value) < 0:
                    worse.append(f"{named(task)} {name} ({bare}, not {plain})")
        if worse:
            parts.append(f"{words} on {listed(worse)}")
    if not asked:
        return ""
    if not parts:
        return f"Fitted without labels, ours is nowhere worse than confidence ({asked} cells)."
    return f"Fitted without labels, ours is worse than confidence by {'; by '.join(parts)}."


def helped(field: Field) -> str:
    """Return in which streams the monitor helps, with the figures that say so."""
    gains: dict[str, list[Place]] = {}
    for task in field.first_tasks:
        for name, stream in first_streams(task).items():
            here = place(field, task, stream, LEFT)
            if here.ours and here.confidence:
                group = name if name in ("shuffled", "class 16", "unknown pace") else "lived"
                gains.setdefault(group, []).append(here)
    steady = gains.get("class 16", [])
    if not steady:
        return ""
    better = [each for each in steady if _settled(each) > 0]
    whole = "" if len(better) == len(steady) else f" on {len(better)} of {len(steady)} tasks"
    told = [
        f"{number(LEFT, each.confidence.value)} to {number(LEFT, each.ours.value)} on {named(each.task)}"
        for each in steady
        if each.ours and each.confidence
    ]
    first = (
        f"The monitor helps{whole} when the same class stays in view for several steps: where it stays 16 "
        f"on average, errors left go from {listed(told)}."
    )
    if not better:
        first = f"The monitor does not help where a class stays 16 steps: errors left go from {listed(told)}."
    rest = [
        f"{words} {' / '.join(short(each.gaps.get('confidence'), True) for each in gains[name])}"
        for name, words in (
            ("shuffled", "shuffled"),
            ("lived", "held object or continuous sound"),
            ("unknown pace", "unknown pace"),
        )
        if name in gains
    ]
    worse = [
        f"{called(each.stream)} {named(each.task)}"
        for name in gains
        for each in gains[name]
        if _settled(each) < 0
    ]
    tasks = " / ".join(map(named, field.first_tasks))
    more = f" Elsewhere they change by ({tasks}): {', '.join(rest)}." if rest else ""
    return first + more + (f" Worse than confidence beyond the interval: {listed(worse)}." if worse else "")


def _settled(here: Place) -> int:
    """Return 1 where ours is better than confidence beyond the interval, -1 where it is worse, 0 between."""
    gap = here.gaps.get("confidence")
    if gap is None or not beyond(gap):
        return 0
    return 1 if direction(here.column) * gap.value > 0 else -1
