"""The answers in words: some sentences for each question and task, computed from result lines alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from ..lines import Found, Line
from ..plan import UNTOLD
from . import rows as names
from .assistance import ASSISTED, CLEAN_STEPS, PLAIN_NETWORK, SHIFTED_STEPS
from .fits import CURVE
from .float64 import FLOAT_CONFIDENCE, INT8_CONFIDENCE, REALS
from .judging import ABSTAINED, ANSWERED, CLEAN_ON, ERRORS, FOUND, LEFT, PACED, PREDICTION_AUROC
from .wording import adds, figure, in_words, lines_of, measurable

NEAR = 0.005
"""AUROC within which fewer steps are enough."""
TASKS: Mapping[str, str] = MappingProxyType(
    {"mnist": "MNIST", "speech_commands": "Speech Commands", "cifar10": "CIFAR-10"}
)


class Sentence(NamedTuple):
    """An answer.

    Parameters
    ----------
    question : str
    task : str
        Name of the dataset, as result files have it.
    text : str
    """

    question: str
    task: str
    text: str


def answers(found: Found) -> list[str]:
    """Return the answers, question by question."""
    return [each.text for each in answered(found)]


def answered(found: Found) -> list[Sentence]:
    """Return the answers with what they answer; questions without any figure are left out.

    Parameters
    ----------
    found : Found
        Figures of the experiment `questions`.

    Examples
    --------
    >>> row, column = "tcuq - no memory", "prediction error AUROC"
    >>> line = Line("mnist", "class 16", row, "untold", column, 0.1, 0.09, 0.11)
    >>> answered(Found([line]))[0].text
    'On MNIST, memory adds 0.100 (0.090 to 0.110) to the AUROC of prediction errors at class 16.'
    """
    written = []
    for question, write in QUESTIONS.items():
        for task in found.distinct("task"):
            said = [text for text in write(found, task) if text]
            if said:
                text = ". ".join(_capital(part) for part in said)
                written.append(Sentence(question, task, f"On {TASKS.get(task, task)}, {_small(text)}."))
    return written


def _small(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


AUROC, ERRORS_LEFT = "the AUROC of prediction errors", "the errors at 90 % coverage"


def _memory(found: Found, task: str) -> list[str]:
    return [
        adds(found, task, "memory", "tcuq - no memory", PREDICTION_AUROC, AUROC),
        adds(found, task, "acting on the answer", "tcuq answer - no memory", LEFT, ERRORS_LEFT, -1),
    ]


def _gate(found: Found, task: str) -> list[str]:
    told = f"tcuq - {names.GATE_TOLD}, told"
    return [
        adds(found, task, "the gate", f"tcuq - {names.ALWAYS}", PREDICTION_AUROC, AUROC),
        adds(
            found,
            task,
            "the gate, where one head learns from the shuffle too,",
            f"tcuq - {names.ALWAYS_SHUFFLED}",
            PREDICTION_AUROC,
            AUROC,
        ),
        adds(found, task, "the gate, against the best fixed one,", told, PREDICTION_AUROC, AUROC),
    ]


def _features(found: Found, task: str) -> list[str]:
    row = f"tcuq - {names.POSTERIORS}"
    return [
        adds(found, task, "reading features", row, PREDICTION_AUROC, AUROC),
        adds(found, task, "reading features", row, FOUND, "the shifts found"),
        adds(found, task, "reading features", row, CLEAN_ON, "the clean time under alarm", -1),
    ]


def _signals(found: Found, task: str) -> list[str]:
    """Say the most that each signal adds on any stream, and those that add nothing or cost somewhere."""
    most, costs, nothing = [], [], []
    for name in names.SIGNALS:
        row = f"tcuq - {names.without(name)}"
        lines = lines_of(found, task, row, PREDICTION_AUROC)
        there = [line for line in lines if measurable(line)]
        best = max(there, key=lambda line: line.value, default=None)
        worst = min(there, key=lambda line: line.value, default=None)
        if best is not None and best.value > 0:
            most.append((best.value, f"{name} {figure(best)} at {best.stream}"))
        if worst is not None and worst.value < 0:
            costs.append(f"{name} {figure(worst, -1)} at {worst.stream}")
        if lines and not there:
            nothing.append(name)
    texts = []
    if most:
        ranked = [text for _, text in sorted(most, key=lambda each: -each[0])]
        texts.append(f"the most that a signal adds to {AUROC}, beside the others, is: {in_words(ranked)}")
    if costs:
        texts.append(f"the most that one costs is: {in_words(costs)}")
    if nothing:
        texts.append(f"taking out {in_words(nothing)} changes nothing measurable on any stream")
    return texts


def _labels(found: Found, task: str) -> list[str]:
    row = f"{names.ANSWER} - {names.BARE_ANSWER}"
    return [
        adds(found, task, "a fit with labels", f"tcuq - {names.NO_LABELS}", PREDICTION_AUROC, AUROC),
        adds(found, task, "a fit with labels", row, LEFT, "the errors of answers at 90 % coverage", -1),
        adds(
            found,
            task,
            "shifted data, beside clean data with labels,",
            f"tcuq - {names.CLEAN_LABELS}",
            PREDICTION_AUROC,
            AUROC,
        ),
    ]


def _steps(found: Found, task: str) -> list[str]:
    """Say from how many steps on a fit is as good as with all of them, and better than without labels."""
    enough, helps = None, None
    lost: dict[int, Line] = {}
    for steps in reversed(CURVE):
        behind = lines_of(found, task, f"tcuq - {names.labels_of(steps)}", PREDICTION_AUROC)
        if behind:
            lost[steps] = max(behind, key=lambda line: line.value)
    for steps, line in lost.items():  # from many to few
        if line.value > NEAR:
            break
        enough = steps
    for steps in reversed(CURVE):
        ahead = lines_of(found, task, f"{names.labels_of(steps)} - {names.NO_LABELS}", PREDICTION_AUROC)
        if any(measurable(line) and line.value < 0 for line in ahead):
            break
        helps = steps if ahead else helps
    if not lost:
        return []
    few = min(lost)
    texts = [
        f"{enough:,} labeled steps reach {AUROC} of {max(lost):,} to within {NEAR:g} on every stream"
        if enough is not None
        else f"no number of labeled steps that was tried reaches {AUROC} of all of them"
    ]
    texts.append(f"{few:,} lose up to {figure(lost[few])} at {lost[few].stream}")
    texts.append(
        f"from {helps:,} labeled steps on, a fit with labels is nowhere measurably below one without"
        if helps is not None
        else "at no number of steps a fit with labels is as good as one without on every stream"
    )
    return texts


def _clean_steps(found: Found, task: str) -> list[str]:
    """Say what alarms find, and how long they are on for nothing, by the clean steps of their fit."""
    parts = []
    for steps in CURVE:
        hit, on = (found.get(task, PACED, names.clean_of(steps), UNTOLD, each) for each in (FOUND, CLEAN_ON))
        if hit is not None and on is not None:
            parts.append(f"{steps:,} steps {figure(hit)} and {figure(on)}")
    if not parts:
        return []
    return [f"shifts found and clean time under alarm at {PACED}, without labels: {'; '.join(parts)}"]


def _int8(found: Found, task: str) -> list[str]:
    row = f"{INT8_CONFIDENCE} - {FLOAT_CONFIDENCE}"
    return [
        adds(found, task, "int8 in place of float64", f"tcuq - {REALS}", PREDICTION_AUROC, AUROC),
        adds(found, task, "int8 in place of float confidence", row, PREDICTION_AUROC, AUROC, fit=""),
    ]


def _assistance(found: Found, task: str) -> list[str]:
    row, more = f"{ASSISTED} - {PLAIN_NETWORK}", []
    for part in (CLEAN_STEPS, SHIFTED_STEPS):
        line = found.get(task, PACED + part, row, UNTOLD, ERRORS)
        if line is not None:
            where = part.removeprefix(", ")
            change = f"{line.value:+.3f} ({line.low:+.3f} to {line.high:+.3f})"
            more.append(f"{change} on {where}" if measurable(line) else f"not measurably on {where}")
    texts = [adds(found, task, "training with temporal assistance", row, PREDICTION_AUROC, AUROC)]
    return [*texts, f"the network's error rate changes by {in_words(more)}" if more else ""]


def _settings(found: Found, task: str) -> list[str]:
    """Say how much the best and the worst other setting change, and what the budget does."""
    lines = [
        line for row in names.SETTINGS for line in lines_of(found, task, f"tcuq - {row}", PREDICTION_AUROC)
    ]
    there = [line for line in lines if measurable(line)]
    texts = []
    worst = max(there, key=lambda line: line.value, default=None)
    best = min(there, key=lambda line: line.value, default=None)
    if worst is not None and worst.value > 0:
        name = worst.row.removeprefix("tcuq - ")
        texts.append(f"of other settings {name} loses the most, {figure(worst)} at {worst.stream}")
    if best is not None and best.value < 0:
        name = best.row.removeprefix("tcuq - ")
        texts.append(f"{name} gains the most, {figure(best, -1)} at {best.stream}")
    if lines and not there:
        texts.append("no other blend, anchor or penalty changes anything measurable")
    budgets = []
    for row in (names.budget_of(names.BUDGETS[0]), names.TCUQ, names.budget_of(names.BUDGETS[1])):
        share, left = (found.get(task, PACED, row, UNTOLD, column) for column in (ABSTAINED, ANSWERED))
        if share is not None and left is not None:
            budgets.append(f"{100 * share.value:.1f} % abstained, {100 * left.value:.1f} % of the rest wrong")
    if budgets:
        texts.append(f"with budgets of 5 %, 15 % and 30 % at {PACED}: {'; '.join(budgets)}")
    return texts


def _mix(found: Found, task: str) -> list[str]:
    row = f"{names.MIXED_ANSWER}"
    text = "leaving the correction by class mix off"
    return [adds(found, task, text, f"{names.ANSWER} - {row}", LEFT, "the errors at 90 % coverage", -1)]


def _alarm(found: Found, task: str) -> list[str]:
    row = f"tcuq - {names.RISK_ALARM}"
    return [
        adds(found, task, "summing evidence in place of risk", row, FOUND, "the shifts found"),
        adds(found, task, "summing evidence", row, CLEAN_ON, "the clean time under alarm", -1),
    ]


QUESTIONS: Mapping[str, Callable[[Found, str], list[str]]] = MappingProxyType(
    {
        "What does memory add?": _memory,
        "What does gating add?": _gate,
        "What do features add?": _features,
        "What does each signal add?": _signals,
        "What do labels add?": _labels,
        "How many labeled steps are enough?": _steps,
        "How many clean steps are enough for an alarm?": _clean_steps,
        "What does int8 cost?": _int8,
        "What does temporal assistance cost?": _assistance,
        "What do settings change?": _settings,
        "What does the correction by class mix change?": _mix,
        "What does evidence add to the alarm?": _alarm,
    }
)
"""Questions, and what answers each of them for a task."""
