"""Do labels and answers agree? Where they hardly do, scale or order of the classes are the likely reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..monitor.log import Log

FEWEST = 10
"""Examples of a class from which on its answers count."""

GAIN = 0.1
"""Share of the answers that another order must put right."""

SHOWN = 20
"""Classes at most whose order is written out."""

Ints = npt.NDArray[np.int64]


def by_chance(log: Log) -> str | None:
    """Say what to check where a model is right no more often than by chance, on clean steps.

    Parameters
    ----------
    log : Log

    Examples
    --------
    >>> by_chance(Log(np.eye(2)[[0, 1] * 30], labels=[0, 0, 1, 1] * 15))
    'no better than chance; check the range of the inputs (`input_range`) and the order of the classes \
(`names`)'
    >>> by_chance(Log(np.eye(2)[[0, 1] * 30], labels=[0, 1] * 30))
    """
    if log.labels is None:
        return None
    clean = np.ones(len(log), bool) if log.shifted is None else ~log.shifted
    right, chance, labels = ~log.errors()[clean], 1 / log.classes, log.labels[clean]
    if not right.size:
        return None
    error = (chance * (1 - chance) / right.size) ** 0.5
    stays = np.flatnonzero(np.r_[True, labels[1:] != labels[:-1]])
    if len(stays) >= FEWEST:  # steps of one stay, such as of one example that is held, are right together
        sums = np.add.reduceat(right - chance, stays)
        error = max(error, float((sums**2).sum()) ** 0.5 / right.size)
    if right.mean() > chance + 2 * error:
        return None
    what = "the range of the inputs (`input_range`) and the order of the classes (`names`)"
    return f"no better than chance; check {what}"


def labels_doubt(log: Log) -> str | None:
    """Say why labels and predictions cannot belong together: classes in another order, or chance.

    Parameters
    ----------
    log : Log

    Examples
    --------
    >>> labels = np.arange(60) % 3
    >>> labels_doubt(Log(np.eye(3)[(labels + 1) % 3], labels=labels))
    'the labels look permuted: 0.0 % of the predictions are right, and 100.0 % would be in another order of \
the classes'
    """
    if log.labels is None:
        return None
    clean = np.ones(len(log), bool) if log.shifted is None else ~log.shifted
    labels, answers = log.labels[clean], log.predictions()[clean]
    order = other_order(labels, answers, log.classes)
    if order is not None:
        return f"the labels look permuted: {_reordered(labels, answers, order)}"
    hint = by_chance(log)
    return None if hint is None else f"the model is {hint}"


def other_order(labels: Ints, answers: Ints, classes: int) -> Ints | None:
    """Return the output that seems to stand for each class, where that is not the one of its number.

    Each class must have an output of its own that most of its examples get, and those that get another one
    than their number must get it twice as often. A bad model mixes classes up, but not one for one.

    Parameters
    ----------
    labels, answers : array of int
        True and predicted class of each step; labels below 0 are left out.
    classes : int

    Examples
    --------
    >>> labels = np.arange(60) % 3
    >>> other_order(labels, (labels + 1) % 3, 3).tolist()
    [1, 2, 0]
    >>> other_order(labels, np.where(labels == 0, 1, labels), 3)
    """
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


def order_note(labels: Ints, answers: Ints, classes: int, names: Sequence[str] | None) -> str | None:
    """Say that the classes are probably in another order than the outputs, and how to put it right.

    Parameters
    ----------
    labels, answers : array of int
    classes : int
    names : sequence of str, optional
        Of the classes, where labels are places in them: of folders, or of labels that are texts.

    Examples
    --------
    >>> labels = np.arange(60) % 3
    >>> order_note(labels, (labels + 1) % 3, 3, ("dog", "plane", "cat"))
    '0.0 % of the predictions are right, and 100.0 % would be in another order of the classes: names are \
probably sorted otherwise than the outputs; pass `names=cat,dog,plane`'
    >>> order_note(labels, (labels + 1) % 3, 3, None)
    '0.0 % of the predictions are right, and 100.0 % would be in another order of the classes: labels are \
probably numbered otherwise than the outputs; renumber them, y = numpy.array([1, 2, 0])[y]'
    """
    order = other_order(labels, answers, classes)
    if order is None:
        return None
    said = _reordered(labels, answers, order)
    if names is None:
        numbers = f", y = numpy.array({order.tolist()})[y]" if classes <= SHOWN else ""
        return f"{said}: labels are probably numbered otherwise than the outputs; renumber them{numbers}"
    told = "=" + ",".join(names[at] for at in np.argsort(order).tolist()) if classes <= SHOWN else ""
    hint = "" if told else " in the order of the outputs"
    return f"{said}: names are probably sorted otherwise than the outputs; pass `names{told}`{hint}"


def _reordered(labels: Ints, answers: Ints, order: Ints) -> str:
    before, after = (np.mean(each == answers) for each in (labels, np.where(labels < 0, -1, order[labels])))
    said = (
        f"{before:.1%} of the predictions are right, and {after:.1%} would be in another order of the classes"
    )
    return said.replace("%", " %")
