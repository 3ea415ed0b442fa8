"""Do labels and predictions agree? If they hardly do, labels may be in another class order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.spelling import option
from ..log.log import Log

FEWEST = 10
"""Examples of a class from which on its predictions count."""

GAIN = 0.1
"""Share of the predictions that another order must put right."""

HARDLY = 0.1
"""Share of the way from chance to always right up to which a model is hardly better than chance."""

SHOWN = 20
"""Classes at most whose order is written out."""

Ints = npt.NDArray[np.int64]


def label_note(log: Log) -> str | None:
    """Say that labels are probably in another class order, or else that the model is too bad; else None."""
    order, better = order_note(log), beside_chance(log)
    if order is not None or better is None:
        return order
    wrong = f"{log.errors()[_clean(log)].mean():.0%} of the predictions on clean steps are wrong"
    needed = "until labels, order of the classes and range of the model's inputs are right"
    return f"the model is {better}: {wrong}; a monitor cannot help {needed}"


def _clean(log: Log) -> Any:
    return slice(None) if log.shifted is None else ~log.shifted


def order_note(log: Log, names: Sequence[str] | None = None) -> str | None:
    """Say that the classes are probably in another order than the outputs, and how to put it right."""
    if log.labels is None:
        return None
    labels, answers = (each[_clean(log)].astype(np.int64) for each in (log.labels, log.predictions()))
    order = other_order(labels, answers, log.classes)
    if order is None:
        return None
    before, after = (np.mean(each == answers) for each in (labels, np.where(labels < 0, -1, order[labels])))
    right = f"{before:.1%} of the predictions are right, and {after:.1%} would be in another order"
    text = f"{right} of the classes".replace("%", " %")
    if names is None:
        numbers = f", y = numpy.array({order.tolist()})[y]" if log.classes <= SHOWN else ""
        return f"{text}: labels are probably numbered otherwise than the outputs; renumber them{numbers}"
    way = f"{option('names')} in the order of the outputs"
    if log.classes <= SHOWN:
        way = option("names", [str(names[at]) for at in np.argsort(order).tolist()])
    return f"{text}: names are probably sorted otherwise than the outputs; pass {way}"


def beside_chance(log: Log) -> str | None:
    """Say that a model is at chance, or no better than one class, on clean steps; else None."""
    if log.labels is None:
        return None
    clean = _clean(log)
    labels, right, chance = log.labels[clean], ~log.errors()[clean], 1 / log.classes
    if not right.size:
        return None
    share = float(right.mean())
    noise = (chance * (1 - chance) / right.size) ** 0.5
    stays = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    if len(stays) >= FEWEST:  # steps of one stay, such as of one example that is held, are right together
        weights = np.diff(stays, append=right.size) / right.size
        off = np.add.reduceat(right - share, stays) / right.size
        noise = max(noise, float((off**2).sum() / (1 - (weights**2).sum())) ** 0.5)
    if share <= chance + max(2 * noise, HARDLY * (1 - chance)):
        return f"{'hardly' if share > chance + 2 * noise else 'no'} better than chance"
    most = int(np.bincount(labels[labels >= 0]).argmax())
    usual = float((labels == most).mean())
    return None if share > usual else f"no better than always answering class {most}, wrong {1 - usual:.0%}"


def other_order(labels: Ints, answers: Ints, classes: int) -> Ints | None:
    """Return the output that seems to stand for each class, where that is not the one of its number."""
    # Each class must have an output of its own that most of its examples get, and one of another number must
    # get it twice as often: a bad model mixes classes up, but not one for one.
    known = labels >= 0
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (labels[known], answers[known]), 1)
    sizes = counts.sum(axis=1)
    seen = np.flatnonzero(sizes)
    best = counts.argmax(axis=1)
    moved = seen[best[seen] != seen]
    if not len(moved) or len(set(best[seen].tolist())) < len(seen):
        return None
    here = counts[moved, best[moved]]
    clear = (2 * here > sizes[moved]) & (here >= 2 * counts[moved, moved]) & (sizes[moved] >= FEWEST)
    gain = float((here - counts[moved, moved]).sum()) / sizes.sum()
    if not clear.all() or gain < max(GAIN, 2 / sizes.sum() ** 0.5):
        return None
    order = np.full(classes, -1)
    order[seen] = best[seen]
    # Classes without an example keep their place, or get what is left.
    free = sorted(set(range(classes)) - set(best[seen].tolist()))
    for each in np.flatnonzero(order < 0).tolist():
        order[each] = free.pop(free.index(each) if each in free else 0)
    return order
