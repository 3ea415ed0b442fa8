"""Banks of what a method records, and what it observes of a stream from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from .method import Method, Observed, Recorded

if TYPE_CHECKING:
    from ..data import Dataset
    from ..streams import Stream

Name = TypeVar("Name")


def record_banks(
    methods: Mapping[Name, Method], data: Dataset, sources: Iterable[str]
) -> dict[Name, dict[str, Recorded]]:
    """Let methods record a part of a dataset, as it is and corrupted; every example is corrupted once."""
    from ..zoo.examples import examples

    found: dict[Name, dict[str, Recorded]] = {name: {} for name in methods}
    for source, x in examples(data, sources):
        for name, method in methods.items():
            rows = method.record(x)
            narrow = None if rows.features is None else rows.features.astype(np.float16)
            found[name][source] = replace(rows, features=narrow)
    return found


def observed(stream: Stream, bank: Mapping[str, Recorded]) -> Observed:
    """Return what a method may see of a stream: no labels, no sources."""
    from ..streams.stream import one_row_each

    one_row_each(stream.description)
    rows = {}
    for place in np.unique(stream.source).tolist():
        name = stream.sources[place]
        if name not in bank:
            raise ValueError(f"bank lacks {name}; every source of the stream is needed")
        rows[name] = np.flatnonzero(stream.source == place)
    tables = {name: _table(bank[name]) for name in rows}
    columns: dict[str, npt.NDArray[Any]] = {}
    first = next(iter(tables))
    for name, table in tables.items():
        if table.keys() != tables[first].keys():
            raise ValueError(
                f"bank holds {', '.join(table)} of {name}, expected {', '.join(tables[first])}, as of {first}"
            )
        wanted = stream.index[rows[name]]
        for column, values in table.items():
            if len(values) <= wanted.max():
                raise ValueError(
                    f"{column} of {name} has {len(values)} rows, expected at least {wanted.max() + 1}"
                )
            into = columns.setdefault(column, np.empty((len(stream), *values.shape[1:]), values.dtype))
            if values.shape[1:] != into.shape[1:] or values.dtype != into.dtype:
                raise ValueError(
                    f"{column} of {name} is {values.dtype} {values.shape[1:]} a row, expected "
                    f"{into.dtype} {into.shape[1:]}, as of {first}"
                )
            into[rows[name]] = values[wanted]
    return Observed(columns.pop("probs"), columns.pop("features", None), columns)


def _table(recorded: Recorded) -> dict[str, npt.NDArray[Any]]:
    features = {} if recorded.features is None else {"features": recorded.features}
    return {"probs": recorded.probs, **features, **recorded.extra}
