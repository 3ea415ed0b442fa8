"""Running experiments: piece by piece, each kept in a file, so that a run goes on where it was cut off."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from .experiment import Experiment, Outcome, Piece
from .recordings import Recordings

Progress = Callable[[int, int, str], None]


def run(
    experiment: Experiment, recordings: Recordings, progress: Progress | None = None, jobs: int = 1
) -> Outcome:
    """Return the figures of an experiment; pieces that are kept are not measured again."""
    places = experiment.pieces(recordings)
    todo = {piece: path for piece, path in places.items() if not path.exists()}
    began = time.monotonic()

    def tell(done: int, what: str) -> None:
        if progress is not None:
            left = (len(todo) - done) * (time.monotonic() - began) / done / 60 if done else 0.0
            text = f"{what}, about {left:.0f} min left" if done and done < len(todo) else what
            progress(len(places) - len(todo) + done, len(places), text)

    experiment.prepare(list(todo), recordings)
    if jobs == 1 or len(todo) < 2:
        for number, (piece, path) in enumerate(todo.items()):
            tell(number, piece.name)
            measure_once(experiment, piece, recordings, path)
    else:
        tell(0, "")
        # Not forked: a process that has run networks would hand its threads' locks on.
        with ProcessPoolExecutor(min(jobs, len(todo)), get_context("spawn")) as pool:
            waiting = {
                pool.submit(measure_once, experiment, piece, recordings, path): piece.name
                for piece, path in todo.items()
            }
            try:
                for number, each in enumerate(as_completed(waiting)):
                    each.result()
                    tell(number + 1, waiting[each])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    if progress is not None:
        progress(len(places), len(places), "")
    return experiment.outcome(places)


def measure_once(experiment: Experiment, piece: Piece, recordings: Recordings, place: Path) -> None:
    """Measure one piece, and keep what it gives; importable by name, for other processes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    experiment.keep(piece, recordings, place)
