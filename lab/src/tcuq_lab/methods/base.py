"""BASE: one minus the largest posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .method import Answer, Method, MethodCost, Observed
from .scores import unsure


class Base(Method):
    """The network's own doubt, 1 - max p; nothing is tuned, nothing is remembered."""

    name = "base"

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return 1 - max p of every step."""
        return Answer(seen.probs, unsure(seen.probs))

    def cost(self, shape: tuple[int, ...]) -> MethodCost:
        """Return one pass."""
        from .counting import counted

        return counted(self.loaded(), shape)
