"""Real examples of a stream, corrupted as they are shown, so that no corrupted set has to be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer

from ..corruptions import Suite, corrupt, suite_of
from ..corruptions import suite as suite_named
from ..data import Dataset
from .description import Description
from .plan import Chunk
from .stream import Stream, steps


class Shown(NamedTuple):
    """Some steps of a stream: examples, true labels, numbers of the kind of shift."""

    x: npt.NDArray[np.generic]
    y: npt.NDArray[np.int64]
    shift: npt.NDArray[np.uint8]


def inputs(
    plan: Stream | Description,
    data: Dataset,
    suite: str | None = None,
    *,
    ood: Mapping[str, Dataset] | None = None,
    chunk: int = 200,
    seed: int = 0,
) -> Iterator[Shown]:
    """Give the examples of a stream, chunk by chunk; the memory does not grow with its length.

    Reversed segments are the exception; see `tcuq_lab.streams.steps`.

    An example is corrupted as it would be with the whole set: ``corrupt(data.x, suite, kind, severity,
    seed)`` has the same bytes in its row.

    Parameters
    ----------
    plan : Stream or Description
        A description without end gives examples without end.
    data : Dataset
        The part that the plan was made for, as `tcuq_lab.data.parts.load_part` gives it.
    suite : str, optional
        Suite of corruptions; by default the one of the dataset.
    ood : mapping of str to Dataset, optional
        OOD sets by name, with examples like those of `data`.
    chunk : int
        Steps at a time.
    seed : int
        Of the corruptions, which is not the seed of the stream.

    Yields
    ------
    Shown
    """
    about = plan if isinstance(plan, Description) else plan.description
    size = integer("chunk", chunk, 1, 2**31)
    if (data.name, data.split) != (about.dataset, about.part):
        raise ValueError(
            f"data is {data.name} {data.split}, expected {about.dataset} {about.part}, as the plan says"
        )
    sets = ood or {}
    corrupting = suite if suite is not None or not about.shifts else suite_of(about.dataset).name
    if corrupting is not None:
        known_kinds(about, suite_named(corrupting))
    for each in about.ood:
        if each.name not in sets:
            raise ValueError(f"ood lacks {each.name}; every OOD set of the stream is needed")
        found = sets[each.name].x
        if found.dtype != data.x.dtype or found.shape[1:] != data.x.shape[1:]:
            raise ValueError(
                f"examples of {each.name} are {found.dtype} {found.shape[1:]}, expected "
                f"{data.x.dtype} {data.x.shape[1:]}, as in {data.name}"
            )
    if isinstance(plan, Description):
        chunks = steps(plan, data.y, {each.name: sets[each.name].y for each in about.ood}, size)
    else:
        _fits(plan, data, sets)
        chunks = _parts(plan, size)
    return (_shown(about.sources, part, data, corrupting, sets, seed) for part in chunks)


def known_kinds(description: Description, suite: Suite) -> None:
    """Refuse a description that shows a kind or a severity that a suite does not have."""
    for shift in description.shifts:
        for severity in shift.severities:
            suite.setting(shift.kind, severity)


def _fits(stream: Stream, data: Dataset, ood: Mapping[str, Dataset]) -> None:
    """Refuse data that the stream was not built from."""
    for place, source in enumerate(stream.sources):
        index = stream.index[stream.source == place]
        kind, _, which = source.partition("/")
        found = ood[which] if kind == "ood" else data
        if index.max(initial=-1) >= len(found.x):
            raise ValueError(
                f"{found.name} {found.split} has {len(found.x)} examples; {source} needs {index.max() + 1}"
            )
    known = stream.label >= 0
    if not np.array_equal(data.y[stream.index[known]], stream.label[known]):
        raise ValueError(f"{data.name} {data.split} has other labels than the stream was built from")


def _parts(stream: Stream, size: int) -> Iterator[Chunk]:
    for start in range(0, len(stream), size):
        part = slice(start, start + size)
        yield Chunk(stream.source[part], stream.index[part], stream.label[part], stream.shift[part])


def _shown(
    sources: tuple[str, ...],
    chunk: Chunk,
    data: Dataset,
    suite: str | None,
    ood: Mapping[str, Dataset],
    seed: int,
) -> Shown:
    x = np.empty((len(chunk.source), *data.x.shape[1:]), dtype=data.x.dtype)
    for place in np.unique(chunk.source).tolist():
        rows = chunk.source == place
        index = chunk.index[rows]
        kind, _, which = sources[place].partition("/")
        if kind == "clean":
            x[rows] = data.x[index]
        elif kind == "ood":
            x[rows] = ood[which].x[index]
        else:
            assert suite is not None  # a stream with corruptions has a suite
            x[rows] = corrupt(data.x[index], suite, kind, int(which), seed, index=index)
    return Shown(x, chunk.label, chunk.shift)
