"""Doing the pieces of an experiment that are not kept yet, one after another or in several processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

Progress = Callable[[int, int, str], None]


def do_pieces(
    work: Callable[..., None],
    todo: Mapping[str, tuple[Any, ...]],
    total: int,
    jobs: int = 1,
    progress: Progress | None = None,
) -> None:
    """Do pieces of work, each of which keeps what it makes, so that a run goes on where it was cut off.

    Parameters
    ----------
    work : callable
        Importable by name, as it may run in other processes.
    todo : mapping of str to tuple
        Names of the pieces that are left, with what `work` is called with.
    total : int
        All pieces, those that are done already among them.
    jobs : int
        Pieces at the same time.
    progress : callable, optional
        Called with pieces done, all of them, and a text: the piece and a forecast.

    Examples
    --------
    >>> kept = []
    >>> do_pieces(kept.append, {"one": (1,), "two": (2,)}, 3, progress=lambda *told: print(*told[:2]))
    1 3
    2 3
    3 3
    >>> kept
    [1, 2]
    """
    began = time.monotonic()

    def tell(done: int, what: str) -> None:
        if progress is not None:
            left = (len(todo) - done) * (time.monotonic() - began) / done / 60 if done else 0.0
            text = f"{what}, about {left:.0f} min left" if done and done < len(todo) else what
            progress(total - len(todo) + done, total, text)

    if jobs == 1 or len(todo) < 2:
        for number, (name, given) in enumerate(todo.items()):
            tell(number, name)
            work(*given)
    else:
        tell(0, "")
        # Not forked: a process that has run networks would hand its threads' locks on.
        with ProcessPoolExecutor(min(jobs, len(todo)), get_context("spawn")) as pool:
            waiting = {pool.submit(work, *given): name for name, given in todo.items()}
            try:
                for number, each in enumerate(as_completed(waiting)):
                    each.result()
                    tell(number + 1, waiting[each])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    if progress is not None:
        progress(total, total, "")
