"""What came out of each experiment on streams, in one sentence that is computed from its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..reproduce.field.plan import CHANGING
from .field import NO_LABELS, RISK, Field
from .first_alarms import ALARM_STREAM, alarm_look, alarm_rows
from .headline import LEFT, place
from .numbers import number
from .wording import listed, named

ACCURACY = "accuracy error"
RANK = "label error AUROC"


def answers(field: Field) -> str:
    """Return how many errors are left with an unknown pace."""
    parts = []
    for task in field.tasks:
        here = place(field, task, CHANGING, LEFT)
        if here.ours is None:
            continue
        rivals = [
            f"{number(LEFT, line.value)} of {words}"
            for line, words in (
                (here.confidence, "confidence"),
                (here.simple, f"`{here.simple.row}`" if here.simple else ""),
                (here.deep, "a deep ensemble"),
            )
            if line is not None
        ]
        parts.append(f"{named(task)} {number(LEFT, here.ours.value)} against {listed(rivals)}")
    return _sentence("With an unknown pace, errors left at 90 % coverage are", parts)


def alarms(field: Field) -> str:
    """Return how the alarm does beside the best rival."""
    rival = next((row for row in alarm_rows(field) if row not in (RISK, NO_LABELS)), None)
    parts = []
    for task in field.tasks:
        mine = _alarm(field, task, RISK)
        theirs = _alarm(field, task, rival) if rival else ""
        if mine:
            parts.append(f"{named(task)} {mine}" + (f" (`{rival}`: {theirs})" if theirs else ""))
    return _sentence(
        f"On streams of {ALARM_STREAM}, limits from development data, false alarms per 10,000 clean steps:",
        parts,
    )


def _alarm(field: Field, task: str, row: str) -> str:
    lines = [
        alarm_look(field, task, ALARM_STREAM, row, column)
        for column in ("found", "delay", "false per 10,000")
    ]
    there = [number(line.column, line.value) for line in lines if line is not None]
    if len(there) < len(lines):
        return ""
    return "found {}, median delay {} steps, false alarms {}".format(*there)


def accuracy(field: Field) -> str:
    """Return how near expected accuracy comes, beside the best rival."""
    parts = []
    for task in field.tasks:
        mine = field.look(task, CHANGING, RISK, ACCURACY)
        best = field.best(task, CHANGING, field.rivals(task, ACCURACY), ACCURACY)
        if mine and best:
            parts.append(
                f"{named(task)} {number(ACCURACY, mine.value)} against {number(ACCURACY, best.value)} of "
                f"`{best.row}`, the best rival"
            )
    return _sentence("With an unknown pace, the mean distance to the accuracy of 200 steps is", parts)


def questions(field: Field) -> str:
    """Return what costs most when it is taken out."""
    worth: dict[str, list[float]] = {}
    for line in field.found.lines:
        if line.row.startswith(f"{RISK} - ") and line.column == RANK and line.value == line.value:
            worth.setdefault(line.row.removeprefix(f"{RISK} - "), []).append(line.value)
    means = {row: sum(values) / len(values) for row, values in worth.items()}
    most = sorted(means, key=lambda row: -means[row])[:3]
    parts = [f"`{row}` {number(RANK, means[row])}" for row in most]
    return _sentence("Mean loss of AUROC over tasks and laws, where it is largest:", parts)


def _sentence(lead: str, parts: Sequence[str]) -> str:
    return f"{lead} {'; '.join(parts)}." if parts else "Not measured."


ANSWERS: Mapping[str, Callable[[Field], str]] = {
    "answers": answers,
    "alarms": alarms,
    "accuracy": accuracy,
    "questions": questions,
}
