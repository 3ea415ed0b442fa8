"""The streams of one network, and what each row's networks said to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.log.log import Log

from ...corruptions.suite import FROZEN
from ...methods.gather import observed
from ...methods.method import Labeled, Observed, Recorded
from ...streams import Stream, build
from ..recordings import Recordings, beside_sources
from ..rows import Row, row_of
from .plan import MIXED, MIXED_CLEAN_DEV, MIXED_DEV, RECORDING, UnitPlan

Ints = npt.NDArray[np.int64]
PLAIN = row_of("base")
"""The row whose networks the monitor watches."""


@dataclass(frozen=True, eq=False)
class Shown:
    """What a stream shows.

    Parameters
    ----------
    labels : array of T integers
        True classes; below 0 where a step is not judged, such as a pause in speech.
    shifts : array of T integers
        0 where the input is clean, else the number of the corruption type in `kinds`.
    sources : array of T integers
        Of each step in `names`: "clean", "fog/3".
    segments : array of T integers
        Number of the stretch.
    names, kinds : tuple of str
    """

    labels: Ints
    shifts: npt.NDArray[np.uint8]
    sources: Ints
    segments: Ints
    names: tuple[str, ...]
    kinds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def judged(self) -> npt.NDArray[np.bool_]:
        """Steps that have a true class."""
        return np.asarray(self.labels >= 0)

    @property
    def stretches(self) -> int:
        """How many independent stretches there are."""
        return int(self.segments[-1]) + 1


class Unit:
    """A network with its streams; recordings are loaded when they are asked for, and kept.

    Parameters
    ----------
    plan : UnitPlan
    recordings : Recordings
    """

    def __init__(self, plan: UnitPlan, recordings: Recordings) -> None:
        self.plan, self.recordings = plan, recordings
        self._streams: dict[str, list[Stream]] = {}
        self._banks: dict[tuple[str, str], dict[str, Recorded]] = {}

    @property
    def task(self) -> str:
        """Name of the dataset."""
        return self.plan.task

    @property
    def seed(self) -> int:
        """Of the networks."""
        return self.plan.seed

    def has(self, row: Row) -> bool:
        """Return whether the networks of a row exist for this seed."""
        return self.recordings.has(self.task, self.seed, row)

    def shown(self, role: str) -> Shown:
        """Return what a stream shows; see `UnitPlan.stretches` for roles."""
        streams = self._built(role)
        names = tuple(dict.fromkeys(name for each in streams for name in each.sources))
        places = [np.array([names.index(name) for name in each.sources]) for each in streams]
        return Shown(
            np.concatenate([each.label for each in streams]),
            np.concatenate([each.shift for each in streams]),
            np.concatenate([at[each.source] for at, each in zip(places, streams, strict=True)]),
            np.repeat(np.arange(len(streams)), [len(each) for each in streams]),
            names,
            streams[0].kinds,
        )

    def observed(self, role: str, row: Row = PLAIN) -> Observed:
        """Return what a row's method may see of a stream: no labels, a segment for each stretch."""
        streams = self._built(role)
        lived = streams[0].description.held is not None or streams[0].description.sliding is not None
        if lived:
            found = [self._lived(each, row) for each in streams]
        else:
            bank = self._bank(streams[0].description.part, row)
            found = [observed(each, bank) for each in streams]
        return _joined(found)

    def labeled(self, role: str, row: Row = PLAIN) -> Labeled:
        """Return a development stream as methods are tuned on it; steps that are not judged are left out."""
        shown, seen = self.shown(role), self.observed(role, row)
        if shown.judged.all():
            return Labeled(seen, shown.labels, shown.shifts)
        return Labeled(_taken(seen, shown.judged), shown.labels[shown.judged], shown.shifts[shown.judged])

    def log(self, role: str, *, labels: bool = True) -> Log:
        """Return a stream as a monitor of the plain network is shown it.

        Parameters
        ----------
        role : str
        labels : bool
            Whether true classes and marks of shifts are given; steps that are not judged are then left out.
        """
        if not labels:
            seen = self.observed(role)
            return Log(seen.probs, seen.features, segments=seen.segments)
        known = self.labeled(role)
        seen = known.observed
        return Log(seen.probs, seen.features, known.labels, seen.segments, known.kinds)

    def clean_log(self, role: str) -> Log | None:
        """Return the clean log that a fit to a mixed development stream is given; None for other streams."""
        return self.log(MIXED_CLEAN_DEV) if role == MIXED_DEV else None

    def error_rates(self, role: str) -> dict[str, float]:
        """Return the error of the plain network on each source of a stream, over all examples of the part.

        Of test data also on what mixed streams show beside the suite. Only for streams whose steps show
        examples as they are recorded, not for held pictures or sound.
        """
        about = self._built(role)[0].description
        y, bank = self.recordings.part(self.task, about.part).y, dict(self._bank(about.part, PLAIN))
        sources = list(about.sources)
        mixed = about.part == "test" and not {MIXED, RECORDING}.isdisjoint(self.plan.laws)
        if mixed:
            more = beside_sources()
            bank |= self.recordings.banks(self.task, about.part, self.seed, [PLAIN], more)[PLAIN.label]
            sources += more
        said = {name: each.probs.argmax(axis=1) for name, each in bank.items()}
        found = {name: float((said[name] != y).mean()) for name in sources if name in said}
        if mixed:  # the answer to one example, whatever comes after it
            shares = [np.bincount(each, minlength=int(y.max()) + 1) / len(y) for each in (said["clean"], y)]
            found[f"{FROZEN}/1"] = 1 - float(sum(a * b for a, b in zip(*shares, strict=False)))
        return found

    def _built(self, role: str) -> list[Stream]:
        if role not in self._streams:
            plans = self.plan.stretches(role)
            labels = self.recordings.part(self.task, plans[0].part).y
            self._streams[role] = [build(each, labels) for each in plans]
        return self._streams[role]

    def _bank(self, part: str, row: Row) -> Mapping[str, Recorded]:
        place = (part, str(self.recordings.place(self.task, part, self.seed, row)))
        if place not in self._banks:
            sources = self.recordings.sources(self.task, part)
            if self.plan.recorded and part == "test":
                sources += beside_sources()
            self._banks[place] = self.recordings.banks(self.task, part, self.seed, [row], sources)[row.label]
        return self._banks[place]

    def _lived(self, stream: Stream, row: Row) -> Observed:
        found = self.recordings.of_stream(stream.description, self.seed, row)
        return Observed(found.probs, found.features, found.extra)


def _joined(parts: Sequence[Observed]) -> Observed:
    """Return stretches as one, each a segment of its own."""

    def column(of: Sequence[Any]) -> Any:
        return np.concatenate(of)

    return Observed(
        column([each.probs for each in parts]),
        None if parts[0].features is None else column([each.features for each in parts]),
        {name: column([each.extra[name] for each in parts]) for name in parts[0].extra},
        np.repeat(np.arange(len(parts)), [len(each) for each in parts]),
    )


def _taken(seen: Observed, kept: npt.NDArray[np.bool_]) -> Observed:
    return Observed(
        seen.probs[kept],
        None if seen.features is None else seen.features[kept],
        {name: values[kept] for name, values in seen.extra.items()},
        None if seen.segments is None else seen.segments[kept],
    )
