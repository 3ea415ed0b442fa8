"""Errors among answers: against those of the network's label, and at 90 % coverage against rivals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tcuq.metrics.inputs import Bools, Floats

from ...methods.method import Answer, Observed
from ...methods.scores import unsure
from ...methods.temporal.belief import REDRAW, beliefs
from ...methods.temporal.fixed import Mean8, Vote8
from .drawn import Drawn, Value, draw, left_at, mean_of
from .fits import Monitors, said
from .lines import Line, line
from .ranking import FLOAT, INT8, int8_doubt, observed, redraw_told
from .units import Shown, Unit

ERRORS, LEFT = "errors", "errors at 90 % coverage"
OURS, LABEL, ANSWER = "risk of the answer", "label", "answer"
TYPES = "all types, shuffled"
KIND_BLOCK = 50
"""Steps of a shuffled stream drawn together: its only memory is that of the monitor."""
MIN_COVERAGE = 0.9


def type_stream(kind: str) -> str:
    """Return the name of the shuffled stream of one corruption type."""
    return f"type {kind}"


def rivals(shown: Shown) -> dict[str, tuple[Bools, Floats]]:
    """Return where each rival is wrong, and its risk; rules answer with their own class."""
    log, seen = shown.log, observed(shown.log)
    assert log.labels is not None
    found = {
        INT8: (log.errors(), int8_doubt(log)),
        FLOAT: (np.asarray(log.probs.argmax(axis=1) != log.labels), unsure(log.probs)),
    }
    rules = {"vote over 8": Vote8().answer(seen), "mean of 8": Mean8().answer(seen)}
    rules["belief"] = _believed(seen, REDRAW)
    if shown.told is not None:
        rules["belief, told the stream"] = _believed(seen, redraw_told(shown.told))
    for name, rule in rules.items():
        found[name] = (np.asarray(rule.predictions() != log.labels), np.asarray(rule.score, np.float64))
    return found


def _believed(seen: Observed, redraw: float) -> Answer:
    found = beliefs(seen, redraw)
    return Answer(found, unsure(found))


def answering(task: str, units: Sequence[Unit], fits: Sequence[Monitors]) -> list[Line]:
    """Return errors of label and answer on every stream and type, and those left at 90 % coverage."""
    lines = []
    for stream in units[0].streams:
        errors: dict[str, list[Value]] = {LABEL: [], ANSWER: []}
        left: dict[str, list[Value]] = {OURS: []}
        for unit, fit in zip(units, fits, strict=True):
            shown = unit.streams[stream]
            steps = said(fit.answer, shown.log)
            wrong = np.asarray(steps["answer"] != shown.log.labels)
            errors[LABEL].append(mean_of(shown.log.errors()))
            errors[ANSWER].append(mean_of(wrong))
            left[OURS].append(left_at(np.asarray(steps["risk"]), wrong, MIN_COVERAGE))
            for row, (mistaken, score) in rivals(shown).items():
                left.setdefault(row, []).append(left_at(score, mistaken, MIN_COVERAGE))
        lengths = [len(unit.streams[stream].log) for unit in units]
        found = draw(errors | left, lengths, f"answering {task} {stream}")
        lines += _errors(task, stream, found)
        lines += [line(task, stream, row, LEFT, found[row].mean()) for row in left]
        lines += [
            line(task, stream, f"{OURS} - {row}", LEFT, found[OURS].less(found[row]))
            for row in left
            if row != OURS
        ]
    return lines + kinds(task, units, fits)


def kinds(task: str, units: Sequence[Unit], fits: Sequence[Monitors]) -> list[Line]:
    """Return errors of label and answer on shuffled streams of one corruption type, and over all types."""
    lines = []
    pooled: dict[str, list[list[Bools]]] = {LABEL: [[] for _ in units], ANSWER: [[] for _ in units]}
    for kind in units[0].kinds:
        here: dict[str, list[Value]] = {LABEL: [], ANSWER: []}
        for number, (unit, fit) in enumerate(zip(units, fits, strict=True)):
            log = unit.kinds[kind].log
            wrong = {
                LABEL: log.errors(),
                ANSWER: np.asarray(said(fit.answer, log)["answer"] != log.labels),
            }
            for row, each in wrong.items():
                here[row].append(mean_of(each))
                if kind != "clean":
                    pooled[row][number].append(each)
        lengths = [len(unit.kinds[kind].log) for unit in units]
        stream = type_stream(kind)
        lines += _errors(task, stream, draw(here, lengths, f"{task} {stream}", KIND_BLOCK))
    whole = {row: [np.concatenate(parts) for parts in each] for row, each in pooled.items()}
    values = {row: [mean_of(each) for each in parts] for row, parts in whole.items()}
    lengths = [len(each) for each in whole[LABEL]]
    return lines + _errors(task, TYPES, draw(values, lengths, f"{task} {TYPES}", KIND_BLOCK))


def _errors(task: str, stream: str, found: Mapping[str, Drawn]) -> list[Line]:
    label, answer = found[LABEL], found[ANSWER]
    return [
        line(task, stream, LABEL, ERRORS, label.mean()),
        line(task, stream, ANSWER, ERRORS, answer.mean()),
        line(task, stream, f"{ANSWER} - {LABEL}", ERRORS, answer.less(label)),
        line(task, stream, f"{ANSWER} / {LABEL}", ERRORS, answer.over(label)),
    ]
