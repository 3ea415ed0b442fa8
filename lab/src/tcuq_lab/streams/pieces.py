"""Pieces of a layout: some steps under one condition, and the ways in which they follow each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from .rand import Numbers, waits

PORTION = 256  # raw numbers drawn at a time, or a round; the result does not depend on it


class Piece(NamedTuple):
    """Some steps under one condition; `shift` is 0 where they are clean, else the number of the kind."""

    length: int
    source: str
    shift: int


class Condition(NamedTuple):
    """A kind of shift by its number, and its sources, the weakest first."""

    shift: int
    sources: tuple[str, ...]

    @property
    def ood(self) -> bool:
        """Whether the examples are none of the classes."""
        return self.sources[0].startswith("ood/")


Conditions = Sequence[Condition]


def cut(pieces: Iterable[Piece], steps: int) -> Iterator[Piece]:
    """Give pieces up to a number of steps.

    Examples
    --------
    >>> [piece.length for piece in cut([Piece(5, "clean", 0)] * 3, 12)]
    [5, 5, 2]
    """
    left = steps
    for piece in pieces:
        if piece.length >= left:
            yield piece._replace(length=left)
            return
        yield piece
        left -= piece.length


def backwards(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Give pieces in reverse; until then each is held in 6 bytes.

    Examples
    --------
    >>> [piece[:2] for piece in backwards([Piece(5, "clean", 0), Piece(2, "fog/1", 1)])]
    [(2, 'fog/1'), (5, 'clean')]
    """
    conditions: dict[tuple[str, int], int] = {}
    lengths, places = array("I"), array("H")
    for length, source, shift in pieces:
        lengths.append(length)
        places.append(conditions.setdefault((source, shift), len(conditions)))
    named = list(conditions)
    for length, place in zip(reversed(lengths), reversed(places), strict=True):
        yield Piece(length, *named[place])


def draw_lengths(mean: float, minimum: int, seed: int) -> Iterator[int]:
    """Give lengths without end: the minimum and a geometric number."""
    for extra in waits(Numbers(seed, "layout/lengths"), Fraction(mean) - minimum):
        yield minimum + extra


def in_rounds(conditions: Conditions, seed: int) -> Iterator[Condition]:
    """Give conditions without end, in shuffled rounds."""
    numbers = Numbers(seed, "layout/rounds")
    times = -(-PORTION // len(conditions))
    while True:
        for order in numbers.shuffled(len(conditions), times).tolist():
            for place in order:
                yield conditions[place]


def draw_sources(conditions: Conditions, seed: int) -> Iterator[tuple[str, int]]:
    """Give sources with the number of their kind: conditions in shuffled rounds, severities at random."""
    numbers = Numbers(seed, "layout/severities")
    rounds = in_rounds(conditions, seed)
    while True:
        taken = list(islice(rounds, PORTION))
        places = numbers.below_each([len(condition.sources) for condition in taken]).tolist()
        for condition, place in zip(taken, places, strict=True):
            yield condition.sources[place], condition.shift


def alternating(shifted: bool, lengths: Iterator[int], sources: Iterator[tuple[str, int]]) -> Iterator[Piece]:
    """Give clean and shifted pieces in turn."""
    for length in lengths:
        yield Piece(length, *(next(sources) if shifted else ("clean", 0)))
        shifted = not shifted
