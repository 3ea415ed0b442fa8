"""Which streams the experiment shows: one to develop on, whose pace changes, and many to be judged on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Any

from tcuq.base.checks import known

from ...audio.plan import MOVES_WORDS
from ...corruptions.suites import suite_of
from ...streams import (
    Changing,
    Description,
    Geometric,
    Held,
    Pareto,
    Segments,
    Shift,
    Sliding,
    Stationary,
)

BACKBONES: Mapping[str, str] = MappingProxyType(
    {"mnist": "cnn4", "speech_commands": "dscnn", "cifar10": "resnet8"}
)
"""Network of each task."""
SEVERITIES = (1, 3, 5)
SOUND = "speech_commands"
CLASS_STREAMS = {"class 1": 1, "class 4": 4, "class 16": 16, "class 64": 64}
"""Streams that show another example at every step, by the mean steps of one class."""
ALARM_STREAM = "class 16"
"""Where delays are judged."""
OBJECT, HEAVY, CONTINUOUS = "object 16", "heavy-tailed 16", "continuous sound"
DEVELOPMENTS = ("changing", "mixed")
"""What is developed on: streams of changing pace alone, or a quarter as objects or sound are met."""
PLACES = 100
"""Streams that a seed of a network has room for."""


@dataclass(frozen=True)
class StreamSizes:
    """Steps of the streams of one network.

    Parameters
    ----------
    dev, pieces : int
        Of the stream that the monitors are fitted to, which is joined from so many independent ones.
    clean_dev : int
        Of clean development data, for the fit without labels.
    told_dev : int
        Of a development stream that has the law of a test stream, for rivals that are told it.
    test, alarm_test : int
        Of each test stream, and of `ALARM_STREAM`, which has to show enough shifts.
    clean_test : int
        Of clean test data, on which false alarms are counted.
    kind : int
        Of the shuffled stream of one corruption type.
    """

    dev: int = 16_000
    pieces: int = 4
    clean_dev: int = 16_000
    told_dev: int = 12_000
    test: int = 12_000
    alarm_test: int = 24_000
    clean_test: int = 30_000
    kind: int = 1020


@dataclass(frozen=True)
class UnitPlan:
    """All streams of one network.

    Parameters
    ----------
    task : str
    seed : int
        Of the network; streams of different networks differ too.
    sizes : StreamSizes
    development : str
        One of `DEVELOPMENTS`.

    Examples
    --------
    >>> plan = UnitPlan("cifar10", 0)
    >>> plan.network, plan.streams
    ('resnet8-0', ('class 1', 'class 4', 'class 16', 'class 64', 'object 16', 'heavy-tailed 16'))
    """

    task: str
    seed: int
    sizes: StreamSizes = StreamSizes()
    development: str = "changing"

    def __post_init__(self) -> None:
        known("task", self.task, BACKBONES)
        known("development", self.development, DEVELOPMENTS)

    @property
    def network(self) -> str:
        """File of the network, without its ending."""
        return f"{BACKBONES[self.task]}-{self.seed}"

    @property
    def lived(self) -> str:
        """The stream on which the steps of one object, or of one sound, resemble each other."""
        return CONTINUOUS if self.task == SOUND else OBJECT

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the test streams."""
        return (*CLASS_STREAMS, self.lived, HEAVY)

    def dev(self) -> list[Description]:
        """Return the parts of the development stream."""
        steps, pieces = self.sizes.dev // self.sizes.pieces, self.sizes.pieces
        lived = max(1, pieces // 4) if self.development == "mixed" else 0
        paced = [self._shown("dev", place, steps, dwell=Changing()) for place in range(pieces - lived)]
        return paced + [
            self._shown("dev", 10 + place, steps, **self._law(self.lived)) for place in range(lived)
        ]

    def clean_dev(self) -> Description:
        """Return clean development data of changing pace."""
        return self._clean("dev", 20, self.sizes.clean_dev)

    def clean_test(self) -> Description:
        """Return clean test data of changing pace."""
        return self._clean("test", 21, self.sizes.clean_test)

    def told_dev(self, name: str) -> Description:
        """Return a development stream with the law of a test stream."""
        place = 30 + self.streams.index(known("stream", name, self.streams))
        return self._shown("dev", place, self.sizes.told_dev, **self._law(name))

    def test(self, name: str) -> Description:
        """Return a test stream."""
        place = 40 + self.streams.index(known("stream", name, self.streams))
        steps = self.sizes.alarm_test if name == ALARM_STREAM else self.sizes.test
        return self._shown("test", place, steps, **self._law(name))

    def kinds(self) -> dict[str, list[Description]]:
        """Return shuffled test streams of one corruption type each, one part for each severity, and clean."""
        suite = suite_of(self.task)
        found = {"clean": [self._alone(50, None, self.sizes.kind)]}
        places = count(51)
        for kind in suite.unseen:
            levels = suite.severities(kind, SEVERITIES)
            steps = self.sizes.kind // len(levels)
            found[kind] = [self._alone(next(places), Shift(kind, (level,)), steps) for level in levels]
        return found

    def all(self) -> Iterator[Description]:
        """Give every stream, those first that a first look needs."""
        yield from self.dev()
        yield self.clean_dev()
        for name in self.streams:
            yield self.test(name)
            yield self.told_dev(name)
        yield self.clean_test()
        for parts in self.kinds().values():
            yield from parts

    def _law(self, name: str) -> dict[str, Any]:
        if name in CLASS_STREAMS:
            return {"dwell": Geometric(CLASS_STREAMS[name])}
        if name == HEAVY:
            return {"dwell": Pareto(16)}
        if name == OBJECT:
            return {"dwell": Geometric(16), "held": Held()}
        return {"dwell": Geometric(1), "sliding": Sliding()}  # each word is drawn anew, and has five windows

    def _seed(self, place: int) -> int:
        return PLACES * (self.seed + 1) + place

    def _shown(self, part: str, place: int, steps: int, **law: Any) -> Description:
        suite = suite_of(self.task)
        names = suite.seen if part == "dev" else suite.unseen
        kept = [name for name in names if "sliding" not in law or name not in MOVES_WORDS]
        return Description(
            dataset=self.task,
            part=part,
            seed=self._seed(place),
            steps=steps,
            layout=Segments(first="clean"),
            shifts=tuple(Shift(name, suite.severities(name, SEVERITIES)) for name in kept),
            **law,
        )

    def _clean(self, part: str, place: int, steps: int) -> Description:
        return Description(
            dataset=self.task,
            part=part,
            seed=self._seed(place),
            steps=steps,
            dwell=Changing(),
            layout=Stationary(),
        )

    def _alone(self, place: int, shift: Shift | None, steps: int) -> Description:
        return Description(
            dataset=self.task,
            part="test",
            seed=self._seed(place),
            steps=steps,
            dwell=Geometric(1),
            layout=Stationary(),
            shifts=() if shift is None else (shift,),
        )
