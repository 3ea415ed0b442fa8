"""Jobs side by side, each in a process of its own; the first that fails ends all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import Any, TypeVar

Result = TypeVar("Result")


def side_by_side(
    turns: Sequence[Sequence[Any]], side: int, work: Callable[..., Result], *others: Any
) -> Iterator[Result]:
    """Give what work does with every job, as soon as it is there."""
    before = set(active_children())
    pool = ProcessPoolExecutor(side, mp_context=get_context("spawn"))
    try:
        for jobs in turns:
            for done in as_completed([pool.submit(work, job, *others) for job in jobs]):
                yield done.result()
    except BaseException as error:
        # Waiting for trainings of hours would hide the error; a training that is cut off can be resumed.
        for process in set(active_children()) - before:
            process.terminate()
        if isinstance(error, BrokenProcessPool):
            raise ValueError(
                f"a worker was ended by the system, for lack of memory perhaps; fewer than {side} may do"
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)
