"""A method of the benchmark as it runs: loaded from a file or built in, its words checked."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer, nearest

from .interface import Dev, NoLabels, Said, Stream

LONGEST = 60
HINT = "define a class Method with watch(self, stream) or step(self, probs, features)"


@dataclass(frozen=True)
class Entry:
    """A method before it is fitted.

    Parameters
    ----------
    make : callable
        Returns a fresh method.
    name : str
    uses_labels : bool
        Which track it runs in.
    passes : int
        Forward passes of a network a step.
    source : str
        Where its code is.
    sha256 : str
        Of that file.
    place : str
        What errors name: the file, or the name of a built-in method.
    told : bool
        Whether it has `feedback`, and so runs in the track with late labels.
    """

    make: Callable[[], Any]
    name: str
    uses_labels: bool
    passes: int
    source: str
    sha256: str
    place: str
    told: bool = False


def is_name(name: object) -> bool:
    """Return whether a method may be called so: a table has to show it."""
    return (
        isinstance(name, str) and 0 < len(name.strip()) <= LONGEST and name.isprintable() and "|" not in name
    )


class Broken(ValueError):
    """A method failed or broke a rule."""


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


def entry_of(kind: Any, source: str, sha256: str, place: str) -> Entry:
    """Return the entry of a class.

    Parameters
    ----------
    kind : class, or a callable that returns a method
    source, sha256, place
        See `Entry`.
    """
    if not (callable(getattr(kind, "watch", None)) or callable(getattr(kind, "step", None))):
        raise Broken(f"{place}: Method has neither watch nor step; {HINT}")
    told = callable(getattr(kind, "feedback", None))
    if told and not callable(getattr(kind, "step", None)):
        raise Broken(f"{place}: Method has feedback but no step; define step(self, probs, features)")
    fits = callable(getattr(kind, "fit", None))
    uses_labels = getattr(kind, "uses_labels", fits)
    if not isinstance(uses_labels, bool):
        raise Broken(f"{place}: uses_labels is {uses_labels!r}, expected True or False")
    with blamed(place, "passes"):
        passes = integer("passes", getattr(kind, "passes", 1), 1, 1000)
    name = getattr(kind, "name", Path(place).stem)
    if not is_name(name):
        raise Broken(f"{place}: name is {name!r}, expected a text of up to {LONGEST} characters without |")
    return Entry(kind, name.strip(), uses_labels and fits, passes, source, sha256, place, told)


def load_entry(path: str | Path) -> Entry:
    """Return the method that a Python file defines.

    Parameters
    ----------
    path : path
        Of a file with a class `Method`, or with a function `watch`.
    """
    place = Path(path)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        near = near_file(place)
        if near is None:
            raise
        raise Broken(f"{place}: no such file; did you mean {near}?") from None
    spec = importlib.util.spec_from_file_location(f"tcuq_bench_{place.stem}", place)
    if spec is None or spec.loader is None:
        raise Broken(f"{place} is no Python file, expected a name that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle look there for the module of a class
    with blamed(str(place), "import"):
        spec.loader.exec_module(module)
    kind = getattr(module, "Method", None)
    if kind is None and callable(getattr(module, "watch", None)):
        kind = type("Method", (), {"watch": staticmethod(module.watch), "name": place.stem})
    if not isinstance(kind, type):
        raise Broken(f"{place}: no class Method; {HINT}")
    return entry_of(kind, place.name, hashlib.sha256(data).hexdigest(), str(place))


def near_file(place: Path) -> Path | None:
    """Return the Python file of the same folder whose name is nearly the one asked for, if there is one.

    Parameters
    ----------
    place : path
        That does not exist.
    """
    names = [each.name for each in place.parent.glob("*.py")]
    found = nearest(place.name, names)
    return None if found is None else place.with_name(found)


class Fitted:
    """A method fitted to one task.

    Parameters
    ----------
    entry : Entry
    dev : Dev
    task : str
        For messages.
    """

    def __init__(self, entry: Entry, dev: Dev, task: str) -> None:
        self.entry, self.task, self.classes = entry, task, dev.probs.shape[1]
        self.late: Mapping[int, tuple[int, int]] = {}  # after which steps a label comes: of a step, a class
        with blamed(entry.place, "Method()"):
            self.method = entry.make()
        if callable(getattr(self.method, "fit", None)):
            with blamed(entry.place, f"fit() on {task}"):
                self.method.fit(dev)

    @property
    def state_bytes(self) -> int | None:
        """What the method says that it keeps from step to step."""
        found = getattr(self.method, "state_bytes", None)
        if found is None:
            return None
        with blamed(self.entry.place, "state_bytes"):
            return integer("state_bytes", found, 0, 2**40)

    def say(self, stream: Stream, where: str) -> Said:
        """Return what the method says to a stretch, checked, as arrays.

        Parameters
        ----------
        stream : Stream
        where : str
            Name of the stretch in messages.
        """
        place = f"on {self.task}, {where}"
        with blamed(self.entry.place, f"{'watch' if self._watches else 'step'}() {place}"):
            said = Said.of(self.method.watch(stream)) if self._watches else self._stepped(stream)
        try:
            if self.entry.told and said.accept is None:
                raise ValueError("accept is None, expected True or False at each step: it has feedback")
            return checked(said, stream, self.classes)
        except ValueError as error:
            raise Broken(f"{self.entry.place} {place}: {error}") from None

    @property
    def carried(self) -> str:
        """What to do where the same stretch gets another result."""
        if self._watches:
            where = "reset it at the beginning of watch(self, stream)"
        elif callable(getattr(self.method, "start", None)):
            where = "reset all of it in start(self)"
        else:
            where = "define start(self) and reset it there"
        return f"State is carried over between stretches: {where}. Random numbers need a fixed seed."

    @property
    def _watches(self) -> bool:
        return not self.entry.told and callable(getattr(self.method, "watch", None))

    def _stepped(self, stream: Stream) -> Said:
        start = getattr(self.method, "start", None)
        if callable(start):
            start()
        rows = []
        for at, (probs, features) in enumerate(zip(stream.probs, stream.features, strict=True)):
            rows.append(Said.of(self.method.step(probs, features)))
            if at in self.late:
                self.method.feedback(*self.late[at])
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(Said._fields)
        mixed = [
            name
            for name, values in zip(Said._fields, columns, strict=True)
            if 0 < sum(value is None for value in values) < len(values)
        ]
        if mixed:
            raise ValueError(f"{mixed[0]} is given at some steps only, expected at all or none")
        return Said(*(None if not values or values[0] is None else np.array(values) for values in columns))


def checked(said: Said, stream: Stream, classes: int) -> Said:
    """Return what was said as arrays of fixed types; answers are the network's where none are given.

    Examples
    --------
    >>> stream = Stream(np.array([[0.25, 0.75]], np.float32), np.ones((1, 1), np.float32))
    >>> checked(Said([0.5]), stream, 2).answer.tolist()
    [1]
    >>> checked(Said([0.5, 0.5]), stream, 2)
    Traceback (most recent call last):
    ...
    ValueError: risk has shape (2,), expected (1,): one value for each step of the stretch
    """
    if said.risk is None:
        raise ValueError("risk is None, expected a number for each step")
    risk = _column("risk", said.risk, len(stream), "fiub").astype(np.float64)
    _refuse("risk", risk, ~np.isfinite(risk), "a finite number")
    answer = stream.probs.argmax(axis=1).astype(np.int64)
    if said.answer is not None:
        answer = _column("answer", said.answer, len(stream), "iu").astype(np.int64)
        _refuse("answer", answer, (answer < 0) | (answer >= classes), f"a class from 0 to {classes - 1}")
    accuracy = None
    switches = []
    for name, values in (("alarm", said.alarm), ("accept", said.accept)):
        if values is not None:
            values = _column(name, values, len(stream), "biu")
            _refuse(name, values, (values != 0) & (values != 1), "True or False")
            values = values.astype(bool)
        switches.append(values)
    if said.accuracy is not None:
        accuracy = _column("accuracy", said.accuracy, len(stream), "fiu").astype(np.float64)
        _refuse("accuracy", accuracy, ~((accuracy >= 0) & (accuracy <= 1)), "0 to 1")
    return Said(risk, answer, switches[0], accuracy, switches[1])


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


def _refuse(name: str, values: npt.NDArray[Any], bad: npt.NDArray[np.bool_], expected: str) -> None:
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name}[{at}] is {values[at]}, expected {expected}")
