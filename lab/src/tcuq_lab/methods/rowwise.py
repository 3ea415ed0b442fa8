"""Methods without memory: every setting's risk of an example is known when it is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .method import Answer, Method, Observed


class Rowwise(Method):
    """A method that records a risk an example and setting, in `extra["risks"]` (n, settings).

    A bank of such columns is smaller than one of what several networks say. Answers are the same in every
    setting, so that settings are ranked on the same errors.
    """

    reads_features = False
    columns: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Settings that are recorded, where a method shares the bank of one with more of them; else the grid."""

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return the column of the setting."""
        if setting not in self.grid:
            raise ValueError(f"setting {dict(setting)} is unknown, expected one of the grid of {self.name}")
        return Answer(seen.probs, seen.extra["risks"][:, (self.columns or self.grid).index(setting)])
