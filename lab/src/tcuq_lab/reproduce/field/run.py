"""Running an experiment: network by network, each kept in a file, then figures with intervals."""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.metrics import Interval

from ..pieces import Progress, do_pieces
from ..recordings import Recordings
from ..versions import PROTOCOL
from .intervals import REPLICATES, Drawn, difference, mean, ratio
from .lines import Line, line
from .plan import NETWORKS, StreamSizes, UnitPlan
from .units import PLAIN, Unit

KEPT = 3
"""Format of the files that keep what a network gave; those of another are made again."""


class Key(NamedTuple):
    """What a figure of one network is about; see `lines.Line`."""

    stream: str
    row: str
    fit: str
    column: str


@dataclass(frozen=True, eq=False)
class Measured:
    """What one network gives.

    Parameters
    ----------
    figures : dict of Key to Drawn
    choices : dict
        Every setting that was chosen, and on what, as JSON takes it; it goes into the result file.
    """

    figures: dict[Key, Drawn]
    choices: dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A pair of rows whose paired difference, or ratio, is reported.

    Parameters
    ----------
    first, second : str
        Rows.
    column : str
    of : str
        "-" or "/".
    second_fit : str, optional
        Fit of the second row. By default that of the first, or "" where the second is fitted to no stream.
    first_fit : str, optional
        Fit of the first row; every one by default.
    """

    first: str
    second: str
    column: str
    of: str = "-"
    second_fit: str | None = None
    first_fit: str | None = None


class Inverse(NamedTuple):
    """A column that is a number over another one, such as a run length over a rate.

    It is taken of the mean over networks: a mean of reciprocals would say something else.

    Parameters
    ----------
    column, of : str
    scale : float
        The number.
    """

    column: str
    of: str
    scale: float

    def interval(self, found: Interval) -> Interval:
        """Return the inverse of an interval; 0 gives infinity.

        Examples
        --------
        >>> Inverse("run length", "rate", 5.0).interval(Interval(2.5, 0.0, 10.0, 0))[:3]
        (2.0, 0.5, inf)
        """
        value, high, low = (self.scale / end if end else math.inf for end in found[:3])
        return Interval(value, low, high, found.undefined)


@dataclass(frozen=True)
class Spec:
    """An experiment of this family.

    Parameters
    ----------
    name, title : str
    measure : callable
        Of one network; importable by name, as it runs in other processes.
    comparisons : tuple of Comparison
    tasks : tuple of str
        Those whose networks are there are measured.
    sizes : StreamSizes
    notes : tuple of str
        How to read the rows; they go into the result file.
    inverses : tuple of Inverse
    """

    name: str
    title: str
    measure: Callable[[Unit], Measured]
    comparisons: tuple[Comparison, ...] = ()
    tasks: tuple[str, ...] = tuple(NETWORKS)
    sizes: StreamSizes = field(default_factory=StreamSizes)
    notes: tuple[str, ...] = ()
    inverses: tuple[Inverse, ...] = ()


def run(
    spec: Spec,
    recordings: Recordings,
    tasks: Sequence[str],
    seeds: Sequence[int],
    jobs: int = 1,
    progress: Progress | None = None,
) -> tuple[list[Line], dict[str, Any]]:
    """Return the figures of some tasks, and what is known about how they were made.

    Parameters
    ----------
    spec : Spec
    recordings : Recordings
        Its folder also keeps what each network gave, so that a run goes on where it was cut off.
    tasks : sequence of str
    seeds : sequence of int
        Of the networks.
    jobs : int
        Networks that are measured at the same time.
    progress : callable, optional
        Called with networks done, all of them, and a text.
    """
    plans = [
        UnitPlan(task, seed, spec.sizes, recordings.setting.severities) for task in tasks for seed in seeds
    ]
    places = {plan: _place(spec, plan, recordings) for plan in plans}
    todo = {
        plan.network: (spec, plan, recordings, places[plan]) for plan in plans if not places[plan].exists()
    }
    do_pieces(measure_once, todo, len(plans), jobs, progress)
    found = {plan: load(places[plan]) for plan in plans}
    lines = [
        each
        for task in tasks
        for each in combined(
            task, [found[plan][0] for plan in plans if plan.task == task], spec.comparisons, spec.inverses
        )
    ]
    about = {
        "seconds": round(sum(each[1]["seconds"] for each in found.values())),
        "choices": {plan.network: found[plan][1]["choices"] for plan in plans},
    }
    return lines, about


def measure_once(spec: Spec, plan: UnitPlan, recordings: Recordings, place: Path) -> None:
    """Measure one network, and keep what it gives in a file.

    Parameters
    ----------
    spec : Spec
    plan : UnitPlan
    recordings : Recordings
    place : path
    """
    began = time.process_time()
    found = spec.measure(Unit(plan, recordings))
    about = {"choices": found.choices, "seconds": round(time.process_time() - began, 1)}
    place.parent.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        keys=np.array(list(found.figures), dtype=np.str_).reshape(-1, len(Key._fields)),
        values=np.array([each.value for each in found.figures.values()]),
        replicates=np.stack([each.replicates for each in found.figures.values()]),
        counted=np.array([each[2:] for each in found.figures.values()], dtype=np.float64),
        about=np.array(json.dumps(about, allow_nan=False)),
    )
    write_whole(place, buffer.getvalue())


def load(place: Path) -> tuple[dict[Key, Drawn], dict[str, Any]]:
    """Return what `measure_once` kept."""
    with np.load(place, allow_pickle=False) as file:
        keys, values, replicates, counted = (
            file[name] for name in ("keys", "values", "replicates", "counted")
        )
        about = json.loads(str(file["about"]))
    return {
        Key(*map(str, key)): Drawn(float(value), drawn, int(free), float(events), float(exposure))
        for key, value, drawn, (free, events, exposure) in zip(keys, values, replicates, counted, strict=True)
    }, about


def combined(
    task: str,
    networks: Sequence[dict[Key, Drawn]],
    comparisons: Iterable[Comparison] = (),
    inverses: Sequence[Inverse] = (),
) -> list[Line]:
    """Return the means over networks, and paired comparisons over those that have both rows.

    Parameters
    ----------
    task : str
    networks : sequence of dict of Key to Drawn
    comparisons : iterable of Comparison
    inverses : sequence of Inverse
    """
    keys = list(dict.fromkeys(key for network in networks for key in network))
    lines = []
    for key in keys:
        have = [network[key] for network in networks if key in network]
        found = mean(have)
        lines.append(line(task, *key, found, len(have)))
        for each in inverses:
            if key.column == each.of:
                other = key._replace(column=each.column)
                lines.append(line(task, *other, each.interval(found), len(have)))
    known = set(keys)
    for pair in comparisons:
        for key in keys:
            if (key.row, key.column) != (pair.first, pair.column) or pair.first_fit not in (None, key.fit):
                continue
            other = key._replace(row=pair.second)
            if pair.second_fit is not None:
                other = other._replace(fit=pair.second_fit)
            elif other not in known:
                other = other._replace(fit="")
            pairs = [(each[key], each[other]) for each in networks if key in each and other in each]
            if not pairs:
                continue
            first, second = [a for a, _ in pairs], [b for _, b in pairs]
            got = difference(first, second) if pair.of == "-" else ratio(first, second)
            row = f"{pair.first} {pair.of} {pair.second}"
            if pair.second_fit not in (None, key.fit):
                row += f", {pair.second_fit or 'unfitted'}"
            lines.append(line(task, key.stream, row, key.fit, key.column, got, len(pairs)))
    return lines


def _place(spec: Spec, plan: UnitPlan, recordings: Recordings) -> Path:
    # Names of recordings hold digests of weights and data: what another network gave is not taken for this.
    of = [recordings.place(plan.task, part, plan.seed, PLAIN) for part in ("dev", "test")]
    names = [path.relative_to(recordings.folder).as_posix() for path in of]
    about = [spec.name, asdict(plan), recordings.setting.deciding(), names, REPLICATES, PROTOCOL, KEPT]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
    return recordings.folder / "field" / f"{spec.name}-{plan.network}-{digest}.npz"
