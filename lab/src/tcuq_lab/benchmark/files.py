"""The streams as files: one archive a task, a list of checksums; loading refuses what does not match."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import write_whole
from tcuq.metrics.inputs import Ints

from ..harness.lines import read_content
from ..harness.types import CLEAN, Dev, Outputs, Truth, slices
from ..metrics.alarms import costly_sources

FORMAT, LIST_FORMAT = "tcuq stream file 2", "tcuq streams 1"
LIST = "streams.json"
DEV, CLEAN_DEV = "dev", "clean dev"
"""Streams with a role; all others are test streams with shifts, by the name of their law."""
UNIT = 1 / 256
"""Of posteriors."""
COLUMNS = ("rows", "labels", "sources", "stretches")
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Shown:
    """A stream with its truth."""

    rows: Ints
    labels: Ints
    sources: Ints
    stretches: Ints

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def count(self) -> int:
        """How many stretches there are."""
        return len(slices(self.stretches, len(self)))


@dataclass(frozen=True, eq=False)
class Task:
    """All streams of one network."""

    name: str
    probs: Bytes
    features: Bytes
    scale: float
    sources: tuple[str, ...]
    errors: Mapping[str, float]
    streams: Mapping[str, Shown]
    about: Mapping[str, Any]

    @property
    def task(self) -> str:
        """Name of the dataset."""
        return self.name

    @property
    def tests(self) -> list[str]:
        """Names of the test streams with shifts."""
        return [name for name in self.streams if name not in (DEV, CLEAN_DEV, CLEAN)]

    @property
    def costly(self) -> tuple[str, ...]:
        """Sources that an alarm should find."""
        return costly_sources(self.errors)

    def draws(self, role: str) -> str:
        """Return the name that seeds the replicates of a stream."""
        return f"bench {self.name} {role}"

    def truth(self, role: str) -> Truth:
        """Return what no method sees of a stream."""
        shown = self.streams[role]
        return Truth(shown.labels, shown.sources, shown.stretches, self.sources)

    def outputs(self, role: str, network: Any = None) -> Outputs:
        """Return what a method sees of a stream; there are no other networks."""
        shown = self.streams[role]
        probs = self.probs[shown.rows].astype(np.float32) * np.float32(UNIT)
        features = self.features[shown.rows].astype(np.float32) * np.float32(self.scale)
        return Outputs(probs, features, stretches=shown.stretches)

    def dev(self, role: str, labels: bool, network: Any = None) -> Dev:
        """Return what `fit` gets, of the development stream and the clean log."""
        shown, seen = self.streams[role], self.outputs(role)
        truth, errors = None, None
        if labels:
            types = tuple(dict.fromkeys(name.partition("/")[0] for name in self.sources))
            number = np.array([types.index(name.partition("/")[0]) for name in self.sources], dtype=np.uint8)
            kinds = number[shown.sources]
            truth = Truth(frozen(shown.labels), kinds.astype(np.int64), shown.stretches, types, frozen(kinds))
            wrong = seen.probs.argmax(axis=1) != shown.labels
            present = np.unique(kinds[truth.judged])
            errors = {types[kind]: float(wrong[truth.judged & (kinds == kind)].mean()) for kind in present}
        clean = self.outputs(CLEAN_DEV)
        return Dev(
            frozen(seen.probs),
            frozen(seen.features),
            stretches=frozen(shown.stretches),
            clean=Outputs(frozen(clean.probs), frozen(clean.features), stretches=frozen(clean.stretches)),
            truth=truth,
            errors=errors,
        )


@dataclass(frozen=True, eq=False)
class Benchmark:
    """The streams of all tasks."""

    tasks: Sequence[Task]
    digest: str


def frozen(values: Any) -> npt.NDArray[Any]:
    """Return a copy that cannot be written to: one method must not change what the next one sees."""
    found: npt.NDArray[Any] = values.copy()
    found.setflags(write=False)
    return found


def content_digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays, whatever compressed them."""
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
    if header["format"] != FORMAT:
        raise ValueError(f"format is {header['format']!r}, expected {FORMAT!r}")

    def shown(name: str) -> Shown:
        columns = [arrays[f"{name}|{column}"].astype(np.int64) for column in COLUMNS]
        return Shown(np.cumsum(columns[0]), *columns[1:])

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
    """Write the files of tasks and their list; return the text of the list."""
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
    """Return an archive that `numpy.load` reads; LZMA takes a tenth off what `savez_compressed` gives."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as file:
        for name, array in arrays.items():
            entry = ZipInfo(f"{name}.npy")  # of a fixed date, so that the same arrays give the same bytes
            entry.compress_type = ZIP_LZMA
            with file.open(entry, "w") as part:
                np.lib.format.write_array(part, array, allow_pickle=False)
    return buffer.getvalue()


def load(folder: str | Path) -> Benchmark:
    """Return the streams of a folder."""
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
    found: Mapping[str, Mapping[str, Any]] = read_content(path, LIST_FORMAT, "a list of streams")["files"]
    return found
