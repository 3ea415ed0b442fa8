"""One row on the streams of one network: fitted, shown each stream, and compared with the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from .checks import Checked
from .declare import Case, Key, Measured, Metric, Play, Row, Streams
from .intervals import Drawn, drawn
from .late import watched_late
from .types import joined

Tell = Callable[[str], None]


def measure(
    row: Row,
    streams: Streams,
    plays: Iterable[Play],
    metrics: tuple[Metric, ...],
    tell: Tell = lambda text: None,
) -> Measured:
    """Return the figures of a row on the streams of one network, and what its fits chose."""
    plays = [each for each in plays if row.shown(each)]
    if not row.fitted:
        plays = list({each.role: each._replace(fit="", dev="") for each in plays}.values())
    fit = cache(lambda role: row.fit(streams, role))
    figures: dict[Key, Drawn] = {}
    choices: dict[str, Any] = {}
    memory: dict[str, Any] = {}
    known: dict[tuple[Any, ...], dict[str, Drawn]] = {}
    for play in plays:
        tell(f"{streams.task} {row.name}, {play.stream}")
        method = fit(play.dev)
        if play.dev not in choices and hasattr(method, "choice"):
            choices[play.dev] = method.choice
        place = play.stream, play.role, play.late, play.dev if row.key is None else row.key(method)
        if place not in known:
            known[place] = shown(row, streams, play, method, row.metrics or metrics, memory)
        figures |= {
            Key(play.stream, row.name, play.fit, column): each for column, each in known[place].items()
        }
    choices |= {name: each for name, each in memory.items() if isinstance(each, dict)}
    return Measured(figures, {row.name: choices} if choices else {})


def shown(
    row: Row, streams: Streams, play: Play, method: Any, metrics: tuple[Metric, ...], memory: dict[str, Any]
) -> dict[str, Drawn]:
    """Return the figures of a fitted row on one stream."""
    case = case_of(row, streams, play, method, memory)
    figures = {column: each for metric in metrics for column, each in metric(case).items()}
    return {
        column: each if isinstance(each, Drawn) else drawn(each, case.truth.count, case.draws)
        for column, each in figures.items()
    }


def case_of(row: Row, streams: Streams, play: Play, method: Any, memory: dict[str, Any]) -> Case:
    """Return what a fitted row says to a stream, beside the truth."""
    if isinstance(method, Checked):
        rate = "" if play.late is None else f", {play.late.rate:.0%} labels"
        method.where = f"stream {play.stream!r}{rate}"
    truth, plain = streams.truth(play.role), streams.outputs(play.role)
    seen = plain if row.network is None else streams.outputs(play.role, row.network)
    if play.late is None:
        answers = method.watch(seen)
    else:  # the stream is one run, so that a label may come in the next stretch
        whole = joined(seen.split(), numbered=False)
        answers = watched_late(method, whole, truth, play, streams.draws(play.role))

    def other(role: str) -> Case:
        return case_of(row, streams, play._replace(role=role), method, memory)

    return Case(streams, play, row.name, truth, plain, answers, method, memory, other)
