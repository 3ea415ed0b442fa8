"""Running an experiment: network by network, each kept in a file, then figures with intervals."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tcuq.base.whole_files import write_whole

from ..recordings import Recordings
from ..versions import PROTOCOL
from .intervals import REPLICATES, Drawn, difference, mean, ratio
from .lines import Line, line
from .plan import BACKBONES, StreamSizes, UnitPlan
from .units import Unit

Progress = Callable[[int, int, str], None]
KEPT = 2
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
    sizes : StreamSizes
    notes : tuple of str
        How to read the rows; they go into the result file.
    """

    name: str
    title: str
    measure: Callable[[Unit], Measured]
    comparisons: tuple[Comparison, ...] = ()
    tasks: tuple[str, ...] = tuple(BACKBONES)
    sizes: StreamSizes = field(default_factory=StreamSizes)
    notes: tuple[str, ...] = ()


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
    todo = [plan for plan in plans if not places[plan].exists()]
    began = time.monotonic()

    def tell(done: int, what: str) -> None:
        if progress is not None:
            left = (len(todo) - done) * (time.monotonic() - began) / done / 60 if done else 0.0
            text = f"{what}, about {left:.0f} min left" if done and done < len(todo) else what
            progress(len(plans) - len(todo) + done, len(plans), text)

    tell(0, "")
    if jobs == 1:
        for number, plan in enumerate(todo):
            measure_once(spec, plan, recordings, places[plan])
            tell(number + 1, plan.network)
    elif todo:
        with ProcessPoolExecutor(min(jobs, len(todo))) as pool:
            waiting = {pool.submit(measure_once, spec, plan, recordings, places[plan]): plan for plan in todo}
            for number, each in enumerate(as_completed(waiting)):
                each.result()
                tell(number + 1, waiting[each].network)
    found = {plan: load(places[plan]) for plan in plans}
    lines = [
        each
        for task in tasks
        for each in combined(task, [found[plan][0] for plan in plans if plan.task == task], spec.comparisons)
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
        freedom=np.array([each.freedom for each in found.figures.values()], dtype=np.int64),
        about=np.array(json.dumps(about, allow_nan=False)),
    )
    write_whole(place, buffer.getvalue())


def load(place: Path) -> tuple[dict[Key, Drawn], dict[str, Any]]:
    """Return what `measure_once` kept."""
    with np.load(place, allow_pickle=False) as file:
        keys, values, replicates, freedom = (
            file[name] for name in ("keys", "values", "replicates", "freedom")
        )
        about = json.loads(str(file["about"]))
    return {
        Key(*map(str, key)): Drawn(float(value), drawn, int(free))
        for key, value, drawn, free in zip(keys, values, replicates, freedom, strict=True)
    }, about


def combined(
    task: str, networks: Sequence[dict[Key, Drawn]], comparisons: Iterable[Comparison] = ()
) -> list[Line]:
    """Return the means over networks, and paired comparisons over those that have both rows.

    Parameters
    ----------
    task : str
    networks : sequence of dict of Key to Drawn
    comparisons : iterable of Comparison
    """
    keys = list(dict.fromkeys(key for network in networks for key in network))
    lines = []
    for key in keys:
        have = [network[key] for network in networks if key in network]
        lines.append(line(task, *key, mean(have), len(have)))
    known = set(keys)
    for each in comparisons:
        for key in keys:
            if (key.row, key.column) != (each.first, each.column) or each.first_fit not in (None, key.fit):
                continue
            other = key._replace(row=each.second)
            if each.second_fit is not None:
                other = other._replace(fit=each.second_fit)
            elif other not in known:
                other = other._replace(fit="")
            pairs = [(found[key], found[other]) for found in networks if key in found and other in found]
            if not pairs:
                continue
            first, second = [a for a, _ in pairs], [b for _, b in pairs]
            got = difference(first, second) if each.of == "-" else ratio(first, second)
            row = f"{each.first} {each.of} {each.second}"
            if each.second_fit not in (None, key.fit):
                row += f", {each.second_fit or 'unfitted'}"
            lines.append(line(task, key.stream, row, key.fit, key.column, got, len(pairs)))
    return lines


def _place(spec: Spec, plan: UnitPlan, recordings: Recordings) -> Path:
    about = [spec.name, asdict(plan), recordings.setting.deciding(), REPLICATES, PROTOCOL, KEPT]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
    return recordings.folder / "field" / f"{spec.name}-{plan.network}-{digest}.npz"


def processes() -> int:
    """Return how many networks to measure at the same time: as many as there are processors."""
    return os.cpu_count() or 1
