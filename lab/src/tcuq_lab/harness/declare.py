"""What an experiment is made of: streams, rows that are fitted to them, metrics, and what is compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Protocol

from tcuq.metrics import Interval

from .figures import Figure
from .intervals import Drawn, difference, mean, ratio
from .lines import Line, line
from .types import Answers, Dev, Outputs, Truth


class Late(NamedTuple):
    """Labels that come while a stream is watched."""

    rate: float  # share of steps
    delay: int  # steps from an answer to its label
    how: str = "random"  # or "asked" where the method is unsure, or "wrong": only of accepted errors


class Play(NamedTuple):
    """A stream that is shown to a row, and the development stream that the row is fitted to."""

    stream: str  # as lines name it
    role: str  # as the streams know it
    fit: str = ""
    dev: str = ""  # role of the development stream; empty where nothing is fitted
    late: Late | None = None


class Streams(Protocol):
    """The streams of one network: files of the benchmark, or recordings."""

    @property
    def task(self) -> str:
        """Name of the dataset."""

    @property
    def costly(self) -> Sequence[str]:
        """Sources of test streams that cost the network ten points of accuracy or more."""

    def draws(self, role: str) -> str:
        """Return the name that seeds the replicates of a stream: the same for all rows."""

    def truth(self, role: str) -> Truth:
        """Return what no method sees."""

    def outputs(self, role: str, network: Any = None) -> Outputs:
        """Return what a network says to a stream, the plain one by default."""

    def dev(self, role: str, labels: bool, network: Any = None) -> Dev:
        """Return what a method is fitted to."""


class Fitted(Protocol):
    """A method that is fitted, or that needs no fit."""

    def watch(self, seen: Outputs) -> Answers:
        """Return what it says to some stretches; the past of the first step of each is empty."""


@dataclass(frozen=True, eq=False)
class Case:
    """What a row said to a stream, beside the truth."""

    streams: Streams
    play: Play
    row: str
    truth: Truth
    seen: Outputs  # of the plain network
    answers: Answers
    method: Any
    memory: dict[str, Any]  # what metrics keep from one stream of a row to the next
    other: Callable[[str], Case] | None = None  # what the row says to a stream of another role

    @property
    def wrong(self) -> Any:
        """Where the row's own answer is not the true class."""
        return self.answer != self.truth.labels

    @property
    def answer(self) -> Any:
        """The row's own class: that of the network where it gives none."""
        return self.seen.probs.argmax(axis=1) if self.answers.answer is None else self.answers.answer

    @property
    def draws(self) -> str:
        """Name that seeds the replicates."""
        return self.streams.draws(self.play.role)


Metric = Callable[[Case], Mapping[str, Figure | Drawn]]
"""Gives figures by the name of their column; none where they are not defined."""


@dataclass(frozen=True)
class Row:
    """A method as it is fitted, and where it is measured."""

    name: str
    fit: Callable[[Any, str], Fitted]  # to the development stream of a role of some streams; "" is none
    fitted: bool = True
    network: Any = None  # whose outputs it watches; None: the plain one of the task
    metrics: tuple[Metric, ...] | None = None  # in place of those of the experiment
    shown: Callable[[Play], bool] = lambda play: True
    key: Callable[[Any], str] | None = None  # fits of the same key say the same


class Key(NamedTuple):
    """What a figure of one network is about; see `lines.Line`."""

    stream: str
    row: str
    fit: str
    column: str


class Measured(NamedTuple):
    """What one network gives: figures, and every setting that was chosen, as JSON takes it."""

    figures: dict[Key, Drawn]
    choices: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A pair of rows whose paired difference ("-") or ratio ("/") is reported."""

    first: str
    second: str
    column: str
    of: str = "-"
    second_fit: str | None = None  # by default that of the first, or "" where the second is not fitted
    first_fit: str | None = None  # every one by default


class Inverse(NamedTuple):
    """A column that is a number over the mean of another one, such as a run length over a rate."""

    column: str
    of: str
    scale: float

    def interval(self, found: Interval) -> Interval:
        """Return the inverse of an interval; 0 gives infinity."""
        value, high, low = (self.scale / end if end else math.inf for end in found[:3])
        return Interval(value, low, high, found.undefined)


def combined(
    task: str,
    networks: Sequence[Mapping[Key, Drawn]],
    comparisons: Iterable[Comparison] = (),
    inverses: Sequence[Inverse] = (),
) -> list[Line]:
    """Return the means over networks, and paired comparisons over those that have both rows."""
    keys = list(dict.fromkeys(key for network in networks for key in network))
    lines = []
    for key in keys:
        have = [network[key] for network in networks if key in network]
        found = mean(have)
        lines.append(line(task, *key, found, len(have)))
        for each in inverses:
            if key.column == each.of:
                other = key._replace(column=each.column)
                lines.append(line(task, *other, each.interval(found), len(have)))
    return lines + list(_compared(task, networks, keys, comparisons))


def _compared(
    task: str,
    networks: Sequence[Mapping[Key, Drawn]],
    keys: Sequence[Key],
    comparisons: Iterable[Comparison],
) -> Iterator[Line]:
    known = set(keys)
    by_row: dict[tuple[str, str], list[Key]] = {}
    for key in keys:
        by_row.setdefault((key.row, key.column), []).append(key)
    for pair in comparisons:
        for key in by_row.get((pair.first, pair.column), ()):
            if pair.first_fit not in (None, key.fit):
                continue
            other = key._replace(row=pair.second)
            if pair.second_fit is not None:
                other = other._replace(fit=pair.second_fit)
            elif other not in known:
                other = other._replace(fit="")
            pairs = [(each[key], each[other]) for each in networks if key in each and other in each]
            if not pairs:
                continue
            first, second = [a for a, _ in pairs], [b for _, b in pairs]
            got = difference(first, second) if pair.of == "-" else ratio(first, second)
            row = f"{pair.first} {pair.of} {pair.second}"
            if pair.second_fit not in (None, key.fit):
                row += f", {pair.second_fit or 'unfitted'}"
            yield line(task, key.stream, row, key.fit, key.column, got, len(pairs))


def grid(**choices: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
    """Return all combinations of settings, the last named one changing fastest."""
    return tuple(dict(zip(choices, each, strict=True)) for each in product(*choices.values()))
