"""Networks that are loaded once and shown many examples, in many processes; checksums of what they gave."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..harness.laws import NETWORKS, SOUND
from ..methods import METHODS
from ..methods.banks import save_bank
from ..methods.method import Method
from ..parallel import workers
from ..streams import Description
from .rows import ASSISTED, TUNED, Row, row_of
from .run_size import RunSize
from .versions import RECORDING

if TYPE_CHECKING:
    from torch import nn

    from .recordings import Recordings

PARTS = ("dev", "test")
STREAM = "stream"
"""Name of the one source in the file of a stream."""
COST = {"mnist": 0.5, "cifar10": 0.8, "speech_commands": 3.4, "tinyimagenet": 3.0, "tinyimagenet20": 3.0}
"""Milliseconds of one core that an example takes, for the order of work and the forecast."""
SHOWN = 0.02
"""Milliseconds that an example takes each network beside that."""
FORMAT = "tcuq recordings 2"

Progress = Callable[[int, int, str], None]
State = Mapping[str, Any]
"""What a method learned from clean development examples before anything is recorded: numbers by name."""


class Target(NamedTuple):
    """A file that is wanted: what the networks of a row say, the first of them with a seed."""

    path: Path
    seed: int
    row: Row


class Job(NamedTuple):
    """What one process does at a time: the examples of a source, or a stream, for some files."""

    task: str
    part: str
    shown: str | Description
    targets: list[Target]
    cost: float

    @property
    def name(self) -> str:
        """As progress shows it."""
        return f"{self.task} {self.part} {self.shown if isinstance(self.shown, str) else STREAM}"


def jobs_of(
    recordings: Recordings,
    task: str,
    part: str,
    owners: Sequence[tuple[int, Row]],
    shows: Iterable[str | Description],
) -> list[Job]:
    """Return what is to be recorded for rows whose seeds see the same noise; files that exist are kept."""
    each = COST.get(task, 1.0) / 1000
    jobs = []
    for shown in shows:
        paths = {recordings.path(task, part, shown, *owner): owner for owner in reversed(owners)}
        targets = [Target(path, *paths[path]) for path in reversed(paths) if not path.exists()]
        if targets:
            if isinstance(shown, str):
                size = len(recordings.part(task, part).y)
                corrupting = 0.0 if shown == "clean" or shown.startswith("ood/") else each
            else:
                size, corrupting = shown.steps or 0, each
            cost = size * (corrupting + SHOWN / 1000 * len(targets))
            jobs.append(Job(task, part, shown, targets, cost))
    return jobs


class Recorder:
    """Methods of one process, made ready when they are first asked for."""

    def __init__(self, recordings: Recordings) -> None:
        self._from = recordings
        self._networks: dict[str, nn.Module] = {}
        self._methods: dict[tuple[str, ...], Method] = {}

    def record(self, job: Job, states: Mapping[str, State] | None = None) -> int:
        """Show examples to the networks of all targets, write a file for each, and return how many."""
        x = self._from.rendered(job.task, job.part, job.targets[0].seed, job.shown)
        source = job.shown if isinstance(job.shown, str) else STREAM
        said: dict[int, Any] = {}  # what each network says to x, for all methods that ask
        for target in job.targets:
            method = self.method(job.task, target.seed, target.row, (states or {}).get(title_of(target)))
            method.said = said
            found = method.record(x, self._from.device)
            method.said = None
            kept = found if method.reads_features else replace(found, features=None)
            save_bank(target.path, {source: kept}, compressed=False)
        return len(job.targets)

    def record_each(self, jobs: Sequence[Job], progress: Progress | None = None) -> int:
        """Do jobs one after the other, and return how many files they made."""
        return sum(_told(((job, self.record(job)) for job in jobs), jobs, progress))

    def method(self, task: str, seed: int, row: Row, state: State | None = None) -> Method:
        """Return a row's method with its networks, ready to record."""
        names = row.networks(task, seed, self._from.weights)
        key = (task, row.method.bank, *names)
        if key not in self._methods:
            found = row.method([self._network(name) for name in names])
            if state is None:
                from ..zoo.examples import inputs_of

                clean = self._from.part(task, "dev")
                # Steps and temperatures come from clean development examples, whatever is recorded.
                found.ready(inputs_of(clean), clean.y)
            else:
                vars(found).update(state)
            self._methods[key] = found
        return self._methods[key]

    def state(self, task: str, seed: int, row: Row) -> State:
        """Return what a method learned, for other processes."""
        found = vars(self.method(task, seed, row))
        return {name: value for name, value in found.items() if isinstance(value, (int, float))}

    def _network(self, name: str) -> nn.Module:
        from ..zoo.weights import load_weights

        if name not in self._networks:
            path = Path(self._from.weights) / f"{name}.npz"
            self._networks[name] = load_weights(path)[0].to(self._from.device)
        return self._networks[name]


def title_of(target: Target) -> str:
    """Return what the folders of the same networks and methods share, for dev and for test."""
    return target.path.parent.name


def rows_of(task: str, experiments: Iterable[Any], tables: bool = True) -> list[Row]:
    """Return the rows that experiments show of a task, each bank of some networks once.

    Streams as users have them are shown to every method; the other experiments name their rows.
    """
    if not tables:
        return [row_of("base"), *map(row_of, TUNED), ASSISTED] if task in NETWORKS else []
    found = [row_of(name) for name in METHODS] if task in NETWORKS else []
    return found + [row for each in experiments if task in each.tasks for row in each.networks]


def available(
    recordings: Recordings, task: str, seeds: Sequence[int], rows: Iterable[Row]
) -> tuple[list[Row], list[str]]:
    """Return a row for each bank whose networks at least one seed has, and the networks that none has."""
    kept: dict[tuple[str, ...], Row] = {}
    absent: dict[str, None] = {}
    for row in rows:
        have = [seed for seed in seeds if recordings.has(task, seed, row)]
        try:
            names = row.networks(task, (have or seeds)[0], recordings.weights)
        except ValueError:  # nothing was chosen for this backbone
            names = [f"{row.backbone or task} {row.method.recipe}"]
        if have:
            kept.setdefault((row.method.bank, *names), row)
        else:
            absent[names[0]] = None
    return list(kept.values()), list(absent)


def all_jobs(
    recordings: Recordings,
    task: str,
    rows: Sequence[Row],
    seeds: Sequence[int],
    streams: bool = True,
    tables: bool = True,
) -> list[Job]:
    """Return what is to be recorded of a task, the longest first."""
    owners = [(seed, row) for seed in seeds for row in rows if recordings.has(task, seed, row)]
    found = []
    for part in PARTS:
        noises: dict[int, list[tuple[int, Row]]] = {}
        for owner in owners:
            noises.setdefault(recordings.setting.noise_seed(part, owner[0]), []).append(owner)
        shows = recordings.all_sources(task, part, tables)
        for group in noises.values():
            found += jobs_of(recordings, task, part, group, shows)
    for seed in seeds if streams else ():
        for about in recordings.all_streams(task, seed):
            mine = [owner for owner in owners if owner[0] == seed]
            found += jobs_of(recordings, task, about.part, mine, [about])
    return sorted(found, key=lambda job: -job.cost)


def record_all(
    recordings: Recordings,
    rows: Mapping[str, Sequence[Row]],
    seeds: Sequence[int],
    jobs: int = 1,
    progress: Progress | None = None,
    streams: bool = True,
    tables: bool = True,
) -> int:
    """Record all that experiments need of some rows, and return how many files were made."""

    def planned(task: str) -> list[Job]:
        return all_jobs(recordings, task, rows[task], seeds, streams, tables)

    if jobs == 1:
        return record_jobs(recordings, [job for task in rows for job in planned(task)], 1, progress)
    with workers(jobs, _begin, recordings) as pool:
        kinds = (False, True) if tables else (False,)  # only tables show OOD inputs
        opened = {
            task: [pool.submit(_open, task, part, ood) for part in PARTS for ood in kinds] for task in rows
        }
        waiting: dict[Future[int], Job] = {}
        for task in sorted(rows, key=lambda task: task == SOUND):  # whose words take long to decode
            for each in opened[task]:
                each.result()
            waiting |= _submitted(pool, planned(task))
        return _finished(waiting, progress)


def record_jobs(
    recordings: Recordings, todo: Sequence[Job], jobs: int = 1, progress: Progress | None = None
) -> int:
    """Do jobs, the longest first where processes share them, and return how many files they made."""
    todo = list(_once(todo))
    if not todo:  # and PyTorch is not needed
        return 0
    side = min(jobs, len(todo))
    if side == 1:
        exact()
        return recordings.recorder.record_each(todo, progress)
    corrupting = max(1, recordings.workers // side)  # so that there are as many in all as were asked for
    with workers(side, _begin, recordings, corrupting) as pool:
        return _finished(_submitted(pool, sorted(todo, key=lambda job: -job.cost)), progress)


def _once(todo: Iterable[Job]) -> Iterator[Job]:
    """Give jobs without the files that an earlier one makes."""
    made: set[Path] = set()
    for job in todo:
        targets = [target for target in job.targets if target.path not in made]
        made |= {target.path for target in targets}
        if targets:
            yield job._replace(targets=targets)


def _submitted(pool: Executor, todo: Sequence[Job]) -> dict[Future[int], Job]:
    """Hand jobs to workers, with what methods learn before they record."""
    states = _states(pool, todo)
    found = {}
    for job in todo:
        own = {title_of(target) for target in job.targets} & states.keys()
        found[pool.submit(_work, job, {title: states[title] for title in own})] = job
    return found


def _finished(waiting: Mapping[Future[int], Job], progress: Progress | None) -> int:
    """Wait for workers, and return how many files they made."""
    finished = ((waiting[each], each.result()) for each in as_completed(waiting))
    return sum(_told(finished, list(waiting.values()), progress))


def _told(
    finished: Iterable[tuple[Job, int]], todo: Sequence[Job], progress: Progress | None
) -> Iterator[int]:
    """Give the files that each job made, and say how far the work is and how long the rest will take."""
    began, whole, done = time.monotonic(), sum(job.cost for job in todo), 0.0
    for job, made in finished:
        done += job.cost
        if progress is not None:
            spent = time.monotonic() - began
            left = spent * (whole - done) / done
            progress(int(100 * done / whole), 100, f"{job.name}, {spent:.0f} s, about {left:.0f} s left")
        yield made


def _states(pool: Executor, todo: Sequence[Job]) -> dict[str, State]:
    """Return what methods learn before they record, each learned once; by `title_of` their files."""
    learners = {
        title_of(target): (job.task, target.seed, target.row)
        for job in todo
        for target in job.targets
        if (target.row.method.ready, target.row.method.learn) != (Method.ready, Method.learn)
    }
    found = {title: pool.submit(_learn, *given) for title, given in learners.items()}
    return {title: future.result() for title, future in found.items()}


_OWN: dict[str, Recordings] = {}
"""The recordings of a worker process, with its networks."""


def _begin(recordings: Recordings, corrupting: int = 1) -> None:
    """Set up a worker with one thread, and with processes that corrupt examples."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    torch.set_num_threads(1)
    exact()
    recordings.workers = corrupting
    _OWN["recordings"] = recordings


def exact() -> None:
    """Let a GPU multiply float32 numbers as such, not rounded to ten bits, as it may by default."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def _open(task: str, part: str, ood: bool) -> None:
    _OWN["recordings"].open(task, part, ood)


def _learn(task: str, seed: int, row: Row) -> State:
    return _OWN["recordings"].recorder.state(task, seed, row)


def _work(job: Job, states: Mapping[str, State]) -> int:
    return _OWN["recordings"].recorder.record(job, states)


def checksums(folder: Path, jobs: int = 4) -> dict[str, list[Any]]:
    """Return for every folder of recordings its files, their bytes, and the SHA-256 of their SHA-256 by name.

    One line a folder, not a file: the full setting has some 12,800 files.
    """
    home = folder / f"recording-{RECORDING}"
    paths = sorted(path for path in home.glob("*/*/*.npz") if not path.name.startswith("."))
    found: dict[str, list[tuple[str, int, str]]] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for path, content in zip(paths, pool.map(_entry, paths), strict=True):
            found.setdefault(path.parent.relative_to(folder).as_posix(), []).append((path.name, *content))
    return {name: _together(files) for name, files in found.items()}


def _entry(path: Path) -> tuple[int, str]:
    content = path.read_bytes()
    return len(content), hashlib.sha256(content).hexdigest()


def _together(files: Iterable[tuple[str, int, str]]) -> list[Any]:
    listed = sorted(files)
    text = "".join(f"{name} {digest}\n" for name, _, digest in listed)
    return [len(listed), sum(size for _, size, _ in listed), hashlib.sha256(text.encode()).hexdigest()]


def manifest(found: Mapping[str, Sequence[Any]], setting: RunSize, about: Mapping[str, Any]) -> str:
    """Return the text of a manifest: what tells files that are copied from damaged or other ones."""
    content = {
        "format": FORMAT,
        "command": f"tcuq-lab record --setting {setting.name}",
        "recording": RECORDING,
        "setting": setting.deciding(),
        "machine": platform.machine(),
        "numpy": np.__version__,
        **about,
    }
    head = json.dumps(content, indent=1, allow_nan=False)[:-2]
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(files)}" for name, files in found.items())
    return f'{head},\n "folders": {{\n{rows}\n}}}}\n'


def differing(found: Mapping[str, Sequence[Any]], path: Path) -> list[str]:
    """Return a line for each folder of a manifest that is missing, or differs; others may be there."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        folders = dict(content["folders"]) if content["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        folders = None
    if folders is None:
        raise ValueError(f"{path}: no manifest of recordings, expected one that 'tcuq-lab record' wrote")
    given = {name: found.get(name) for name in folders}
    return [
        f"{name} is missing"
        if files is None
        else f"{name} has {files[0]:,} files of {files[1]:,} bytes that differ from the manifest's"
        for name, files in given.items()
        if files is None or list(files) != list(folders[name])
    ]
