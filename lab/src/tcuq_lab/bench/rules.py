"""Rules that a run checks: no step may depend on later ones, and the same input gives the same words."""

from __future__ import annotations

import numpy as np

from .entry import Broken, Fitted
from .interface import Said, Stream

TOLERANCE = 1e-5
"""Risks and accuracies that differ by less, of their value or their spread, are the same: a product of
float32 matrices rounds otherwise in a batch of another length."""


def cuts(length: int) -> list[int]:
    """Return the steps at which the future is taken away or changed.

    Examples
    --------
    >>> cuts(1600)
    [1, 401, 1067, 1599]
    """
    return sorted({1, length // 4 + 1, 2 * length // 3 + 1, length - 1} & set(range(1, length)))


def check_past(fitted: Fitted, stream: Stream, whole: Said, where: str) -> None:
    """Refuse a method whose words change when later steps are cut off, or are others.

    Parameters
    ----------
    fitted : Fitted
    stream : Stream
        A stretch.
    whole : Said
        What was said to it.
    where : str
        Name of the stretch in messages.
    """
    for cut in cuts(len(stream)):
        short = Stream(stream.probs[:cut], stream.features[:cut])
        said = fitted.say(short, f"{where} cut off after {cut} steps")
        _compare(fitted, said, whole, cut, where, "when later steps are cut off")
    middle = len(stream) // 2
    order = np.concatenate([np.arange(middle), np.arange(len(stream) - 1, middle - 1, -1)])
    probs, features = stream.probs[order], np.roll(stream.features[order], 1, axis=1)
    features[:middle] = stream.features[:middle]
    probs[middle:] = np.roll(probs[middle:], 1, axis=1)
    for each in (probs, features):
        each.setflags(write=False)
    other = fitted.say(Stream(probs, features), where)
    _compare(fitted, other, whole, middle, where, "when later steps are others")


def check_again(fitted: Fitted, stream: Stream, first: Said, where: str, how: str, remedy: str) -> None:
    """Refuse a method that says something else to the same stretch.

    Parameters
    ----------
    fitted : Fitted
    stream : Stream
    first : Said
        What was said before.
    where, how, remedy : str
        Name of the stretch, what was done again, and what to do, in messages.
    """
    step = difference(fitted.say(stream, where), first, len(stream))
    if step is not None:
        raise Broken(
            f"{fitted.entry.place} on {fitted.task}, {where}: step {step[1]} gets another {step[0]} {how}. "
            f"{remedy}"
        )


def difference(first: Said, second: Said, length: int) -> tuple[str, int] | None:
    """Return what differs first among the first steps of two, and at which step.

    Examples
    --------
    >>> one = Said(np.array([0.5, 0.5]), np.array([1, 1]))
    >>> difference(one, Said(np.array([0.5, 0.7]), np.array([1, 1])), 2)
    ('risk', 1)
    >>> difference(one, Said(np.array([0.5, 0.7]), np.array([1, 1])), 1) is None
    True
    """
    for name, a, b in zip(Said._fields, first, second, strict=True):
        if (a is None) != (b is None):
            return name, 0
        if a is None:
            continue
        if name in ("risk", "accuracy"):
            same = np.isclose(a[:length], b[:length], rtol=TOLERANCE, atol=TOLERANCE * float(np.std(b)))
        else:
            same = a[:length] == b[:length]
        if not same.all():
            return name, int(np.flatnonzero(~same)[0])
    return None


def _compare(fitted: Fitted, found: Said, whole: Said, cut: int, where: str, how: str) -> None:
    step = difference(found, whole, cut)
    if step is not None:
        raise Broken(
            f"{fitted.entry.place} on {fitted.task}, {where}: step {step[1]} gets another {step[0]} {how} "
            f"(from step {cut} on); use only the steps so far, and no statistics of the whole stretch"
        )
