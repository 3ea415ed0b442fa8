"""A method from outside as it runs: what it says is checked, and so are the rules.

No step may depend on later ones, a stretch begins afresh, and the same input gives the same words.
"""

from __future__ import annotations

import inspect
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from .types import Answers, Dev, NoLabels, Outputs, together

TOLERANCE = 1e-5
"""Risks and accuracies that differ by less, of their value or their spread, are the same: a product of
float32 matrices rounds otherwise in a batch of another length."""
NUMBERS = ("risk", "accuracy", "prediction_risk", "evidence")


class Broken(ValueError):
    """A method failed or broke a rule."""


class Entry(NamedTuple):
    """A method before it is fitted."""

    make: Callable[[], Any]
    name: str
    uses_labels: bool  # which track it runs in
    passes: int  # forward passes of a network a step
    source: str  # where its code is, and the digest of that file
    sha256: str
    place: str  # what errors name: the file, or the name of a built-in method
    told: bool = False  # it has `feedback`, and so runs in the track with late labels


@contextmanager
def blamed(place: str, what: str) -> Iterator[None]:
    """Turn whatever a method's code raises into one line that says where; TCUQ_DEBUG=1 shows all of it."""
    try:
        yield
    except Broken:
        raise
    except (Exception, SystemExit) as error:
        if os.environ.get("TCUQ_DEBUG") == "1":
            raise
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).name == Path(place).name]
        at = f" (line {lines[-1]})" if lines else ""
        if isinstance(error, NoLabels):
            raise Broken(f"{place}{at}: {error}") from None
        raise Broken(f"{place}: {what} failed{at}: {type(error).__name__}: {error}") from None


class Checked:
    """A method fitted to one task; it is shown stretches one by one, and what it says is checked.

    With `rules`, the first stretch of the first stream and of every third is also shown again, cut off, with
    other later steps, and to a second fit.
    """

    every = 3

    def __init__(self, entry: Entry, dev: Dev, task: str, rules: bool = True) -> None:
        self.entry, self.task, self.classes = entry, task, dev.probs.shape[1]
        self.again = Checked(entry, dev, task, rules=False) if rules else None
        self.where = "stream"
        self.labels = self.streams = 0
        self._kinds: tuple[bool, ...] | None = None
        self.watch_seconds, self.steps, began = 0.0, 0, time.perf_counter()
        with blamed(entry.place, "Method()"):
            self.method = entry.make()
        if callable(getattr(self.method, "fit", None)):
            with blamed(entry.place, f"fit() on {task}"):
                self.method.fit(dev)
        self.fit_seconds = time.perf_counter() - began

    @property
    def state_bytes(self) -> int | None:
        """What the method says that it keeps from step to step."""
        found = getattr(self.method, "state_bytes", None)
        if found is None:
            return None
        with blamed(self.entry.place, "state_bytes"):
            return integer("state_bytes", found, 0, 2**40)

    def watch(self, seen: Outputs) -> Answers:
        """Show each stretch; with rules, check the first one of some streams."""
        parts, began = seen.split(), time.perf_counter()
        said = [self.say(part, f"{self.where}, stretch {number}") for number, part in enumerate(parts)]
        self._timed(began, len(seen))
        for each in said:
            self._same_kinds(each)
        if self._checks():
            where = f"{self.where}, stretch 0"
            self._check_twice(parts[0], said[0], where)
            self._check_past(parts[0], said[0], where)
            self._check_steps(parts[0], said[0], where)
        return together(said)

    def told(self, seen: Outputs, label: Label, delay: int) -> Answers:
        """Show one stretch step by step, while labels come; with rules, check its first quarter."""
        began = time.perf_counter()
        said = self.say(seen, self.where, label, delay)
        self._timed(began, len(seen))
        if self._checks():
            self._check_twice(seen.taken(slice(0, len(seen) // 4)), said, self.where, label, delay)
        return said

    def _checks(self) -> bool:
        """Count a stream, and return whether rules are checked on it."""
        self.streams += 1
        return self.again is not None and self.streams % self.every == 1

    def _timed(self, began: float, steps: int) -> None:
        self.watch_seconds += time.perf_counter() - began
        self.steps += steps

    def say(self, seen: Outputs, where: str, label: Label | None = None, delay: int = 0) -> Answers:
        """Return what the method says to a stretch, checked, as arrays."""
        place = f"on {self.task}, {where}"
        with blamed(self.entry.place, f"{'watch' if self._watches else 'step'}() {place}"):
            said = (
                Answers.of(self.method.watch(_frozen(seen)))
                if self._watches
                else self._stepped(_frozen(seen), label, delay)
            )
        try:
            if self.entry.told and said.accept is None:
                raise ValueError("accept is None, expected True or False at each step: it has feedback")
            return checked(said, seen, self.classes)
        except ValueError as error:
            raise Broken(f"{self.entry.place} {place}: {error}") from None

    @property
    def _watches(self) -> bool:
        return not self.entry.told and callable(getattr(self.method, "watch", None))

    @property
    def _takes_gauges(self) -> bool:
        """Whether `step` has a third argument."""
        return len(inspect.signature(self.method.step).parameters) > 2

    @property
    def _carried(self) -> str:
        """What to do where the same stretch gets another result."""
        if self._watches:
            where = "reset it at the beginning of watch(self, stream)"
        elif callable(getattr(self.method, "start", None)):
            where = "reset all of it in start(self)"
        else:
            where = "define start(self) and reset it there"
        return f"State is carried over between stretches: {where}. Random numbers need a fixed seed."

    def _stepped(self, seen: Outputs, label: Label | None, delay: int) -> Answers:
        start = getattr(self.method, "start", None)
        if callable(start):
            start()
        rows: list[Answers] = []
        self.labels = 0  # that came
        nothing = [None] * len(seen)
        given = [seen.probs, nothing if seen.features is None else seen.features]
        given += [] if seen.gauges is None or not self._takes_gauges else [seen.gauges]
        for at, step in enumerate(zip(*given, strict=True)):
            rows.append(Answers.of(self.method.step(*step)))
            if label is not None and at >= delay:
                then = rows[at - delay]
                if then.answer is None:
                    then = then._replace(answer=int(seen.probs[at - delay].argmax()))
                true = label(at - delay, then)
                if true is not None:
                    self.labels += 1
                    self.method.feedback(at - delay, true)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(Answers._fields)
        for name, values in zip(Answers._fields, columns, strict=True):
            if 0 < sum(value is None for value in values) < len(values):
                raise ValueError(f"{name} is given at some steps only, expected at all or none")
        return Answers(*(None if not values or values[0] is None else np.array(values) for values in columns))

    def _same_kinds(self, said: Answers) -> None:
        """Refuse alarms or accuracies at some stretches only: nobody could rank them."""
        kinds = tuple(column is not None for column in said)
        before, self._kinds = self._kinds, kinds
        if before is not None and kinds != before:
            name = next(n for n, a, b in zip(Answers._fields, kinds, before, strict=True) if a != b)
            raise Broken(
                f"{self.entry.place} on {self.task}: {name} is given for some stretches only, expected all"
            )

    def _check_twice(
        self, seen: Outputs, said: Answers, where: str, label: Label | None = None, delay: int = 0
    ) -> None:
        """Refuse a method that says something else to the same stretch, or after the same fit."""
        assert self.again is not None
        self._check_again(self.say(seen, where, label, delay), said, where, "the second time", self._carried)
        second = self.again.say(seen, where, label, delay)
        self._check_again(second, said, where, "after a second fit", SEED)

    def _check_past(self, stretch: Outputs, whole: Answers, where: str) -> None:
        """Refuse a method whose words change when later steps are cut off, or are others."""
        for cut in cuts(len(stretch)):
            said = self.say(stretch.taken(slice(0, cut)), f"{where} cut off after {cut} steps")
            self._compare(said, whole, cut, where, "when later steps are cut off")
        middle = len(stretch) // 2
        order = np.concatenate([np.arange(middle), np.arange(len(stretch) - 1, middle - 1, -1)])
        other = stretch.taken(order)
        for values in (other.probs, other.features, other.gauges, *other.extra.values()):
            if values is not None:
                values[middle:] = np.roll(values[middle:], 1, axis=1)
        self._compare(self.say(other, where), whole, middle, where, "when later steps are others")

    def _check_steps(self, stretch: Outputs, whole: Answers, where: str) -> None:
        """Refuse a method that has `watch` and `step`, and says something else step by step."""
        if self._watches and callable(getattr(self.method, "step", None)):
            with blamed(self.entry.place, f"step() on {self.task}, {where}"):
                said = checked(self._stepped(_frozen(stretch), None, 0), stretch, self.classes)
            self._check_again(said, whole, where, "from step() than from watch()", "Make them say the same.")

    def _compare(self, found: Answers, whole: Answers, cut: int, where: str, how: str) -> None:
        step = difference(found, whole, cut)
        if step is not None:
            raise Broken(
                f"{self.entry.place} on {self.task}, {where}: step {step[1]} gets another {step[0]} {how} "
                f"(from step {cut} on); use only the steps so far, and no statistics of the whole stretch"
            )

    def _check_again(self, found: Answers, first: Answers, where: str, how: str, remedy: str) -> None:
        """Refuse a method that says something else to the same stretch."""
        step = difference(found, first, len(found.risk))
        if step is not None:
            raise Broken(
                f"{self.entry.place} on {self.task}, {where}: step {step[1]} gets another {step[0]} {how}. "
                f"{remedy}"
            )


Label = Callable[[int, Answers], "int | None"]
SEED = "Seed the random numbers of fit."


def _frozen(seen: Outputs) -> Outputs:
    """Return steps that cannot be written to: one method must not change what the next one sees."""
    found = seen.taken(slice(None))
    for values in (found.probs, found.features, found.gauges, *found.extra.values()):
        if values is not None:
            values.setflags(write=False)
    return found


def cuts(length: int) -> list[int]:
    """Return the steps at which the future is taken away or changed."""
    return sorted({1, length // 4 + 1, 2 * length // 3 + 1, length - 1} & set(range(1, length)))


def difference(first: Answers, second: Answers, length: int) -> tuple[str, int] | None:
    """Return what differs first among the first steps of two, and at which step."""
    for name, a, b in zip(Answers._fields, first, second, strict=True):
        if (a is None) != (b is None):
            return name, 0
        if a is None:
            continue
        if name in NUMBERS:
            same = np.isclose(a[:length], b[:length], rtol=TOLERANCE, atol=TOLERANCE * float(np.std(b)))
        else:
            same = a[:length] == b[:length]
        if not same.all():
            return name, int(np.flatnonzero(~same)[0])
    return None


def checked(said: Answers, stream: Outputs, classes: int) -> Answers:
    """Return what was said as arrays of fixed types; answers are the network's where none are given."""
    if said.risk is None:
        raise ValueError("risk is None, expected a number for each step")
    columns: dict[str, Any] = {"answer": stream.probs.argmax(axis=1).astype(np.int64)}
    for name, kinds, expected, fine in (
        ("risk", "fiub", "a finite number", np.isfinite),
        ("answer", "iu", f"a class from 0 to {classes - 1}", lambda v: (v >= 0) & (v < classes)),
        ("alarm", "biu", "True or False", lambda v: (v == 0) | (v == 1)),
        ("accuracy", "fiu", "0 to 1", lambda v: (v >= 0) & (v <= 1)),
        ("accept", "biu", "True or False", lambda v: (v == 0) | (v == 1)),
        ("prediction_risk", "fiub", "a finite number", np.isfinite),
        ("evidence", "fiub", "a finite number", np.isfinite),
    ):
        if getattr(said, name) is None:
            continue
        values = _column(name, getattr(said, name), len(stream), kinds)
        bad = np.flatnonzero(~fine(values))
        if len(bad):
            raise ValueError(f"{name}[{bad[0]}] is {values[bad[0]]}, expected {expected}")
        types = {"iu": np.int64, "biu": bool}
        columns[name] = values.astype(types.get(kinds, np.float64))
    return Answers(**columns)


def _column(name: str, values: Any, length: int, kinds: str) -> npt.NDArray[Any]:
    found = np.asarray(values)
    wanted = {"iu": "integers", "biu": "booleans"}.get(kinds, "numbers")
    if found.dtype.kind in "US":
        example = next((repr(str(each)) for each in found.flat), "none")
        raise ValueError(f"{name} is text ({example}), expected {wanted}")
    if found.shape != (length,):
        raise ValueError(
            f"{name} has shape {found.shape}, expected ({length},): one value for each step of the stretch"
        )
    if found.dtype.kind not in kinds:
        raise ValueError(f"{name} has dtype {found.dtype}, expected {wanted}")
    return found
