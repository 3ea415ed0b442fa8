"""What a method records, source by source: made, kept as a file, and gathered along a stream."""

from __future__ import annotations

import io
import os
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import write_whole

from ..harness.types import Outputs
from .method import Method

if TYPE_CHECKING:
    from ..data import Dataset
    from ..streams import Stream


Name = TypeVar("Name")


def record_banks(
    methods: Mapping[Name, Method], data: Dataset, sources: Iterable[str]
) -> dict[Name, dict[str, Outputs]]:
    """Let methods record a part of a dataset, as it is and corrupted; every example is corrupted once."""
    from ..zoo.examples import examples

    found: dict[Name, dict[str, Outputs]] = {name: {} for name in methods}
    for source, x in examples(data, sources):
        for name, method in methods.items():
            rows = method.record(x)
            narrow = None if rows.features is None else rows.features.astype(np.float16)
            found[name][source] = replace(rows, features=narrow)
    return found


def observed(stream: Stream, bank: Mapping[str, Outputs]) -> Outputs:
    """Return what a method may see of a stream: no labels, no sources."""
    columns = stream.gathered({name: _table(rows) for name, rows in bank.items()})
    return Outputs(columns.pop("probs"), columns.pop("features", None), columns)


def _table(recorded: Outputs) -> dict[str, npt.NDArray[Any]]:
    features = {} if recorded.features is None else {"features": recorded.features}
    return {"probs": recorded.probs, **features, **recorded.extra}


BETWEEN = "|"
"""Between a source and a column; neither has one in its name."""

HALVED = ("features", "logits", "heads")
"""Columns for which half precision is enough."""


def save_bank(path: str | Path, bank: Mapping[str, Outputs], *, compressed: bool = True) -> None:
    """Write what was recorded of every source; risks and small doubts need all digits of 32-bit floats."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for source, rows in bank.items():
        for column, values in _table(rows).items():
            kept = np.float16 if column in HALVED else np.float32
            arrays[f"{source}{BETWEEN}{column}"] = values.astype(kept)
    if not compressed:
        put_arrays(Path(path), arrays)
        return
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(Path(path), buffer.getvalue())


def put_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as a whole file, or none; what can be made again need not wait for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.chmod(part, 0o644)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def arrays_of(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a file."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def load_bank(path: str | Path) -> dict[str, Outputs]:
    """Return what `save_bank` wrote, as 32-bit floats."""
    columns: dict[str, dict[str, npt.NDArray[Any]]] = {}
    try:
        with np.load(path, allow_pickle=False) as file:
            for name in file.files:
                source, _, column = name.partition(BETWEEN)
                columns.setdefault(source, {})[column] = file[name].astype(np.float32)
        return {
            source: Outputs(found.pop("probs"), found.pop("features", None), found)
            for source, found in columns.items()
        }
    except (KeyError, ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path}: no bank of recorded outputs ({type(error).__name__})") from None
