"""Tasks as files: one archive each, and a list with checksums of files and of the streams drawn from them."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, BadZipFile, ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from tcuq.base.atomic_files import write_whole
from tcuq.log.quantize import quantize_probs

from ..harness.lines import read_content
from ..harness.types import CLEAN, Dev, Outputs, Truth
from ..metrics.alarms import costly_sources
from .draw import CLEAN_DEV, COLUMNS, DEV, Pool, Shown, drawn

FORMAT, LIST_FORMAT = "tcuq outputs 3", "tcuq streams 1"
LIST = "streams.json"
UNIT = 1 / 256
"""Of posteriors."""
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Task:
    """What one network said, a row each, and streams of rows: drawn from pools of examples, or given."""

    name: str
    probs: Bytes
    features: npt.NDArray[Any] | None
    gauges: npt.NDArray[Any] | None
    scale: float
    units: tuple[tuple[float, ...], tuple[float, ...]]  # of gauges: what 0 stands for, and one step
    gauge_names: tuple[str, ...] | None
    sources: tuple[str, ...]
    errors: Mapping[str, float]
    streams: Mapping[str, Shown]
    about: Mapping[str, Any]
    pools: tuple[Pool, ...] = ()

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
        usual, unit = (np.array(each, np.float32) for each in self.units)

        def of(table: npt.NDArray[Any] | None, unit: Any) -> Any:
            return None if table is None else table[shown.rows].astype(np.float32) * unit

        features, gauges = of(self.features, np.float32(self.scale)), of(self.gauges, unit)
        gauges = None if gauges is None else gauges + usual
        return Outputs(
            probs, features, stretches=shown.stretches, gauges=gauges, gauge_names=self.gauge_names
        )

    def dev(self, role: str, labels: bool, network: Any = None) -> Dev:
        """Return what `fit` gets, of the development stream and the clean log."""
        shown, seen = self.streams[role], unwritable(self.outputs(role))
        truth, errors = None, None
        if labels:
            of = [name.partition(",")[0].partition("/")[0] for name in self.sources]  # without severities
            types = tuple(dict.fromkeys(of))
            number = np.array([types.index(name) for name in of], dtype=np.uint8)
            kinds = number[shown.sources]
            truth = Truth(_fixed(shown.labels), kinds.astype(np.int64), shown.stretches, types, _fixed(kinds))
            wrong = seen.probs.argmax(axis=1) != shown.labels
            present = np.unique(kinds[truth.judged])
            errors = {types[kind]: float(wrong[truth.judged & (kinds == kind)].mean()) for kind in present}
        clean = unwritable(self.outputs(CLEAN_DEV))
        return Dev(**vars(seen), clean=clean, truth=truth, errors=errors)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """The streams of all tasks."""

    tasks: Sequence[Task]
    digest: str


def _fixed(values: Any) -> npt.NDArray[Any]:
    """Return a copy that cannot be written to: one method must not change what the next one sees."""
    found: npt.NDArray[Any] = values.copy()
    found.setflags(write=False)
    return found


def unwritable(seen: Outputs) -> Outputs:
    """Return outputs that cannot be written to."""
    values: dict[str, Any] = vars(seen)
    fixed: dict[str, Any] = {name: _fixed(v) for name, v in values.items() if isinstance(v, np.ndarray)}
    return Outputs(**{**values, **fixed})


def content_digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of arrays, whatever compressed them."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        each = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {each.dtype.str} {each.shape}\n".encode())
        digest.update(each.tobytes())
    return digest.hexdigest()


def drawn_digest(task: Task) -> str:
    """Return the SHA-256 of the streams of a task."""
    columns = {
        f"{name}|{column}": getattr(shown, column).astype("<i4")
        for name, shown in task.streams.items()
        for column in COLUMNS
    }
    return content_digest(columns)


OF_POOL = tuple(each.name for each in fields(Pool))
ARRAYS = ("labels", "runs", "held")


def arrays_of(task: Task) -> dict[str, npt.NDArray[Any]]:
    """Return a task as its file holds it; outputs lie column by column, which compresses better."""
    header = {
        "format": FORMAT,
        "task": task.name,
        "feature_scale": task.scale,
        "gauge_units": [list(each) for each in task.units],
        "gauge_names": list(task.gauge_names or ()),
        "sources": list(task.sources),
        "errors": dict(task.errors),
        "streams": [] if task.pools else list(task.streams),
        "pools": [
            {name: getattr(pool, name) for name in OF_POOL if name not in ARRAYS} for pool in task.pools
        ],
        "about": dict(task.about),
    }
    text = json.dumps(header, indent=1, allow_nan=False).encode()
    arrays = {
        "header": np.frombuffer(text, np.uint8),
        "probs": np.ascontiguousarray(task.probs.T),
    }
    for name, table in (("features", task.features), ("gauges", task.gauges)):
        if table is not None:
            arrays[name] = np.ascontiguousarray(table.T)
    for number, pool in enumerate(task.pools):
        arrays |= {f"{name}|{number}": getattr(pool, name).astype("<i2") for name in ARRAYS}
    for stream in json.loads(text)["streams"]:
        shown = task.streams[stream]
        arrays |= {f"{stream}|{name}": getattr(shown, name).astype("<i4") for name in COLUMNS}
    return arrays


def task_of(arrays: Mapping[str, npt.NDArray[Any]]) -> Task:
    """Return the task that a file holds."""
    header = json.loads(arrays["header"].tobytes().decode())
    if header["format"] != FORMAT:
        raise ValueError(f"format is {header['format']!r}, expected {FORMAT!r}")

    def pool(number: int) -> Pool:
        told: dict[str, Any] = {name: arrays[f"{name}|{number}"].astype(np.int64) for name in ARRAYS}
        for name, value in header["pools"][number].items():
            told[name] = tuple(value) if isinstance(value, list) else value
        return Pool(**told)

    def shown(name: str) -> Shown:
        return Shown(*(arrays[f"{name}|{column}"].astype(np.int64) for column in COLUMNS))

    usual, unit = header["gauge_units"]
    pools, name = tuple(map(pool, range(len(header["pools"])))), header["task"]
    frozen, ordered = len(header["sources"]) - 1, bool(header["about"].get("ordered"))
    given = {each: shown(each) for each in header.get("streams", ())}
    probs, features, gauges = (
        np.ascontiguousarray(arrays[each].T) if each in arrays else None
        for each in ("probs", "features", "gauges")
    )
    assert probs is not None
    return Task(
        name,
        probs,
        features,
        gauges,
        float(header["feature_scale"]),
        (tuple(usual), tuple(unit)),
        tuple(header["gauge_names"]) or None,
        tuple(header["sources"]),
        header["errors"],
        drawn(name, pools, ordered, frozen) if pools else given,
        header["about"],
        pools,
    )


def posterior_bytes(probs: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return posteriors as an int8 softmax leaves them, plus 128."""
    return (quantize_probs(probs).astype(np.int16) + 128).astype(np.uint8)


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
            "drawn": drawn_digest(task),
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
    """Return the tasks of a folder."""
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
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                arrays = {each: file[each] for each in file.files}
            if content_digest(arrays) != entry["content"]:  # results name their streams by it
                raise ValueError(f"its content is not that of {LIST}")
            tasks.append(task_of(arrays))
        except (KeyError, ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
            raise ValueError(f"{path}: no file of outputs ({error})") from None
        if drawn_digest(tasks[-1]) != entry["drawn"]:
            raise ValueError(f"{path}: other streams are drawn from it than {LIST} says; report it as a bug")
        digest.update(f"{name} {entry['content']} {entry['drawn']}\n".encode())
    return Benchmark(tasks, digest.hexdigest())


def listed_files(path: str | Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of a list of streams, by file name."""
    found: Mapping[str, Mapping[str, Any]] = read_content(path, LIST_FORMAT, "a list of streams")["files"]
    return found
