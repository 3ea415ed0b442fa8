"""Recording many rows and seeds at once, in many processes: examples are corrupted once for all networks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ...data.ood import has_ood
from ...harness.laws import SOUND
from ...streams import Description
from ..recordings import STREAM, Recordings, file_of
from ..rows import Row
from . import demand
from .recorder import Recorder, State, Target, learns, rendered

Progress = Callable[[int, int, str], None]
COST = {"mnist": 0.5, "cifar10": 0.8, "speech_commands": 3.4, "tinyimagenet20": 3.0}
"""Milliseconds of one core that an example takes, for the order of work and the forecast."""
SHOWN = 0.02
"""Milliseconds that an example takes each network beside that."""


class Item(NamedTuple):
    """What one process does at a time: some examples of a source, or a stream, for some files."""

    task: str
    part: str
    shown: str | Description
    seed: int
    targets: list[Target]
    cost: float


def items(
    recordings: Recordings,
    task: str,
    rows: Sequence[Row],
    seeds: Sequence[int],
    streams: bool = True,
    tables: bool = True,
) -> list[Item]:
    """Return what is to be done for a task, the longest first; a file that exists is not made again."""
    setting, found = recordings.setting, []
    each = COST.get(task, 1.0) / 1000
    owners = [(seed, row) for seed in seeds for row in rows if recordings.has(task, seed, row)]
    for part in demand.PARTS:
        size = len(recordings.part(task, part).y)
        places = {recordings.place(task, part, seed, row): (seed, row) for seed, row in reversed(owners)}
        noises: dict[int, list[tuple[Path, int, Row]]] = {}
        for place, (seed, row) in reversed(places.items()):
            noises.setdefault(setting.noise_seed(part, seed), []).append((place, seed, row))
        for source in demand.sources(task, part, setting, tables):
            for group in noises.values():
                wanted = _absent((place / file_of(source), seed, row) for place, seed, row in group)
                if wanted:
                    corrupting = 0.0 if source == "clean" or source.startswith("ood/") else each
                    cost = size * (corrupting + SHOWN / 1000 * len(wanted))
                    found.append(Item(task, part, source, wanted[0].seed, wanted, cost))
    for seed in seeds if streams else ():
        kept = [row for at, row in owners if at == seed]
        for about in demand.streams(task, seed, setting):
            paths = {recordings.stream_path(about, seed, row): row for row in reversed(kept)}
            wanted = _absent((path, seed, row) for path, row in paths.items())
            if wanted:
                cost = (about.steps or 0) * (each + SHOWN / 1000 * len(wanted))
                found.append(Item(task, about.part, about, seed, wanted, cost))
    return sorted(found, key=lambda item: -item.cost)


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
    report = _Report(progress)
    if jobs == 1:
        import torch

        exact(torch)
        made = 0
        for task, kept in rows.items():
            todo = items(recordings, task, kept, seeds, streams, tables)
            report.plan(todo)
            for item in todo:
                made += _do(recordings, item, {})
                report.done(item)
        return made
    # Tasks go on side by side, so that none waits for the words of another to be decoded.
    with (
        ProcessPoolExecutor(jobs, get_context("spawn"), _begin, (recordings,)) as pool,
        ThreadPoolExecutor(max(1, len(rows))) as tasks,
    ):

        def whole(task: str) -> int:
            kinds = (False, True) if tables and has_ood(task) else (False,)  # only tables show OOD inputs
            opened = [pool.submit(_open, task, part, ood) for part in demand.PARTS for ood in kinds]
            for each in opened:
                each.result()
            todo = items(recordings, task, rows[task], seeds, streams, tables)
            report.plan(todo)
            states = _states(pool, todo)
            waiting = [pool.submit(_work, item, _own(states, item)) for item in todo]
            for item, future in zip(todo, waiting, strict=True):
                future.add_done_callback(lambda _, item=item: report.done(item))  # type: ignore[misc]
            return sum(each.result() for each in waiting)

        try:
            return sum(tasks.map(whole, rows))
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            if isinstance(error, BrokenProcessPool):
                raise ValueError(
                    f"a worker was ended by the system, for lack of memory perhaps; fewer than {jobs} may do"
                ) from None
            raise


def _absent(given: Iterable[tuple[Path, int, Row]]) -> list[Target]:
    return [Target(*each) for each in given if not each[0].exists()]


def _states(pool: ProcessPoolExecutor, todo: Sequence[Item]) -> dict[Path, State]:
    """Return what methods learn before they record, each learned once; by folder of the files."""
    wanted = {
        (target.row.method.bank, *target.path.parts[-2:]): (item.task, target)
        for item in todo
        for target in item.targets
        if learns(target.row.method)
    }
    # A folder for dev and one for test: the same networks, which learn the same.
    by_title: dict[str, tuple[str, Target]] = {key[-1]: given for key, given in wanted.items()}
    found: dict[str, Future[State]] = {
        title: pool.submit(_learn, task, target.seed, target.row)
        for title, (task, target) in by_title.items()
    }
    titles = {title: future.result() for title, future in found.items()}
    return {
        target.path.parent: titles[target.path.parent.name]
        for item in todo
        for target in item.targets
        if target.path.parent.name in titles
    }


def _own(states: Mapping[Path, State], item: Item) -> dict[Path, State]:
    folders = {target.path.parent for target in item.targets}
    return {folder: states[folder] for folder in folders if folder in states}


class _Report:
    """How far the work is; several threads say so."""

    def __init__(self, progress: Progress | None) -> None:
        self._tell, self._lock, self._began = progress, Lock(), time.monotonic()
        self._all = self._done = 0.0

    def plan(self, todo: Sequence[Item]) -> None:
        with self._lock:
            self._all += sum(item.cost for item in todo)

    def done(self, item: Item) -> None:
        with self._lock:
            self._done += item.cost
            if self._tell is not None:
                spent = time.monotonic() - self._began
                left = spent * (self._all - self._done) / self._done
                what = item.shown if isinstance(item.shown, str) else STREAM
                text = f"{item.task} {item.part} {what}, {spent:.0f} s, about {left:.0f} s left"
                self._tell(int(100 * self._done / self._all), 100, text)


_OWN: dict[str, Recordings] = {}
"""The recordings of a worker process, with its networks."""


def _begin(recordings: Recordings) -> None:
    """Set up a worker: one thread, and sums in all digits that a float32 has."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    torch.set_num_threads(1)
    exact(torch)
    _OWN["recordings"] = recordings


def exact(torch: Any) -> None:
    """Let a GPU multiply float32 numbers as such, not rounded to ten bits, as it may by default."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def _open(task: str, part: str, ood: bool) -> None:
    recordings = _OWN["recordings"]
    if ood:
        recordings.ood_part(task, part)
        return
    recordings.part(task, part)
    if task == SOUND:
        recordings.noise(part)


def _learn(task: str, seed: int, row: Row) -> State:
    return _OWN["recordings"].recorder.state(task, seed, row)


def _work(item: Item, states: Mapping[Path, State]) -> int:
    return _do(_OWN["recordings"], item, states)


def _do(recordings: Recordings, item: Item, states: Mapping[Path, State]) -> int:
    recorder: Recorder = recordings.recorder
    if isinstance(item.shown, Description):
        x, name = rendered(recordings, item.shown, item.seed), STREAM
    else:
        ((name, x),) = recordings.shown(item.task, item.part, item.seed, [item.shown])
    recorder.show(item.task, name, x, item.targets, states)
    return len(item.targets)
