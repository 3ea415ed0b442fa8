"""Pieces of a layout: some steps under one condition, and the ways in which they follow each other."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import NamedTuple

from tcuq.recording.rand import ONE, Numbers, waits

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
    """Give pieces up to a number of steps."""
    left = steps
    for piece in pieces:
        if piece.length >= left:
            yield piece._replace(length=left)
            return
        yield piece
        left -= piece.length


def backwards(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Give pieces in reverse; until then each is held in 6 bytes."""
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


def draw_range(least: int, most: int, seed: int) -> Iterator[int]:
    """Give lengths without end: all from the least to the most are equally likely."""
    numbers = Numbers(seed, "layout/range")
    while True:
        yield from (least + numbers.below(PORTION, most - least + 1)).tolist()


def in_turn(shifted: bool, clean: Iterator[int], bad: Iterator[int]) -> Iterator[int]:
    """Give lengths of clean and shifted segments in turn."""
    while True:
        yield next(bad if shifted else clean)
        shifted = not shifted


def in_rounds(conditions: Conditions, seed: int) -> Iterator[Condition]:
    """Give conditions without end, in shuffled rounds."""
    numbers = Numbers(seed, "layout/rounds")
    times = -(-PORTION // len(conditions))
    while True:
        for order in numbers.shuffled(len(conditions), times).tolist():
            for place in order:
                yield conditions[place]


def draw_conditions(conditions: Conditions, seed: int) -> Iterator[tuple[Condition, int]]:
    """Give conditions in shuffled rounds, each with the place of one of its sources, drawn at random."""
    numbers = Numbers(seed, "layout/severities")
    rounds = in_rounds(conditions, seed)
    while True:
        taken = list(islice(rounds, PORTION))
        places = numbers.below(len(taken), [len(condition.sources) for condition in taken]).tolist()
        yield from zip(taken, places, strict=True)


def draw_sources(conditions: Conditions, seed: int) -> Iterator[tuple[str, int]]:
    """Give sources with the number of their kind, as `draw_conditions` draws them."""
    for condition, place in draw_conditions(conditions, seed):
        yield condition.sources[place], condition.shift


def alternating(shifted: bool, lengths: Iterator[int], sources: Iterator[tuple[str, int]]) -> Iterator[Piece]:
    """Give clean and shifted pieces in turn."""
    for length in lengths:
        yield Piece(length, *(next(sources) if shifted else ("clean", 0)))
        shifted = not shifted


def rising(
    shifted: bool,
    lengths: Iterator[int],
    drawn: Iterator[tuple[Condition, int]],
    onset: int,
    of: int = ONE,
    seed: int = 0,
) -> Iterator[Piece]:
    """Give clean and shifted pieces in turn; a shift rises to its severity through those below it."""
    coins = Numbers(seed, "layout/gradual")
    for length in lengths:
        if not shifted:
            yield Piece(length, "clean", 0)
        else:
            condition, place = next(drawn)
            rise = onset if coins.events(1, of)[0] else 0
            parts = [rise * (part + 1) // place - rise * part // place for part in range(place)]
            whole = zip([*parts, length], condition.sources, strict=False)
            steps = (Piece(part, source, condition.shift) for part, source in whole if part)
            yield from cut(steps, length)
        shifted = not shifted
