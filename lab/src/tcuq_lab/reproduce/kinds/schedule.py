"""The streams of an experiment: what development sees, and what the test shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...corruptions import suite_of
from ...streams import (
    Bursts,
    Description,
    Geometric,
    Literal,
    Ood,
    Segments,
    Shift,
    StartsShifted,
    Stationary,
    Stream,
    build,
)
from ...streams.layout import Layout
from ..run_size import RunSize

Labels = npt.NDArray[np.int64]
LEARNED, CHOSEN, CLEAN, TEST = 1_000, 2_000, 3_000, 4_000
"""First seeds of streams that serve different ends, so that none serves two."""

BURSTS, SINGLES = "bursts", "singles"
STRANGE: Mapping[str, Layout] = {
    BURSTS: Bursts(mean=20.0, minimum=16),
    SINGLES: Bursts(mean=1.0, minimum=1, gap=50.0),
}
"""How inputs that are none of the classes are shown: for a while, and one step at a time."""


class Schedule:
    """Streams of a task at a dwell, by the end that they serve."""

    def __init__(
        self,
        task: str,
        setting: RunSize,
        dwell: float,
        seed: int,
        labels: Mapping[str, Labels],
        ood: Mapping[str, tuple[str, Labels]] | None = None,
    ) -> None:
        self.task, self.setting, self.dwell, self.seed = task, setting, dwell, seed
        self.labels, self.ood = labels, ood or {}
        self.suite = suite_of(task)
        self.unseen = setting.spread(self.suite.unseen)

    def sources(self, part: str) -> list[str]:
        """Return all sources that the streams of a part show."""
        kinds = self.suite.seen if part == "dev" else (*self.suite.seen, *self.unseen)
        shifted = [f"{kind}/{level}" for kind in kinds for level in self.levels(kind)]
        ood = [f"ood/{self.ood[part][0]}"] if part in self.ood else []
        return ["clean", *shifted, *ood]

    def learned(self) -> list[Stream]:
        """Return the development streams that methods are fitted to: all seen kinds, and OOD inputs.

        OOD inputs of development are of another set than those of the test.
        """
        mixed = [self._mixed("dev", LEARNED + number) for number in range(3)]
        return [*mixed, self._ood_stream("dev", LEARNED + 3, BURSTS)] if "dev" in self.ood else mixed

    def chosen(self) -> Stream:
        """Return the development stream on which a method's alarm statistic is chosen."""
        return self._mixed("dev", CHOSEN)

    def clean(self, part: str) -> Stream:
        """Return a clean stream."""
        return self._stream(part, CLEAN + (part == "test"), Stationary(), steps=self.setting.clean_steps)

    def tests(self) -> dict[str, Stream]:
        """Return a stream for every kind, seen ones included, in segments."""
        return {kind: self._test(kind, self.levels(kind)) for kind in (*self.suite.seen, *self.unseen)}

    def unseen_tests(self) -> dict[str, Stream]:
        """Return those of the streams in segments that show unseen kinds."""
        return {kind: self._test(kind, self.levels(kind)) for kind in self.unseen}

    def severe_tests(self) -> dict[int, dict[str, Stream]]:
        """Return a stream for every unseen kind at each severity alone, by severity.

        Those of a kind show the same examples in the same segments, so that severity is all that differs.
        """
        levels = sorted({level for kind in self.unseen for level in self.levels(kind)})
        return {
            level: {kind: self._test(kind, (level,)) for kind in self.unseen if level in self.levels(kind)}
            for level in levels
        }

    def rising_tests(self) -> dict[str, Stream]:
        """Return a stream for every unseen kind that is clean first, then worse and worse: the paper's order.

        `Literal` itself shows every example once, so it is for shuffled streams of no more steps than twice
        the examples. Here its conditions are laid over the very examples of the streams in segments, at any
        dwell and length: the order of conditions is all that differs. The description that a stream keeps is
        that of its examples. A kind with a single severity is clean, then shifted.
        """
        found = {}
        for kind, stream in self.unseen_tests().items():
            conditions, count = stream.description.conditions, len(stream)
            whole = count - count % (2 * len(conditions[0].sources))
            pieces = list(Literal().pieces(conditions, stream.description.seed, whole))
            lengths = [piece.length for piece in pieces]
            sources = np.array([stream.sources.index(piece.source) for piece in pieces], dtype=np.uint16)
            shifts = np.array([piece.shift for piece in pieces], dtype=np.uint8)
            found[kind] = Stream(
                stream.description,
                np.repeat(sources, lengths),
                stream.index[:whole],
                stream.label[:whole],
                np.repeat(shifts, lengths),
            )
        return found

    def ood_tests(self) -> dict[str, Stream]:
        """Return test streams with inputs that are none of the classes, for a while and one at a time."""
        found = ((BURSTS, TEST + 900), (SINGLES, TEST + 901))
        return {layout: self._ood_stream("test", seed, layout) for layout, seed in found}

    def _ood_stream(self, part: str, seed: int, layout: str) -> Stream:
        name, labels = self.ood[part]
        return self._stream(part, seed, STRANGE[layout], ood=(Ood(name),), ood_labels={name: labels})

    def shifted_first(self) -> dict[str, Stream]:
        """Return a stream for every unseen kind that is shifted from its first step on."""
        return {
            kind: build(stream.description.replace(layout=StartsShifted()), self.labels["test"])
            for kind, stream in self.unseen_tests().items()
        }

    def at(self, dwell: float) -> Schedule:
        """Return the streams of the same data at another dwell."""
        return Schedule(self.task, self.setting, dwell, self.seed, self.labels, self.ood)

    def levels(self, kind: str) -> tuple[int, ...]:
        """Return the severities at which a kind is shown."""
        return self.suite.severities(kind, self.setting.severities)

    def _test(self, kind: str, levels: tuple[int, ...]) -> Stream:
        number = (*self.suite.seen, *self.unseen).index(kind)
        return self._stream("test", TEST + number, Segments(), shifts=(Shift(kind, levels),))

    def _mixed(self, part: str, seed: int) -> Stream:
        shifts = tuple(Shift(kind, self.levels(kind)) for kind in self.suite.seen)
        return self._stream(part, seed, Segments(), shifts=shifts)

    def _stream(
        self,
        part: str,
        seed: int,
        layout: Layout,
        *,
        steps: int | None = None,
        ood_labels: Mapping[str, Labels] | None = None,
        **more: Any,
    ) -> Stream:
        plan = Description(
            dataset=self.task,
            part=part,
            seed=100_000 * self.seed + seed,
            steps=steps or self.setting.steps,
            dwell=Geometric(self.dwell),
            layout=layout,
            **more,
        )
        return build(plan, self.labels[part], ood_labels)
