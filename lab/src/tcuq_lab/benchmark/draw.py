"""Streams drawn by seeds from what a network said to examples: the same on all machines.

Whatever is drawn is a whole number of raw random bits (`tcuq.recording.rand.Numbers`), so that a stream has
one digest whatever the platform and the version of numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tcuq.metrics.inputs import Bools, Ints
from tcuq.recording.rand import Numbers, chance

from ..harness.types import CLEAN, slices

ONSET = 100
"""Steps for which half of the shifts that have a weaker form show it first."""
MAJORITY, USUAL = Fraction(7, 10), 2
"""Share of the runs of one class; or of so many classes, where their shares change every `KEPT` steps."""
KEPT = 1000
JITTERED = 12
"""Mean steps of an object that is held."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A stream with its truth."""

    rows: Ints
    labels: Ints  # below 0 where a step is not judged
    sources: Ints
    stretches: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def count(self) -> int:
        """How many stretches there are."""
        return len(slices(self.stretches, len(self)))


COLUMNS = tuple(each.name for each in fields(Shown))


@dataclass(frozen=True, eq=False)
class Pool:
    """Examples as rows of a table of outputs, clean and under each kind of shift; class and run of each.

    Rows are those of all clean examples, then of the first `shown` of them under each kind; after these come
    objects that are held, each in all its variants, clean and under each kind.
    """

    first: int
    labels: Ints
    runs: Ints  # examples of one track, trial or person lie together
    shown: int
    kinds: tuple[int, ...]  # number of each kind in the names of the sources of a task
    weaker: tuple[int, ...]  # place of a weaker form of each kind among them, counted from 1; 0 is none
    held: Ints  # class of each object
    variants: int

    @property
    def size(self) -> int:
        """How many rows there are."""
        count = len(self.kinds)
        return len(self.labels) + count * self.shown + (1 + count) * len(self.held) * self.variants

    @property
    def last(self) -> int:
        """The row after the last."""
        return self.first + self.size

    @cached_property
    def among(self) -> tuple[Ints, Ints, Ints]:
        """Examples of each class in their order, how many there are, and how many are shown shifted."""
        return _by_class(self.labels, int(self.labels.max()) + 1, self.shown)

    @cached_property
    def objects(self) -> tuple[Ints, Ints, Ints]:
        """The same of objects."""
        return _by_class(self.held, int(self.labels.max()) + 1, len(self.held))

    def rows(self, kinds: Ints, examples: Ints) -> Ints:
        """Return the rows of examples under kinds, counted from 1; 0 is clean."""
        shifted = len(self.labels) + (kinds - 1) * self.shown
        return np.asarray(self.first + np.where(kinds == 0, 0, shifted) + examples)

    def held_rows(self, kinds: Ints, objects: Ints, variants: Ints) -> Ints:
        """Return the rows of objects in their variants."""
        begin = self.first + len(self.labels) + len(self.kinds) * self.shown
        return np.asarray(begin + (kinds * len(self.held) + objects) * self.variants + variants)


def _by_class(labels: Ints, classes: int, shown: int) -> tuple[Ints, Ints, Ints]:
    places = [np.flatnonzero(labels == each) for each in range(classes)]
    table = np.zeros((classes, max(1, *map(len, places))), np.int64)
    for row, each in zip(table, places, strict=True):
        row[: len(each)] = each
    few = [int((each < shown).sum()) for each in places]
    return table, np.array([len(each) for each in places]), np.array(few)


class Law(NamedTuple):
    """How classes come, and how long it is clean and shifted."""

    paces: tuple[int, ...] = (16,)  # mean steps of a class, for some hundred steps each; exact from 400 on
    held: Fraction = Fraction(0)  # share of those hundreds of steps that hold objects
    clean: tuple[int, int] = (350, 700)
    shift: tuple[int, int] = (250, 600)
    steps: int = 2400
    shares: str = "even"  # or "majority", or "changing"
    ordered: bool = False  # examples in their own order
    shifted: bool = True


HALF = Fraction(1, 2)
LAWS: Mapping[str, Law] = MappingProxyType(
    {
        "another class each step": Law((1,)),
        "runs of 16": Law((16,)),
        "runs of 64": Law((64,)),
        "stays of 400": Law((400,), steps=3000),
        "stays of 4,000": Law((4000,), steps=7000),
        "mixed paces": Law((2, 8, 32), HALF),
        "held objects": Law((JITTERED,), Fraction(1)),
        "one class 70 %": Law((12,), shares="majority"),
        "short shifts": Law((2, 8, 32), HALF, (250, 500), (30, 101)),
        "label shift": Law((12,), shares="changing", shifted=False),
    }
)
"""Of streams that are drawn from examples; development streams have `DEV_LAW`."""
ORDERED = Law(ordered=True)
OWN_ORDER = "own order"
DEV_LAW = Law((1, 4, 16, 64), Fraction(1, 3), (350, 651), (200, 401), steps=3000)


def stream(pool: Pool, law: Law, name: str, stretches: int, frozen: int, shifted: bool = True) -> Shown:
    """Return a stream; its name is the seed.

    Kinds of shifts are dealt, so that all of them come before one comes again. After those of the pool comes
    one that is `frozen`: the output of the step before it is repeated. Its number in the sources is given.
    """
    deck = _deck(len(pool.kinds) + 1, Numbers(3, f"{name}/kinds"), pool.weaker)
    parts = []
    for number in range(stretches):
        numbers = Numbers(3, f"{name}/{number}")
        kinds = np.zeros(law.steps, np.int64)
        if law.shifted and shifted:
            kinds = _schedule(law, deck, numbers)
        parts.append(_stretch(pool, law, kinds, numbers, number, stretches))
    rows, labels, shown = (np.concatenate(each) for each in zip(*parts, strict=True))
    sources = np.array([0, *pool.kinds, frozen])[shown]
    return Shown(rows, labels, sources, np.repeat(np.arange(stretches), law.steps))


DEV, CLEAN_DEV = "dev", "clean dev"
"""Streams with a role; all others but `CLEAN` are test streams, by the name of their law."""
STRETCHES, ORDERED_STRETCHES = 4, 10
DEV_STRETCHES, CLEAN_DEV_STRETCHES = 5, 2


def drawn(name: str, pools: Sequence[Pool], ordered: bool, frozen: int) -> dict[str, Shown]:
    """Return the streams of a task by name, from its pools of development and of test.

    The clean stream has clean stretches of all laws, of test examples: other groups than the clean log's.
    """
    dev, test = pools
    own, laws = (ORDERED, {OWN_ORDER: ORDERED}) if ordered else (DEV_LAW, LAWS)
    stretches, still = (ORDERED_STRETCHES, ORDERED_STRETCHES) if ordered else (STRETCHES, 1)
    found = {
        DEV: stream(dev, own, f"{name} {DEV}", DEV_STRETCHES, frozen),
        CLEAN_DEV: stream(dev, own, f"{name} {CLEAN_DEV}", CLEAN_DEV_STRETCHES, frozen, False),
    }
    for title, law in laws.items():
        found[title] = stream(test, law, f"{name} {title}", stretches, frozen)
    parts = [stream(test, law, f"{name} clean {title}", still, frozen, False) for title, law in laws.items()]
    rows, labels, sources = (
        np.concatenate([getattr(each, name) for each in parts]) for name in ("rows", "labels", "sources")
    )
    lengths = [length for law in laws.values() for length in [law.steps] * still]
    found[CLEAN] = Shown(rows, labels, sources, np.repeat(np.arange(len(lengths)), lengths))
    return found


def _deck(count: int, numbers: Numbers, weaker: Sequence[int]) -> list[int]:
    """Return kinds as they are dealt, the last first; those that are only weaker forms come with theirs."""
    usual = [kind for kind in range(1, count + 1) if kind not in weaker]
    return [usual[at] for order in numbers.shuffled(len(usual), 50).tolist() for at in order]


def _schedule(law: Law, deck: list[int], numbers: Numbers) -> Ints:
    """Return the kind of each step: clean and shifted in turn, the first clean."""
    kinds, at = np.zeros(law.steps, np.int64), 0
    while True:
        clean, shift = (int(low + numbers.below(1, high - low)[0]) for low, high in (law.clean, law.shift))
        at += clean
        if at + law.shift[0] // 2 > law.steps:
            return kinds
        kinds[at : at + shift] = deck.pop()
        at += shift


def _stretch(
    pool: Pool, law: Law, kinds: Ints, numbers: Numbers, number: int, stretches: int
) -> tuple[Ints, Ints, Ints]:
    """Return rows, classes and kinds of a stretch; slow shifts begin with their weaker form."""
    steps, stuck = law.steps, len(pool.kinds) + 1
    kinds = kinds.copy()
    begins = np.flatnonzero((np.diff(kinds, prepend=0) != 0) & (kinds > 0)).tolist()
    for at, slow in zip(begins, numbers.events(len(begins), chance(HALF)).tolist(), strict=True):
        weaker = pool.weaker[kinds[at] - 1] if kinds[at] < stuck else 0
        if slow and weaker:
            end = at + min(ONSET, int(np.argmax(np.append(kinds[at:] != kinds[at], True))))
            kinds[at:end] = weaker
    seen = np.where(kinds == stuck, 0, kinds)  # what a frozen sensor would have seen
    if law.ordered:
        starts = np.flatnonzero(np.diff(pool.runs, prepend=-1))
        begin = (
            starts[int(numbers.below(1, len(starts))[0])]
            if stretches == 1
            else (starts[number * len(starts) // stretches])
        )
        examples = (begin + np.arange(steps)) % len(pool.labels)
        rows, labels = pool.rows(seen, examples), pool.labels[examples]
    else:
        classes, run, held = _classes(pool, law, numbers)
        table, clean, shown = pool.among
        bounds = np.where(seen == 0, clean[classes], shown[classes])
        examples = table[classes, numbers.below(steps, bounds.tolist())]
        objects, counts, _ = pool.objects
        holds = held & (counts[classes] > 0)
        mine = objects[classes, numbers.below(steps, np.maximum(1, counts[classes]).tolist())]
        mine = mine[np.searchsorted(run, run)]  # the one that its run began with
        variants = numbers.below(steps, max(1, pool.variants))
        rows = np.where(holds, pool.held_rows(seen, mine, variants), pool.rows(seen, examples))
        labels = classes
    for at in begins:
        if kinds[at] == stuck:
            end = at + int(np.argmax(np.append(kinds[at:] != stuck, True)))
            rows[at:end] = rows[at - 1]
    return rows, labels, kinds


def _classes(pool: Pool, law: Law, numbers: Numbers) -> tuple[Ints, Ints, Bools]:
    """Return the class of each step, the number of its run, and whether that holds one object."""
    steps = law.steps
    new, held, at = np.zeros(steps, bool), np.zeros(steps, bool), 0
    while at < steps:
        length = int(150 + numbers.below(1, 450)[0]) if len(law.paces) > 1 else steps
        pace = law.paces[int(numbers.below(1, len(law.paces))[0])]
        here = slice(at, min(at + length, steps))
        size = here.stop - at
        if pace < KEPT // 3:
            new[here] = numbers.events(size, chance(Fraction(1, pace)))
        else:  # stays of one length but the first, so that classes and kinds do not change together
            new[at + int(pace // 4 + numbers.below(1, pace - pace // 4)[0]) : here.stop : pace] = True
        held[here] = pace > 1 and bool(numbers.events(1, chance(law.held))[0])
        new[at] = True
        at = here.stop
    run = np.cumsum(new) - 1
    present = np.flatnonzero(pool.among[2])  # classes of which there are shifted examples
    picked = _picked(law, len(present), np.flatnonzero(new), numbers)
    return present[picked][run], run, held


def _picked(law: Law, classes: int, begins: Ints, numbers: Numbers) -> Ints:
    """Return the class of each run; but for classes that are more frequent, none follows itself."""
    count = len(begins)
    if law.shares == "even":
        steps = 1 + numbers.below(count, classes - 1)
        return np.asarray((numbers.below(1, classes)[0] + np.cumsum(steps)) % classes)
    orders = numbers.shuffled(classes, law.steps // KEPT + 1)
    if law.shares == "majority":
        orders[:] = orders[0]
    usual = 1 if law.shares == "majority" else min(USUAL, classes - 1)
    rest = classes - usual if law.shares == "majority" else max(1, (classes - usual) * 2 // 3)
    often = numbers.events(count, chance(MAJORITY))
    place = np.where(often, numbers.below(count, usual), usual + numbers.below(count, rest))
    return np.asarray(orders[begins // KEPT, place])
