"""What carries over to a kind of shift that the fit has not seen, by leaving each kind out in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.fixed import ONE
from ..metrics import auroc
from ..monitor.log import Log
from ..monitor.signals import FEATURE_BASED
from .deviations import WEIGHT
from .folds import shift_kinds
from .gated import learn_gated
from .learn_head import FAST, means_by_class, regression
from .logistic import log_loss
from .signal_table import Flags, Floats, Ints, SignalTable

MOST = 50_000
"""Steps of a table, drawn at random, that a choice looks at."""

Part = tuple[SignalTable, Flags, Flags]
"""A table, where it is wrong, and which rows are used."""


def choose_weighed(
    names: tuple[str, ...], parts: Sequence[Part], kinds: Sequence[Ints], l2: float, seed: int
) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return the signals that the uncertainty weighs: all, or those without features if these mislead.

    What a network's features do under one kind of shift may say the opposite under another.

    Parameters
    ----------
    names : tuple of str
        Signals in use.
    parts : sequence of (SignalTable, errors, rows)
        The log and its shuffle.
    kinds : sequence of arrays
        Kind of shift of each step, one array a part.
    seed : int
        Of the steps that are looked at.

    Returns
    -------
    names : tuple of str
    losses : dict
        Mean negative log-likelihood on kinds that were left out, with and without features; empty where there
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


def choose_evidence(
    names: Sequence[str],
    classes: int,
    log: Log,
    table: SignalTable,
    degraded: Flags,
    clean: tuple[SignalTable, Flags],
    l2: float,
) -> tuple[str, tuple[str, ...], dict[str, Any]]:
    """Return what an alarm should sum: "learned" or "deviations", and of which signals.

    Parameters
    ----------
    names : sequence of str
        Signals in use.
    log : Log
        With kinds of shift.
    table : SignalTable
        Of that log.
    degraded : array of booleans
        Its steps whose shift costs accuracy.
    clean : pair of SignalTable and booleans
        Clean steps.

    Returns
    -------
    how, names, scores
        Scores are the mean AUROC of degraded against clean steps, over kinds that were left out.
    """
    assert log.kinds is not None
    fast = tuple(name for name in names if name in FAST)
    kinds = [kind for kind in shift_kinds(log) if (degraded & (log.kinds == kind)).any()]
    if len(kinds) < 2:
        return "learned", fast, {}
    candidates: dict[str, tuple[str, tuple[str, ...]]] = {"learned": ("learned", fast)}
    for less in (("magnitude",), ("magnitude", "distance")):
        rest = tuple(name for name in fast if name not in less)
        if rest and rest != fast:
            candidates["learned without " + " and ".join(n for n in less if n in fast)] = ("learned", rest)
    deviating = tuple(name for name in names if name in WEIGHT)
    if deviating:
        candidates["deviations"] = ("deviations", deviating)
    judge = _Judge(classes, log.kinds.astype(np.int64), table, degraded, clean, l2)
    scores = {
        title: float(np.mean([judge(how, used, kind) for kind in kinds]))
        for title, (how, used) in candidates.items()
    }
    best = max(scores, key=lambda title: scores[title])
    return (*candidates[best], {"left_out": scores, "chosen": best})


class _Judge:
    """AUROC of degraded steps of a kind against clean ones, under evidence that did not see the kind."""

    def __init__(
        self,
        classes: int,
        kinds: Ints,
        table: SignalTable,
        degraded: Flags,
        clean: tuple[SignalTable, Flags],
        l2: float,
    ) -> None:
        self._classes, self._kinds, self._table, self._degraded = classes, kinds, table, degraded
        self._clean, self._l2 = clean, l2

    def __call__(self, how: str, names: tuple[str, ...], kind: int) -> float:
        clean_table, clean_rows = self._clean
        x, subject = _rows(clean_table, names, clean_rows)
        inside = self._degraded & (self._kinds == kind)
        held, held_subject = _rows(self._table, names, inside)
        means = means_by_class(x, subject, self._classes)
        if how == "deviations":
            spread = np.maximum((x - means[subject]).std(0), 1 / 256)
            coef = np.array([WEIGHT[name] for name in names]) / spread
            offsets = -(means @ coef)
        else:
            others = self._degraded & (self._kinds != kind)
            seen, seen_subject = _rows(self._table, names, others)
            target = np.arange(len(x) + len(seen)) >= len(x)
            coef, offsets = regression(
                np.concatenate([x, seen]),
                np.concatenate([subject, seen_subject]),
                target,
                self._classes,
                self._l2,
            )
        value = np.concatenate([x @ coef + offsets[subject], held @ coef + offsets[held_subject]])
        return auroc(value, np.arange(len(value)) >= len(x))


def _rows(table: SignalTable, names: Sequence[str], rows: Flags) -> tuple[Floats, Ints]:
    chosen = _drawn(rows, np.random.default_rng(4))
    return table.of(names, chosen) / ONE, table.subject[chosen].astype(np.int64)
