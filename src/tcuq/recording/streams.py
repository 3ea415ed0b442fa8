"""Plain examples as a stream: how it paces its classes, what each step shows, what is said beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.checks import integer, number
from ..base.errors import InputError, InputTypeError, wrong_value
from ..base.spelling import option
from .data import Batch, Data
from .model import Array, Model
from .rand import Generators, Numbers, waits
from .shifts import Shifts, choose

LONGEST_STAY = 10_000  # steps that a class stays on average, at most
WANTED = "expected mixed, or a list of shuffled, dwell=N and held=N"


class Pace(NamedTuple):
    """How a part of a stream goes."""

    word: str  # shuffled, dwell (examples of one class) or held (one example, shaken)
    mean: float = 1.0  # steps that the class, or the example, stays

    def __str__(self) -> str:
        return self.word if self.word == "shuffled" else f"{self.word}={self.mean:g}"


# Neither the pace nor the kind of dwell of a user's stream is known: some of each.
MIXED = (Pace("dwell", 16.0), Pace("shuffled"), Pace("held", 8.0), Pace("dwell", 4.0))
UNLABELED = (Pace("held", 8.0), Pace("shuffled"))  # no labels say which examples are of one class


def paces_of(text: bool | str) -> tuple[Pace, ...]:
    """Return the paces that a text names."""
    if text is True or text == "mixed":
        return MIXED
    if not isinstance(text, str):
        raise InputTypeError("value", f"stream is {text!r}, {WANTED}")
    paces = []
    for each in text.split(","):
        word, equals, value = each.strip().partition("=")
        if (word, equals) == ("shuffled", ""):
            paces.append(Pace(word))
            continue
        if word not in ("dwell", "held") or not equals:
            raise InputError("value", f"stream is {each.strip()!r}, {WANTED}")
        try:
            mean = float(value)
        except ValueError:
            raise wrong_value("stream", each.strip(), f"a number after {word}=") from None
        paces.append(Pace(word, number(f"{word} of stream", mean, 1, LONGEST_STAY)))
    return tuple(paces)


Ints = npt.NDArray[np.int64]

RESERVE = 8  # when less than a part in so many is left, all examples join again, behind those that are left


class Pool:
    """Gives examples of a class, each once before any comes again."""

    def __init__(self, groups: Sequence[Ints], numbers: Numbers) -> None:
        self._groups, self._numbers = groups, numbers
        self._all = sum(map(len, groups))
        self._waiting: list[list[int]] = [[] for _ in groups]
        self._join()

    def _join(self) -> None:
        for index, group in enumerate(self._groups):
            order = group[self._numbers.shuffled(len(group))[0]].tolist()
            self._waiting[index] = [*order, *self._waiting[index]]  # taken from the end

    def left(self, group: int) -> int:
        """Return how many examples of a class wait."""
        return len(self._waiting[group])

    def draw(self) -> int:
        """Return a class, each with the chance of an example that waits being of it."""
        if RESERVE * sum(map(len, self._waiting)) < self._all:
            self._join()
        ends = np.cumsum([len(each) for each in self._waiting])
        return int(np.searchsorted(ends, self._numbers.below(1, int(ends[-1]))[0], side="right"))

    def take(self, group: int) -> int:
        """Return the next example of a class."""
        if not self._waiting[group]:
            self._join()
        return self._waiting[group].pop()


SHIFTED = 0.4  # share of shifted steps, about; never more than half, counted from the start of the stream
TIMES = 3  # stretches of each kind that a stream should have
SHORTEST, LONGEST = 40, 150  # mean steps of a shifted stretch: time for an alarm, and room for many of them
MILDEST = 0.25  # least severity; each stretch has one, drawn between this and 1


class Stretch(NamedTuple):
    """Steps of one condition."""

    steps: int
    segment: int
    pace: int
    kind: int
    severity: float


def lay_out(
    steps: int, kinds: Sequence[int], paces: Sequence[Pace], seed: int, name: str = "fit", fewest: int = 1
) -> list[Stretch]:
    """Return the stretches of a stream, in order: pairs of a clean one and a shifted one, at most as long."""
    # Kinds come in shuffled rounds. Each segment has some pairs and one pace; the order of paces is turned by
    # one from round to round. There are at least `fewest` segments, if there are as many pairs.
    mean = round(SHIFTED * steps / (TIMES * max(1, len(kinds))))
    mean = min(max(mean, SHORTEST), LONGEST)
    pairs = _pairs(steps, kinds, mean, Numbers(seed, f"{name}/layout"))
    rounds = max(1, len(pairs) // (2 * len(paces)))
    segments = min(len(pairs), max(fewest, rounds * len(paces)))
    stretches = []
    for index, pair in enumerate(pairs):
        segment = index * segments // len(pairs)
        pace = (segment + segment // len(paces)) % len(paces)
        stretches += [Stretch(length, segment, pace, kind, by) for length, kind, by in pair if length]
    return stretches


def _pairs(
    steps: int, kinds: Sequence[int], mean: int, numbers: Numbers
) -> list[list[tuple[int, int, float]]]:
    """Return pairs of (steps, kind, severity), a clean stretch first; what is left at the end is clean."""
    pairs: list[list[tuple[int, int, float]]] = []
    order: list[int] = []
    left = steps
    while left:
        short, more = numbers.below(2, mean + 1).tolist()
        shifted = (mean + 1) // 2 + short
        clean = shifted + more
        if not pairs:  # a stream too short for a pair has a short one
            shifted = min(shifted, left // 2)
            clean = min(clean, left - shifted)
        if not kinds or left < clean + shifted:
            clean, shifted = min(left, clean + shifted) if not kinds else left, 0
        pair = [(clean, 0, 0.0)]
        if shifted:
            order = order or [kinds[n] for n in numbers.shuffled(len(kinds))[0]]
            severity = MILDEST + (1 - MILDEST) * int(numbers.below(1, 1001)[0]) / 1000
            pair.append((shifted, order.pop(0), severity))
        pairs.append(pair)
        left -= clean + shifted
    return pairs


@dataclass(frozen=True, eq=False)
class Plan:
    """What each step shows."""

    examples: Ints
    kinds: npt.NDArray[np.uint8]  # 0 for clean
    severities: npt.NDArray[np.float64]  # in (0, 1]; 0 for clean
    held: npt.NDArray[np.bool_]  # in front of the sensor: shaken a little at each step
    segments: Ints
    paces: Ints  # places in the list of paces

    def __len__(self) -> int:
        return len(self.examples)


def make_plan(
    groups: Ints,
    among: Ints,
    steps: int,
    paces: Sequence[Pace],
    kinds: Sequence[int],
    seed: int,
    name: str = "fit",
    fewest: int = 1,
) -> Plan:
    """Return a plan; the same arguments give the same one with every numpy."""
    classes = [among[groups[among] == each] for each in np.unique(groups[among])]
    pool = Pool(classes, Numbers(seed, f"{name}/pool"))
    # The mean length of a run is longer than that of a stay: the same class may come again.
    again = Fraction(len(classes) - 1, len(classes))
    means = [Fraction(pace.mean) * (again if pace.word == "dwell" else 1) for pace in paces]
    lengths = [
        waits(Numbers(seed, f"{name}/{n}"), max(Fraction(1), mean) - 1) for n, mean in enumerate(means)
    ]
    stretches = lay_out(steps, kinds, paces, seed, name, fewest)
    counts = [each.steps for each in stretches]

    def stepwise(values: list[Any], dtype: Any) -> Any:
        return np.repeat(np.array(values, dtype), counts)

    segments = stepwise([each.segment for each in stretches], np.int64)
    chosen = stepwise([each.pace for each in stretches], np.int64)
    examples = np.empty(steps, dtype=np.int64)
    for segment in range(int(segments[-1]) + 1):
        places = np.flatnonzero(segments == segment)
        pace = int(chosen[places[0]])
        show = _shown(pool, paces[pace], lengths[pace])
        examples[places] = [next(show) for _ in places]
    return Plan(
        examples,
        stepwise([each.kind for each in stretches], np.uint8),
        stepwise([each.severity for each in stretches], np.float64),
        stepwise([paces[each.pace].word == "held" for each in stretches], np.bool_),
        segments,
        chosen,
    )


def _shown(pool: Pool, pace: Pace, lengths: Iterator[int]) -> Iterator[int]:
    """Give examples at a pace, without end."""
    while True:
        if pace.word == "shuffled":
            yield pool.take(pool.draw())
            continue
        group, length = pool.draw(), 1 + next(lengths)
        if pace.word == "held":
            example = pool.take(group)
            yield from (example for _ in range(length))
            continue
        for _ in range(min(length, pool.left(group))):
            yield pool.take(group)


def joined(first: Plan, second: Plan) -> Plan:
    """Return two plans one after the other, as other segments."""
    parts = {each.name: np.concatenate([getattr(first, each.name), getattr(second, each.name)])
             for each in fields(Plan)}  # fmt: skip
    parts["segments"][len(first) :] += int(first.segments[-1]) + 1
    return Plan(**parts)


FEWEST = 50  # examples from which on a stream is made


class Streams:
    """What streams of plain examples are made of: their paces, their shifts, and notes on both."""

    def __init__(
        self,
        data: Data,
        model: Model,
        paces: Sequence[Pace],
        shifts: Shifts,
        seed: int,
        fewest: int = FEWEST,
        among: Ints | None = None,  # examples from which ranges of shifts are read
    ) -> None:
        _refuse_unfit(data, fewest)
        self.data, self.seed, notes = data, integer("seed", seed, 0, 2**31), list(data.notes)
        # A stream changes the order of files anyway.
        notes = [each for each in notes if not each.startswith("files are mixed")]
        if data.labels is None and any(each.word == "dwell" for each in paces):
            if paces is not MIXED:
                problem = f"{data.name}: has no labels, by which dwell finds examples of one class"
                way = f"pass labels, or {option('stream', 'held=8,shuffled')}"
                raise InputError("missing", f"{problem}; {way}")
            paces = UNLABELED
            shown = ",".join(map(str, paces))
            notes.append(f"without labels no class can stay: the stream is {shown}")
        self.paces = paces
        self.chosen = choose(shifts, data, among, model, any(each.word == "held" for each in paces))
        self.notes = [*notes, *self.chosen.notes]

    def plan(self, among: Ints, steps: int, kinds: Sequence[int], name: str = "fit", fewest: int = 1) -> Plan:
        """Return a plan of some examples and some kinds of shift."""
        return make_plan(groups_of(self.data), among, steps, self.paces, kinds, self.seed, name, fewest)

    def arranged(self, plan: Plan) -> Data:
        """Return the data in the order of a plan, degraded as it says, with all notes."""
        # What befalls an example depends on the seed, the kind and the step, not on the size of a batch.
        # Labels are those of what the plan shows, also where frozen input hides it.
        kinds, labels, take = self.chosen.kinds, self.data.labels, self.data.take
        assert take is not None
        shake = Generators(self.seed, "held")
        numbers = [Generators(self.seed, f"shift/{each.name}") for each in kinds]
        frozen = np.isin(plan.kinds, [number for number, each in enumerate(kinds, 1) if each.frozen])
        seen = np.maximum.accumulate(np.where(frozen, 0, np.arange(len(plan))))  # step whose input comes

        def batches(size: int) -> Iterator[Batch]:
            for start in range(0, len(plan), size):
                steps = seen[start : start + size]
                given = take(plan.examples[steps])
                rows = np.array(given)
                for row, step in enumerate(steps.tolist()):
                    if plan.held[step]:
                        rows[row] = self.chosen.shake(rows[row], shake.at(step))
                    if kind := int(plan.kinds[step]):
                        severity, rng = float(plan.severities[step]), numbers[kind - 1].at(step)
                        rows[row] = kinds[kind - 1].apply(rows[row], severity, rng)
                own = None if labels is None else labels[plan.examples[start : start + size]]
                yield Batch(rows, own, given)

        notes, shown = list(self.notes), set(plan.kinds.tolist())
        missing = [each.name for number, each in enumerate(kinds, 1) if number not in shown]
        if missing:
            way = f"more examples, or {option('steps')}, make room"
            notes.append(f"the stream is too short to show {', '.join(missing)}; {way}")
        made = replace(self.data, batches=batches, total=len(plan), segments=plan.segments)
        # Without shifts nothing is known of what is clean: a user's data may hold anything.
        marked, names = (plan.kinds, tuple(each.name for each in kinds)) if kinds else (None, None)
        return replace(made, shifted=marked, shift_names=names, notes=tuple(notes))


def _refuse_unfit(data: Data, fewest: int) -> None:
    """Refuse data that cannot be arranged as a stream."""
    if data.take is None:
        problem = "gives batches in one order only, no stream can be made of them"
        raise InputError("unsupported", f"{data.name}: {problem}; pass arrays (NPZ or NPY) or a folder")
    if data.segments is not None or data.shifted is not None:
        have = "segments" if data.segments is not None else "shifted"
        way = f"leave out {option('stream')} and {option('shifts')}"
        raise InputError("conflict", f"{data.name}: has {have}, so it is a stream already; {way}")
    if data.total < fewest:
        raise InputError("value", f"{data.name}: holds {data.total} examples, a stream needs {fewest}")


def groups_of(data: Data) -> Ints:
    """Return the class of each example as a number, 0 or above; all 0 where there are no labels."""
    if data.labels is None:
        return np.zeros(data.total, dtype=np.int64)
    labels: Array = data.labels
    if labels.dtype.kind in "if":
        labels = np.maximum(labels, -1)  # below 0: none of the classes
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64).reshape(-1)
