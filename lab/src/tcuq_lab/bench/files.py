"""The streams as files: one archive a task, a list of checksums; loading refuses what does not match."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import write_whole

from .interface import Dev, Ints, Recorded, Stream

FORMAT, LIST_FORMAT = "tcuq stream file 2", "tcuq streams 1"
FIRST_FORMAT = "tcuq stream file 1"
"""In which rows are stored as they are, not as steps from one to the next."""
LIST = "streams.json"
DEV, CLEAN_DEV, CLEAN = "dev", "clean dev", "clean"
"""Streams with a role; all others are test streams with shifts, by the name of their law."""
UNIT = 1 / 256
"""Of posteriors."""
COLUMNS = ("rows", "labels", "sources", "stretches")
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Shown:
    """A stream with its truth.

    Parameters
    ----------
    rows : array of T integers
        Rows of the task's table of outputs.
    labels : array of T integers
        True classes; below 0 where a step is not judged.
    sources : array of T integers
        Of each step in the names of the task: "clean", "fog/3".
    stretches : array of T integers
        Number of the stretch, from 0.
    """

    rows: Ints
    labels: Ints
    sources: Ints
    stretches: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def count(self) -> int:
        """How many stretches there are."""
        return int(self.stretches[-1]) + 1

    def pieces(self) -> list[slice]:
        """Return the stretches as slices."""
        edges = np.searchsorted(self.stretches, np.arange(self.count + 1)).tolist()
        return [slice(a, b) for a, b in pairwise(edges)]


@dataclass(frozen=True, eq=False)
class Task:
    """All streams of one network.

    Parameters
    ----------
    name : str
        Of the dataset.
    probs : uint8 array of shape (U, L)
        Different outputs of the network, each once; a posterior is this / 256.
    features : uint8 array of shape (U, d)
    scale : float
        What one unit of a feature is worth.
    sources : tuple of str
        "clean" first, then "fog/3" and the like.
    errors : mapping of str to float
        Error rate of the network on sources of the test part, over all examples.
    streams : mapping of str to Shown
    about : mapping
        Network, what made the file.
    """

    name: str
    probs: Bytes
    features: Bytes
    scale: float
    sources: tuple[str, ...]
    errors: Mapping[str, float]
    streams: Mapping[str, Shown]
    about: Mapping[str, Any]

    @property
    def tests(self) -> list[str]:
        """Names of the test streams with shifts."""
        return [name for name in self.streams if name not in (DEV, CLEAN_DEV, CLEAN)]

    def dev(self, labels: bool) -> Dev:
        """Return what `fit` gets.

        Parameters
        ----------
        labels : bool
            Whether true classes and marks of shifts are given.
        """
        shown, clean = self.streams[DEV], self.streams[CLEAN_DEV]
        still = self._given(clean)
        second = Recorded(still.probs, still.features, frozen(clean.stretches))
        seen = self._given(shown)
        if not labels:
            return Dev(seen.probs, seen.features, frozen(shown.stretches), second)
        types = list(dict.fromkeys(name.partition("/")[0] for name in self.sources))
        number = np.array([types.index(name.partition("/")[0]) for name in self.sources], dtype=np.uint8)
        kinds = frozen(number[shown.sources])
        return Dev(seen.probs, seen.features, frozen(shown.stretches), second, frozen(shown.labels), kinds)

    def given(self, name: str) -> list[Stream]:
        """Return the stretches of a stream as a method gets them: no labels, no sources."""
        shown = self.streams[name]
        return [self._given(shown, piece) for piece in shown.pieces()]

    def _given(self, shown: Shown, piece: slice = slice(None)) -> Stream:
        rows = shown.rows[piece]
        probs = self.probs[rows].astype(np.float32) * np.float32(UNIT)
        features = self.features[rows].astype(np.float32) * np.float32(self.scale)
        return Stream(frozen(probs), frozen(features))


@dataclass(frozen=True, eq=False)
class Benchmark:
    """The streams of all tasks.

    Parameters
    ----------
    tasks : sequence of Task
    digest : str
        SHA-256 of the content; result files with the same were made with the same streams.
    """

    tasks: Sequence[Task]
    digest: str


def frozen(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy that cannot be written to: one method must not change what the next one sees."""
    found = values.copy()
    found.setflags(write=False)
    return found


def content_digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays, whatever compressed them.

    Examples
    --------
    >>> content_digest({"a": np.zeros(2, np.uint8)})[:12], content_digest({"a": np.zeros(3, np.uint8)})[:12]
    ('3598b269262c', '65779c63506b')
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        each = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {each.dtype.str} {each.shape}\n".encode())
        digest.update(each.tobytes())
    return digest.hexdigest()


def arrays_of(task: Task) -> dict[str, npt.NDArray[Any]]:
    """Return a task as its file holds it; outputs lie column by column, which compresses better."""
    header = {
        "format": FORMAT,
        "task": task.name,
        "feature_scale": task.scale,
        "sources": list(task.sources),
        "errors": dict(task.errors),
        "streams": list(task.streams),
        "about": dict(task.about),
    }
    text = json.dumps(header, indent=1, allow_nan=False).encode()
    arrays = {
        "header": np.frombuffer(text, np.uint8),
        "probs": np.ascontiguousarray(task.probs.T),
        "features": np.ascontiguousarray(task.features.T),
    }
    for name, shown in task.streams.items():
        arrays[f"{name}|rows"] = np.diff(shown.rows, prepend=0).astype("<i4")  # most are 1
        arrays[f"{name}|labels"] = shown.labels.astype("<i2")
        arrays[f"{name}|sources"] = shown.sources.astype("<u2")
        arrays[f"{name}|stretches"] = shown.stretches.astype("<u2")
    return arrays


def task_of(arrays: Mapping[str, npt.NDArray[Any]]) -> Task:
    """Return the task that a file holds."""
    header = json.loads(arrays["header"].tobytes().decode())
    if header["format"] not in (FORMAT, FIRST_FORMAT):
        raise ValueError(f"format is {header['format']!r}, expected {FORMAT!r}")

    def shown(name: str) -> Shown:
        columns = [arrays[f"{name}|{column}"].astype(np.int64) for column in COLUMNS]
        rows = columns[0] if header["format"] == FIRST_FORMAT else np.cumsum(columns[0])
        return Shown(rows, *columns[1:])

    return Task(
        header["task"],
        np.ascontiguousarray(arrays["probs"].T),
        np.ascontiguousarray(arrays["features"].T),
        float(header["feature_scale"]),
        tuple(header["sources"]),
        header["errors"],
        {name: shown(name) for name in header["streams"]},
        header["about"],
    )


def content_of(folder: str | Path) -> dict[str, str]:
    """Return the digests of the content of listed files; none where there is no list."""
    place = Path(folder) / LIST
    return {name: each["content"] for name, each in listed_files(place).items()} if place.exists() else {}


def save(folder: str | Path, tasks: Sequence[Task], about: Mapping[str, Any]) -> str:
    """Write the files of tasks and their list; return the text of the list.

    Parameters
    ----------
    folder : path
        Made where it is missing.
    tasks : sequence of Task
    about : mapping
        Goes into the list: command, license, versions.
    """
    place, files = Path(folder), {}
    place.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        arrays = arrays_of(task)
        data = packed(arrays)
        write_whole(place / f"{task.name}.npz", data)
        files[f"{task.name}.npz"] = {
            "task": task.name,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "content": content_digest(arrays),
            "streams": {name: [each.count, len(each)] for name, each in task.streams.items()},
        }
    text = json.dumps({"format": LIST_FORMAT, **about, "files": files}, indent=1) + "\n"
    write_whole(place / LIST, text)
    return text


def packed(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return an archive that `numpy.load` reads; LZMA takes a tenth off what `savez_compressed` gives.

    Parameters
    ----------
    arrays : mapping of str to array
    """
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as file:
        for name, array in arrays.items():
            entry = ZipInfo(f"{name}.npy")  # of a fixed date, so that the same arrays give the same bytes
            entry.compress_type = ZIP_LZMA
            with file.open(entry, "w") as part:
                np.lib.format.write_array(part, array, allow_pickle=False)
    return buffer.getvalue()


def load(folder: str | Path) -> Benchmark:
    """Return the streams of a folder.

    Parameters
    ----------
    folder : path

    Raises
    ------
    ValueError
        Where a file is missing or not the one whose checksum is listed.
    """
    place = Path(folder) / LIST
    listed = listed_files(place)
    digest, tasks = hashlib.sha256(), []
    for name, entry in listed.items():
        path = Path(folder) / name
        data = path.read_bytes()
        found = hashlib.sha256(data).hexdigest()
        if found != entry["sha256"]:
            raise ValueError(
                f"{path}: sha256 is {found[:12]}..., expected {entry['sha256'][:12]}... of {LIST}: get the "
                f"file again (git checkout, or git lfs pull if it is a pointer)"
            )
        digest.update(f"{name} {entry['content']}\n".encode())
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = {each: file[each] for each in file.files}
            if content_digest(arrays) != entry["content"]:  # results name their streams by it
                raise ValueError(f"its content is not that of {LIST}")
            tasks.append(task_of(arrays))
        except (KeyError, ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
            raise ValueError(f"{path}: no stream file ({error})") from None
    return Benchmark(tasks, digest.hexdigest())


def listed_files(path: str | Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of a list of streams, by file name."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("format") != LIST_FORMAT:
        raise ValueError(f"{path} is not a list of streams, expected the format {LIST_FORMAT!r}")
    found: Mapping[str, Mapping[str, Any]] = content["files"]
    return found
