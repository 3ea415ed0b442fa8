"""Experiments on streams as users have them: networks are measured one by one, figures have intervals."""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tcuq.base.atomic_files import write_whole
from tcuq.base.checks import known
from tcuq.metrics import Interval

from ...comparison.spread import LEVEL
from ...data import present
from ..experiment import Experiment, NoNetworks, Outcome
from ..recordings import Recordings
from ..run_size import RunSize
from ..versions import PROTOCOL, RECORDING
from .intervals import REPLICATES, Drawn, Pool, difference, mean, ratio
from .lines import Line, entries, from_entries, line
from .plan import BACKBONES, NETWORKS, RECORDED, StreamSizes, UnitPlan
from .units import PLAIN, Unit

FORMAT = "tcuq field 1"
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "answers": "Which answers are wrong, and how many errors are left",
        "alarms": "How soon an alarm comes, and how often for nothing",
        "accuracy": "How accurate is the classifier now",
        "questions": "What each part of the monitor adds",
    }
)
"""Modules of this package that hold an experiment as `SPEC`, and what it is called."""
KEPT = 4
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
class StreamExperiment(Experiment):
    """An experiment of this family.

    Parameters
    ----------
    name, title : str
    measure : callable
        Of one network; importable by name, as it runs in other processes.
    comparisons : tuple of Comparison
    tasks : tuple of str
        Those of two and of 100 classes are left out where their networks are not there.
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
    paper: str = ""
    format: ClassVar[str] = FORMAT

    def narrowed(self, tasks: Sequence[str], dwells: Sequence[float]) -> StreamExperiment:
        """Return the experiment with some of its tasks alone; its streams have no one dwell."""
        if dwells:
            raise ValueError(f"{self.name} has no dwells to choose from: leave out --dwell")
        found = tuple(dict.fromkeys(known(f"task of {self.name}", task, self.tasks) for task in tasks))
        return replace(self, tasks=found or self.tasks)

    def absent(self, recordings: Recordings) -> list[str]:
        """Return the tasks beside the three that lack a network of one of the seeds, or their files."""
        more = [task for task in self.tasks if task not in BACKBONES]
        return [
            task
            for task in more
            if (task in RECORDED and present(task, "test") is None)
            or not (any if task in RECORDED else all)(self._seeds(task, recordings))
        ]

    def _seeds(self, task: str, recordings: Recordings) -> list[bool]:
        """Return for each seed whether its network is there; recordings may have fewer than other tasks."""
        return [recordings.has(task, seed, PLAIN) for seed in recordings.setting.seeds]

    def pieces(self, recordings: Recordings) -> dict[UnitPlan, Path]:
        """Return the networks of all seeds, each with the file that keeps what it gave."""
        setting, absent = recordings.setting, self.absent(recordings)
        tasks = [task for task in self.tasks if task not in absent]
        if not tasks:
            names = " ".join(NETWORKS[task] for task in absent)
            raise NoNetworks(
                f"{self.name} finds no networks of {', '.join(absent)}, or no files: "
                f"tcuq-lab train {names} --members 5"
            )
        plans = [
            UnitPlan(task, seed, self.sizes, setting.severities, setting.streams)
            for task in tasks
            for seed, there in zip(setting.seeds, self._seeds(task, recordings), strict=True)
            if there or task not in RECORDED
        ]
        return {plan: self._place(plan, recordings) for plan in plans}

    def _place(self, plan: UnitPlan, recordings: Recordings) -> Path:
        # Names of recordings hold digests of weights and data: what another network gave is not taken for it.
        of = [recordings.place(plan.task, part, plan.seed, PLAIN) for part in ("dev", "test")]
        names = [path.relative_to(recordings.folder).as_posix() for path in of]
        about = [self.name, asdict(plan), recordings.setting.deciding(), names, REPLICATES, PROTOCOL, KEPT]
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
        return recordings.folder / "field" / f"{self.name}-{plan.name}-{digest}.npz"

    def keep(self, piece: UnitPlan, recordings: Recordings, place: Path) -> None:
        """Measure one network, and write what it gives."""
        began = time.process_time()
        found = self.measure(Unit(piece, recordings))
        about = {"choices": found.choices, "seconds": round(time.process_time() - began, 1)}
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer,
            keys=np.array(list(found.figures), dtype=np.str_).reshape(-1, len(Key._fields)),
            values=np.array([each.value for each in found.figures.values()]),
            replicates=np.stack([each.replicates for each in found.figures.values()]),
            counted=np.array([each[2:5] for each in found.figures.values()], dtype=np.float64),
            **_pools(found.figures),
            about=np.array(json.dumps(about, allow_nan=False)),
        )
        write_whole(place, buffer.getvalue())

    def outcome(self, kept: Mapping[UnitPlan, Path]) -> Outcome:
        """Return means over networks and paired comparisons, and the choices of every network."""
        found = {plan: load(path) for plan, path in kept.items()}
        lines = [
            each
            for task in dict.fromkeys(plan.task for plan in kept)
            for each in combined(
                task, [found[plan][0] for plan in kept if plan.task == task], self.comparisons, self.inverses
            )
        ]
        seconds = round(sum(about["seconds"] for _, about in found.values()))
        choices = {plan.name: about["choices"] for plan, (_, about) in found.items()}
        return Outcome(entries(lines), {"seconds": seconds, "choices": choices})

    def shown(self, outcome: Outcome) -> str:
        """Return a line of text for each figure."""
        return "\n".join(
            f"{line.task:16} {line.stream:16} {line.row:40} {line.fit:7} {line.column:28} "
            f"{line.value:.4f} ({line.low:.4f} to {line.high:.4f}), {line.networks} networks"
            for line in from_entries(outcome.lines)
        )

    def head(self, setting: RunSize, outcome: Outcome) -> dict[str, Any]:
        """Return what the result file says about how figures were made."""
        about = {
            "name": setting.name,
            "networks": {line["task"]: NETWORKS[line["task"]] for line in outcome.lines},
            "seeds": list(setting.seeds),
            "examples": {part: setting.of(part) for part in ("dev", "test")},
            "severities": list(setting.severities),
            "sizes": asdict(self.sizes),
            "replicates": REPLICATES,
            "level": LEVEL,
        }
        notes = {"notes": list(self.notes)} if self.notes else {}
        return {"setting": about, "recording": RECORDING, **notes}


def _pools(figures: Mapping[Key, Drawn]) -> dict[str, Any]:
    """Return what medians are of, one after the other, as arrays."""
    pools = [(at, each.pool) for at, each in enumerate(figures.values()) if each.pool is not None]
    parts = [np.stack([pool.values, pool.stretches]) for _, pool in pools]
    return {
        "pooled": np.concatenate(parts, axis=1) if parts else np.empty((2, 0)),
        "pools": np.array([(at, len(pool.values), pool.size) for at, pool in pools]).reshape(-1, 3),
        "streams": np.array([pool.name for _, pool in pools], dtype=np.str_),
    }


def load(place: Path) -> tuple[dict[Key, Drawn], dict[str, Any]]:
    """Return what `StreamExperiment.keep` wrote."""
    with np.load(place, allow_pickle=False) as file:
        keys, values, replicates, counted, pooled, pools, streams = (
            file[name] for name in ("keys", "values", "replicates", "counted", "pooled", "pools", "streams")
        )
        about = json.loads(str(file["about"]))
    found = [
        Drawn(float(value), drawn, int(free), float(events), float(exposure))
        for value, drawn, (free, events, exposure) in zip(values, replicates, counted, strict=True)
    ]
    start = 0
    for (at, length, size), stream in zip(pools.astype(np.int64).tolist(), streams, strict=True):
        of, number = pooled[:, start : start + length]
        found[at] = found[at]._replace(pool=Pool(of, number.astype(np.int64), size, str(stream)))
        start += length
    return dict(zip((Key(*map(str, key)) for key in keys), found, strict=True)), about


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
