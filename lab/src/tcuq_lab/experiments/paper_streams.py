"""The streams of the paper's tables: what development sees, and what the test shows.

A stream of these shows one corruption type, or inputs that are none of the classes, at one dwell. None serves
two ends. Roles name them: "dev" and "chosen" (on which statistics of alarms are chosen) show seen types,
"type fog" one type in segments, "type fog/3" the same at one severity, "literal fog" the paper's order of its
conditions, "first fog" the type from the first step on, "unseen" all unseen types one after the other, "ood
bursts" and "ood singles" inputs that are none of the classes, "once fog/3" every example once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..corruptions import suite_of
from ..harness.laws import CLEAN_DEV, CLEAN_TEST, DEV
from ..reproduce.recordings import Recordings
from ..reproduce.rows import Row
from ..reproduce.run_size import RunSize
from ..reproduce.units import Network, Unit
from ..streams import (
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
from ..streams.layout import Layout

LEARNED, CHOSEN_SEED, CLEAN_SEED, TEST_SEED = 1_000, 2_000, 3_000, 4_000
"""First seeds of streams that serve different ends."""
CHOSEN, UNSEEN = "chosen", "unseen"
BURSTS, SINGLES = "bursts", "singles"
STRANGE: Mapping[str, Layout] = {
    BURSTS: Bursts(mean=20.0, minimum=16),
    SINGLES: Bursts(mean=1.0, minimum=1, gap=50.0),
}
"""How inputs that are none of the classes are shown: for a while, and one step at a time."""


@dataclass(frozen=True)
class PaperPlan:
    """A task at a dwell, with networks and streams of a seed."""

    task: str
    dwell: float
    seed: int
    setting: RunSize
    only = ()

    @property
    def name(self) -> str:
        """As it stands in file names."""
        return f"{self.task}-dwell{self.dwell:g}-seed{self.seed}"


class PaperUnit(Unit):
    """The streams of a plan, and the rows that are shown them; others are compared with the first."""

    plan: PaperPlan  # type: ignore[assignment]

    def __init__(self, plan: PaperPlan, recordings: Recordings, networks: Sequence[Row]) -> None:
        super().__init__(plan, recordings)  # type: ignore[arg-type]
        self.networks = [row for row in networks if self.has(row)]
        self.plain, self.suite = networks[0], suite_of(plan.task)
        self.unseen = plan.setting.spread(self.suite.unseen)
        self.kinds = (*self.suite.seen, *self.unseen)

    def group(self, kind: str) -> str:
        """Return whether development has seen a type."""
        return "seen" if kind in self.suite.seen else "unseen"

    def levels(self, kind: str) -> tuple[int, ...]:
        """Return the severities at which a type is shown."""
        return self.suite.severities(kind, self.plan.setting.severities)

    def sources(self, part: str) -> list[str]:
        """Return all sources that streams of a part show."""
        kinds = self.suite.seen if part == "dev" else self.kinds
        shifted = [f"{kind}/{level}" for kind in kinds for level in self.levels(kind)]
        return ["clean", *shifted, f"ood/{self.recordings.ood(self.task, part)[0]}"]

    def record(self, roles: Sequence[str], networks: Sequence[Row]) -> None:
        """Record what networks lack."""
        for part in ("dev", "test"):
            self.recordings.fill(self.task, part, self.seed, networks, self.sources(part))

    def evidence_of(self, method: Any, role: str, network: Network) -> list[Any]:
        """Return what a method gives alarms on each stretch of a stream."""
        return [method.evidence(each) for each in self.outputs(role, network).split()]

    def _built(self, role: str) -> list[Stream]:
        if role not in self._streams:
            self._streams[role] = list(self._drawn(role))
        return self._streams[role]

    def _drawn(self, role: str) -> Iterator[Stream]:
        if role == DEV:
            for number in range(3):
                yield self._mixed(LEARNED + number)
            yield self._ood("dev", LEARNED + 3, BURSTS)
            return
        if role == UNSEEN:
            for kind in self.unseen:
                yield from self._built(f"type {kind}")
            return
        what, _, of = role.partition(" ")
        if role == CHOSEN:
            yield self._mixed(CHOSEN_SEED)
        elif role in (CLEAN_DEV, CLEAN_TEST):
            steps = self.plan.setting.clean_steps
            yield self._stream(of, CLEAN_SEED + (of == "test"), Stationary(), steps=steps)
        elif what == "ood":
            yield self._ood("test", TEST_SEED + 900 + (of == SINGLES), of)
        elif what == "type":
            kind, _, level = of.partition("/")
            levels = (int(level),) if level else self.levels(kind)
            number = TEST_SEED + self.kinds.index(kind)
            yield self._stream("test", number, Segments(), shifts=(Shift(kind, levels),))
        elif what == "first":
            (stream,) = self._built(f"type {of}")
            about = stream.description.replace(layout=StartsShifted())
            yield build(about, self.recordings.part(self.task, "test").y)
        elif what == "literal":
            yield rising(self._built(f"type {of}")[0])

    def _mixed(self, seed: int) -> Stream:
        shifts = tuple(Shift(kind, self.levels(kind)) for kind in self.suite.seen)
        return self._stream("dev", seed, Segments(), shifts=shifts)

    def _ood(self, part: str, seed: int, layout: str) -> Stream:
        name = self.recordings.ood(self.task, part)[0]
        return self._stream(part, seed, STRANGE[layout], ood=(Ood(name),))

    def _stream(self, part: str, seed: int, layout: Layout, steps: int = 0, **more: Any) -> Stream:
        about = Description(
            dataset=self.task,
            part=part,
            seed=100_000 * self.seed + seed,
            steps=steps or self.plan.setting.steps,
            dwell=Geometric(self.plan.dwell),
            layout=layout,
            **more,
        )
        strange = dict([self.recordings.ood(self.task, part)]) if about.ood else None
        return build(about, self.recordings.part(self.task, part).y, strange)


def rising(stream: Stream) -> Stream:
    """Return the steps of a stream under its conditions in the paper's order: clean, then worse and worse.

    `Literal` itself shows every example once, so it is for shuffled streams of no more steps than twice the
    examples. Here its conditions are laid over the very examples of a stream in segments, at any dwell and
    length: the order of conditions is all that differs. The description that a stream keeps is that of its
    examples. A type with a single severity is clean, then shifted.
    """
    conditions, count = stream.description.conditions, len(stream)
    whole = count - count % (2 * len(conditions[0].sources))
    pieces = list(Literal().pieces(conditions, stream.description.seed, whole))
    lengths = [piece.length for piece in pieces]
    sources = np.array([stream.sources.index(piece.source) for piece in pieces], dtype=np.uint16)
    shifts = np.array([piece.shift for piece in pieces], dtype=np.uint8)
    return Stream(
        stream.description,
        np.repeat(sources, lengths),
        stream.index[:whole],
        stream.label[:whole],
        np.repeat(shifts, lengths),
    )
