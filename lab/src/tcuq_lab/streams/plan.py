"""The plan of a stream, chunk by chunk: conditions by the layout, classes by the dwell, examples in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcuq.recording.rand import Numbers

from .chains import Integers, Picker, Queue, RecordedRuns
from .description import Description
from .dwell import Recorded
from .held import HeldExamples
from .layout import Literal, Piece
from .sliding import SlidingExamples


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some steps of a plan; see `Stream`."""

    source: npt.NDArray[np.uint16]
    index: Integers
    label: Integers
    shift: npt.NDArray[np.uint8]


class _Shown:
    """Examples of one set: the class of a step does not depend on the conditions, only on its number."""

    def __init__(self, about: Description, name: str, labels: Integers) -> None:
        # An example that stays for several steps goes on where the conditions hide it, as its class does.
        self._lasting: HeldExamples | SlidingExamples | RecordedRuns | None = None
        dwell = about.dwell if name == "known" else about.dwell.nameless()
        if isinstance(dwell, Recorded):
            self._lasting = RecordedRuns(about.seed, f"examples/{name}", labels)
            return
        self._picker = Picker(about.seed, f"examples/{name}", labels)
        self._chain = dwell.chain(about.seed, f"classes/{name}", self._picker.present)
        if about.held is not None:
            coins = Numbers(about.seed, f"held/coins/{name}")
            self._lasting = HeldExamples(self._picker, self._chain, about.held.share, coins)
        elif about.sliding is not None:
            self._lasting = SlidingExamples(about.sliding, self._picker, self._chain)

    def take(self, wanted: npt.NDArray[np.bool_], shifted: npt.NDArray[np.bool_]) -> Integers:
        if self._lasting is not None:
            return self._lasting.take(len(wanted))[wanted]
        return self._picker.take(self._chain.take(len(wanted))[wanted])


class _Once:
    """Examples of the whole set in random order, the clean and the shifted ones each in their own."""

    def __init__(self, seed: int, labels: Integers) -> None:
        every = np.arange(len(labels), dtype=np.int64)
        self._clean = Queue(Numbers(seed, "examples/once/clean"), every)
        self._shifted = Queue(Numbers(seed, "examples/once/shifted"), every)

    def take(self, wanted: npt.NDArray[np.bool_], shifted: npt.NDArray[np.bool_]) -> Integers:
        found = np.empty(len(wanted), dtype=np.int64)
        count = int(shifted.sum())
        found[shifted], found[~shifted] = self._shifted.take(count), self._clean.take(len(wanted) - count)
        return found


class Plan:
    """Makes the steps of a description, once."""

    def __init__(
        self, description: Description, labels: Integers, ood_labels: Mapping[str, Integers]
    ) -> None:
        self._description, self._labels = description, labels
        self._numbers = {name: number for number, name in enumerate(description.sources)}
        self._known: _Shown | _Once
        if isinstance(description.layout, Literal):
            count, most = description.steps or 0, 2 * len(labels)
            if count > most:
                raise ValueError(f"steps is {count}, expected at most {most} with {len(labels)} examples")
            self._known = _Once(description.seed, labels)
        else:
            self._known = _Shown(description, "known", labels)
        self._ood = {
            self._numbers[f"ood/{name}"]: _Shown(description, f"ood/{name}", found)
            for name, found in ood_labels.items()
        }

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Give the steps, `size` at a time."""
        first_ood = len(self._numbers) - len(self._ood)
        for source, shift in self._conditions(size):
            ood = source >= first_ood
            index = np.empty(len(source), dtype=np.int64)
            index[~ood] = self._known.take(~ood, shift > 0)
            label = np.full(len(source), -1, dtype=np.int64)
            label[~ood] = self._labels[index[~ood]]
            for number, shown in self._ood.items():
                rows = source == number
                index[rows] = shown.take(rows, rows)
            yield Chunk(source, index, label, shift)

    def _conditions(self, size: int) -> Iterator[tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]]:
        """Give the source and the shift of each step, `size` steps at a time."""
        held: list[Piece] = []
        count = 0
        for piece in self._description.pieces():
            left = piece.length
            while left:
                part = min(left, size - count)
                held.append(piece._replace(length=part))
                left, count = left - part, count + part
                if count == size:
                    yield self._expanded(held)
                    held, count = [], 0
        if held:
            yield self._expanded(held)

    def _expanded(self, pieces: list[Piece]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
        lengths = [piece.length for piece in pieces]
        sources = np.array([self._numbers[piece.source] for piece in pieces], dtype=np.uint16)
        shifts = np.array([piece.shift for piece in pieces], dtype=np.uint8)
        return np.repeat(sources, lengths), np.repeat(shifts, lengths)
