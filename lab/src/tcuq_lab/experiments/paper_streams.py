"""The streams of the paper's tables, what development sees and what the test shows; and rows fitted to them.

A stream of these shows one corruption type, or inputs that are none of the classes, at one dwell. None serves
two ends. Roles name them: "dev" and "chosen" (on which statistics of alarms are chosen) show seen types,
"type fog" one type in segments, "type fog/3" the same at one severity, "literal fog" the paper's order of its
conditions, "first fog" the type from the first step on, "unseen" all unseen types one after the other, "ood
bursts" and "ood singles" inputs that are none of the classes, "once fog/3" every example once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.metrics.inputs import Floats

from ..corruptions import suite_of
from ..harness.declare import Row
from ..harness.laws import CLEAN_DEV, CLEAN_TEST, DEV
from ..harness.types import Answers, Outputs, doubt, together
from ..methods import METHODS
from ..methods.method import Labeled, Method
from ..methods.tcuq import Tcuq
from ..reproduce.recorder import Job
from ..reproduce.recordings import Recordings
from ..reproduce.rows import Row as NetworkRow
from ..reproduce.run_size import RunSize
from ..reproduce.units import ONCE, Network, Unit
from ..reproduce.versions import PROTOCOL, digest_of
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

    def __init__(self, plan: PaperPlan, recordings: Recordings, networks: Sequence[NetworkRow]) -> None:
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

    def missing(self, roles: Sequence[str], networks: Sequence[NetworkRow]) -> list[Job]:
        """Return what is to be recorded; tables of posteriors show few sources, and tune few rows."""
        tested = [role for role in roles if role not in (DEV, CLEAN_DEV)]
        once = [role.partition(" ")[2] for role in tested if role.startswith(ONCE)]
        few = len(once) == len(tested)
        shows = {"dev": self.sources("dev"), "test": once if few else self.sources("test")}
        return [
            job
            for part, shown in shows.items()
            for job in self.recordings.missing(
                self.task,
                part,
                self.seed,
                [row for row in networks if part == "test" or not (few and untuned(row))],
                shown,
            )
        ]

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


# Rows: a method of the lab as it is fitted to the development streams of a dwell.

FORMAT = "tcuq fit 1"


class PaperRow:
    """A fitted method, which begins every stretch afresh."""

    def __init__(self, method: Any, network: NetworkRow | None = None) -> None:
        self.method, self.network = method, network

    def evidence(self, seen: Outputs) -> Floats:
        """Return what its alarm adds up on one stretch."""
        found = self.method.answer(seen)
        return np.asarray(found.score if found.evidence is None else found.evidence, dtype=np.float64)

    def watch(self, seen: Outputs) -> Answers:
        """Say risk and class."""
        said = [self.method.answer(each) for each in seen.split()]
        return together([Answers(each.score.astype(np.float64), each.predictions()) for each in said])


class Posteriors(PaperRow):
    """A method of which no more is asked than the posteriors that it stands by."""

    def watch(self, seen: Outputs) -> Answers:
        """Say posteriors, each example without a past."""
        probs = np.asarray(self.method.posteriors(seen), dtype=np.float64)
        return Answers(doubt(probs), probs.argmax(axis=1), probs=probs)


class Clock:
    """The network's answers, and the step number as their score."""

    def watch(self, seen: Outputs) -> Answers:
        """Say the number of each step."""
        return Answers(np.arange(len(seen), dtype=np.float64), seen.probs.argmax(axis=1))


def learned(row: NetworkRow, unit: PaperUnit, role: str) -> tuple[Method, Labeled]:
    """Return a method that has seen clean examples, and the development stream that it is fitted to."""
    method = row.method()
    method.learn(unit.bank("dev", row)["clean"], unit.recordings.part(unit.task, "dev").y)
    truth = unit.truth(role)
    assert truth.kinds is not None
    return method, Labeled(unit.outputs(role, row), truth.labels, truth.kinds)


def fit(row: NetworkRow, unit: PaperUnit, role: str) -> PaperRow:
    """Fit a method, or take up its fit from a file.

    Variants of a row of TCUQ on the same networks follow it: their choice would be the same.
    """
    kind, (method, dev) = row.method, learned(row, unit, role)
    full = next((each for each in METHODS.values() if kind.choice and each.choice == kind.choice), kind)
    leader = method if full is kind else full()
    fit_once(leader, dev, fit_place(row._replace(method=full), unit))
    if isinstance(method, Tcuq) and leader is not method:
        method.follow(leader)
    return PaperRow(method, row)


def untuned(row: NetworkRow) -> bool:
    """Return whether the posteriors of a row need no development examples."""
    kind = row.method
    return (kind.learn, kind.fit_posteriors) == (Method.learn, Method.fit_posteriors) and len(kind.grid) == 1


def fit_posteriors(row: NetworkRow, unit: PaperUnit, role: str) -> Posteriors:
    """Fit no more of a method than its posteriors need."""
    if untuned(row):
        return Posteriors(row.method(), row)
    method, dev = learned(row, unit, role)
    method.fit_posteriors(dev)
    return Posteriors(method, row)


def altered(row: NetworkRow, changes: dict[str, Any], unit: PaperUnit, role: str) -> PaperRow:
    """Return a monitor with something changed in its best setting that looks at the past."""
    return PaperRow(fit(row, unit, role).method.altered(**changes), row)


def fit_place(row: NetworkRow, unit: PaperUnit) -> Path:
    """Return the file that keeps the fit of a row; other data, weights or protocols have another."""
    recordings, plan = unit.recordings, unit.plan
    given = recordings.place(unit.task, "dev", unit.seed, row).relative_to(recordings.folder)
    digest = digest_of([plan.name, str(given), recordings.setting.deciding(), PROTOCOL])
    return recordings.folder / "fits" / f"{plan.name}-{row.method.name}-{digest}.json"


def fit_once(method: Method, dev: Labeled, place: Path) -> None:
    """Fit a method to a development stream, or take up its fit from a file; write one where there is none."""
    if not (isinstance(method, Tcuq) and method.keeps_fit):
        method.fit(dev)
    elif place.exists():
        try:
            content = json.loads(place.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise ValueError(f"another format, expected {FORMAT!r}")
            method.restore(dev, content)
        except ValueError as error:
            raise ValueError(f"{place} is not a fit that was kept: {str(error).splitlines()[0]}") from None
    else:
        method.fit(dev)
        content = {"format": FORMAT, **method.fit_record()}
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(content, allow_nan=False) + "\n")


def rows_of(unit: PaperUnit, fitting: Any = fit) -> list[Row]:
    """Return the rows of a unit."""
    return [
        Row(row.label, partial(fitting, row), network=None if row == unit.plain else row)
        for row in unit.networks
    ]
