"""Figures of one stream: whose answers are wrong, how soon an alarm comes, how near the accuracy is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tcuq.metrics.inputs import Bools, Floats, Ints

from ..reproduce.field.alarming.counting import Scene, events, false_starts
from ..reproduce.field.intervals import Drawn, drawn
from ..reproduce.field.stretch_figures import Auroc, EventShare, Figure, LeftAt, Mean, Median
from .files import CLEAN, Shown, Task
from .interface import Said, Stream

LEAST = 0.005
"""Added to both shares of errors before they are compared: a stream with hardly any error must not decide."""
AUROC, ERRORS, LEFT, RELATIVE = "error AUROC", "errors", "errors at 90 %", "relative errors"
FOUND, DELAY, CLEAN_ON, SHIFTED_ON = "found", "delay", "clean on", "shifted on"
COSTLY_ON, BENIGN_ON = "costly on", "benign on"
FALSE, ACCURACY = "false per 10,000", "accuracy error"
WRONG, EXCESS, ACCEPTED = "wrong of accepted", "excess", "accepted"
RATES = (0.01, 0.1)
"""Shares of steps that get a label in the track with late labels."""
HEADLINES = (RELATIVE, *(f"{EXCESS}, {rate:.0%}" for rate in RATES))
"""Columns whose mean is the headline: one track has the first, the other the rest."""
COVERAGE = 0.9
COSTLY = 0.1
"""Accuracy that a corruption costs the network, at least, to be one that an alarm should find."""
WINDOW = 200
"""Steps over which accuracy is taken."""


def joined(said: Sequence[Said]) -> Said:
    """Return what was said to all stretches of a stream as one."""
    return Said(*(None if each[0] is None else np.concatenate(each) for each in zip(*said, strict=True)))


def confidence(streams: Sequence[Stream]) -> Said:
    """Return what everything is compared with: the network's class, and 1 less its posterior."""
    probs = np.concatenate([each.probs for each in streams])
    return Said(1.0 - probs.max(axis=1).astype(np.float64), probs.argmax(axis=1).astype(np.int64))


def figures(task: Task, stream: str, said: Said, plain: Said) -> dict[str, Drawn]:
    """Return the figures of a stream, each with its replicates.

    Parameters
    ----------
    task : Task
    stream : str
    said : Said
        What the method said to all of its steps.
    plain : Said
        What `confidence` says.
    """
    shown = task.streams[stream]
    judged = shown.labels >= 0
    wrong = said.answer != shown.labels
    found: dict[str, Figure] = {ERRORS: Mean(wrong, shown.stretches, judged)}
    if stream != CLEAN:
        found[AUROC] = Auroc(said.risk, wrong, shown.stretches, judged)
        found[LEFT] = LeftAt(said.risk, wrong, shown.stretches, COVERAGE, judged)
    if said.alarm is not None:
        found |= _alarm(task, shown, said.alarm, stream)
    if said.accuracy is not None:
        found[ACCURACY] = _accuracy(shown, said.accuracy, wrong)
    name = f"bench {task.name} {stream}"  # the same draws for all methods: differences are paired
    values = {column: drawn(each, shown.count, name) for column, each in found.items()}
    if FALSE in values:
        values[FALSE] = values[FALSE]._replace(exposure=len(shown) / 10_000)
    if FOUND in values:
        events_ = len(shifts(said.alarm, shown, costly(task.sources, task.errors))[0])
        values[FOUND] = values[FOUND]._replace(events=float(events_))
    if stream != CLEAN:
        base = drawn(
            LeftAt(plain.risk, plain.answer != shown.labels, shown.stretches, COVERAGE, judged),
            shown.count,
            name,
        )
        values[RELATIVE] = over(values[LEFT], base)
    return values


def over(first: Drawn, second: Drawn) -> Drawn:
    """Return a paired ratio, with `LEAST` added to both.

    Examples
    --------
    >>> one = Drawn(0.495, np.array([0.495, 0.0], np.float32))
    >>> found = over(one, Drawn(0.995, np.array([0.995, 0.0], np.float32)))
    >>> found.value, found.replicates.tolist()
    (0.5, [0.5, 1.0])
    """
    ratios = (first.replicates + LEAST) / (second.replicates + LEAST)
    value = (first.value + LEAST) / (second.value + LEAST)
    return first._replace(value=value, replicates=ratios.astype(np.float32))


def _alarm(task: Task, shown: Shown, on: Bools, stream: str) -> dict[str, Figure]:
    shifted = shown.sources > 0
    found: dict[str, Figure] = {CLEAN_ON: Mean(on, shown.stretches, ~shifted)}
    if stream == CLEAN:
        starts, settled = counted(on, shown)
        found[FALSE] = Mean(starts, shown.stretches, settled)
        return found
    worse = costly(task.sources, task.errors)
    delays, numbers = shifts(on, shown, worse)
    names = [str(place) for place in np.flatnonzero(worse)]
    harmed = np.concatenate([scene.costly(names)[0] for _, scene in _scenes(shown)])
    times = {SHIFTED_ON: shifted, COSTLY_ON: harmed, BENIGN_ON: shifted & ~harmed}
    found |= {name: Mean(on, shown.stretches, of) for name, of in times.items() if of.any()}
    found[DELAY] = Median(delays, numbers, shown.count)
    found[FOUND] = EventShare(np.isfinite(delays), numbers, shown.count)
    return found


def costly(sources: Sequence[str], errors: Mapping[str, float]) -> Bools:
    """Return which sources cost the network enough accuracy that an alarm should find them.

    Examples
    --------
    >>> costly(["clean", "fog/1", "fog/5"], {"clean": 0.1, "fog/1": 0.12, "fog/5": 0.4}).tolist()
    [False, False, True]
    """
    return np.array([errors.get(name, 0.0) - errors["clean"] >= COSTLY for name in sources])


def counted(on: Bools, shown: Shown) -> tuple[Floats, Bools]:
    """Return where false alarms begin, per 10,000 steps, and the settled clean steps that count.

    Parameters
    ----------
    on : array of T booleans
    shown : Shown
    """
    starts, settled = np.zeros(len(shown)), np.zeros(len(shown), dtype=bool)
    for piece, scene in _scenes(shown):
        settled[piece] = scene.settled[0]
        starts[piece] = 10_000 * false_starts(on[None, piece], scene.settled)[0]
    return starts, settled


def shifts(on: Bools, shown: Shown, worse: Bools) -> tuple[Floats, Ints]:
    """Return the delay of each costly shift that begins within a stretch, and the number of its stretch.

    Delays are those of `tcuq_lab.reproduce.field.alarming.counting.Events`.

    Parameters
    ----------
    on : array of T booleans
    shown : Shown
    worse : array of booleans
        Which sources are costly.
    """
    delays, numbers = [], []
    for number, (piece, scene) in enumerate(_scenes(shown)):
        found = events(on[None, piece], scene)
        late = [
            delay
            for delay, name in zip(found.delays.tolist(), found.sources, strict=True)
            if worse[int(name)]
        ]
        delays += late
        numbers += [number] * len(late)
    return np.array(delays, dtype=np.float64), np.array(numbers, dtype=np.int64)


def _scenes(shown: Shown) -> Iterator[tuple[slice, Scene]]:
    """Give each stretch with its scene, whose sources are called by their numbers; 0 is clean."""
    names = ("clean", *map(str, range(1, int(shown.sources.max()) + 1)))
    for piece in shown.pieces():
        yield piece, Scene(shown.sources[None, piece], names)


def _accuracy(shown: Shown, accuracy: Floats, wrong: Bools) -> Figure:
    """Return the mean distance between accuracies at the end of windows and the share that was right."""
    off, last = np.zeros(len(shown)), np.zeros(len(shown), dtype=bool)
    for piece in shown.pieces():
        for end in range(piece.start + WINDOW, piece.stop + 1, WINDOW):
            window = slice(end - WINDOW, end)
            judged = shown.labels[window] >= 0
            if judged.any():
                off[end - 1] = abs(accuracy[end - 1] - (~wrong[window])[judged].mean())
                last[end - 1] = True
    return Mean(off, shown.stretches, last)
