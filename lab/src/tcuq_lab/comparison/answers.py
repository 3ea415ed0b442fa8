"""What methods answered on a stream, and what was true there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known
from tcuq.metrics.inputs import Bools, Floats, Ints, flags, wholes

from .events import finite, pieces
from .records import TOGETHER

GROUPS = ("all", "seen", "unseen")


@dataclass(frozen=True, eq=False)
class Scores:
    """A method's answer on a stream.

    Parameters
    ----------
    name : str
    risk : array of T finite numbers
        Higher is riskier.
    predictions : array of T integers
    evidence : array of T finite numbers, optional
        What alarms are given; the risk by default. Higher speaks for a change to the worse.

    Examples
    --------
    >>> Scores("mine", [0.5, float("nan")], [0, 1])
    Traceback (most recent call last):
    ...
    ValueError: risk of mine[1] is nan; any number but NaN is accepted
    """

    name: str
    risk: Floats
    predictions: Ints
    evidence: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name of a method is {self.name!r}; a text is accepted")
        put = object.__setattr__
        put(self, "risk", finite(f"risk of {self.name}", self.risk))
        given = self.risk if self.evidence is None else self.evidence
        put(self, "evidence", finite(f"evidence of {self.name}", given))
        put(self, "predictions", wholes(f"predictions of {self.name}", self.predictions))

    def check(self, steps: int) -> None:
        """Refuse an answer of the wrong length."""
        for what in ("risk", "predictions", "evidence"):
            found = len(getattr(self, what))
            if found != steps:
                raise ValueError(f"{what} of {self.name} has {found} entries; {steps} is accepted")


@dataclass(frozen=True, eq=False)
class Truth:
    """What was true on a stream.

    Parameters
    ----------
    labels : array of T integers
        Below 0 where the input is none of the classes; no prediction is right there.
    kinds : array of T integers, optional
        0 where the input is clean, else the kind of shift; all clean when left out.
    segments : array of T integers, optional
        Independent streams within this one; windows and statistics begin anew where the number changes.
    judged : array of T booleans, optional
        Steps that count; all when left out. A device does not know them, so statistics and smoothing run
        over every step. Accuracy windows count where all their steps are judged; clean scores, run lengths
        and false alarms where their own step is; a change where any step of its stretch is, and an alarm
        anywhere in that stretch finds it.
    names : sequence of str
        Name of each kind, "clean" first; kinds beyond them go by their number.
    """

    labels: Ints
    kinds: Ints = None  # type: ignore[assignment]
    segments: Ints | None = None
    judged: Bools = None  # type: ignore[assignment]
    names: tuple[str, ...] = ("clean",)

    def __post_init__(self) -> None:
        put = object.__setattr__
        labels = wholes("labels", self.labels)
        kinds = np.zeros(len(labels), int) if self.kinds is None else self.kinds
        judged = np.ones(len(labels), bool) if self.judged is None else self.judged
        put(self, "labels", labels)
        put(self, "kinds", wholes("kinds", kinds, low=0))
        put(self, "judged", flags("judged", judged))
        put(self, "names", tuple(self.names))
        if self.segments is not None:
            put(self, "segments", wholes("segments", self.segments))
        for what in ("kinds", "judged", "segments"):
            column = getattr(self, what)
            if column is not None and len(column) != len(labels):
                raise ValueError(f"{what} has {len(column)} entries, labels has {len(labels)}")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def known(self) -> Bools:
        """Steps whose input is one of the classes."""
        return np.asarray(self.labels >= 0)

    def right(self, predictions: npt.NDArray[np.int64]) -> Bools:
        """Return where predictions are right."""
        return np.asarray((predictions == self.labels) & self.known)

    def pieces(self) -> list[slice]:
        """Return the independent segments."""
        return pieces(len(self), self.segments)

    def name_of(self, kind: int) -> str:
        """Return the name of a kind."""
        return self.names[kind] if kind < len(self.names) else str(kind)

    def members(self, group: str, seen: Iterable[str]) -> Ints:
        """Return the kinds on this stream that belong to a group.

        "seen" are those whose name development saw, "unseen" the others, leaving out kinds whose steps
        are none of the classes; "all" is everything.
        """
        known("group", group, GROUPS)
        kinds = np.unique(self.kinds[self.kinds > 0])
        if group == "all":
            return np.asarray(kinds, dtype=np.int64)
        inside = set(np.unique(self.kinds[self.known & (self.kinds > 0)]).tolist())
        names = set(seen)
        chosen = [
            k for k in kinds.tolist() if k in inside and (self.name_of(k) in names) == (group == "seen")
        ]
        return np.array(chosen, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Case:
    """A stream with its truth and the answers of every method.

    Parameters
    ----------
    name : str
        Not one of those that records over all streams together have: pooled, dev, joint.
    truth : Truth
    answers : sequence of Scores
        One for each method, names differing.
    """

    name: str
    truth: Truth
    answers: tuple[Scores, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name in TOGETHER:
            raise ValueError(
                f"name of a stream is {self.name!r}; a text other than {', '.join(TOGETHER)} is accepted"
            )
        object.__setattr__(self, "answers", tuple(self.answers))
        names = self.methods
        for answer in self.answers:
            answer.check(len(self.truth))
            if names.count(answer.name) > 1:
                raise ValueError(
                    f"method {answer.name} answers {names.count(answer.name)} times; 1 is accepted"
                )

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in order."""
        return [answer.name for answer in self.answers]

    def answer(self, method: str) -> Scores:
        """Return the answer of a method."""
        for answer in self.answers:
            if answer.name == method:
                return answer
        have = ", ".join(self.methods)
        raise ValueError(f"method {method!r} has no answer on stream {self.name}; one of {have} is accepted")


def clean_only(what: str, streams: Sequence[Case]) -> None:
    """Refuse streams with a shifted step.

    Examples
    --------
    >>> clean_only("clean_dev", [Case("a", Truth([0, 0], [0, 3]), ())])
    Traceback (most recent call last):
    ...
    ValueError: stream a of clean_dev is shifted at step 1; clean steps alone are accepted
    """
    for stream in streams:
        bad = (stream.truth.kinds > 0) | ~stream.truth.known
        if bad.any():
            raise ValueError(
                f"stream {stream.name} of {what} is shifted at step {int(bad.argmax())}; "
                "clean steps alone are accepted"
            )


def evidence_runs(streams: Sequence[Case], method: str) -> list[Floats]:
    """Return what a method gives alarms, on each independent segment."""
    return [stream.answer(method).evidence[piece] for stream in streams for piece in stream.truth.pieces()]


def right_runs(streams: Sequence[Case], method: str) -> list[Bools]:
    """Return where a method is right, on each independent segment."""
    found = []
    for stream in streams:
        right = stream.truth.right(stream.answer(method).predictions)
        found += [right[piece] for piece in stream.truth.pieces()]
    return found


def judged_runs(streams: Sequence[Case]) -> list[Bools]:
    """Return which steps are judged, on each independent segment."""
    return [stream.truth.judged[piece] for stream in streams for piece in stream.truth.pieces()]
