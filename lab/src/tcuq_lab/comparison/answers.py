"""What methods answered on a stream, and what was true there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcuq.metrics.inputs import Bools, Floats, Ints, wholes

from ..metrics.drops import Truth, finite
from .records import TOGETHER


@dataclass(frozen=True, eq=False)
class Scores:
    """A method's answer on a stream."""

    name: str
    risk: Floats
    predictions: Ints
    evidence: Floats = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name of a method is {self.name!r}, expected text")
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
                raise ValueError(f"{what} of {self.name} has {found} entries, expected {steps}")


@dataclass(frozen=True, eq=False)
class JudgedStream:
    """A stream with its truth and the answers of every method."""

    name: str
    truth: Truth
    answers: tuple[Scores, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name in TOGETHER:
            raise ValueError(
                f"name of a stream is {self.name!r}, expected text other than {', '.join(TOGETHER)}"
            )
        object.__setattr__(self, "answers", tuple(self.answers))
        names = self.methods
        for answer in self.answers:
            answer.check(len(self.truth))
            if names.count(answer.name) > 1:
                raise ValueError(f"method {answer.name} answers {names.count(answer.name)} times, expected 1")

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
        raise ValueError(f"method {method!r} has no answer on stream {self.name}, expected one of {have}")


def clean_only(what: str, streams: Sequence[JudgedStream]) -> None:
    """Refuse streams with a shifted step.

    Examples
    --------
    >>> clean_only("clean_dev", [JudgedStream("a", Truth([0, 0], [0, 3]), ())])
    Traceback (most recent call last):
    ...
    ValueError: stream a of clean_dev is shifted at step 1, expected clean steps alone
    """
    for stream in streams:
        bad = (stream.truth.kinds > 0) | ~stream.truth.known
        if bad.any():
            raise ValueError(
                f"stream {stream.name} of {what} is shifted at step {int(bad.argmax())}, expected "
                "clean steps alone"
            )


def evidence_runs(streams: Sequence[JudgedStream], method: str) -> list[Floats]:
    """Return what a method gives alarms, on each independent segment."""
    return [stream.answer(method).evidence[piece] for stream in streams for piece in stream.truth.pieces()]


def right_runs(streams: Sequence[JudgedStream], method: str) -> list[Bools]:
    """Return where a method is right, on each independent segment."""
    found = []
    for stream in streams:
        right = stream.truth.right(stream.answer(method).predictions)
        found += [right[piece] for piece in stream.truth.pieces()]
    return found


def judged_runs(streams: Sequence[JudgedStream]) -> list[Bools]:
    """Return which steps are judged, on each independent segment."""
    return [stream.truth.judged[piece] for stream in streams for piece in stream.truth.pieces()]
