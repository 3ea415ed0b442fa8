"""What came out of each experiment on streams, in one sentence that is computed from its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..reproduce.field.lines import Line
from ..reproduce.field.plan import CHANGING
from .field import NO_LABELS, RISK, Field
from .first_alarms import ALARM_STREAM, alarm_look, alarm_rows
from .headline import LEFT, SEEN, place
from .numbers import beyond, number, short
from .questions import ASKED, question_of
from .wording import listed, named

ACCURACY = "accuracy error"
RANK = "prediction error AUROC"
MOST_NAMED = 2
"""Variants that a sentence names; more are counted."""
FIVE = "deep"
"""In names of rivals that run five networks."""


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
                (here.deep, "the ensemble of five"),
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
    """Return how near expected accuracy comes, beside the best rivals and the best of our own variants."""
    parts = []
    for task in field.tasks:
        mine = field.look(task, CHANGING, RISK, ACCURACY)
        rivals = field.rivals(task, ACCURACY)
        best = field.best(task, CHANGING, rivals, ACCURACY)
        single = field.best(task, CHANGING, [row for row in rivals if FIVE not in row], ACCURACY)
        variants = [row for row in field.rows(task, ACCURACY) if row.startswith(RISK)]
        own = field.best(task, CHANGING, variants, ACCURACY)
        if not mine or not best:
            continue
        against = (
            [f"{number(ACCURACY, single.value)} of `{single.row}`, the best of one pass"] if single else []
        )
        if single is None or best.value < single.value:
            against.append(f"{number(ACCURACY, best.value)} of `{best.row}`, of five passes")
        more = (
            f" (our variant `{own.row}`: {number(ACCURACY, own.value)})"
            if own and own.value < mine.value
            else ""
        )
        parts.append(f"{named(task)} {number(ACCURACY, mine.value)}{more} against {', and '.join(against)}")
    return _sentence(
        f"With an unknown pace, the mean distance of `{RISK}` to the accuracy of 200 steps is", parts
    )


def questions(field: Field) -> str:
    """Return for every question what changes most, and what is better than the standard monitor."""
    found: dict[str, dict[str, dict[str, Line]]] = {}
    for line in field.found.lines:
        if line.row.startswith(f"{RISK} - ") and line.column == RANK and line.stream == CHANGING:
            variant = line.row.removeprefix(f"{RISK} - ").removesuffix(", told").removesuffix(", unfitted")
            found.setdefault(question_of(variant), {}).setdefault(variant, {})[line.task] = line
    said = [_question(field, question, found[question]) for question in ASKED if question in found]
    tasks = " / ".join(map(named, field.tasks))
    if not said:
        return "Not measured."
    return f"Change of {RANK} by a variant at unknown pace, {tasks}:\n\n" + "\n".join(said)


def _question(field: Field, question: str, variants: Mapping[str, Mapping[str, Line]]) -> str:
    means = {
        variant: sum(line.value for line in lines.values()) / len(lines)
        for variant, lines in variants.items()
    }
    most = max(means, key=lambda variant: means[variant])
    least = min(means, key=lambda variant: abs(means[variant]))
    words = f"- {question} Most is lost with `{most}` ({_losses(field, variants[most])})"
    if means[most] < SEEN:
        words = f"- {question} No variant loses anything on average"
    elif least != most:
        words += f", least changes with `{least}` ({_losses(field, variants[least])})"
    better = []
    for task in field.tasks:
        there = {variant: lines[task] for variant, lines in variants.items() if task in lines}
        ahead = {name: line for name, line in there.items() if beyond(line) and line.value <= -SEEN}
        if ahead:
            most_ = number(RANK, max(-line.value for line in ahead.values()))
            names = listed(f"`{name}`" for name in ahead)
            few = names if len(ahead) <= MOST_NAMED else f"{len(ahead)} of {len(there)} variants"
            better.append(f"{few} on {named(task)} (by {'up to ' * (len(ahead) > 1)}{most_})")
    return f"{words}; better than the standard monitor: {listed(better)}." if better else f"{words}."


def _losses(field: Field, lines: Mapping[str, Line]) -> str:
    shown = [_loss(lines.get(task)) for task in field.tasks]
    return " / ".join(shown)


def _loss(line: Line | None) -> str:
    return "-" if line is None else short(line._replace(value=-line.value), True)


def _sentence(lead: str, parts: Sequence[str]) -> str:
    return f"{lead} {'; '.join(parts)}." if parts else "Not measured."


ANSWERS: Mapping[str, Callable[[Field], str]] = {
    "answers": answers,
    "alarms": alarms,
    "accuracy": accuracy,
    "questions": questions,
}
