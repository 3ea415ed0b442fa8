"""Laps: rows of a self-check that are repeated until the monitor has done everything that it can do.

An alarm may need hundreds of steps to rise, and as many to clear. Repeating a few rows costs time on the
device, once, and no flash.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..base.fixed import ONE
from ..monitor.monitor import NO_REASON, Monitor
from ..monitor.params import Params
from ..monitor.signals import NUMBER
from .transcript import Int8, Transcript, digest, take

DEPTHS = (64, 256, 1024, 4096)
"""Steps that a lap takes at most, tried in turn."""

SHALLOW = 256
"""Steps after which a reason that never came is given up."""

MOST_LAPS = 20
MOST_STEPS = 24000
"""Steps of all laps together; their number must fit an int of 16 bits."""

WORK = 1_000_000
"""Values read in one trial at most; a wide monitor is tried for fewer steps."""

Bools = npt.NDArray[np.bool_]
Seen = Callable[[Transcript], Bools]


class Lap(NamedTuple):
    """Rows that are played several times over.

    Parameters
    ----------
    first, rows, times : int
        Where they begin in the table, how many they are, and how often they are played.
    reset : bool
        Whether `tcuq_reset` is called before.
    digest : int
        Of all steps of this lap.
    saved : int
        Digest of the bytes that `tcuq_save` writes after it.
    """

    first: int
    rows: int
    times: int
    reset: bool
    digest: int
    saved: int


class Goal(NamedTuple):
    """Something that the stream of a self-check should contain.

    Parameters
    ----------
    text : str
        In words.
    seen : callable
        Given a transcript, tells at which steps it happens.
    patient : bool
        Whether it may need many steps.
    """

    text: str
    seen: Seen
    patient: bool = True


def goals(params: Params) -> list[Goal]:
    """Return what these parameters may be able to do, in the order in which it is looked for.

    Examples
    --------
    >>> [goal.text for goal in goals(Params(classes=3, signals=("doubt",), lags=(), warmup=0))][:2]
    ['a step that is flagged', 'a step that is not flagged']
    """
    found = [
        *_both("flagged", "is flagged"),
        *_both("abstain", "abstains"),
        *(_both("warming_up", "belongs to the warm-up") if params.warmup else []),
        *_both("low_mass", "has a posterior of low mass"),
    ]
    p = params.integers()
    for side, bit in (("rise", 1), ("fall", 2)):
        if p[f"{side}_limit"]:
            found += [
                Goal(f"the {side} alarm being raised", _turns(bit, True)),
                Goal(f"the {side} alarm being cleared", _turns(bit, False)),
            ]
    if params.instant is not None:
        found += [
            Goal("an answer other than the prediction", _answers),
            Goal("a high persistence", lambda said: said.column("persistence") >= 3 * ONE // 4),
            Goal("a low persistence", lambda said: said.column("persistence") < ONE // 4),
            Goal("a low variety", lambda said: said.column("variety") < ONE // 4),
        ]
    heads = [p["coef"], *([p["instant"]["coef"]] if p["instant"] is not None else [])]
    able = [name for name in params.signals if any(coef[NUMBER[name]] for coef in heads)]
    found += [Goal(f"the reason {name}", _equals("reason", NUMBER[name]), False) for name in able]
    found.append(Goal("a step without a reason", _equals("reason", NO_REASON), False))
    return found


def _answers(said: Transcript) -> Bools:
    return np.asarray(said.column("answer") != said.column("prediction"))


def _both(field: str, text: str) -> list[Goal]:
    negated = {"is": "is not", "has": "has no", "abstains": "does not abstain", "belongs": "does not belong"}
    first, _, rest = text.partition(" ")
    other = f"{negated[first]} {rest}".strip().replace("no a ", "no ")
    return [Goal(f"a step that {text}", _equals(field, 1)), Goal(f"a step that {other}", _equals(field, 0))]


def _equals(field: str, value: int) -> Seen:
    return lambda said: np.asarray(said.column(field) == value)


def _turns(bit: int, on: bool) -> Seen:
    def seen(said: Transcript) -> Bools:
        # Before a transcript begins nothing is known: only a change inside it counts.
        state = (said.column("alarm") & bit) > 0
        before = np.concatenate([state[:1], state[:-1]])
        return np.asarray((state != before) & (state == on))

    return seen


def _sum_in(state: bytes, side: str) -> int:
    """Return the sum of one side of the alarm in a saved state (SPEC.md section 12)."""
    rise, fall = struct.unpack_from("<II", state, 32)
    return int(rise if side == "rise" else fall)


class Stretch:
    """Rows that a lap may repeat; they enter the table of the self-check when one does."""

    def __init__(self, probs: Int8, features: Int8, at: int | None = None) -> None:
        self.probs, self.features, self.at = probs, features, at

    def __len__(self) -> int:
        return len(self.probs)

    def take(self, monitor: Monitor, times: int) -> Transcript:
        """Play it several times over."""
        return take(monitor, np.tile(self.probs, (times, 1)), np.tile(self.features, (times, 1)))


def stretches(params: Params, probs: Int8, features: Int8) -> list[Stretch]:
    """Return what laps are made of: parts of a table, and rows that say the same thing for ever."""
    found = [Stretch(probs, features, 0)]
    found += [Stretch(probs[at : at + 8], features[at : at + 8], at) for at in range(0, len(probs), 8)]
    classes, zero = params.classes, params.feature_zero_point
    offsets = params.evidence.integers()["offset"] if params.evidence is not None else [0]
    ends = {0, classes - 1, int(np.argmax(offsets)), int(np.argmin(offsets))}
    flat = np.full(classes, -128, np.int8)
    flat[:256] = max(1, 256 // classes) - 128
    kinds = [flat, *(_certain(classes, at) for at in sorted(ends))]
    shapes = [
        np.full(params.features, value, np.int8) for value in ((zero, 127, -128) if params.features else (0,))
    ]
    single = [(kind, shape) for kind in kinds for shape in shapes]
    found += [_stretch(row) for row in single]
    # Two rows in turn, as unlike each other as can be.
    found += [_stretch(one, two) for one, two in zip(single, single[1:] + single[:1], strict=True)]
    found += [_stretch(*single), _stretch(single[0], (kinds[-1], shapes[-1]))]
    # A long calm, then another class, sure or unsure of itself, with the same features or others.
    calm, torn = (kinds[1], shapes[0]), flat.copy()
    torn[0], torn[-1] = -8, 0
    for kind in (kinds[-1], torn, flat):
        for shape in (shapes[0], shapes[-1]):
            found += [_stretch(*[calm] * 6, *[(kind, shape)] * turn) for turn in (1, 6)]
            found.append(_stretch((kind, shape), (torn, shapes[0])))
    return found


def _certain(classes: int, at: int) -> Int8:
    row = np.full(classes, -128, np.int8)
    row[at] = 127
    return row


def _stretch(*rows: tuple[Int8, Int8]) -> Stretch:
    return Stretch(np.stack([probs for probs, _ in rows]), np.stack([features for _, features in rows]))


class Laps:
    """Extend a stream until everything is seen that can be found.

    Parameters
    ----------
    monitor : Monitor
        At the end of the stream so far.
    probs, features : int8 arrays
        Rows so far.
    parts : list of Transcript
        What was given so far, one for each start of a monitor; the last one goes on.

    Attributes
    ----------
    laps : list of Lap
    unseen : list of str
        What was looked for and not found.
    """

    def __init__(self, monitor: Monitor, probs: Int8, features: Int8, parts: list[Transcript]) -> None:
        self.probs, self.features, self.parts = probs, features, parts
        self.laps: list[Lap] = []
        self._monitor = monitor
        self._stretches = stretches(monitor.params, probs, features)
        wanted = goals(monitor.params)
        # In any case once over the table after a reset, which nothing else shows. Two lengths, one apart:
        # not both are a whole number of turns of the ring, so a lost position in it shows in a saved state.
        last = len(probs) - 1
        self._play(Stretch(probs[:last], features[:last], 0), 1, reset=True)
        self._play(Stretch(probs[last:], features[last:], last), 1)
        while len(self.laps) < MOST_LAPS and (found := self._best(self._missing(wanted))) is not None:
            self._play(*found)
        self.unseen = [goal.text for goal in self._missing(wanted)]
        for side, bit in (("rise", 1), ("fall", 2)):
            if monitor.params.integers()[f"{side}_limit"] and not self._descend(side, bit):
                self.unseen.append(f"a saved state with the {side} alarm on its way down")

    def _descend(self, side: str, bit: int) -> bool:
        """Play until a saved state has an alarm between its limit and 0; tell whether that was found.

        Elsewhere the sum alone says whether the alarm is raised, and a state that lost it is mended.
        """
        if not self._monitor.alarm & bit:
            found = self._best([Goal("", _turns(bit, True))])
            if found is None:
                return False
            self._play(*found)
        state = self._monitor.save()
        limit = self._monitor.params.integers()[f"{side}_limit"]
        for depth in DEPTHS[:2]:
            for stretch in self._stretches:
                monitor = Monitor(self._monitor.params).load(state)
                for times in range(1, depth // len(stretch) + 1):
                    stretch.take(monitor, 1)
                    if not monitor.alarm & bit:
                        break
                    if 0 < _sum_in(monitor.save(), side) < limit:
                        self._play(stretch, times)
                        return True
        return False

    def _missing(self, wanted: list[Goal]) -> list[Goal]:
        return [goal for goal in wanted if not any(goal.seen(part).any() for part in self.parts)]

    def _best(self, wanted: list[Goal]) -> tuple[Stretch, int] | None:
        """Return the shortest lap from here that shows something new, or None."""
        params, state = self._monitor.params, self._monitor.save()
        width = (params.classes + params.features) * (1 + len(params.lags))
        left = MOST_STEPS - sum(lap.rows * lap.times for lap in self.laps)
        for depth in DEPTHS:
            now = [goal for goal in wanted if goal.patient or depth <= SHALLOW]
            steps = min(depth, left, max(DEPTHS[0], WORK // width))
            trials = [self._trial(stretch, state, steps, now) for stretch in self._stretches] if now else []
            found = [(at, number) for number, at in enumerate(trials) if at]
            if found:
                stretch = self._stretches[min(found)[1]]
                return stretch, -(-min(found)[0] // len(stretch))
        return None

    def _trial(self, stretch: Stretch, state: bytes, steps: int, wanted: list[Goal]) -> int:
        """Return the step of a lap, from 1, at which something new is seen; 0 for never."""
        times = steps // len(stretch)
        if not times:
            return 0
        monitor = Monitor(self._monitor.params).load(state)
        said = self.parts[-1][-1:] + stretch.take(monitor, times)
        hits = [seen.argmax() for seen in (goal.seen(said)[1:] for goal in wanted) if seen.any()]
        return int(min(hits)) + 1 if hits else 0

    def _play(self, stretch: Stretch, times: int, reset: bool = False) -> None:
        if stretch.at is None:
            stretch.at = len(self.probs)
            self.probs = np.concatenate([self.probs, stretch.probs])
            self.features = np.concatenate([self.features, stretch.features])
        if reset:
            self._monitor.reset()
        said = stretch.take(self._monitor, times)
        saved = digest(self._monitor.save())
        self.laps.append(Lap(stretch.at, len(stretch), times, reset, said.digest(), saved))
        self.parts[-1] += said
