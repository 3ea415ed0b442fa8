"""Pieces of a layout: some steps under one condition, and the ways in which they follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from .rand import Numbers, waits


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


def draw_lengths(mean: float, minimum: int, seed: int) -> Iterator[int]:
    """Give lengths without end: the minimum and a geometric number."""
    for extra in waits(Numbers(seed, "layout/lengths"), Fraction(mean) - minimum):
        yield minimum + extra


def in_rounds(conditions: Conditions, seed: int) -> Iterator[Condition]:
    """Give conditions without end, in shuffled rounds."""
    numbers = Numbers(seed, "layout/rounds")
    while True:
        for place in numbers.shuffled(len(conditions))[0].tolist():
            yield conditions[place]


def draw_sources(conditions: Conditions, seed: int) -> Iterator[tuple[str, int]]:
    """Give sources with the number of their kind: conditions in shuffled rounds, severities at random."""
    numbers = Numbers(seed, "layout/severities")
    for condition in in_rounds(conditions, seed):
        yield condition.sources[int(numbers.below(1, len(condition.sources))[0])], condition.shift


def alternating(shifted: bool, lengths: Iterator[int], sources: Iterator[tuple[str, int]]) -> Iterator[Piece]:
    """Give clean and shifted pieces in turn."""
    for length in lengths:
        yield Piece(length, *(next(sources) if shifted else ("clean", 0)))
        shifted = not shifted
