"""What carries over to a kind of shift that the fit has not seen, by leaving each kind out in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..monitor.signals import FEATURE_BASED
from .gated import learn_gated
from .logistic import log_loss
from .signal_table import Flags, Ints, SignalTable

MOST = 50_000
"""Steps of a table, drawn at random, that a choice looks at."""

Part = tuple[SignalTable, Flags, Flags]
"""A table, where it is wrong, and which rows are used."""


def choose_weighed(
    names: tuple[str, ...], parts: Sequence[Part], kinds: Sequence[Ints], l2: float, seed: int
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the signals that the uncertainty weighs: all, or those without features if these mislead.

    What a network's features do under one kind of shift may say the opposite under another. Also return the
    mean negative log-likelihood on kinds that were left out, with and without features; empty where there
    is nothing to choose, or fewer than two kinds to tell.
    """
    bare = tuple(name for name in names if name not in FEATURE_BASED)
    left_out = [int(kind) for kind in np.unique(kinds[0]) if kind]
    if len(bare) in (0, len(names)) or len(left_out) < 2:
        return names, {}
    rng = np.random.default_rng([seed, 3])
    some = [_drawn(rows, rng) for _, _, rows in parts]
    losses = {"with features": 0.0, "without features": 0.0}
    for what, chosen in (("with features", names), ("without features", bare)):
        found: list[float] = []
        for kind in left_out:
            kept = [rows & (kind_of != kind) for rows, kind_of in zip(some, kinds, strict=True)]
            learned = learn_gated(
                chosen,
                [(table, wrong, rows) for (table, wrong, _), rows in zip(parts, kept, strict=True)],
                l2,
            )
            for (table, wrong, _), rows, kind_of in zip(parts, some, kinds, strict=True):
                held = rows & (kind_of == kind)
                if held.any():
                    logits = learned.logits(table, held)
                    found.append(log_loss(logits, wrong[held], np.ones(int(held.sum()))))
        losses[what] = float(np.mean(found))
    better = names if losses["with features"] < losses["without features"] else bare
    return better, losses


def _drawn(rows: Flags, rng: np.random.Generator) -> Flags:
    """Return at most `MOST` of some rows."""
    if rows.sum() <= MOST:
        return rows
    kept = np.zeros(len(rows), dtype=bool)
    kept[rng.choice(np.flatnonzero(rows), MOST, replace=False)] = True
    return kept
