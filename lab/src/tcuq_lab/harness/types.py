"""What a method may see of a stream, what it says to it, and the truth that it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.log.log import Log
from tcuq.metrics.inputs import Bools, Floats, Ints

Array = npt.NDArray[Any]
CLEAN = "clean"

ASKED = 2000
"""Clean steps per false alarm that alarms should aim for, so that their delays can be compared."""

MAX_ERROR = 0.05
"""Share of accepted answers that may be wrong where labels come late."""


def slices(stretches: Array | None, length: int) -> list[slice]:
    """Return where each stretch lies; all of it is one where they have no numbers."""
    if stretches is None:
        return [slice(0, length)] if length else []
    edges = [0, *(np.flatnonzero(np.diff(stretches)) + 1).tolist(), length]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a method may see: a row a step, in order, and no label.

    Parameters
    ----------
    probs : float array of shape (T, L)
        Posteriors. In the benchmark they are as an int8 softmax leaves them: multiples of 1/256, at most
        255/256, so that a row sums to about 1.
    features : float array of shape (T, d), optional
        Penultimate layer.
    extra : mapping of str to array of T rows
        What else a network said: logits, scores of its own. Empty in the benchmark.
    stretches : array of T integers, optional
        Steps of one independent stretch have the same number and lie together; one stretch by default.
    gauges : float array of shape (T, g), optional
        Numbers of the input itself, such as brightness.
    gauge_names : tuple of str, optional
        Their names.

    Examples
    --------
    >>> stream = Outputs(np.full((4, 2), 0.5), stretches=np.array([0, 0, 0, 1]))
    >>> len(stream), [len(each) for each in stream.split()]
    (4, [3, 1])
    """

    probs: Array
    features: Array | None = None
    extra: Mapping[str, Array] = field(default_factory=lambda: MappingProxyType({}))
    stretches: Ints | None = None
    gauges: Array | None = None
    gauge_names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.probs)

    def pieces(self) -> list[slice]:
        """Return the stretches as slices, in order."""
        return slices(self.stretches, len(self))

    def taken(self, rows: Any) -> Outputs:
        """Return some of the steps: a slice, or the rows of an array."""

        def some(values: Array | None) -> Any:
            return None if values is None else values[rows]

        extra = {name: values[rows] for name, values in self.extra.items()}
        seen = some(self.features), extra, some(self.stretches), some(self.gauges), self.gauge_names
        return Outputs(self.probs[rows], *seen)

    def split(self) -> list[Outputs]:
        """Return the stretches, each by itself."""
        return [self.taken(piece) for piece in self.pieces()]

    def log(self) -> Log:
        """Return the same as `tcuq` reads it."""
        return Log(self.probs, self.features, segments=self.stretches, **self._gauged())

    def _gauged(self) -> dict[str, Any]:
        return {} if self.gauges is None else {"gauges": self.gauges, "gauge_names": self.gauge_names}


def joined(parts: list[Outputs], numbered: bool = True) -> Outputs:
    """Return stretches one after the other, numbered from 0; or as one stretch."""

    def column(name: str) -> Any:
        of = [getattr(each, name) for each in parts]
        return None if of[0] is None else np.concatenate(of)

    extra = {name: np.concatenate([each.extra[name] for each in parts]) for name in parts[0].extra}
    numbers = np.repeat(np.arange(len(parts)), [len(each) for each in parts]) if numbered else None
    names = parts[0].gauge_names
    return Outputs(column("probs"), column("features"), extra, numbers, column("gauges"), names)


@dataclass(frozen=True, eq=False)
class Truth:
    """What no method sees of a test stream."""

    labels: Ints  # below 0 where a step is not judged, such as a pause in speech
    sources: Ints  # of each step in `names`
    stretches: Ints
    names: tuple[str, ...]  # "clean", "fog/3"; those of one type in the order of their severity
    kinds: npt.NDArray[np.uint8] | None = None  # number of the corruption type, 0 where the input is clean

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def judged(self) -> Bools:
        """Steps that have a true class."""
        return np.asarray(self.labels >= 0)

    @cached_property
    def shifted(self) -> Bools:
        """Steps that are not clean."""
        clean = [at for at, name in enumerate(self.names) if name == CLEAN]
        return np.asarray(~np.isin(self.sources, clean))

    @property
    def count(self) -> int:
        """How many stretches there are."""
        return int(self.stretches[-1]) + 1

    def pieces(self) -> list[slice]:
        """Return the stretches as slices."""
        return slices(self.stretches, len(self))

    def taken(self, rows: Any) -> Truth:
        """Return some of the steps."""
        kinds = None if self.kinds is None else self.kinds[rows]
        return Truth(self.labels[rows], self.sources[rows], self.stretches[rows], self.names, kinds)


class NoLabels(AttributeError):
    """A method of the track without labels asked for labels."""


@dataclass(frozen=True, eq=False)
class Dev(Outputs):
    """Development data: what `fit` gets.

    `labels` has the true classes, `shifted` 0 where the input is clean, else the number of the corruption
    type; neither is given in the track without labels.

    Parameters
    ----------
    probs, features, extra, stretches, gauges, gauge_names
        As of `Outputs`.
    clean : Outputs, optional
        A second log that is known to be clean.
    truth : object, optional
        Where there are labels: what `labels` and `shifted` are read from.
    errors : mapping of str to float, optional
        Error rate of the network by what is shown, where that is known beside the stream.

    Examples
    --------
    >>> hasattr(Dev(np.ones((1, 2)), np.ones((1, 1))), "labels")
    False
    """

    clean: Outputs | None = None
    truth: Truth | None = field(default=None, repr=False)
    errors: Mapping[str, float] | None = field(default=None, repr=False)

    def _known(self, name: str) -> Truth:
        if self.truth is None:
            raise NoLabels(f"dev.{name} is not given in the track without labels; set uses_labels = True")
        return self.truth

    @property
    def labels(self) -> Ints:
        """True classes."""
        return self._known("labels").labels

    @property
    def shifted(self) -> npt.NDArray[np.uint8]:
        """0 where the input is clean, else the number of the corruption type."""
        truth = self._known("shifted")
        return truth.shifted.astype(np.uint8) if truth.kinds is None else truth.kinds

    def outputs(self) -> Outputs:
        """Return what a method sees of the stream while it watches."""
        return Outputs(*(getattr(self, each.name) for each in fields(Outputs)))

    def log(self) -> Log:
        """Return the steps that are judged as `tcuq` reads them, with labels where they are given."""
        if self.truth is None:
            return super().log()
        kept = slice(None) if self.truth.judged.all() else self.truth.judged
        seen = self.taken(kept)
        told = self.labels[kept], seen.stretches, self.shifted[kept]
        return Log(seen.probs, seen.features, *told, **seen._gauged())


class Switch(NamedTuple):
    """An alarm whose limit can be moved: K stretches of T steps each."""

    on: Callable[[Array], Bools]  # from limits (n,) to an alarm (n, K, T)
    path: Callable[[Bools], Floats]  # from settled clean steps to limits to begin a search with, rising
    limit: float  # that of development data

    def at_limit(self) -> Bools:
        """Return the alarm at its limit, (K, T)."""
        return np.asarray(self.on(np.array([self.limit]))[0])


class Answers(NamedTuple):
    """What a method says to a stream: arrays of one value a step, or single values from `step`.

    Parameters
    ----------
    risk : number
        Higher means that the answer is more likely wrong. Any scale.
    answer : integer, optional
        The class that the method answers with; the network's own (largest posterior) by default.
    alarm : boolean, optional
        Whether the method says that the input has degraded.
    accuracy : number from 0 to 1, optional
        Expected share of right answers over the last 200 steps.
    accept : boolean, optional
        Whether the answer is given; a method with `feedback` has to say it.
    prediction_risk : number, optional
        Risk of the network's own class, of a method that answers with another.
    probs : array, optional
        Posteriors that the answer stands by: where there is no `prediction_risk`, it is 1 less their share.
    evidence : number, optional
        What the alarm compares with its limit. The benchmark moves that limit until all alarms are false
        equally often; an alarm without evidence is taken as it is.

    Examples
    --------
    >>> Answers.of([0.25, 0.5]).risk, Answers.of({"risk": [0.25], "alarm": [True]}).alarm
    ([0.25, 0.5], [True])
    >>> Answers.of({"rsk": [0.25]})
    Traceback (most recent call last):
    ...
    ValueError: unknown key 'rsk'; allowed: risk, answer, alarm, accuracy, accept, prediction_risk, ...
    """

    risk: Any
    answer: Any = None
    alarm: Any = None
    accuracy: Any = None
    accept: Any = None
    prediction_risk: Any = None
    probs: Any = None
    evidence: Any = None

    @classmethod
    def of(cls, value: Any) -> Answers:
        """Return what a method returned: `Answers`, a mapping with its names, or risk alone."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            return cls(value)
        odd = [str(name) for name in value if name not in cls._fields]
        if odd or "risk" not in value:
            wrong = f"unknown key {odd[0]!r}" if odd else "key 'risk' is missing"
            raise ValueError(f"{wrong}; allowed: {', '.join(cls._fields)}")
        return cls(**value)


def together(said: list[Answers]) -> Answers:
    """Return what was said to several stretches as one."""
    return Answers(*(None if each[0] is None else np.concatenate(each) for each in zip(*said, strict=True)))


def doubt(probs: Array) -> Floats:
    """Return 1 less the largest posterior of each step."""
    return np.asarray(1.0 - probs.max(axis=-1).astype(np.float64))


def confidence(seen: Outputs) -> Answers:
    """Return what everything is compared with: the network's class, and 1 less its posterior."""
    return Answers(doubt(seen.probs), seen.probs.argmax(axis=1).astype(np.int64))
