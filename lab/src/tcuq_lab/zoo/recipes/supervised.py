"""What recipes with supervised exits share."""

from __future__ import annotations

from torch import Tensor

from ..recipe import Batch, Parts, Recipe


class Supervised(Recipe):
    """A recipe whose module is `Exits`: every exit has a cross-entropy of its own."""

    def terms(self, parts: Parts, batch: Batch) -> dict[str, Tensor]:
        """Return the cross-entropies of the head and of every exit, the first exit first."""
        final, _, *exits = parts
        found = {"head": self.entropy(final, batch)}
        for number, logits in enumerate(exits, 1):
            found[f"exit_{number}"] = self.entropy(logits, batch)
        return found
