"""`Labels`: which steps of a fleet to have labeled under a daily budget, and what the labels then say."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, number
from tcuq.base.errors import InputError, wrong_value
from tcuq.labels.accuracy import interval
from tcuq.labels.sampler import U64, drawn, seed_given, spread

from .events import Decided
from .marks import RIGHT as ANSWER_RIGHT
from .packing import from_json, to_json

Integers = npt.NDArray[np.int64]

DAY, KEPT = 86400, 60  # days whose steps can still be told; what is older is only counted
MOST_A_DAY, MOST_CLASS = 100_000, 65535
FLOOR = 0.2  # weight of a step of which the monitor is sure; one in full doubt has 1
PLANNED = 0.9  # share of the budget for an eighth more steps than usual; the rest is for even more
FIRST = 2.5  # steps in full doubt, a label of the budget, after which a first day asks more rarely

# What is taken as the chance of an error; guesses are close to each other where steps are sure.
GUESSES, OCTAVES, UNIT = 32, 40, 1024
EXPECTED = ((np.arange(GUESSES) + 0.5) / GUESSES) ** 2
WEIGHTS = np.rint(UNIT * (FLOOR + (1 - FLOOR) * 2 * spread(EXPECTED))).astype(np.int64)

# Numbers from 1 down to 1e-12 with three bits after the first: a chance is one of them, rounded down.
TOP = 1023 << 3
CHANCES = ((TOP - np.arange(8 * OCTAVES, dtype=np.int64)) << 49).view(np.float64)

CELLS = 2 * GUESSES * len(CHANCES)  # kinds of steps: accepted or not, by what is expected, by chance
RIGHT, WRONG, UNTOLD = 1, 2, 3  # what came of a step that was asked for; 0 is one that was not

PARTS = ("version", "device", "boot", "seq")


@dataclass
class _Day:
    """Steps of one day: those not asked for, counted by kind; those asked for, and their labels by place."""

    day: int
    rest: Integers = field(default_factory=lambda: np.zeros((2, 0), dtype=np.int64))
    rows: list[list[Any]] = field(default_factory=list)
    told: dict[int, int] = field(default_factory=dict)

    def counts(self) -> Integers:
        """Return kinds of steps, of which each also says what came of it, and how many there are."""
        found = [
            row[-1] + CELLS * (UNTOLD if label is None else RIGHT if label == row[-2] else WRONG)
            for row, label in ((row, self.told.get(place)) for place, row in enumerate(self.rows))
        ]
        return _merged([self.rest, np.array([found, [1] * len(found)], dtype=np.int64)])


class Labels:
    """Choose steps to be labeled at random, each with a chance that is known before it is drawn.

    The chance is larger where the monitor is in doubt, and follows the number of steps of the days before.
    For every stream, the chances of a day add up to at most `per_day`: so many labels are expected, and the
    number varies by its square root. Steps that have no time, or come late, belong to the latest day so far.

    Who chooses the input must not know the seed; left out, it is drawn at random.
    """

    def __init__(self, per_day: int, seed: int | None = None) -> None:
        self.per_day = integer("per_day", per_day, 0, MOST_A_DAY)
        self.seed = seed_given(seed)
        self._budget, self._weight, self._usual = self.per_day, 0, 0
        self._rest = np.zeros(CELLS, dtype=np.int64)  # of the latest day
        self._days = [_Day(0)]
        self._past = np.zeros((2, 0), dtype=np.int64)
        self._saved: dict[int, dict[str, npt.NDArray[Any]]] = {}

    def change(self, per_day: int) -> None:
        """Set another budget, for the days that have not begun; 0 ends asking at once."""
        self.per_day = integer("per_day", per_day, 0, MOST_A_DAY)

    def offer(self, decided: Decided, keys: U64) -> None:
        """Take in steps, each once, in the order in which they were decided; keys are those of devices."""
        steps, times = decided.steps, decided.times
        if not self.per_day or not len(steps):
            return
        days = np.full(len(times), self._days[-1].day)
        known = np.isfinite(times) & (np.abs(times) < 1e15)
        days[known] = np.floor(times[known] / DAY)
        days = np.maximum.accumulate(np.maximum(days, self._days[-1].day))
        cuts = [0, *(np.flatnonzero(np.diff(days)) + 1).tolist(), len(days)]
        for first, last in pairwise(cuts):
            part = slice(first, last)
            if days[first] > self._days[-1].day:
                self._begin(int(days[first]))
            kinds, asked = self._drawn(keys[part], decided.boots[part], decided.seqs[part], steps[part])
            self._rest += np.bincount(kinds[~asked], minlength=CELLS)
            for at in (np.flatnonzero(asked) + first).tolist():
                moment = float(times[at]) if np.isfinite(times[at]) else None
                name = [decided.version, str(decided.devices[at])]
                place = [int(decided.boots[at]), int(decided.seqs[at]), moment]
                about = [float(steps["risk"][at]), int(steps["answer"][at]), int(kinds[at - first])]
                self._days[-1].rows.append([*name, *place, *about])
            self._saved.pop(self._days[-1].day, None)

    def _drawn(self, keys: U64, boots: Any, seqs: Any, steps: Any) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Return the kinds of steps of the latest day, and which are asked for."""
        if not self._budget:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        guess = np.minimum(GUESSES * np.sqrt(steps["uncertainty"]), GUESSES - 1).astype(np.int64)
        weights = np.concatenate([[self._weight], WEIGHTS[guess]]).cumsum()
        left = self._left(weights)
        chance = np.clip(left[:-1] - left[1:], CHANCES[-1], 1.0)
        grade = TOP - (chance.view(np.int64) >> 49)
        self._weight = int(weights[-1])
        kinds = (np.where(steps["abstain"], 0, GUESSES) + guess) * len(CHANCES) + grade
        return kinds, drawn(self.seed, keys, boots, seqs, CHANCES[grade])

    def _left(self, weights: Integers) -> npt.NDArray[np.float64]:
        """Return what is left of the day's budget after steps of so much weight: it only falls.

        What a step takes from it is its chance. So the chances of a day add up to at most the budget.
        """
        plan = PLANNED if self._usual else 0.0
        over = np.maximum(weights - self._usual, 0) / max(self._usual / 4, FIRST * UNIT * self._budget)
        after = (1 - plan) * self._budget / np.sqrt(np.sqrt(1 + over))
        if not self._usual:
            return np.asarray(after)
        within = self._budget * (1 - PLANNED * weights / self._usual)
        return np.where(weights <= self._usual, within, after)

    def _begin(self, day: int) -> None:
        """Begin a day: what was usual stays so for a while after days of fewer steps."""
        self._days = [*self._counted(), _Day(day)]
        self._rest[:] = 0
        self._budget, self._usual, self._weight = self.per_day, max(self._weight * 9, self._usual * 7) // 8, 0
        while self._days[0].day <= day - KEPT:
            self._saved.pop(self._days[0].day, None)
            self._past = _merged([self._past, self._days.pop(0).counts()])

    def _counted(self) -> list[_Day]:
        """Return the days, of which the latest has its counts as the others have them."""
        some = np.flatnonzero(self._rest)
        return [*self._days[:-1], replace(self._days[-1], rest=np.stack([some, self._rest[some]]))]

    def whole_day(self) -> int:
        """Return the last day that is over: the one before the latest step's, and before today."""
        return max(0, min(int(time.time() // DAY), self._days[-1].day) - 1)

    def pick(self, day: int) -> list[dict[str, Any]]:
        """Return the steps of a day since 1970 that are asked for; of a day that goes on, those so far.

        They were drawn when they were decided, so that they are the same whenever you ask again.
        """
        wanted = integer("day", day, -(2**40), 2**40)
        names = (*PARTS, "time", "risk", "answer")
        rows = [row for kept in self._days if kept.day == wanted for row in kept.rows]
        chances = CHANCES[[row[-1] % len(CHANCES) for row in rows]].tolist()
        return [
            {**dict(zip(names, row, strict=False)), "chance": chance}
            for row, chance in zip(rows, chances, strict=True)
        ]

    def tell(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """Take in true labels; a step that is told again takes the new one.

        Rows have `device`, `version`, `boot`, `seq` and `label`: the true class, -1 where none of the classes
        is right, -2 where the answer was; None is passed over. `unknown` rows were not asked for, or too long
        ago.
        """
        asked: dict[tuple[Any, ...], tuple[_Day, int]] = {
            tuple(row[:4]): (day, place) for day in self._days for place, row in enumerate(day.rows)
        }
        counts = {"told": 0, "unlabeled": 0, "unknown": 0, "bad": 0}
        for row in rows:
            where = None
            with suppress(TypeError):  # of a list, say, which can name nothing
                where = asked.get(tuple(row.get(part) for part in PARTS))
            if where is None or row.get("label") is None:
                counts["unknown" if where is None else "unlabeled"] += 1
                continue
            day, place = where
            try:
                label = integer("label", row["label"], ANSWER_RIGHT, MOST_CLASS)
                day.told[place] = day.rows[place][-2] if label == ANSWER_RIGHT else label
            except ValueError:
                counts["bad"] += 1
                continue
            self._saved.pop(day.day, None)
            counts["told"] += 1
        return counts

    def waiting(self) -> list[tuple[Any, ...]]:
        """Return the steps that are asked for and have no label, newest first: rows of a `pick`."""
        return [
            tuple(row)
            for day in self._days[::-1]
            for place, row in reversed([*enumerate(day.rows)])
            if place not in day.told
        ]

    def accuracy(self, confidence: float = 0.95, among: str = "accepted") -> dict[str, Any]:
        """Return the share of right answers, labeled or not, with an interval that holds at every look.

        It speaks of all steps up to the end of the last day of which a label has come: those of later days
        may all be wrong yet. A label that has not come may be either. The proof is that of
        `tcuq.accuracy_from_labels`: the interval holds for all days at once, so that any may be chosen.
        """
        if among not in ("accepted", "all"):
            raise wrong_value("among", among, "'accepted' or 'all'")
        inside = number("confidence", confidence, 0, 1)
        parts = [self._past, *(day.counts() for day in self._counted())]
        kinds, counts = _merged(parts)
        untold, right, wrong = (int(counts[kinds // CELLS == each].sum()) for each in (UNTOLD, RIGHT, WRONG))
        found = {"asked": untold + right + wrong, "told": right + wrong, "errors_found": wrong}
        while len(parts) > 1 and found["told"] and not np.isin(parts[-1][0] // CELLS, (RIGHT, WRONG)).any():
            parts.pop()
        kinds, counts = _merged(parts)
        mine = (kinds % CELLS >= CELLS // 2) | (among == "all")
        kinds, counts = kinds[mine], counts[mine]
        more: dict[str, Any] = {"estimate": None, "interval": [0.0, 1.0], "confidence": inside}
        if found["told"] and len(counts):
            truth = np.array([np.nan, 0.0, 1.0, np.nan])[kinds // CELLS]
            chance, expected = CHANCES[kinds % len(CHANCES)], EXPECTED[kinds // len(CHANCES) % GUESSES]
            ends = interval(
                kinds >= CELLS, chance, expected, truth, inside, lambda values: np.array([counts @ values])
            )
            more["estimate"], *more["interval"] = (float(end[0]) for end in ends)
        return {**more, "steps": int(counts.sum()), **found}

    def summary(self) -> dict[str, Any]:
        """Return what `summarize` shows: the budget and the accuracy."""
        return {"per_day": self.per_day} | self.accuracy()

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that must be kept; what belongs to a day that has not changed is the same object."""
        numbers = [self.per_day, self.seed, self._budget, self._weight, self._usual]
        found: dict[str, npt.NDArray[Any]] = {"past": self._past}
        found["numbers"] = to_json([*numbers, [day.day for day in self._days]])
        for day in self._counted():
            if day.day not in self._saved:
                rows = to_json([day.rows, sorted(day.told.items())])
                self._saved[day.day] = {f"rest-{day.day}": day.rest, f"rows-{day.day}": rows}
            found |= self._saved[day.day]
        return found

    @classmethod
    def restored(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Labels:
        """Return what `arrays` gave, as it was."""
        per_day, seed, budget, weight, usual, days = from_json(arrays["numbers"])
        found = cls(per_day, seed)
        found._budget, found._weight, found._usual = budget, weight, usual
        found._past, found._days = arrays["past"], []
        for day in days:
            rows, labels = from_json(arrays[f"rows-{day}"])
            found._days.append(_Day(day, arrays[f"rest-{day}"], rows, dict(map(tuple, labels))))
        _merged([found._past, *(day.counts() for day in found._days)])  # raises where something cannot be
        kinds, counts = found._days[-1].rest
        found._rest[kinds] = counts
        return found


def _merged(parts: Sequence[Integers]) -> Integers:
    """Return kinds and how many there are of each, in all parts."""
    kinds, counts = np.concatenate(parts, axis=1)
    if kinds.size and not 0 <= kinds.min() <= kinds.max() < 4 * CELLS:
        raise InputError("damaged", "a kind of steps is out of range")
    each, where = np.unique(kinds, return_inverse=True)
    found = np.zeros(len(each), dtype=np.int64)
    np.add.at(found, where, counts)
    return np.stack([each, found])
