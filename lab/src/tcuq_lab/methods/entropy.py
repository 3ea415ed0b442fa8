"""ENTROPY: the entropy of the posterior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Base
from .method import Answer, Observed
from .scores import entropy


class Entropy(Base):
    """The entropy of the posterior over the log of the number of classes; nothing is tuned."""

    name = "entropy"

    def score(self, seen: Observed, setting: Mapping[str, Any]) -> Answer:
        """Return the entropy of every step, in [0, 1]."""
        return Answer(seen.probs, entropy(seen.probs))
