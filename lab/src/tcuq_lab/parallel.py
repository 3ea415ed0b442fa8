"""Work in several processes: what is done comes as soon as it is there, and one error ends all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import Any, TypeVar

Result = TypeVar("Result")


@contextmanager
def workers(
    side: int, begin: Callable[..., None] | None = None, *given: Any
) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of fresh processes; an error within ends them, whatever they are at.

    They are not forked: a process that has run networks would hand its threads' locks on.
    """
    before = set(active_children())
    pool = ProcessPoolExecutor(side, get_context("spawn"), begin, given)
    try:
        yield pool
    except BaseException as error:
        # Waiting for work of hours would hide the error; what is cut off is resumed by the next run.
        for process in set(active_children()) - before:
            process.terminate()
        if isinstance(error, BrokenProcessPool):
            raise ValueError(
                f"a worker was ended by the system, for lack of memory perhaps; fewer than {side} may do"
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def side_by_side(
    turns: Sequence[Sequence[Any]], side: int, work: Callable[..., Result], *others: Any
) -> Iterator[Result]:
    """Give what work does with every job, as soon as it is there; a turn begins when the last one is done."""
    if side == 1:
        for jobs in turns:
            for job in jobs:
                yield work(job, *others)
        return
    with workers(side) as pool:
        for jobs in turns:
            for done in as_completed([pool.submit(work, job, *others) for job in jobs]):
                yield done.result()
