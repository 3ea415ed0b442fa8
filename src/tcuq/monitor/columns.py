"""The columns of a log in a table, by name: one convention for CSV, Parquet, Arrow and data frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..base.errors import InputError
from ..base.unknown import guess

ALIASES = {"labels": "label", "segments": "segment"}
"""Either name is accepted in every format."""

PLAIN = ("label", "segment", "shifted", "step")
"""Columns of one integer a step; `step` is accepted and not read."""

EXPECTED = "p0, p1, ..., f0, f1, ..., label, segment, shifted, step"


def numbered(names: Sequence[str], letter: str) -> list[str]:
    """Return the columns p0, p1, ... or f0, f1, ... in order; refuse a gap.

    Without the first of them there are none: a column ``f1`` alone is a score, not a feature.
    """
    if f"{letter}0" not in names:
        return []
    numbers = {int(name[1:]) for name in names if re.fullmatch(rf"{letter}(0|[1-9][0-9]{{0,8}})", name)}
    last = max(numbers)
    if len(numbers) <= last:
        gap = next(number for number in range(last + 1) if number not in numbers)
        raise InputError(
            "missing", f"column '{letter}{gap}' is missing, expected {letter}0 to {letter}{last}"
        )
    return [f"{letter}{number}" for number in range(last + 1)]


class Layout(NamedTuple):
    """Which columns of a table hold what.

    `names` are those of all columns in order, as this package calls them; columns of posteriors and of
    features hold one number each, or a single one holds lists.
    """

    names: list[str]
    probs: list[str]
    features: list[str]

    @classmethod
    def of(cls, given: Sequence[str], lists: bool = False) -> Layout:
        """Find the columns of a log among those of a table.

        With `lists`, `probs` and `features` may stand for p0, p1, ... and f0, f1, ...
        """
        names = [ALIASES.get(name.strip(), name.strip()) for name in given]
        if "p" in names and "p0" not in names:
            names[names.index("p")] = "p0"
        probs, features = cls._table(names, "probs", lists), cls._table(names, "features", lists)
        known = {*probs, *features, *PLAIN}
        for place, name in enumerate(names):
            if name in known and name in names[:place]:
                raise InputError("conflict", f"column {name!r} is there twice, expected once")
        if not probs:
            expected = f"probs or {EXPECTED}" if lists else EXPECTED
            hint = guess(names, "p0") or (guess(names, "probs") if lists else "")
            raise InputError("missing", f"column 'p0' is missing, expected {expected}{hint}")
        return cls(names, probs, features)

    @staticmethod
    def _table(names: list[str], name: str, lists: bool) -> list[str]:
        single = numbered(names, name[0])
        if not lists or name not in names:
            return single
        if single:
            raise InputError("conflict", f"{name} are there twice, as {name} and as {single[0]}; remove one")
        return [name]

    @property
    def known(self) -> tuple[str, ...]:
        """Names of the columns that a log may have here."""
        return (*self.probs, *self.features, *PLAIN)

    @property
    def noted(self) -> list[str]:
        """Names of the columns that a person gave; pandas adds some for its index, which nobody misses."""
        return [name for name in self.names if not name.startswith("__index_level_")]

    @property
    def unknown(self) -> list[str]:
        """Names of the columns that are not read."""
        return [name for name in self.noted if name not in self.known]
