"""The track with late labels: which steps get one, and how wrong the accepted answers are."""

from __future__ import annotations

import zlib

import numpy as np

from ..reproduce.field.intervals import Drawn, drawn
from ..reproduce.field.stretch_figures import Mean
from .entry import Fitted
from .files import Shown, Task, frozen
from .interface import MAX_ERROR, Said, Stream
from .rules import check_again
from .scores import ACCEPTED, EXCESS, RATES, WRONG

LATE_BY = 100
"""Steps from an answer to its label."""
LATE_COLUMNS = [f"{column}, {rate:.0%}" for rate in RATES for column in (EXCESS, WRONG, ACCEPTED)]


def told(fitted: Fitted, again: Fitted, task: Task, stream: str) -> tuple[dict[str, Drawn], int]:
    """Run a method on a stream as a whole, once for each share of labels; return figures and steps taken.

    Parameters
    ----------
    fitted, again : Fitted
        The same method, fitted twice.
    task : Task
    stream : str
        Name of a test stream.
    """
    shown, parts = task.streams[stream], task.given(stream)
    whole = Stream(
        frozen(np.concatenate([each.probs for each in parts])),
        frozen(np.concatenate([each.features for each in parts])),
    )
    first = Stream(whole.probs[: len(parts[0])], whole.features[: len(parts[0])])
    found: dict[str, Drawn] = {}
    name = f"bench {task.name} {stream}"
    for rate in RATES:
        where = f"stream {stream!r}, {rate:.0%} labels"
        fitted.late = again.late = labels_of(shown, name, rate)
        said = fitted.say(whole, where)
        check_again(fitted, first, said, where, "the second time", fitted.carried)
        check_again(again, first, said, where, "after a second fit", "Seed the random numbers of fit.")
        found |= {f"{column}, {rate:.0%}": each for column, each in errors(shown, said, name).items()}
    return found, len(RATES) * (len(whole) + len(first))


def labels_of(shown: Shown, name: str, rate: float) -> dict[int, tuple[int, int]]:
    """Return after which steps a label comes: of which step, and the true class.

    The draws are the same for all methods, and those of a higher rate hold those of a lower one.

    Examples
    --------
    >>> many = Shown(*(np.zeros(1000, int),) * 4)
    >>> few, more = labels_of(many, "any", 0.01), labels_of(many, "any", 0.1)
    >>> len(few), len(more), few.items() <= more.items(), min(at - step for at, (step, _) in few.items())
    (9, 94, True, 100)
    """
    draws = np.random.default_rng([19, zlib.crc32(name.encode())]).random(len(shown))
    steps = np.flatnonzero((draws < rate) & (shown.labels >= 0)).tolist()
    return {step + LATE_BY: (step, int(shown.labels[step])) for step in steps}


def errors(shown: Shown, said: Said, name: str) -> dict[str, Drawn]:
    """Return what accepted answers of the second half of a stream are worth; no answer is no excess.

    Parameters
    ----------
    shown : Shown
    said : Said
        What the method said to all of its steps.
    name : str
        Seeds the replicates.
    """
    second = (np.arange(len(shown)) >= len(shown) // 2) & (shown.labels >= 0)
    stretches, accept = shown.stretches[second], said.accept[second]
    count = len(np.unique(stretches))
    wrong = drawn(Mean((said.answer != shown.labels)[second], stretches, accept), count, name)
    above = np.fmax(0, wrong.replicates - np.float32(MAX_ERROR))
    return {
        WRONG: wrong,
        EXCESS: wrong._replace(value=float(np.fmax(0, wrong.value - MAX_ERROR)), replicates=above),
        ACCEPTED: drawn(Mean(accept, stretches), count, name),
    }
