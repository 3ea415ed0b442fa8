"""A stream: a sequence of steps that its description rebuilds, and what it holds in numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tcuq.base.checks import integer
from tcuq.log.log import Log

from .description import Description, Ood
from .plan import Chunk, Plan

Labels = npt.ArrayLike
Bank = Mapping[str, tuple[npt.NDArray[Any], npt.NDArray[Any] | None]]
CHUNK = 65536
RECORD = np.dtype([("source", "<u2"), ("index", "<i8"), ("label", "<i8"), ("shift", "u1")])
"""A step as it is hashed: 19 bytes."""


class Mismatch(ValueError):
    """The data or the plan is not what the description was made from."""


class Span(NamedTuple):
    """Consecutive steps of one source."""

    start: int
    stop: int  # step after the last
    source: str  # such as "clean" or "fog/3"


@dataclass(frozen=True, eq=False)
class Stream:
    """A plan of finite length."""

    description: Description  # what it was built from
    source: npt.NDArray[np.uint16]  # places in `sources`
    index: npt.NDArray[np.int64]  # row of the example in the set that its source is made from
    label: npt.NDArray[np.int64]  # true class; -1 for examples that are none of the classes
    shift: npt.NDArray[np.uint8]  # 0 clean, else the number of the kind: a place in `kinds`

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sources."""
        return self.description.sources

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds of shift, "clean" first."""
        return self.description.kinds

    def spans(self) -> list[Span]:
        """Return the stretches of one source, in order."""
        edges = [0, *(np.flatnonzero(np.diff(self.source)) + 1).tolist(), len(self)]
        names = self.sources
        return [Span(start, stop, names[self.source[start]]) for start, stop in pairwise(edges)]

    def change_points(self) -> list[int]:
        """Return the steps at which a shift begins, as `Log.change_points` does."""
        shifted = self.shift > 0
        before = np.concatenate([[False], shifted[:-1]])
        return [int(step) for step in np.flatnonzero(shifted & ~before)]

    def digest(self) -> str:
        """Return the SHA-256 of the names of sources and kinds, `held`, `sliding` and steps as `RECORD`."""
        running = _hash(self.description)
        for chunk in self.chunks(CHUNK):
            running.update(_bytes(chunk))
        return str(running.hexdigest())

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Give the steps, `size` at a time."""
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            yield Chunk(self.source[part], self.index[part], self.label[part], self.shift[part])

    def log(self, bank: Bank) -> Log:
        """Return what a recorded model says to the stream."""
        tables = {
            name: {"probs": probs} if features is None else {"probs": probs, "features": features}
            for name, (probs, features) in bank.items()
        }
        found = self.gathered(tables)
        return Log(found["probs"], found.get("features"), self.label, shifted=self.shift)

    def gathered(self, bank: Mapping[str, Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns that a bank holds of every source, a row an example, along the stream."""
        for way in ("held", "sliding"):
            if getattr(self.description, way) is not None:
                raise ValueError(
                    f"stream is {way}: its steps are not examples of a bank; use tcuq_lab.streams.inputs"
                )
        found: dict[str, npt.NDArray[Any]] = {}
        first = self.sources[self.source.min()]
        for place in np.unique(self.source).tolist():
            name, rows = self.sources[place], np.flatnonzero(self.source == place)
            if name not in bank:
                raise ValueError(f"bank lacks {name}; every source of the stream is needed")
            if bank[name].keys() != bank[first].keys():
                held, wanted = (", ".join(bank[each]) for each in (name, first))
                raise ValueError(f"bank holds {held} of {name}, expected {wanted}, as of {first}")
            index = self.index[rows]
            for column, given in bank[name].items():
                values = np.asarray(given)
                if len(values) <= index.max():
                    raise ValueError(
                        f"{column} of {name} has {len(values)} rows, expected at least {index.max() + 1}"
                    )
                into = found.setdefault(column, np.empty((len(self), *values.shape[1:]), values.dtype))
                if values.shape[1:] != into.shape[1:] or values.dtype != into.dtype:
                    raise ValueError(
                        f"{column} of {name} is {values.dtype} {values.shape[1:]} a row, expected "
                        f"{into.dtype} {into.shape[1:]}, as of {first}"
                    )
                into[rows] = values[index]
        return found


def labels_digest(labels: Labels) -> str:
    """Return the SHA-256 of labels, 0 or above, as little-endian int64."""
    return _digest(_whole("labels", labels))


def steps(
    description: Description,
    labels: Labels,
    ood_labels: Mapping[str, Labels] | None = None,
    chunk: int = 4096,
) -> Iterator[Chunk]:
    """Give the plan in chunks; the memory does not grow with the length, but for reversed segments.

    Those are drawn forwards before the first chunk, at 6 bytes a segment; see `Segments`.
    """
    found, ood = _whole("labels", labels), _ood_labels(description, ood_labels or {})
    _same_labels(f"{description.dataset} {description.part}", found, description.labels)
    for each in description.ood:
        _same_labels(each.name, ood[each.name], each.labels)
    plan = Plan(description, found, ood)
    return _checked(description, plan.chunks(integer("chunk", chunk, 1, 2**31)))


def build(description: Description, labels: Labels, ood_labels: Mapping[str, Labels] | None = None) -> Stream:
    """Return the stream of a description."""
    if description.steps is None:
        raise ValueError("steps is null; a stream is built from 1 step on, an endless one comes in chunks")
    chunks = list(steps(description, labels, ood_labels, CHUNK))
    columns = ([getattr(chunk, item.name) for chunk in chunks] for item in fields(Chunk))
    return Stream(description, *(np.concatenate(parts) for parts in columns))


def seal(
    description: Description, labels: Labels, ood_labels: Mapping[str, Labels] | None = None
) -> Description:
    """Return the description with the digests of the labels and of the plan."""
    given = ood_labels or {}
    found, sets = _whole("labels", labels), _ood_labels(description, given)
    ood = tuple(Ood(each.name, _digest(sets[each.name])) for each in description.ood)
    open_ = description.replace(labels=_digest(found), ood=ood)
    return open_ if open_.steps is None else open_.replace(digest=build(open_, labels, given).digest())


def _ood_labels(description: Description, given: Mapping[str, Labels]) -> dict[str, npt.NDArray[np.int64]]:
    found = {}
    for each in description.ood:
        if each.name not in given:
            raise ValueError(f"ood_labels lack {each.name}; labels of every OOD set are needed")
        found[each.name] = _whole(f"ood_labels of {each.name}", given[each.name])
    return found


def _checked(description: Description, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    if description.digest is None:
        yield from chunks
        return
    running = _hash(description)
    for chunk in chunks:
        running.update(_bytes(chunk))
        yield chunk
    if running.hexdigest() != description.digest:
        raise Mismatch(f"the plan has the digest {running.hexdigest()}, expected {description.digest}")


def _whole(name: str, labels: Labels) -> npt.NDArray[np.int64]:
    found = np.asarray(labels)
    if found.ndim != 1 or not len(found) or found.dtype.kind not in "iu":
        raise ValueError(f"{name} are {found.dtype} {found.shape}, expected one integer an example")
    if found.min() < 0:
        raise ValueError(f"{name} hold {found.min()}, expected 0 or above")
    if found.max() >= 2**63:
        raise ValueError(f"{name} hold {found.max()}, expected up to {2**63 - 1}")
    return found.astype(np.int64)


def _digest(labels: npt.NDArray[np.int64]) -> str:
    return hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()


def _same_labels(what: str, labels: npt.NDArray[np.int64], wanted: str | None) -> None:
    if wanted is not None and _digest(labels) != wanted:
        raise Mismatch(f"the labels of {what} have the digest {_digest(labels)}, expected {wanted}")


def _hash(description: Description) -> Any:
    named: list[Any] = [description.sources, description.kinds]
    if description.held is not None or description.sliding is not None:
        content = description.to_dict()
        named.append({name: content[name] for name in ("held", "sliding") if name in content})
    head = json.dumps(named, separators=(",", ":"))
    return hashlib.sha256(head.encode())


def _bytes(chunk: Chunk) -> bytes:
    records = np.empty(len(chunk.source), dtype=RECORD)
    for name in RECORD.names or ():
        records[name] = getattr(chunk, name)
    return records.tobytes()


def overview(stream: Stream) -> dict[str, Any]:
    """Return figures about a stream.

    Examples
    --------
    >>> from tcuq_lab.streams import Description, Geometric, Stationary, build
    >>> plain = Description(
    ...     dataset="toy", part="dev", seed=0, steps=50, dwell=Geometric(1), layout=Stationary()
    ... )
    >>> overview(build(plain, np.arange(20) % 2))["sources"]
    {'clean': {'steps': 50, 'examples': 20}}
    """
    sources = {}
    for place, name in enumerate(stream.sources):
        index = stream.index[stream.source == place]
        if len(index):
            sources[name] = {"steps": len(index), "examples": len(np.unique(index))}
    shifted = stream.shift > 0
    edges = np.concatenate([[0], np.flatnonzero(np.diff(stream.shift)) + 1, [len(stream)]])
    lengths, bad = np.diff(edges), shifted[edges[:-1]]
    return {
        "steps": len(stream),
        "mean_run": _mean_run(stream),
        "segments": {
            "clean": {"count": int((~bad).sum()), "mean": _mean(lengths[~bad])},
            "shifted": {"count": int(bad.sum()), "mean": _mean(lengths[bad])},
        },
        "shifted": float(shifted.mean()),
        "change_points": len(stream.change_points()),
        "sources": sources,
    }


def _mean_run(stream: Stream) -> float | None:
    """Return the mean run of a class over steps that have one; a run that OOD steps cut counts twice."""
    known = stream.label >= 0
    begins = np.ones(len(stream), dtype=np.bool_)
    begins[1:] = stream.label[1:] != stream.label[:-1]
    runs = int((begins & known).sum())
    return int(known.sum()) / runs if runs else None


def _mean(lengths: Any) -> float | None:
    return float(lengths.mean()) if len(lengths) else None
