"""What was true on a stream: labels, corruption types, independent segments, and which steps count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import known
from tcuq.metrics.inputs import Bools, Ints, flags, wholes

from .events import pieces

GROUPS = ("all", "seen", "unseen")


@dataclass(frozen=True, eq=False)
class Truth:
    """What was true on a stream."""

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
