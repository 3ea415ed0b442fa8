"""The streams of one network as logs: what the network said, what was true, and which source was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tcuq.monitor.log import Log

from ...streams import Description, build, labels_for
from .plan import UnitPlan

Names = npt.NDArray[np.str_]


class Logs(Protocol):
    """Whatever gives the log of a stream, such as `tcuq_lab.reproduce.stream_logs.StreamLogs`."""

    def log(self, description: Description, network: str, *, seed: int | None = None) -> Log:
        """Return what a network says to a stream."""

    def joined(self, descriptions: Sequence[Description], network: str, *, seed: int | None = None) -> Log:
        """Return what a network says to several streams, as one log with a segment each."""


@dataclass(frozen=True, eq=False)
class Shown:
    """A test stream.

    Parameters
    ----------
    log : Log
    sources : array of T str
        What each step shows: "clean", "fog/3".
    told : Log, optional
        A development stream of the same law, for rivals that are told it.
    """

    log: Log
    sources: Names
    told: Log | None = None


@dataclass(frozen=True, eq=False)
class Unit:
    """All logs of one network.

    Parameters
    ----------
    seed : int
    dev, clean_dev, clean_test : Log
    streams : mapping of str to Shown
        By the name of the stream.
    kinds : mapping of str to Shown
        Shuffled streams by corruption type.
    """

    seed: int
    dev: Log
    clean_dev: Log
    clean_test: Log
    streams: Mapping[str, Shown]
    kinds: Mapping[str, Shown]


def load_unit(plan: UnitPlan, logs: Logs) -> Unit:
    """Return the logs of one network; streams that are not kept yet are run.

    Parameters
    ----------
    plan : UnitPlan
    logs : StreamLogs
    """
    network, known = plan.network, _Labels()
    streams = {
        name: Shown(
            logs.log(plan.test(name), network),
            known.sources(plan.test(name)),
            logs.log(plan.told_dev(name), network),
        )
        for name in plan.streams
    }
    kinds = {
        kind: Shown(
            one_stream([logs.log(part, network) for part in parts]),
            np.concatenate([known.sources(part) for part in parts]),
        )
        for kind, parts in plan.kinds().items()
    }
    return Unit(
        plan.seed,
        logs.joined(plan.dev(), network),
        logs.log(plan.clean_dev(), network),
        logs.log(plan.clean_test(), network),
        streams,
        kinds,
    )


def one_stream(logs: Sequence[Log]) -> Log:
    """Return logs one after the other, as one stream without a break.

    Examples
    --------
    >>> parts = [Log([[0.9, 0.1]], labels=[0], shifted=[0]), Log([[0.2, 0.8]], labels=[1], shifted=[3])]
    >>> whole = one_stream(parts)
    >>> whole.labels.tolist(), whole.kinds.tolist(), len(whole.pieces())
    ([0, 1], [0, 3], 1)
    """

    def joined(name: str) -> Any:
        parts = [getattr(log, name) for log in logs]
        return None if parts[0] is None else np.concatenate(parts)

    return Log(joined("probs"), joined("features"), joined("labels"), shifted=joined("kinds"))


def unlabeled(log: Log) -> Log:
    """Return a log without labels and without marks of shifts.

    Examples
    --------
    >>> bare = unlabeled(Log([[0.9, 0.1]], labels=[0], shifted=[1]))
    >>> bare.labels is None and bare.shifted is None
    True
    """
    return Log(log.probs, log.features, segments=log.segments)


class _Labels:
    """Labels of parts, which are loaded once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], npt.NDArray[np.int64]] = {}

    def sources(self, about: Description) -> Names:
        """Return the name of the source of each step."""
        place = (about.dataset, about.part)
        if place not in self._found:
            self._found[place] = labels_for(about)[0]
        return np.array(about.sources)[build(about, self._found[place]).source]
