"""Layouts: what the conditions of a stream are, piece after piece."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import ClassVar, NamedTuple

from tcuq.base.checks import integer, number, put
from tcuq.recording.rand import ONE, Numbers, chance, waits

from .fields import listed

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


def alternating(
    shifted: bool,
    lengths: Iterator[int],
    drawn: Iterator[tuple[Condition, int]],
    onset: int = 0,
    of: int = ONE,
    seed: int = 0,
) -> Iterator[Piece]:
    """Give clean and shifted pieces in turn; over `onset` steps a shift rises through severities below."""
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


LONGEST = 1_000_000
LONGEST_MEAN = 1000
"""Segments are short on average, so that a stream of some ten thousand steps has many."""
MOST_REVERSED = 10**7
"""Steps of a reversed stream: at most 60 MB of segments, should each have a single step."""


class Shows:
    """What layouts with corruptions have in common."""

    name: ClassVar[str]

    def check(self, conditions: Conditions, steps: int | None) -> None:
        """Refuse conditions that this layout cannot show."""
        if not conditions:
            raise ValueError(
                f"layout {self.name} has nothing to show, expected at least one of shifts or ood"
            )


@dataclass(frozen=True)
class Segments(Shows):
    """Clean and shifted segments in turn.

    A shifted segment has one of the conditions, in shuffled rounds, at one of its severities.
    """

    mean: float = 250.0  # mean steps of a segment: the minimum and a geometric number
    minimum: int = 100  # least steps of a segment
    first: str = "random"  # "clean", "shifted", or "random": either with equal chance
    # Show the same conditions backwards in time, for up to `MOST_REVERSED` steps: all segments are drawn
    # before the first step, and held at 6 bytes each
    reversed: bool = False
    # Steps over which a shift rises to its severity through the severities below it that are shown, before
    # it stays. By default it begins at once, as one with a single severity always does.
    onset: int | None = None
    # Share of the shifts that rise over `onset` steps, by a coin for each. By default all do.
    gradual: float | None = None
    # Least and most steps of a shift, all between equally likely. By default shifts are as long as clean
    # segments.
    shifted: tuple[int, int] | None = None
    name: ClassVar[str] = "segments"

    def __post_init__(self) -> None:
        _set_lengths(self)
        if self.first not in ("clean", "shifted", "random"):
            raise ValueError(f"first of segments is {self.first!r}, expected one of clean, shifted, random")
        _flag(self, "reversed")
        if self.onset is not None:
            put(self, onset=integer("onset of segments", self.onset, 1, LONGEST))
        if self.gradual is not None:
            if self.onset is None:
                raise ValueError("gradual of segments is given without onset, expected both")
            put(self, gradual=number("gradual of segments", self.gradual, 0, 1))
        if self.shifted is not None:
            given = listed("shifted of segments", self.shifted)
            if len(given) != 2:
                raise ValueError(f"shifted of segments is {list(given)}, expected least and most steps")
            least = integer("least steps of shifted", given[0], 1, LONGEST)
            put(self, shifted=(least, integer("most steps of shifted", given[1], least, LONGEST)))

    def check(self, conditions: Conditions, steps: int | None) -> None:
        """Refuse conditions that this layout cannot show."""
        super().check(conditions, steps)
        if self.onset is not None and all(len(condition.sources) == 1 for condition in conditions):
            raise ValueError(
                f"onset of segments is {self.onset}, but every shift has one severity; expected two or more"
            )
        if self.reversed and steps is None:
            raise ValueError("steps is null; segments that are reversed need a number of steps")
        if self.reversed and steps is not None and steps > MOST_REVERSED:
            raise ValueError(f"steps is {steps}; segments that are reversed accept up to {MOST_REVERSED}")

    def pieces(self, conditions: Conditions, seed: int, steps: int | None) -> Iterator[Piece]:
        """Give the pieces in order."""
        flip = bool(Numbers(seed, "layout/first").events(1, 2**63)[0])
        shifted = flip if self.first == "random" else self.first == "shifted"
        lengths = draw_lengths(self.mean, self.minimum, seed)
        if self.shifted is not None:
            lengths = in_turn(shifted, lengths, draw_range(*self.shifted, seed))
        of = ONE if self.gradual is None else chance(Fraction(self.gradual))
        drawn = draw_conditions(conditions, seed)
        forward = alternating(shifted, lengths, drawn, self.onset or 0, of, seed)
        if not self.reversed or steps is None:
            return forward
        return backwards(cut(forward, steps))


@dataclass(frozen=True)
class Ramp(Shows):
    """Clean segments, and between them one kind at rising severity."""

    length: int = 50  # steps at each severity
    down: bool = False  # go down again, step by step, before the next clean segment
    mean: float = 250.0  # mean steps of a clean segment, as in `Segments`
    minimum: int = 100  # least steps of a clean segment
    name: ClassVar[str] = "ramp"

    def __post_init__(self) -> None:
        put(self, length=integer("length of ramp", self.length, 1, LONGEST_MEAN))
        _flag(self, "down")
        _set_lengths(self)

    def check(self, conditions: Conditions, steps: int | None) -> None:
        """Refuse conditions that this layout cannot show."""
        super().check(conditions, steps)
        _no_ood(self.name, conditions)

    def pieces(self, conditions: Conditions, seed: int, steps: int | None) -> Iterator[Piece]:
        """Give the pieces in order."""
        lengths = draw_lengths(self.mean, self.minimum, seed)
        for condition in in_rounds(conditions, seed):
            yield Piece(next(lengths), "clean", 0)
            sources = condition.sources + (condition.sources[-2::-1] if self.down else ())
            for source in sources:
                yield Piece(self.length, source, condition.shift)


@dataclass(frozen=True)
class StartsShifted(Shows):
    """A stream that is shifted from its first step on; then clean and shifted segments in turn."""

    length: int = 500  # steps of the first segment
    mean: float = 250.0  # mean steps of the other segments, as in `Segments`
    minimum: int = 100  # least steps of the other segments
    name: ClassVar[str] = "starts_shifted"

    def __post_init__(self) -> None:
        put(self, length=integer("length of starts_shifted", self.length, 1, LONGEST))
        _set_lengths(self)

    def pieces(self, conditions: Conditions, seed: int, steps: int | None) -> Iterator[Piece]:
        """Give the pieces in order."""
        drawn = draw_conditions(conditions, seed)
        condition, place = next(drawn)
        yield Piece(self.length, condition.sources[place], condition.shift)
        yield from alternating(False, draw_lengths(self.mean, self.minimum, seed), drawn)


@dataclass(frozen=True)
class Bursts:
    """A clean stream, now and then with a few examples that are none of the classes."""

    mean: float = 20.0  # mean steps of a burst: the minimum and a geometric number
    minimum: int = 5  # least steps of a burst
    # Mean steps between two bursts, at least 1 and a geometric number. The stream begins with a gap.
    gap: float = 250.0
    name: ClassVar[str] = "bursts"

    def __post_init__(self) -> None:
        _set_lengths(self)
        put(self, gap=number("gap of bursts", self.gap, 1, 100_000))

    def check(self, conditions: Conditions, steps: int | None) -> None:
        """Refuse conditions that this layout cannot show."""
        if not conditions or not all(condition.ood for condition in conditions):
            raise ValueError(
                "layout bursts shows OOD sets alone, expected at least one in ood, none in shifts"
            )

    def pieces(self, conditions: Conditions, seed: int, steps: int | None) -> Iterator[Piece]:
        """Give the pieces in order."""
        lengths = draw_lengths(self.mean, self.minimum, seed)
        gaps = waits(Numbers(seed, "layout/gaps"), Fraction(self.gap) - 1)
        for condition, place in draw_conditions(conditions, seed):
            yield Piece(1 + next(gaps), "clean", 0)
            yield Piece(next(lengths), condition.sources[place], condition.shift)


@dataclass(frozen=True)
class Literal:
    """The stream of the paper: every clean example once, then as many, in equal parts at rising severity.

    Both halves are shuffled, so it goes with a shuffled dwell alone. With fewer steps each half is a part
    of the set.
    """

    name: ClassVar[str] = "literal"

    def check(self, conditions: Conditions, steps: int | None) -> None:
        """Refuse conditions that this layout cannot show."""
        _no_ood(self.name, conditions)
        if len(conditions) != 1:
            raise ValueError(f"layout literal has {len(conditions)} shifts, expected 1")
        parts = 2 * len(conditions[0].sources)
        if steps is None or steps % parts:
            given = "null" if steps is None else steps
            raise ValueError(f"steps is {given}, expected a multiple of {parts} for layout literal")

    def pieces(self, conditions: Conditions, seed: int, steps: int | None) -> Iterator[Piece]:
        """Give the pieces in order."""
        half = (steps or 0) // 2
        yield Piece(half, "clean", 0)
        for source in conditions[0].sources:
            yield Piece(half // len(conditions[0].sources), source, conditions[0].shift)


@dataclass(frozen=True)
class Stationary:
    """One source from the first step to the last: the one that is given, or clean examples."""

    name: ClassVar[str] = "stationary"

    def check(self, conditions: Conditions, steps: int | None) -> None:
        """Refuse conditions that this layout cannot show."""
        found = sum(len(condition.sources) for condition in conditions)
        if found > 1:
            raise ValueError(f"layout stationary has {found} sources, expected none (clean) or 1")

    def pieces(self, conditions: Conditions, seed: int, steps: int | None) -> Iterator[Piece]:
        """Give the pieces in order."""
        source, shift = (conditions[0].sources[0], conditions[0].shift) if conditions else ("clean", 0)
        while True:
            yield Piece(2**20, source, shift)


Layout = Segments | Ramp | StartsShifted | Bursts | Literal | Stationary
LAYOUTS: tuple[type[Layout], ...] = (Segments, Ramp, StartsShifted, Bursts, Literal, Stationary)


def _set_lengths(layout: Segments | Ramp | StartsShifted | Bursts) -> None:
    minimum = integer(f"minimum of {layout.name}", layout.minimum, 1, LONGEST_MEAN)
    put(layout, minimum=minimum, mean=number(f"mean of {layout.name}", layout.mean, minimum, LONGEST_MEAN))


def _flag(layout: Segments | Ramp, field: str) -> None:
    value = getattr(layout, field)
    if not isinstance(value, bool):
        raise ValueError(f"{field} of {layout.name} is {value!r}, expected true or false")


def _no_ood(name: str, conditions: Conditions) -> None:
    for condition in conditions:
        if condition.ood:
            raise ValueError(f"layout {name} shows corruptions alone, expected no {condition.sources[0]}")
