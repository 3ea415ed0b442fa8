"""What a method of the benchmark is given, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

ASKED = 2000
"""Clean steps per false alarm that alarms should aim for, so that their delays can be compared."""

MAX_ERROR = 0.05
"""Share of accepted answers that may be wrong in the track with late labels."""


@dataclass(frozen=True, eq=False)
class Stream:
    """One stretch of a stream, in order; nothing else is known about it.

    Parameters
    ----------
    probs : float32 array of shape (T, L)
        Posteriors as an int8 softmax leaves them: multiples of 1/256, at most 255/256. A row sums to about 1.
    features : float32 array of shape (T, d)
        Penultimate layer, from 8-bit values.

    Examples
    --------
    >>> stream = Stream(np.full((4, 2), 0.5, np.float32), np.zeros((4, 8), np.float32))
    >>> stream.probs.max(axis=1).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    probs: Floats
    features: Floats

    def __len__(self) -> int:
        return len(self.probs)


@dataclass(frozen=True, eq=False)
class Recorded:
    """Several stretches, one after the other.

    Parameters
    ----------
    probs : float32 array of shape (T, L)
        As of `Stream`.
    features : float32 array of shape (T, d)
        As of `Stream`.
    stretches : array of T integers
        Steps of one independent stretch have the same number and lie together.

    Examples
    --------
    >>> recorded = Recorded(np.ones((3, 2)), np.ones((3, 1)), np.array([0, 0, 1]))
    >>> [len(recorded.probs[piece]) for piece in recorded.pieces()]
    [2, 1]
    """

    probs: Floats
    features: Floats
    stretches: Ints

    def __len__(self) -> int:
        return len(self.probs)

    def pieces(self) -> list[slice]:
        """Return the stretches as slices.

        Returns
        -------
        list of slice
            One for each stretch, in order.

        Examples
        --------
        >>> Recorded(np.ones((3, 2)), np.ones((3, 1)), np.array([0, 0, 1])).pieces()
        [slice(0, 2, None), slice(2, 3, None)]
        """
        edges = [0, *(np.flatnonzero(np.diff(self.stretches)) + 1).tolist(), len(self)]
        return [slice(a, b) for a, b in pairwise(edges) if b > a]


class NoLabels(AttributeError):
    """A method of the track without labels asked for labels."""


@dataclass(frozen=True, eq=False)
class Dev(Recorded):
    """Development data: what `fit` gets.

    Parameters
    ----------
    probs : float32 array of shape (T, L)
        As of `Stream`.
    features : float32 array of shape (T, d)
        As of `Stream`.
    stretches : array of T integers
        As of `Recorded`.
    clean : Recorded
        A second log that is known to be clean.
    labels : array of T integers, optional
        True classes; not given in the track without labels.
    shifted : uint8 array of T, optional
        0 where the input is clean, else the number of the corruption type; not given without labels.

    Examples
    --------
    >>> still = Recorded(np.ones((1, 2)), np.ones((1, 1)), np.array([0]))
    >>> hasattr(Dev(still.probs, still.features, still.stretches, still), "labels")
    False
    """

    clean: Recorded
    labels: Ints | None = field(default=None, repr=False)
    shifted: npt.NDArray[np.uint8] | None = field(default=None, repr=False)

    def __getattribute__(self, name: str) -> Any:
        """Refuse labels that are not there: compared with an array, None would be a quiet False."""
        found = super().__getattribute__(name)
        if found is None and name in ("labels", "shifted"):
            raise NoLabels(f"dev.{name} is not given in the track without labels; set uses_labels = True")
        return found


class Said(NamedTuple):
    """What a method says to a stretch: arrays of one value a step, or single values from `step`.

    Parameters
    ----------
    risk : number
        Higher means that the answer is more likely wrong. Any scale.
    answer : integer, optional
        The class that the method answers with; the network's own (largest posterior) by default.
    alarm : boolean, optional
        Whether the method says that the input has degraded.
    accuracy : number from 0 to 1, optional
        Expected share of right answers over the last 200 steps.
    accept : boolean, optional
        Whether the answer is given; a method with `feedback` has to say it.

    Examples
    --------
    >>> Said.of([0.25, 0.5]).risk, Said.of({"risk": [0.25], "alarm": [True]}).alarm
    ([0.25, 0.5], [True])
    >>> Said.of({"rsk": [0.25]})
    Traceback (most recent call last):
    ...
    ValueError: unknown key 'rsk'; allowed: risk, answer, alarm, accuracy, accept
    """

    risk: Any
    answer: Any = None
    alarm: Any = None
    accuracy: Any = None
    accept: Any = None

    @classmethod
    def of(cls, value: Any) -> Said:
        """Return what a method returned: a `Said`, a mapping with its names, or risk alone.

        Parameters
        ----------
        value : Said, mapping or array
            What a method returned.

        Returns
        -------
        Said
            The same in one form.

        Raises
        ------
        ValueError
            For names that are not known, and for values that are no numbers.
        """
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            return cls(value)
        odd = [str(name) for name in value if name not in cls._fields]
        if odd or "risk" not in value:
            wrong = f"unknown key {odd[0]!r}" if odd else "key 'risk' is missing"
            raise ValueError(f"{wrong}; allowed: {', '.join(cls._fields)}")
        return cls(**value)
