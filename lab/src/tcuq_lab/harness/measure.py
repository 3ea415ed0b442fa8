"""One row on the streams of one network: fitted, shown each stream, and compared with the truth."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Protocol

import numpy as np

from tcuq.metrics.inputs import Floats

from .checks import Checked
from .declare import Case, Key, Late, Measured, Metric, Play, Row, Streams
from .intervals import Drawn, drawn
from .types import Answers, Outputs, Truth, joined

Tell = Callable[[str], None]


def measure(
    row: Row,
    streams: Streams,
    plays: Iterable[Play],
    metrics: tuple[Metric, ...],
    tell: Tell = lambda text: None,
) -> Measured:
    """Return the figures of a row on the streams of one network, and what its fits chose."""
    plays = [each for each in plays if row.shown(each)]
    if not row.fitted:
        plays = list({each.role: each._replace(fit="", dev="") for each in plays}.values())
    fit = cache(lambda role: row.fit(streams, role))
    figures: dict[Key, Drawn] = {}
    choices: dict[str, Any] = {}
    memory: dict[str, Any] = {}
    known: dict[tuple[Any, ...], dict[str, Drawn]] = {}
    for play in plays:
        tell(f"{streams.task} {row.name}, {play.stream}")
        method = fit(play.dev)
        if play.dev not in choices and hasattr(method, "choice"):
            choices[play.dev] = method.choice
        place = play.stream, play.role, play.late, play.dev if row.key is None else row.key(method)
        if place not in known:
            known[place] = shown(row, streams, play, method, row.metrics or metrics, memory)
        figures |= {
            Key(play.stream, row.name, play.fit, column): each for column, each in known[place].items()
        }
    choices |= {name: each for name, each in memory.items() if isinstance(each, dict)}
    return Measured(figures, {row.name: choices} if choices else {})


def shown(
    row: Row, streams: Streams, play: Play, method: Any, metrics: tuple[Metric, ...], memory: dict[str, Any]
) -> dict[str, Drawn]:
    """Return the figures of a fitted row on one stream."""
    case = case_of(row, streams, play, method, memory)
    figures = {column: each for metric in metrics for column, each in metric(case).items()}
    return {
        column: each if isinstance(each, Drawn) else drawn(each, case.truth.count, case.draws)
        for column, each in figures.items()
    }


def case_of(row: Row, streams: Streams, play: Play, method: Any, memory: dict[str, Any]) -> Case:
    """Return what a fitted row says to a stream, beside the truth."""
    if isinstance(method, Checked):
        rate = "" if play.late is None else f", {play.late.rate:.0%} labels"
        method.where = f"stream {play.stream!r}{rate}"
    truth, plain = streams.truth(play.role), streams.outputs(play.role)
    seen = plain if row.network is None else streams.outputs(play.role, row.network)
    if play.late is None:
        answers = method.watch(seen)
    else:  # the stream is one run, so that a label may come in the next stretch
        whole = joined(seen.split(), numbered=False)
        answers = watched_late(method, whole, truth, play, streams.draws(play.role))

    def other(role: str) -> Case:
        return case_of(row, streams, play._replace(role=role), method, memory)

    return Case(streams, play, row.name, truth, plain, answers, method, memory, other)


SPREAD = 0.02
"""Least standard deviation of an error that a step is asked by, so that sure steps are asked too."""


class Told(Protocol):
    """A method that takes labels while it watches one stretch."""

    def told(self, seen: Outputs, label: Callable[[int, Answers], int | None], delay: int) -> Answers:
        """Watch a stretch; `label` gives the class of an earlier step where it comes, or None."""


def labeled_steps(truth: Truth, name: str, late: Late, unsure: Floats | None = None) -> set[int]:
    """Return the steps that get a label; the draws are the same for all methods.

    Those of a higher rate hold those of a lower one.
    """
    draws = np.random.default_rng([19, zlib.crc32(name.encode())]).random(len(truth))
    chance: Any = 0.1 if late.how == "wrong" else late.rate
    if unsure is not None:
        spread = np.sqrt(unsure * (1 - unsure)) + SPREAD
        chance = np.minimum(1, late.rate * spread / spread.mean())
    return set(np.flatnonzero((draws < chance) & truth.judged).tolist())


def watched_late(method: Told, seen: Outputs, truth: Truth, play: Play, name: str) -> Answers:
    """Return what a method says to a stream as a whole, while labels of some steps come late."""
    late = play.late
    assert late is not None
    unsure = None
    if late.how == "asked":
        unsure = np.asarray(method.told(seen, lambda step, said: None, late.delay).risk)
    steps = labeled_steps(truth, name, late, unsure)

    def label(step: int, said: Answers) -> int | None:
        if step not in steps:
            return None
        true = int(truth.labels[step])
        if late.how == "wrong" and not (said.accept and said.answer != true):
            return None
        return true

    return method.told(seen, label, late.delay)
